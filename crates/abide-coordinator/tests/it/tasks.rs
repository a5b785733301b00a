//! The worked changes of `docs/writing-a-service.md`, each made to the real coordinator and run.
//!
//! The guide shows the lines that change; here they stand in an object that passes everything else on to the
//! coordinator, so that all of them can be tried side by side.

use crate::migration::{CoordinatorV1, v1_item};
use crate::world::{
    MAIN, counts, idle_world, item, process_count, queue, rerun, status, submit, succeed, world,
};
use abide_coordinator::{
    Call, Coordinator, ItemAnswer, Mode, No, Options, PROCESS, Processor, QUEUE, Reply, Status,
    ToCoordinator, WorkId,
};
use abide_core::event::Sender;
use abide_core::job::JobOutcome;
use abide_core::object::ObjectKey;
use abide_core::time::Time;
use abide_engine::object::NoRefusal;
use abide_engine::testing::{World, second};
use abide_engine::{Answer, Halt, Object, Turn, TurnError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Passes on what a change leaves alone.
macro_rules! the_rest_is_the_coordinators {
    ($($name:ident),*) => {
        type Refusal = No;
        type Message = ToCoordinator;

        $(the_rest_is_the_coordinators!(@ $name);)*

        fn outcome(&self, turn: &mut Turn<'_>, outcome: &JobOutcome) -> Result<(), Halt<No>> {
            self.0.outcome(turn, outcome)
        }

        fn alarm(&self, turn: &mut Turn<'_>, name: &str, at: Time) -> Result<(), Halt<No>> {
            self.0.alarm(turn, name, at)
        }
    };
    (@ call) => {
        type Call = Call;
        type Reply = Reply;

        fn call(&self, turn: &mut Turn<'_>, call: Call) -> Result<Answer<Reply>, Halt<No>> {
            self.0.call(turn, call)
        }
    };
    (@ message) => {
        fn message(
            &self,
            turn: &mut Turn<'_>,
            from: Option<&Sender>,
            message: ToCoordinator,
        ) -> Result<(), Halt<No>> {
            self.0.message(turn, from, message)
        }
    };
}

fn coordinator() -> Coordinator {
    Coordinator::new(&Options::default())
}

/// A world with an object in the coordinator's place, or beside it.
fn world_with<O: Object>(object: O) -> World {
    let mut world = World::new();
    world.object(object);
    world.object(Processor);
    world.worker(QUEUE, PROCESS, succeed);
    world
}

struct Orchestrator(Coordinator);

impl Object for Orchestrator {
    const KIND: &'static str = "orchestrator";
    the_rest_is_the_coordinators!(call, message);
}

#[test]
fn rename_the_object() {
    let mut world = world();
    let old = submit(&mut world, &json!({"message": "old", "delay": 0})).id;
    world.deploy(Orchestrator(coordinator()));
    for mode in ["queue", "direct"] {
        let call = Call::submit(&json!({"message": "new", "delay": 0, "mode": mode})).unwrap();
        let taken: ItemAnswer = world.call("orchestrator/main", &call).unwrap();
        let read: ItemAnswer = world.call("orchestrator/main", &Call::item(&taken.work_item.id.0)).unwrap();
        assert_eq!(read.work_item.status, Status::Completed, "{mode}");
    }
    assert_eq!(status(&mut world, &old), Status::Completed, "what has the old name is still there");
}

/// How many items are not finished.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct BusyAnswer {
    busy: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum BoardCall {
    Busy,
    Coordinator(Call),
}

#[derive(Serialize)]
#[serde(untagged)]
enum BoardReply {
    Busy(BusyAnswer),
    Coordinator(Reply),
}

struct Board(Coordinator);

impl Object for Board {
    const KIND: &'static str = "coordinator";
    type Call = BoardCall;
    type Reply = BoardReply;
    the_rest_is_the_coordinators!(message);

    fn call(&self, turn: &mut Turn<'_>, call: BoardCall) -> Result<Answer<BoardReply>, Halt<No>> {
        let reply = match call {
            BoardCall::Busy => BoardReply::Busy(self.busy(turn)?),
            BoardCall::Coordinator(call) => BoardReply::Coordinator(now(self.0.call(turn, call)?)),
        };
        Ok(reply.into())
    }
}

impl Board {
    fn busy(&self, turn: &mut Turn<'_>) -> Result<BusyAnswer, Halt<No>> {
        match now(self.0.call(turn, Call::Stats)?) {
            Reply::Stats(stats) => Ok(BusyAnswer { busy: stats.pending + stats.processing }),
            other => unreachable!("stats are answered with {other:?}"),
        }
    }
}

fn now(answer: Answer<Reply>) -> Reply {
    match answer {
        Answer::Now(reply) => reply,
        Answer::Later(ticket) => unreachable!("a coordinator answers at once, not with {ticket}"),
    }
}

#[test]
fn add_a_call() {
    let mut world = world_with(Board(coordinator()));
    assert_eq!(world.call::<BusyAnswer>(MAIN, &BoardCall::Busy).unwrap(), BusyAnswer { busy: 0 });
    let submit = Call::submit(&json!({"message": "m", "delay": 5000, "mode": "direct"})).unwrap();
    world.call::<Value>(MAIN, &BoardCall::Coordinator(submit)).unwrap();
    assert_eq!(world.call::<BusyAnswer>(MAIN, &BoardCall::Busy).unwrap(), BusyAnswer { busy: 1 });
    world.pass(second(5));
    assert_eq!(world.call::<Value>(MAIN, &BoardCall::Busy).unwrap(), json!({"busy": 0}));
}

#[test]
fn change_the_row_schema() {
    let mut world = world_with(CoordinatorV1);
    let old = v1_item("old", json!({"completed": {"result": 1}}));
    world.call::<Value>(MAIN, &[&old]).unwrap();
    world.deploy(coordinator());
    assert_eq!(item(&mut world, &WorkId("old".into())).priority, 0);
    submit(&mut world, &json!({"message": "new", "delay": 0, "priority": 9}));
    let priorities: Vec<i32> = queue(&mut world).iter().map(|item| item.priority).collect();
    assert_eq!(priorities, [0, 9]);
}

/// What the notifier is told.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Completed {
    work_id: WorkId,
}

