//! Results from outside: proved, late, repeated.

use crate::world::{
    MAIN, Seen, counts, idle_world, item, noting, process_count, report, rerun, status, submit, submit_batch,
    succeed, world,
};
use abide_coordinator::{Call, PROCESS, QUEUE, ResultBy, Status, WorkId};
use abide_engine::CallError;
use abide_engine::testing::{World, minute, second};
use abide_engine::worker::{failed, failed_for_good};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A world with one item that will be tried again in a second, and its proof.
fn held() -> (World, WorkId, ResultBy) {
    let seen = Seen::default();
    let mut world = idle_world();
    world.worker(QUEUE, PROCESS, noting(&seen, |_| failed("not yet")));
    let id = submit(&mut world, &json!({"message": "m", "delay": 0})).id;
    let message = seen.borrow()[0].clone();
    (world, id, ResultBy::Attempt { attempt: message.attempt, proof: message.proof })
}

fn refusal(result: Result<(), CallError>) -> &'static str {
    match result {
        Err(CallError::Refused(refused)) => refused.code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_holds_the_proof_can_finish_an_item_once() {
    let (mut world, id, proof) = held();
    let body = json!({"result": {"n": 1}, "timestamps": [{"tag": "a", "time": 5}, {"tag": "b", "time": 9}]});
    report(&mut world, &id.0, proof.clone(), &body).unwrap();
    let finished = item(&mut world, &id);
    assert_eq!(finished.status, Status::Completed);
    assert_eq!(finished.result.clone().unwrap().decode::<Value>().unwrap(), json!({"n": 1}));
    assert_eq!(json!(finished.time_taken), json!(4));
    world.pass(minute(1));
    for by in [proof, ResultBy::Operator] {
        report(&mut world, &id.0, by.clone(), &json!({"result": {"n": 2}})).unwrap();
        report(&mut world, &id.0, by, &json!({"error": "no"})).unwrap();
    }
    assert_eq!(item(&mut world, &id), finished);
    assert_eq!(process_count(&mut world), 1);
    assert_eq!(counts(&mut world), [0, 0, 1, 0, 1]);
}

#[test]
fn others_need_the_proof_and_an_unknown_item_changes_nothing() {
    let (mut world, id, _) = held();
    let forged = ResultBy::Attempt { attempt: 1, proof: "0".repeat(32) };
    assert_eq!(refusal(report(&mut world, &id.0, forged.clone(), &json!({}))), "wrong_proof");
    assert_eq!(status(&mut world, &id), Status::Processing);
    report(&mut world, "nobody", forged, &json!({"result": 1})).unwrap();
    let unknown = world.call::<Value>(MAIN, &Call::item("nobody"));
    assert!(
        matches!(&unknown, Err(CallError::Refused(refused)) if refused.code == "unknown_work"),
        "{unknown:?}"
    );
    report(&mut world, &id.0, ResultBy::Operator, &json!({"error": "by hand"})).unwrap();
    assert_eq!(item(&mut world, &id).error.as_deref(), Some("by hand"));
}

#[test]
fn the_proof_of_a_former_attempt_is_late() {
    let (mut world, id, proof) = held();
    report(&mut world, &id.0, proof.clone(), &json!({"error": "broken"})).unwrap();
    assert!(rerun(&mut world, &id, None));
    report(&mut world, &id.0, proof, &json!({"result": "of the first attempt"})).unwrap();
    let item = item(&mut world, &id);
    assert_eq!((item.status, item.attempt, item.result), (Status::Processing, 2, None));
}

#[test]
fn a_job_that_finishes_after_a_result_came_changes_nothing() {
    let mut world = idle_world();
    let id = submit(&mut world, &json!({"message": "m", "delay": 0})).id;
    report(&mut world, &id.0, ResultBy::Operator, &json!({"result": "by hand"})).unwrap();
    let finished = item(&mut world, &id);
    world.worker(QUEUE, PROCESS, succeed);
    world.crash();
    world.pass(minute(1));
    assert_eq!(item(&mut world, &id), finished);
    assert_eq!(process_count(&mut world), 1);
}

#[test]
fn a_direct_item_that_got_its_result_from_outside_is_counted_once() {
    let mut world = idle_world();
    let delayed = json!({"message": "m", "delay": 5000, "mode": "direct"});
    let (done, failed) = (submit(&mut world, &delayed).id, submit(&mut world, &delayed).id);
    report(&mut world, &done.0, ResultBy::Operator, &json!({"result": 1})).unwrap();
    report(&mut world, &failed.0, ResultBy::Operator, &json!({"error": "no"})).unwrap();
    let before = [item(&mut world, &done), item(&mut world, &failed)];
    world.pass(second(10));
    assert_eq!([item(&mut world, &done), item(&mut world, &failed)], before);
    assert_eq!(process_count(&mut world), 1);
}

#[test]
fn an_item_that_is_begun_again_after_an_error_by_hand_is_counted_once() {
    for mode in ["queue", "direct"] {
        let mut world = idle_world();
        let id = submit(&mut world, &json!({"message": "m", "delay": 1000, "mode": mode})).id;
        report(&mut world, &id.0, ResultBy::Operator, &json!({"error": "wrong"})).unwrap();
        world.worker(QUEUE, PROCESS, succeed);
        world.crash();
        assert!(rerun(&mut world, &id, None));
        world.pass(second(10));
        assert_eq!(status(&mut world, &id), Status::Completed, "{mode}");
        assert_eq!(process_count(&mut world), 1, "{mode}");
    }
}

#[test]
fn an_empty_result_completes_an_item() {
    let mut world = idle_world();
    let id = submit(&mut world, &json!({"message": "m", "delay": 0})).id;
    report(&mut world, &id.0, ResultBy::Operator, &json!({})).unwrap();
    let item = item(&mut world, &id);
    assert_eq!((item.status, item.result), (Status::Completed, None));
}

#[test]
fn a_submission_that_is_repeated_under_its_key_is_taken_once() {
    let mut world = world();
    let call = Call::submit(&json!({"message": "m", "delay": 0})).unwrap();
    let first: Value = world.call_once(MAIN, &call, "k").unwrap();
    world.crash();
    assert_eq!(world.call_once::<Value>(MAIN, &call, "k").unwrap(), first);
    assert_eq!(counts(&mut world), [0, 0, 1, 0, 1]);
}

#[test]
fn each_attempt_has_a_proof_of_its_own() {
    let seen = Seen::default();
    let mut world = idle_world();
    world.worker(QUEUE, PROCESS, noting(&seen, |_| failed_for_good("no")));
    submit_batch(&mut world, &json!({"messages": vec!["m"; 100], "delay": 0}));
    let id = seen.borrow()[0].work_id.clone();
    assert!(rerun(&mut world, &id, None));
    let proofs: BTreeSet<String> = seen.borrow().iter().map(|message| message.proof.clone()).collect();
    assert_eq!(proofs.len(), 101);
}
