//! Rows of the first release, read and written on by this one.

use crate::world::{MAIN, counts, item, process_count, queue, rerun, submit, succeed};
use abide_coordinator::{
    Coordinator, Options, PROCESS, Processor, ProcessorResult, QUEUE, Status, ToCoordinator, WorkId,
};
use abide_core::job::{JobOutcome, NewJob};
use abide_core::json::Json;
use abide_core::name::{JobKind, QueueName, UniqueKey};
use abide_engine::object::NoRefusal;
use abide_engine::testing::{World, second};
use abide_engine::{Answer, CallError, Halt, Object, Turn, TurnError};
use serde_json::{Value, json};

/// The first release: items without `priority`. It is told what to write, and otherwise only shows it.
pub(crate) struct CoordinatorV1;

impl Object for CoordinatorV1 {
    const KIND: &'static str = "coordinator";
    type Call = Vec<Value>;
    type Reply = Value;
    type Message = ToCoordinator;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, items: Vec<Value>) -> Result<Answer<Value>, Halt<NoRefusal>> {
        let mut tally = json!({"given": 0, "pending": 0, "processing": 0, "completed": 0, "failed": 0});
        for (place, item) in (1_i64..).zip(&items) {
            let id = item["id"].as_str().expect("an id");
            turn.put(&format!("item/{place:016}"), item)?;
            turn.put(&format!("id/{id}"), &place)?;
            tally["given"] = place.into();
            let status = status_of(item);
            tally[&status] = (tally[&status].as_i64().unwrap_or(0) + 1).into();
            match status.as_str() {
                "processing" => turn.enqueue(job_of(item)?)?,
                "completed" | "failed" => {
                    let finished_at = item["updatedAt"].as_i64().unwrap_or(0);
                    let done = json!({"id": id, "place": place, "status": status, "finishedAt": finished_at});
                    turn.put(&format!("done/{finished_at:016}/{place:016}"), &done)?;
                }
                _ => {}
            }
        }
        if !items.is_empty() {
            turn.put("tally", &tally)?;
        }
        let shown: Vec<Value> = turn.scan("item/", None, 100)?.into_iter().map(|(_, item)| item).collect();
        Ok(Value::from(shown).into())
    }

    fn outcome(&self, _: &mut Turn<'_>, _: &JobOutcome) -> Result<(), Halt<NoRefusal>> {
        Ok(())
    }
}

fn status_of(item: &Value) -> String {
    match &item["state"] {
        Value::Object(state) => state.keys().next().cloned().unwrap_or_default(),
        state => state.as_str().unwrap_or_default().to_owned(),
    }
}

fn job_of(item: &Value) -> Result<NewJob, TurnError> {
    let payload = json!({
        "workId": item["id"], "payload": item["payload"], "coordinatorId": "main", "attempt": 1,
        "timestamps": item["timestamps"], "proof": item["proof"],
    });
    let key = UniqueKey::new(format!("{}/1", item["id"].as_str().unwrap_or_default()))?;
    let job = NewJob::new(QueueName::new(QUEUE)?, JobKind::new(PROCESS)?, Json::from(payload));
    Ok(NewJob { unique_key: Some(key), ..job })
}

/// An item as the first release wrote it.
pub(crate) fn v1_item(id: &str, state: Value) -> Value {
    json!({
        "id": id, "payload": {"message": id, "delay": 0, "timestamps": []}, "mode": "queue", "attempt": 1,
        "proof": "p", "state": state, "timestamps": [{"tag": "1-serverReceived", "time": 1}],
        "createdAt": 1, "updatedAt": 1_767_225_600_000_i64,
    })
}

#[test]
fn nothing_of_the_first_release_is_lost() {
    let mut world = World::new();
    world.object(CoordinatorV1);
    world.object(Processor);
    let items = [
        v1_item("finished", json!({"completed": {"result": {"pages": 3}}})),
        v1_item("broken", json!({"failed": {"error": "no good", "deadLetter": null}})),
        v1_item("under-way", json!("processing")),
    ];
    let written: Value = world.call(MAIN, &items).unwrap();
    assert_eq!(written, json!(items));

    world.deploy(Coordinator::new(&Options::default()));
    let commits = world.commits().len();
    let read = queue(&mut world);
    let shown: Vec<_> = read.iter().map(|item| json!([item.id, item.status, item.priority])).collect();
    assert_eq!(
        json!(shown),
        json!([["finished", "completed", 0], ["broken", "failed", 0], ["under-way", "processing", 0]])
    );
    assert_eq!(read[0].result.as_ref().unwrap().decode::<Value>().unwrap(), json!({"pages": 3}));
    assert_eq!(world.commits().len(), commits, "a read writes nothing");

    world.worker(QUEUE, PROCESS, succeed);
    world.crash();
    world.pass(second(1));
    let finished = item(&mut world, &WorkId("under-way".into()));
    assert_eq!(finished.status, Status::Completed, "a job of the first release is understood");
    let result: ProcessorResult = finished.result.unwrap().decode().unwrap();
    assert_eq!(result.process_count, 1);
    assert!(rerun(&mut world, &WorkId("broken".into()), None));
    submit(&mut world, &json!({"message": "new", "delay": 0, "priority": 7}));
    assert_eq!(counts(&mut world), [0, 0, 4, 0, 4]);
    assert_eq!(process_count(&mut world), 3);
    assert_eq!(world.dead_letters(), []);
}

#[test]
fn an_older_program_leaves_newer_rows_alone() {
    let mut world = World::new();
    world.object(Coordinator::new(&Options::default()));
    world.object(Processor);
    let id = submit(&mut world, &json!({"message": "m", "delay": 0, "priority": 7})).id;
    world.deploy(CoordinatorV1);
    let refused = world.call::<Value>(MAIN, &Vec::<Value>::new());
    let newer = TurnError::NewerRow { key: "item/0000000000000001".into(), found: 2, known: 1 };
    assert_eq!(refused, Err(CallError::Failed(newer)));
    world.deploy(Coordinator::new(&Options::default()));
    assert_eq!(item(&mut world, &id).priority, 7);
}
