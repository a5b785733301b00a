//! Services of somebody else that read, extract or describe: asked about each directory, they call back.

use crate::rig::{BATCH, Organizing, Rig, names, rig};
use abide_engine::CallError;
use abide_engine::testing::second;
use abide_pipeline::calls::CallbackAnswer;
use abide_pipeline::contract::*;
use abide_pipeline::orders::{AWAY, AwayOrder};
use abide_pipeline::{Away, Call, Options, ServiceCallback};
use serde_json::json;

fn asked(rig: &Rig) -> Vec<AwayOrder> {
    let ran = rig.ran.borrow();
    let payloads = ran.iter().filter_map(|job| job.strip_prefix(&format!("{AWAY} ")));
    payloads.map(|payload| serde_json::from_str(payload).unwrap()).collect()
}

/// What a service says about a directory that it was asked about.
fn says(order: &AwayOrder, status: &str) -> Call {
    let request = &order.request;
    let payload: ServiceCallback = serde_json::from_value(json!({
        "batch_id": request.batch_id, "chunk_id": request.chunk_id, "status": status, "cost_usd": 0.5,
        "results": [{ "pi": request.pis[0], "status": status, "new_version": 9, "refs_completed": 2,
            "error": (status == "error").then_some("out of paper") }],
        "summary": { "total_refs": 2, "completed": 2 },
    }))
    .unwrap();
    Call::Answered { service: order.phase.as_str().to_owned(), payload: Box::new(payload) }
}

fn answer(rig: &mut Rig, order: &AwayOrder, status: &str) -> CallbackAnswer {
    rig.world.call(BATCH, &says(order, status)).unwrap()
}

fn everything_elsewhere() -> Options {
    Options { away: Away { ocr: true, pinax: true, description: true }, ..Options::default() }
}

#[test]
fn each_directory_is_asked_about_from_the_bottom_up() {
    let mut rig = rig(everything_elsewhere(), Organizing::Held);
    rig.begin(&[("/d", vec!["a.txt".to_owned(), "b.jpg.ref.json".to_owned()])]);
    let [read] = asked(&rig).try_into().unwrap();
    assert_eq!(read.phase, PhaseName::Ocr, "only a directory with images is asked about");
    assert_eq!(
        answer(&mut rig, &read, "partial"),
        CallbackAnswer { success: true, processed: 1, ignored: Vec::new() }
    );
    assert_eq!(answer(&mut rig, &read, "success").processed, 0, "once");
    for phase in [PhaseName::Pinax, PhaseName::Description] {
        for path in ["/d", "/"] {
            let order = asked(&rig).pop().unwrap();
            assert_eq!((order.phase, &order.request.pis), (phase, &vec![crate::rig::pi_of(path)]));
            answer(&mut rig, &order, "success");
        }
    }
    let status = rig.status();
    assert_eq!((status.status, status.directories_failed), (Status::Done, 0));
    assert_eq!((status.files.ocr_read, status.cost.cost_usd), (2, 2.5));
    assert_eq!(rig.node("/d").node.current_version, Some(9));
    assert!(!rig.ran.borrow().iter().any(|job| job.starts_with(PINAX) || job.starts_with(OCR)));
    rig.check_counters();
}

#[test]
fn one_that_fails_or_is_silent_is_asked_again_and_then_passed_over() {
    let away = Away { pinax: true, ..Away::default() };
    let mut rig = rig(Options { away, ..Options::default() }, Organizing::Held);
    rig.begin(&[("/d", names("a", 2))]);
    for attempt in 1..=3 {
        assert_eq!(asked(&rig).len(), attempt);
        let order = asked(&rig).pop().unwrap();
        answer(&mut rig, &order, "error");
    }
    assert_eq!(rig.node("/d").node.phase_errors["pinax"], "out of paper");
    // The topmost is next, and nobody answers: asked once more, then given up.
    assert_eq!(asked(&rig).len(), 4);
    rig.world.pass(second(901));
    assert_eq!(asked(&rig).len(), 5);
    rig.world.pass(second(901));
    assert_eq!(asked(&rig).len(), 5);
    let late = asked(&rig).pop().unwrap();
    assert_eq!(answer(&mut rig, &late, "success").processed, 0);
    let status = rig.status();
    assert_eq!((status.status, status.directories_failed), (Status::Done, 2));
    assert_eq!(rig.world.dead_letters(), []);
    rig.check_counters();
}

#[test]
fn a_service_that_is_ours_does_not_call_back() {
    let mut rig = rig(Options::default(), Organizing::Held);
    rig.begin(&[("/d", names("a", 3))]);
    let payload: ServiceCallback =
        serde_json::from_value(json!({ "batch_id": "b1", "chunk_id": "x", "results": [] })).unwrap();
    let call = Call::Answered { service: "pinax".to_owned(), payload: Box::new(payload) };
    let refused = rig.world.call::<CallbackAnswer>(BATCH, &call);
    assert!(matches!(refused, Err(CallError::Refused(no)) if no.code == "unknown_service"));
}
