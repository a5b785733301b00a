//! The processor by itself, with an object that sends it work.

use crate::world::row_keys;
use abide_coordinator::{Processor, ProcessorResult, ToCoordinator, ToProcessor, Work, WorkId};
use abide_core::event::Sender;
use abide_engine::object::NoRefusal;
use abide_engine::testing::{World, minute, second};
use abide_engine::{Answer as TurnAnswer, Halt, Object, Turn, TurnError};
use abide_store::{Answer, Read};
use serde_json::json;

/// Sends the processor what it is told, and keeps the answers as `attempt:count`.
struct Client;

impl Object for Client {
    const KIND: &'static str = "client";
    type Call = Vec<ToProcessor>;
    type Reply = Vec<String>;
    type Message = ToCoordinator;
    type Refusal = NoRefusal;

    fn call(
        &self,
        turn: &mut Turn<'_>,
        sends: Vec<ToProcessor>,
    ) -> Result<TurnAnswer<Vec<String>>, Halt<NoRefusal>> {
        for message in &sends {
            turn.send(&"processor/p".parse().map_err(TurnError::from)?, message)?;
        }
        let answers: Vec<String> = turn.get("answers")?.unwrap_or_default();
        turn.put("answers", &answers)?;
        Ok(answers.into())
    }

    fn message(
        &self,
        turn: &mut Turn<'_>,
        _: Option<&Sender>,
        message: ToCoordinator,
    ) -> Result<(), Halt<NoRefusal>> {
        let ToCoordinator::Processed { attempt, result: ProcessorResult { process_count, .. }, .. } = message
        else {
            return Ok(());
        };
        let mut answers: Vec<String> = turn.get("answers")?.unwrap_or_default();
        answers.push(format!("{attempt}:{process_count}"));
        Ok(turn.put("answers", &answers)?)
    }
}

fn work(attempt: u32, delay: i64) -> Work {
    let payload = json!({"message": "m", "delay": delay, "timestamps": []});
    let payload = serde_json::from_value(payload).unwrap();
    Work { work_id: WorkId("w".into()), attempt, payload, timestamps: Vec::new() }
}

fn check(sends: Vec<ToProcessor>, expected: &[&str]) {
    let mut world = World::new();
    world.object(Client);
    world.object(Processor);
    for send in sends {
        world.call::<Vec<String>>("client/c", &[send]).unwrap();
        world.pass(second(1));
    }
    world.pass(minute(1));
    let answers: Vec<String> = world.call("client/c", &Vec::<ToProcessor>::new()).unwrap();
    assert_eq!(answers, expected);
    assert_eq!(world.dead_letters(), []);
}

#[test]
fn an_item_is_counted_once_however_often_it_is_sent() {
    let process = |attempt, delay| ToProcessor::Process(work(attempt, delay));
    let count = |attempt| ToProcessor::Count(work(attempt, 0));
    let cancel = || ToProcessor::Cancel { work_id: WorkId("w".into()) };
    let forget = || ToProcessor::Forget { work_ids: vec![WorkId("w".into())] };
    check(vec![process(1, 0), process(2, 0), count(3)], &["1:1", "2:1", "3:1"]);
    check(vec![process(1, 5000), process(1, 5000)], &["1:1"]);
    check(vec![process(1, 5000), process(2, 5000)], &["2:1"]);
    check(vec![process(2, 5000), process(1, 0)], &["2:1"]);
    check(vec![process(1, 5000), count(1)], &["1:1"]);
    check(vec![process(1, 5000), cancel()], &[]);
    check(vec![process(1, 5000), cancel(), process(2, 5000)], &["2:1"]);
    check(vec![count(1), cancel(), count(2)], &["1:1", "2:1"]);
    check(vec![count(1), forget(), count(2)], &["1:1", "2:2"]);
    check(vec![process(1, 5000), forget()], &[]);
}

#[test]
fn work_from_nobody_is_a_dead_letter() {
    let mut world = World::new();
    world.object(Processor);
    world.send("processor/p", &ToProcessor::Process(work(1, 0)));
    world.pass(minute(10));
    let dead = world.dead_letters();
    assert_eq!(dead.len(), 1);
    assert!(dead[0].error.contains("no_sender"), "{}", dead[0].error);
}

#[test]
fn a_cancelled_item_leaves_nothing_behind() {
    let mut world = World::new();
    world.object(Client);
    world.object(Processor);
    let cancel = ToProcessor::Cancel { work_id: WorkId("w".into()) };
    world.call::<Vec<String>>("client/c", &[ToProcessor::Process(work(1, 5000)), cancel]).unwrap();
    match world.read(Read::Object("processor/p".parse().unwrap())) {
        Answer::Object(Some(view)) => assert_eq!(view.alarms, []),
        other => panic!("{other:?}"),
    }
    assert_eq!(row_keys(&mut world, "processor/p"), Vec::<String>::new());
}
