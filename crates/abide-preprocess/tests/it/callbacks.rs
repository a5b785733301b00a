//! Callbacks: repeated, late, forged and wrong ones.

use crate::world::{B, callback, counts, file, options, orders, signer, start, success, tasks, world};
use abide_engine::testing::{World, minute};
use abide_preprocess::calls::{AttemptRef, OkAnswer};
use abide_preprocess::report::Outputs;
use abide_preprocess::{Call, Report, TaskStatus, jobs};

fn one() -> (World, jobs::Order) {
    let mut world = world(options());
    start(&mut world, vec![file("a.tif", "image/tiff"), file("b.tif", "image/tiff")]);
    let order = orders(&mut world, "tiff").remove(0);
    (world, order)
}

#[test]
fn a_repeated_callback_changes_nothing() {
    let (mut world, order) = one();
    callback(&mut world, &order.attempt, success(&order)).unwrap();
    assert_eq!(counts(&mut world)[0], [2, 1, 0, 1]);
    let before = world.commits().len();
    for report in [success(&order), Report::error("no, it failed")] {
        assert!(callback(&mut world, &order.attempt, report).unwrap().ok);
    }
    assert_eq!(world.commits().len(), before);
}

#[test]
fn a_late_callback_of_a_former_attempt_changes_nothing() {
    let (mut world, order) = one();
    callback(&mut world, &order.attempt, Report::error("timed out")).unwrap();
    world.pass(minute(1));
    assert_eq!(counts(&mut world)[0], [2, 0, 0, 2]);
    let before = world.commits().len();
    assert!(callback(&mut world, &order.attempt, success(&order)).unwrap().ok);
    assert_eq!(world.commits().len(), before);
    assert_eq!(tasks(&mut world).tasks[0].retry_count, 1);
}

#[test]
fn a_forged_callback_is_refused() {
    let (mut world, order) = one();
    let right = order.attempt.clone();
    let signature = jobs::sign(&signer(), "b1", &right);
    let cases = [
        (AttemptRef { attempt: 2, ..right.clone() }, signature.clone()),
        (AttemptRef { life: abide_core::object::Incarnation(0), ..right.clone() }, signature.clone()),
        (AttemptRef { task_id: "b1_tiff_0000002".to_owned(), ..right.clone() }, signature.clone()),
        (right.clone(), String::new()),
        (right.clone(), jobs::sign(&abide_blob::Signer::new([4; 32]), "b1", &right)),
        (right.clone(), jobs::sign(&signer(), "b2", &right)),
    ];
    let before = world.commits().len();
    for (attempt, signature) in cases {
        let call = Call::Callback { attempt, signature, report: Box::new(success(&order)), in_parts: 0 };
        let refused = world.call::<OkAnswer>(B, &call).unwrap_err();
        assert!(refused.to_string().contains("signature"), "{refused}");
    }
    let other = AttemptRef { task_id: "b1_tiff_0000009".to_owned(), ..right };
    assert!(callback(&mut world, &other, success(&order)).unwrap_err().to_string().contains("no task"));
    assert_eq!(world.commits().len(), before);
}

#[test]
fn a_callback_about_another_batch_is_refused() {
    let mut world = world(options());
    start(&mut world, vec![file("a.tif", "image/tiff")]);
    let order = orders(&mut world, "tiff").remove(0);
    let report = Report { batch_id: Some("b2".to_owned()), ..success(&order) };
    let refused = callback(&mut world, &order.attempt, report).unwrap_err().to_string();
    assert!(refused.contains("the report is about \"b2\""), "{refused}");
    assert_eq!(counts(&mut world)[0], [1, 0, 0, 1]);
}

#[test]
fn a_success_that_is_not_complete_is_a_failure_with_that_reason() {
    let (_, order) = one();
    let with = |change: fn(&mut Outputs)| {
        let mut report = success(&order);
        change(&mut report.made);
        report
    };
    let outside = with(|made| made.output_r2_key = Some("staging/b10/a.jpg".to_owned()));
    let over = with(|made| made.output_r2_key = Some("staging/b1/b.jpg".to_owned()));
    let cases = [
        (with(|made| made.output_r2_key = None), "without output_r2_key"),
        (with(|made| made.output_file_name = None), "without output_file_name"),
        (with(|made| made.output_file_size = Some(0)), "no bytes"),
        (outside, "outside of staging/b1/"),
        (over, "staging/b1/a.jpg was expected"),
        (Report::error(""), "gave no reason"),
    ];
    for (report, reason) in cases {
        let (mut world, order) = one();
        callback(&mut world, &order.attempt, report).unwrap();
        let task = &tasks(&mut world).tasks[0];
        assert_eq!((task.status, task.retry_count), (TaskStatus::Pending, 1));
        assert!(task.error.as_deref().unwrap().contains(reason), "{task:?}");
    }
}