/// Keeps what it was told, and by whom.
struct Notifier;

impl Object for Notifier {
    const KIND: &'static str = "notifier";
    type Call = ();
    type Reply = Vec<String>;
    type Message = Completed;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, (): ()) -> Result<Answer<Vec<String>>, Halt<NoRefusal>> {
        let told: Vec<(String, String)> = turn.scan("told/", None, 1_000)?;
        Ok(told.into_iter().map(|(key, by)| format!("{key} by {by}")).collect::<Vec<_>>().into())
    }

    fn message(
        &self,
        turn: &mut Turn<'_>,
        from: Option<&Sender>,
        completed: Completed,
    ) -> Result<(), Halt<NoRefusal>> {
        let by = from.map_or("somebody".to_owned(), |sender| sender.object.to_string());
        Ok(turn.put(&format!("told/{}", completed.work_id), &by)?)
    }
}

struct Announcing(Coordinator);

impl Object for Announcing {
    const KIND: &'static str = "coordinator";
    the_rest_is_the_coordinators!(call);

    fn message(
        &self,
        turn: &mut Turn<'_>,
        from: Option<&Sender>,
        message: ToCoordinator,
    ) -> Result<(), Halt<No>> {
        let ToCoordinator::Processed { work_id, .. } = &message else {
            return self.0.message(turn, from, message);
        };
        let work_id = work_id.clone();
        let was = self.status(turn, &work_id)?;
        self.0.message(turn, from, message)?;
        if was != Some(Status::Completed) && self.status(turn, &work_id)? == Some(Status::Completed) {
            let notifier = ObjectKey::new("notifier", "notifications").map_err(TurnError::from)?;
            turn.send(&notifier, &Completed { work_id })?;
        }
        Ok(())
    }
}

impl Announcing {
    fn status(&self, turn: &mut Turn<'_>, work_id: &WorkId) -> Result<Option<Status>, Halt<No>> {
        match self.0.call(turn, Call::item(&work_id.0)).map(now) {
            Ok(Reply::Item(answer)) => Ok(Some(answer.work_item.status)),
            Ok(_) | Err(Halt::Refused(No::UnknownWork(_))) => Ok(None),
            Err(halt) => Err(halt),
        }
    }
}

#[test]
fn call_another_object() {
    let mut world = world_with(Announcing(coordinator()));
    world.object(Notifier);
    let first = submit(&mut world, &json!({"message": "m", "delay": 0})).id;
    let second = submit(&mut world, &json!({"message": "m", "delay": 0, "mode": "direct"})).id;
    let mut expected = [first, second].map(|id| format!("told/{id} by coordinator/main"));
    expected.sort();
    assert_eq!(world.call::<Vec<String>>("notifier/notifications", &()).unwrap(), expected);
}

struct Direct(Coordinator);

impl Object for Direct {
    const KIND: &'static str = "coordinator";
    type Call = Call;
    type Reply = Reply;
    the_rest_is_the_coordinators!(message);

    fn call(&self, turn: &mut Turn<'_>, call: Call) -> Result<Answer<Reply>, Halt<No>> {
        let call = match call {
            Call::Submit(submit) => Call::Submit(submit.in_mode(Mode::Direct)),
            Call::SubmitBatch(batch) => Call::SubmitBatch(batch.in_mode(Mode::Direct)),
            other => other,
        };
        self.0.call(turn, call)
    }
}

#[test]
fn switch_from_queue_to_direct() {
    let mut world = idle_world();
    let stuck = submit(&mut world, &json!({"message": "nobody works on the queue", "delay": 0})).id;
    assert_eq!(status(&mut world, &stuck), Status::Processing);
    assert!(rerun(&mut world, &stuck, Some(&json!({"mode": "direct"}))));
    assert_eq!(status(&mut world, &stuck), Status::Completed);

    world.deploy(Direct(coordinator()));
    submit(&mut world, &json!({"message": "m", "delay": 0, "mode": "queue"}));
    assert_eq!(counts(&mut world), [0, 0, 2, 0, 2]);
    assert_eq!(process_count(&mut world), 2);
}
