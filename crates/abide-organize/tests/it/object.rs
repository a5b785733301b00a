//! The object in a world with virtual time and scripted workers: its phases, what it is sent twice, crashes, callbacks, retention.

use abide_core::event::Sender;
use abide_core::job::{Finish, JobId, Lease};
use abide_core::object::ObjectKey;
use abide_core::row::RowWrite;
use abide_engine::object::NoRefusal;
use abide_engine::testing::{Moment, World, day, minute};
use abide_engine::worker::{done, failed};
use abide_engine::{Answer, Halt, Object, Turn, TurnError};
use abide_entities::{ContentId, EntityId};
use abide_llm::{Answer as Said, Usage};
use abide_organize::calls::{Accept, Call, Paying, Reply};
use abide_organize::contract::{
    CallbackPayload, CallbackStatus, FromOrganizer, GroupEntity, LlmMetrics, OrganizerKind, Phase, PiRequest,
    PiStatus, ProcessReply, ProcessRequest, Progress, Standing, StatusReply, StrategizeInput,
    StrategizeResult, ToOrganizer,
};
use abide_organize::jobs::{self, Delivery, Judged, Order, Outcome, Planned, Published, Skipped};
use abide_organize::spending::{self, Spending};
use abide_organize::{Group, Options, Organizer, Paid, Plan, contract};
use abide_store::Write;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::cell::RefCell;
use std::rc::Rc;

const TIP: &str = "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e";

fn id(number: u32) -> EntityId {
    EntityId::parse(&format!("01J8ME3H6FZ3KQ5W1P2XY8{number:04}")).unwrap()
}

fn tip() -> ContentId {
    ContentId::parse(TIP).unwrap()
}

pub(crate) fn request(pis: &[u32]) -> ProcessRequest {
    ProcessRequest {
        batch_id: "b".to_owned(),
        chunk_id: "c".to_owned(),
        pis: pis.iter().map(|pi| PiRequest::whole(id(*pi))).collect(),
        ..ProcessRequest::default()
    }
}

pub(crate) fn planned() -> Judged {
    let group =
        Group { group_name: "G".to_owned(), description: "of a".to_owned(), files: vec!["a".to_owned()] };
    let plan = Plan {
        groups: vec![group],
        ungrouped_files: vec!["b".to_owned()],
        reorganization_description: "by name".to_owned(),
    };
    let metrics = LlmMetrics { validation_warnings: vec!["w".to_owned()], ..LlmMetrics::default() };
    Judged::Planned(Box::new(Planned { plan, metrics }))
}

fn published() -> Outcome {
    let group = GroupEntity {
        group_name: "G".to_owned(),
        pi: id(99),
        tip: Some(tip()),
        ver: Some(1),
        files: vec!["a".to_owned()],
        description: "of a".to_owned(),
    };
    Outcome::Published(Box::new(Published {
        tip: tip(),
        ver: 3,
        groups: vec![group],
        ungrouped: vec!["b".to_owned()],
        warnings: vec!["x".to_owned()],
    }))
}

/// What callbacks were delivered over HTTP, or sent to the object that asked.
pub(crate) type Told = Rc<RefCell<Vec<CallbackPayload>>>;

/// Workers that do `llm` with what the script says, publish, and deliver.
pub(crate) fn world(llm: impl FnMut(&Lease, &Order) -> Finish + 'static) -> (World, Told) {
    with_options(Options::builtin(), llm)
}

fn with_options(options: Options, mut llm: impl FnMut(&Lease, &Order) -> Finish + 'static) -> (World, Told) {
    let told = Told::default();
    let mut world = World::new();
    world.object(Organizer::new(options));
    world.object(Spending { retain_ms: day(30) });
    world.object(Asker);
    world.worker(jobs::QUEUE, jobs::LLM, move |lease| llm(lease, &lease.payload.decode::<Order>().unwrap()));
    world.worker(jobs::QUEUE, jobs::PUBLISH, |_| done(&published()));
    let delivered = told.clone();
    world.worker(jobs::QUEUE, jobs::CALLBACK, move |lease| {
        delivered.borrow_mut().push(lease.payload.decode::<Delivery>().unwrap().payload);
        done(&200)
    });
    (world, told)
}

