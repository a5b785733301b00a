//! Answers and messages that come again, and those that make no sense.

use crate::rig::{BATCH, Organizing, answer, error, items, message, names, payload, rig};
use abide_engine::CallError;
use abide_engine::testing::hour;
use abide_organize::contract::CallbackStatus;
use abide_pipeline::calls::{CallbackAnswer, HaveAnswer};
use abide_pipeline::contract::*;
use abide_pipeline::{Call, Options};

fn callback(payload: abide_organize::contract::CallbackPayload) -> Call {
    Call::Callback { service: "organizer".to_owned(), payload: Box::new(payload), ignored: Vec::new() }
}

fn code(result: Result<CallbackAnswer, CallError>) -> &'static str {
    match result {
        Err(CallError::Refused(refused)) => refused.code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn everything_that_comes_again_changes_nothing() {
    let mut rig = rig(Options::default(), Organizing::Held);
    let dirs = [("/d", [names("a", 3), names("b", 3)].concat())];
    rig.start();
    rig.start();
    let brought = items(&dirs, ProcessingConfig::default());
    rig.bring(&brought);
    let again = Call::Items { life: rig.life(), from: 0, items: brought.clone(), last: true };
    let have: HaveAnswer = rig.world.call(BATCH, &again).unwrap();
    assert_eq!(have.have, None);
    let [request] = rig.held().try_into().unwrap();
    let first: CallbackAnswer = rig.world.call(BATCH, &callback(answer(&request))).unwrap();
    assert_eq!(first, CallbackAnswer { success: true, processed: 1, ignored: Vec::new() });
    let tree = rig.tree();
    let progress = rig.status().progress;
    for _ in 0..3 {
        let again: CallbackAnswer = rig.world.call(BATCH, &callback(answer(&request))).unwrap();
        assert_eq!(again, CallbackAnswer { success: true, processed: 0, ignored: Vec::new() });
        rig.answer(answer(&request));
        rig.answer(error(&request, "no, it failed"));
        rig.start();
        rig.world.send(BATCH, "tick");
        // Every alarm that was set rings.
        rig.world.pass(hour(1));
    }
    assert_eq!(rig.tree(), tree);
    assert_eq!(rig.status().progress, progress);
    assert_eq!(rig.status().status, Status::Done);
    assert_eq!(rig.world.dead_letters(), []);
    rig.check_counters();
}

#[test]
fn callbacks_that_make_no_sense_are_refused() {
    let mut rig = rig(Options::default(), Organizing::Held);
    let unknown =
        abide_organize::contract::ProcessRequest { batch_id: "b1".to_owned(), ..Default::default() };
    let no_batch = rig.world.call(BATCH, &callback(error(&unknown, "x")));
    assert_eq!(code(no_batch), "unknown_batch");
    // What is not there cannot be stopped.
    assert_eq!(code(rig.world.call(BATCH, &Call::Reset)), "unknown_batch");
    rig.begin(&[("/d", names("a", 5))]);
    let [request] = rig.held().try_into().unwrap();
    let nothing = rig.world.call(BATCH, &callback(payload(&request, CallbackStatus::Success)));
    assert_eq!(code(nothing), "no_results");
    let mut other = answer(&request);
    other.batch_id = "b2".to_owned();
    assert_eq!(code(rig.world.call(BATCH, &callback(other))), "other_batch");
    let (service, payload) = ("weather".to_owned(), Box::new(answer(&request)));
    let service = Call::Callback { service, payload, ignored: Vec::new() };
    assert_eq!(code(rig.world.call(BATCH, &service)), "unknown_service");
    // A result for a directory that was not asked about is passed over, and the chunk has none.
    let mut foreign = answer(&request);
    foreign.results.as_mut().unwrap()[0].pi = crate::rig::pi_of("/");
    let _: CallbackAnswer = rig.world.call(BATCH, &callback(foreign)).unwrap();
    assert_eq!(rig.status().status, Status::Reorganization);
    assert_eq!(rig.node("/d").node.retry_counts["reorganization"], 1);
    assert_eq!(rig.nodes().len(), 2);
}

/// It says less than one of the first.
#[test]
fn an_answer_of_the_second_generation_is_taken() {
    let mut rig = rig(Options::default(), Organizing::Held);
    rig.begin(&[("/d", [names("a", 5), names("u", 1)].concat())]);
    let [request] = rig.held().try_into().unwrap();
    let mut said = serde_json::to_value(answer(&request)).unwrap();
    let without = |value: &mut serde_json::Value, fields: &[&str]| {
        fields.iter().for_each(|field| drop(value.as_object_mut().unwrap().remove(*field)));
    };
    without(&mut said, &["operation", "organizer", "llm_calls", "tokens", "cost_usd"]);
    let result = &mut said["results"][0];
    without(result, &["new_parent_tip", "new_parent_version", "ungrouped_files", "llm_calls", "tokens"]);
    without(&mut result["group_entities"][0], &["tip", "ver"]);
    rig.answer(serde_json::from_value(said).unwrap());
    assert_eq!(rig.node("/d/A").text_files.len(), 5);
    assert_eq!(rig.node("/d").text_files.len(), 1);
    assert_eq!(rig.status().status, Status::Done);
}

#[test]
fn an_answer_names_files_that_are_not_there() {
    let mut rig = rig(Options::default(), Organizing::Held);
    rig.begin(&[("/d", names("a", 5))]);
    let [request] = rig.held().try_into().unwrap();
    let mut said = answer(&request);
    let groups = said.results.as_mut().unwrap()[0].group_entities.as_mut().unwrap();
    groups[0].files.push("stranger.txt".to_owned());
    rig.answer(said);
    assert_eq!(rig.node("/d/A").text_files.len(), 5);
}

#[test]
fn a_job_without_hope_is_said_so() {
    let mut world = abide_engine::testing::World::new();
    world.object(abide_pipeline::Pipeline::new(Options::default()));
    world.object(abide_pipeline::upload::Intake);
    world.worker(QUEUE, abide_pipeline::orders::DISCOVER, |_| {
        abide_engine::worker::failed_for_good("there is no manifest")
    });
    world.send(BATCH, &serde_json::json!({ "start": message() }));
    let status: StatusAnswer = world.call(BATCH, &Call::Status).unwrap();
    assert_eq!((status.status, status.error.as_deref()), (Status::Error, Some("there is no manifest")));
}

/// Only what is made of a directory becomes a part of it.
#[test]
fn a_directory_of_the_batch_is_no_group_of_another() {
    let mut rig = rig(Options::default(), Organizing::Held);
    rig.begin(&[("/d", names("a", 5)), ("/e", names("e", 1))]);
    let [request] = rig.held().try_into().unwrap();
    let mut said = answer(&request);
    let groups = said.results.as_mut().unwrap()[0].group_entities.as_mut().unwrap();
    groups[0].pi = crate::rig::pi_of("/e");
    rig.answer(said);
    assert_eq!(rig.status().status, Status::Done);
    assert_eq!((rig.node("/d").text_files.len(), rig.node("/e").text_files.len()), (5, 1));
    let notes = rig.status().notes;
    assert!(notes.iter().any(|note| note.ends_with("is no group of /d: it is /e")), "{notes:?}");
    rig.check_counters();
}

/// What cannot be done later either is not tried again.
#[test]
fn a_failure_without_hope_is_not_repeated() {
    let mut rig = rig(Options::default(), Organizing::Held);
    rig.begin(&[("/d", names("a", 5))]);
    let [request] = rig.held().try_into().unwrap();
    let mut said = error(&request, "the batch has cost what it may");
    said.retryable = Some(false);
    rig.answer(said);
    let status = rig.status();
    assert_eq!((status.status, status.directories_failed), (Status::Done, 1));
    assert_eq!(rig.node("/d").node.phase_errors["reorganization"], "the batch has cost what it may");
    assert_eq!(rig.held().len(), 1);
}