pub(crate) fn process(world: &mut World, request: ProcessRequest) -> ProcessReply {
    let name = format!("organizer/{}:{}", request.batch_id, request.chunk_id);
    let accept = Accept { request, contents: Vec::new() };
    match world.call::<Reply>(&name, &Call::Process(Box::new(accept))).unwrap() {
        Reply::Process(reply) => reply,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn status(world: &mut World) -> Option<Standing> {
    match world.call::<Reply>("organizer/b:c", &Call::Status).unwrap() {
        Reply::Status(StatusReply::Found(standing)) => Some(*standing),
        Reply::Status(StatusReply::NotFound { .. }) => None,
        other => panic!("{other:?}"),
    }
}

/// The part of the row of a request that says where it is.
#[derive(Deserialize)]
struct HasPhase {
    phase: Phase,
}

/// An object that asks an organizer by message and keeps what it is sent.
struct Asker;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ToAsker {
    OrganizerCallback(Box<CallbackPayload>),
}

impl Object for Asker {
    const KIND: &'static str = "asker";
    type Call = ProcessRequest;
    type Reply = Vec<CallbackPayload>;
    type Message = ToAsker;
    type Refusal = NoRefusal;

    fn call(
        &self,
        turn: &mut Turn<'_>,
        request: ProcessRequest,
    ) -> Result<Answer<Vec<CallbackPayload>>, Halt<NoRefusal>> {
        if !request.chunk_id.is_empty() {
            let name = Organizer::name(&request.batch_id, &request.chunk_id);
            let organizer = ObjectKey::new(Organizer::KIND, name).map_err(TurnError::from)?;
            turn.send(&organizer, &ToOrganizer::Process(Box::new(request)))?;
            turn.put("asked", &true)?;
        }
        Ok(turn.get::<Vec<CallbackPayload>>("told")?.unwrap_or_default().into())
    }

    fn message(
        &self,
        turn: &mut Turn<'_>,
        _: Option<&Sender>,
        ToAsker::OrganizerCallback(payload): ToAsker,
    ) -> Result<(), Halt<NoRefusal>> {
        let mut told = turn.get::<Vec<CallbackPayload>>("told")?.unwrap_or_default();
        told.push(*payload);
        Ok(turn.put("told", &told)?)
    }
}

fn told(world: &mut World) -> Vec<CallbackPayload> {
    world.call("asker/a", &ProcessRequest::default()).unwrap()
}

#[test]
fn a_request_goes_through_its_phases_and_calls_back() {
    let (mut world, told) = world(|_, _| done(&planned()));
    assert_eq!(status(&mut world), None);
    assert_eq!(world.commits(), [], "asking after nothing leaves nothing");
    let accepted = process(&mut world, request(&[1]));
    assert_eq!(serde_json::to_value(accepted).unwrap()["status"], "accepted");
    // Every phase was passed, one commit each.
    let phases: Vec<Phase> = world
        .commits()
        .iter()
        .flat_map(|commit| &commit.rows)
        .filter_map(|write| match write {
            RowWrite::Put { key, row } if key == "state" => {
                Some(row.value.decode::<HasPhase>().unwrap().phase)
            }
            RowWrite::Put { .. } | RowWrite::Delete { .. } => None,
        })
        .collect();
    let all = [Phase::Pending, Phase::Processing, Phase::Publishing, Phase::Callback, Phase::Done];
    assert_eq!(phases, all);
    let standing = status(&mut world).unwrap();
    assert_eq!((standing.status.as_str(), standing.phase), ("done", Phase::Done));
    assert_eq!(standing.progress, Progress { total: 1, done: 1, ..Progress::default() });
    assert_eq!(standing.organizer, OrganizerKind::Builtin);
    let told = told.borrow();
    let [payload] = &told[..] else { panic!("{told:?}") };
    assert_eq!((payload.status, payload.summary.succeeded), (CallbackStatus::Success, 1));
    let [result] = &payload.results.as_ref().unwrap()[..] else { panic!("{payload:?}") };
    assert_eq!(
        (result.status, result.new_tip, result.new_parent_version),
        (PiStatus::Success, Some(tip()), Some(3))
    );
    assert_eq!(result.ungrouped_files.as_deref(), Some(&["b".to_owned()][..]));
    assert_eq!(result.llm_metrics.as_ref().unwrap().validation_warnings, ["w", "x"]);
    let [new] = &payload.new_pis[..] else { panic!("{payload:?}") };
    assert_eq!((&new.pi, &new.parent_pi), (&id(99), &id(1)));
    assert_eq!(new.processing_config, contract::ProcessingConfig::USUAL);
}

#[test]
fn a_directory_that_fails_is_retried_and_the_others_are_told_of() {
    for (succeed_at, attempts, status) in [(2, 2, CallbackStatus::Success), (4, 3, CallbackStatus::Partial)] {
        let seen = Rc::new(RefCell::new(0));
        let count = seen.clone();
        let (mut world, told) = world(move |lease, order| {
            if order.place == 0 {
                return done(&planned());
            }
            *count.borrow_mut() += 1;
            if *count.borrow() >= succeed_at {
                return done(&planned());
            }
            assert_eq!(lease.max_attempts, 3);
            failed("the model is tired")
        });
        process(&mut world, request(&[1, 2]));
        world.pass(minute(10));
        assert_eq!(*seen.borrow(), attempts);
        let told = told.borrow();
        let payload = &told[0];
        assert_eq!(payload.status, status);
        let results = payload.results.as_ref().unwrap();
        assert_eq!(results.len(), 2);
        if status == CallbackStatus::Partial {
            assert_eq!(results[1].error.as_deref(), Some("the model is tired"));
            assert_eq!((payload.summary.succeeded, payload.summary.failed), (1, 1));
        }
    }
}

#[test]
fn nothing_that_succeeds_is_an_error_with_its_reason() {
    let (mut world, told) = world(|_, _| done(&Judged::Failed { reason: "over the cap".to_owned() }));
    process(&mut world, request(&[1]));
    let told = told.borrow();
    assert_eq!((told[0].status, told[0].error.as_deref()), (CallbackStatus::Error, Some("over the cap")));
}

#[test]
fn few_files_are_a_success_that_says_why() {
    let skipped = Skipped { reason: "2 files".to_owned(), files: vec!["a".to_owned()], tip: tip(), ver: 7 };
    let (mut world, told) = world(move |_, _| done(&Judged::Skipped(skipped.clone())));
    process(&mut world, request(&[1]));
    let told = told.borrow();
    let result = &told[0].results.as_ref().unwrap()[0];
    assert_eq!(told[0].status, CallbackStatus::Success);
    assert_eq!((result.status, result.skipped.as_deref()), (PiStatus::Success, Some("2 files")));
    assert_eq!((result.new_parent_tip, result.new_version), (Some(tip()), Some(7)));
    assert_eq!(result.ungrouped_files.as_deref(), Some(&["a".to_owned()][..]));
}

#[test]
fn a_directory_that_is_named_twice_is_one() {
    let (mut world, told) = world(|_, _| done(&planned()));
    let accepted = process(&mut world, request(&[1, 2, 1]));
    assert_eq!(serde_json::to_value(accepted).unwrap()["total_pis"], 2);
    let told = told.borrow();
    let pis: Vec<&EntityId> = told[0].results.iter().flatten().map(|result| &result.pi).collect();
    assert_eq!(pis, [&id(1), &id(2)]);
}

#[test]
fn what_is_sent_again_while_it_runs_changes_nothing() {
    let (mut world, _) = world(|_, _| failed("never"));
    process(&mut world, request(&[1]));
    let again = process(&mut world, request(&[1, 2]));
    let expected = json!({"status": "already_processing", "chunk_id": "c", "phase": "PROCESSING"});
    assert_eq!(serde_json::to_value(again).unwrap(), expected);
    assert_eq!(status(&mut world).unwrap().progress.total, 1);
}

#[test]
fn a_finished_request_begins_again_and_is_forgotten_in_the_end() {
    let (mut world, told) = world(|_, _| done(&planned()));
    process(&mut world, request(&[1]));
    world.pass(day(29));
    process(&mut world, request(&[2]));
    assert_eq!(told.borrow().len(), 2);
    assert_eq!(told.borrow()[1].results.as_ref().unwrap()[0].pi, id(2));
    world.pass(day(29));
    assert_eq!(status(&mut world).unwrap().phase, Phase::Done);
    world.pass(day(2));
    assert_eq!(status(&mut world), None);
}

#[test]
fn a_callback_that_nobody_takes_is_a_dead_letter_and_can_be_replayed() {
    let tries = Rc::new(RefCell::new(Vec::<JobId>::new()));
    let (seen, up) = (tries.clone(), Rc::new(RefCell::new(false)));
    let is_up = up.clone();
    let mut world = World::new();
    world.object(Organizer::new(Options::builtin()));
    world.worker(jobs::QUEUE, jobs::LLM, |_| done(&planned()));
    world.worker(jobs::QUEUE, jobs::PUBLISH, |_| done(&published()));
    world.worker(jobs::QUEUE, jobs::CALLBACK, move |lease| {
        seen.borrow_mut().push(lease.lease.job);
        if *is_up.borrow() { done(&200) } else { failed("it answered 500") }
    });
    process(&mut world, request(&[1]));
    assert_eq!(status(&mut world).unwrap().phase, Phase::Callback);
    world.pass(minute(10));
    assert_eq!(tries.borrow().len(), 3);
    let standing = status(&mut world).unwrap();
    assert_eq!(standing.phase, Phase::Error);
    assert_eq!(standing.error.as_deref(), Some("the callback could not be delivered: it answered 500"));
    assert_eq!(standing.progress.done, 1, "nothing is wiped");
    *up.borrow_mut() = true;
    let job = tries.borrow()[0];
    world.write(Write::Retry { job }).unwrap();
    world.settle();
    assert_eq!(status(&mut world).unwrap().phase, Phase::Done);
}

#[test]
fn who_asks_by_message_is_answered_by_message() {
    let (mut world, over_http) = world(|_, _| done(&planned()));
    world.call::<Vec<CallbackPayload>>("asker/a", &request(&[1])).unwrap();
    let told = told(&mut world);
    assert_eq!((told.len(), told[0].status), (1, CallbackStatus::Success));
    assert_eq!(status(&mut world).unwrap().phase, Phase::Done);
    assert!(over_http.borrow().is_empty());
    let message = serde_json::to_value(FromOrganizer::OrganizerCallback(Box::new(told[0].clone()))).unwrap();
    assert!(message["organizer_callback"]["results"].is_array());
}

#[test]
fn a_bad_request_by_message_is_answered_and_not_a_dead_letter() {
    let (mut world, _) = world(|_, _| done(&planned()));
    world.call::<Vec<CallbackPayload>>("asker/a", &request(&[])).unwrap();
    let told = told(&mut world);
    assert_eq!(told[0].error.as_deref(), Some("Missing required fields: pis (at least one)"));
    assert_eq!(told[0].status, CallbackStatus::Error);
    assert!(world.dead_letters().is_empty());
    assert_eq!(status(&mut world), None);
}

#[test]
fn strategy_is_told_without_publishing() {
    let strategy =
        StrategizeResult { should_coordinate: true, guidance: "g".to_owned(), reasoning: "r".to_owned() };
    let answer = strategy.clone();
    let (mut world, told) = world(move |_, _| done(&Judged::Strategy(answer.clone())));
    let input = StrategizeInput {
        pi: None,
        directory_path: "d".to_owned(),
        files: serde_json::from_value(json!([{"name": "a", "type": "text", "content": "x"}])).unwrap(),
        total_file_count: 500,
        chunk_count: 10,
    };
    let request = ProcessRequest {
        operation: contract::Operation::Strategize,
        strategize: Some(input),
        ..request(&[])
    };
    process(&mut world, request);
    let told = told.borrow();
    assert_eq!(told[0].strategize_result.as_ref(), Some(&strategy));
    assert_eq!(
        (told[0].status, told[0].summary.total, &told[0].results),
        (CallbackStatus::Success, 1, &None)
    );
    assert_eq!(status(&mut world).unwrap().strategize_status.as_deref(), Some("done"));
}

#[test]
fn many_directories_are_told_of_in_parts_that_fit_a_message() {
    let files: Vec<String> = (0..700).map(|n| format!("{n:03}-{}", "x".repeat(60))).collect();
    let skipped = Skipped { reason: "so".to_owned(), files, tip: tip(), ver: 1 };
    let (mut world, _) = world(move |_, _| done(&Judged::Skipped(skipped.clone())));
    let pis: Vec<u32> = (0..40).collect();
    world.call::<Vec<CallbackPayload>>("asker/a", &request(&pis)).unwrap();
    let sent: Vec<usize> = world
        .commits()
        .iter()
        .flat_map(|commit| &commit.messages)
        .filter(|message| message.to.to_string() == "asker/a")
        .map(|message| message.body.len())
        .collect();
    assert!(sent.len() > 10 && sent.iter().all(|bytes| *bytes < 128_000), "{sent:?}");
}

#[test]
fn an_answer_that_was_paid_for_is_kept_and_counted_once() {
    let (mut world, _) = world(|_, _| failed("later"));
    process(&mut world, request(&[1]));
    let said = Said {
        value: json!({"groups": []}),
        model: "m".to_owned(),
        usage: Usage { input_tokens: 10, output_tokens: 5 },
        cost_micros: 300,
        requests: 2,
        repaired: false,
    };
    let paid = Paid::of(&said);
    let pay = |answer: Option<(String, Said)>| {
        let (is_reserved, unanswered_micros) = (false, 0);
        Call::Paid(Box::new(Paying { run: 1, place: 0, paid, is_reserved, unanswered_micros, answer }))
    };
    let kept = |key: &str| Call::Kept { run: 1, key: key.to_owned() };
    world.call::<Reply>("organizer/b:c", &pay(Some(("good".to_owned(), said.clone())))).unwrap();
    world.call::<Reply>("organizer/b:c", &pay(None)).unwrap();
    world.crash();
    let good = world.call::<Reply>("organizer/b:c", &kept("good")).unwrap();
    assert_eq!(good, Reply::Kept(Some(Box::new(said.clone()))));
    assert_eq!(world.call::<Reply>("organizer/b:c", &kept("bad")).unwrap(), Reply::Kept(None));
    let spend = status(&mut world).unwrap().spend;
    assert_eq!((spend.llm_calls, spend.tokens.total, spend.cost_usd), (4, 30, 0.000_6));
    let total: spending::Reply = world.call("organizer-spend/b", &spending::Ask::Total).unwrap();
    assert_eq!(total, spending::Reply::Total(paid.plus(paid)));
}

/// What is set aside for questions that are being asked counts, so that all of them together never cost more than they may.
#[test]
fn a_cap_holds_for_questions_that_are_being_asked() {
    use spending::{Add, Ask, Reply};
    let (mut world, _) = world(|_, _| done(&planned()));
    let reserve = |question: &str, least_micros| {
        let question = question.to_owned();
        Ask::Reserve { question, least_micros, cap_micros: 1_000 }
    };
    let ask = |world: &mut World, ask: Ask| world.call::<Reply>("organizer-spend/b", &ask).unwrap();
    let granted = |allowance_micros| Reply::Granted { allowance_micros };
    assert_eq!(ask(&mut world, reserve("a", 1_001)), Reply::Over { spent_micros: 0 });
    // As much as three requests may cost, or what is there.
    assert_eq!(ask(&mut world, reserve("a", 300)), granted(900));
    assert_eq!(ask(&mut world, reserve("b", 300)), Reply::Wait);
    assert_eq!(ask(&mut world, reserve("c", 100)), granted(100));
    let add = |question: &str, cost_micros, unanswered_micros| Add {
        paid: Paid { calls: 1, cost_micros, ..Paid::default() },
        question: Some(question.to_owned()),
        unanswered_micros,
    };
    world.send("organizer-spend/b", &add("a", 200, 0));
    assert_eq!(ask(&mut world, reserve("b", 300)), granted(700));
    // Nobody said what b took, since whoever asked died: it may have been all of it.
    world.crash();
    assert_eq!(ask(&mut world, reserve("b", 300)), Reply::Over { spent_micros: 900 });
    world.send("organizer-spend/b", &add("c", 10, 40));
    assert_eq!(ask(&mut world, reserve("d", 51)), Reply::Over { spent_micros: 950 });
    assert_eq!(ask(&mut world, reserve("d", 50)), granted(50));
    // What nobody speaks of any more counts as spent, too.
    world.pass(day(1));
    assert_eq!(ask(&mut world, reserve("e", 1)), Reply::Over { spent_micros: 1_000 });
}

#[test]
fn a_crash_at_any_commit_gives_one_callback_with_the_same_content() {
    let run = |crash: Option<(usize, Moment)>| {
        let (mut world, _) = world(|_, _| done(&planned()));
        if let Some((nth, moment)) = crash {
            world.crash_at_commit(nth, moment);
        }
        // A client that does not know whether it was heard asks again.
        for _ in 0..3 {
            let sent = world.call::<Vec<CallbackPayload>>("asker/a", &request(&[1, 2, 3]));
            if sent.is_ok() {
                break;
            }
        }
        world.pass(minute(10));
        let mut told = told(&mut world);
        assert_eq!(status(&mut world).unwrap().phase, Phase::Done);
        for payload in &mut told {
            payload.summary.processing_time_ms = 0;
        }
        told
    };
    let undisturbed = run(None);
    assert_eq!(undisturbed.len(), 1);
    for nth in 1..=16 {
        for moment in [Moment::BeforeItIsDurable, Moment::BeforeItIsAnswered] {
            let told = run(Some((nth, moment)));
            // A request that was taken and whose answer was lost is sent twice: the second one finds it done and begins again.
            assert!(!told.is_empty() && told.len() <= 2, "{nth} {moment:?}: {}", told.len());
            assert!(told.iter().all(|payload| *payload == undisturbed[0]), "{nth} {moment:?}");
        }
    }
}
