//! Callbacks: repeated, late, forged and wrong ones.

use crate::world::{B, begin, callback, counts, file, options, orders, signer, start, success, tasks, world};
use abide_engine::testing::{World, hour, minute};
use abide_engine::worker::done;
use abide_preprocess::calls::{AttemptRef, CheckAnswer, OkAnswer, TaskDocument};
use abide_preprocess::jobs::Ended;
use abide_preprocess::report::{Hindrance, Outputs, PageOutput};
use abide_preprocess::{Call, Holder, Options, Report, TaskStatus, jobs};

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
    assert_eq!(counts(&mut world)[0], [2, 1, 0, 0]);
    let before = world.commits().len();
    for report in [success(&order), Report::error("no, it failed")] {
        assert!(callback(&mut world, &order.attempt, report).unwrap().ok);
    }
    assert_eq!(world.commits().len(), before);
}

/// Those that wait for a place, or for another attempt, are not in flight.
#[test]
fn what_a_worker_has_begun_is_in_flight_as_long_as_it_is_at_it() {
    let (mut world, order) = one();
    let latest = |world: &mut World| orders(world, "tiff").into_iter().next_back().unwrap();
    assert_eq!(counts(&mut world)[0], [2, 0, 0, 0]);
    for _ in 0..2 {
        assert!(begin(&mut world, &order.attempt).go);
        assert_eq!(counts(&mut world)[0], [2, 0, 0, 1]);
    }
    callback(&mut world, &order.attempt, Report::error("timed out")).unwrap();
    assert_eq!(counts(&mut world)[0], [2, 0, 0, 0]);
    let second = latest(&mut world);
    assert!(begin(&mut world, &second.attempt).go);
    let full = Report { hindered_by: Some(Hindrance::Bucket), ..Report::error("No space left on device") };
    callback(&mut world, &second.attempt, full).unwrap();
    assert_eq!(counts(&mut world)[0], [2, 0, 0, 0]);
    let third = latest(&mut world);
    assert!(begin(&mut world, &third.attempt).go);
    callback(&mut world, &third.attempt, success(&third)).unwrap();
    assert_eq!(counts(&mut world)[0], [2, 1, 0, 0]);
    let other = orders(&mut world, "tiff").into_iter().find(|other| other.input != order.input).unwrap();
    assert!(begin(&mut world, &other.attempt).go);
    assert_eq!(counts(&mut world)[0], [2, 1, 0, 1]);
    let _: OkAnswer = world.call(B, &Call::Reset).unwrap();
    assert_eq!(counts(&mut world)[0], [2, 1, 0, 0]);
}

#[test]
fn a_late_callback_of_a_former_attempt_changes_nothing() {
    let (mut world, order) = one();
    callback(&mut world, &order.attempt, Report::error("timed out")).unwrap();
    world.pass(minute(1));
    assert_eq!(counts(&mut world)[0], [2, 0, 0, 0]);
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
    assert_eq!(counts(&mut world)[0], [1, 0, 0, 0]);
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
        (
            with(|made| made.output_file_name = Some("../../etc/evil.jpg".to_owned())),
            "not the name of a file",
        ),
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

#[test]
fn a_first_page_that_is_not_the_output_is_a_failure_with_that_reason() {
    let page = |r2_key: &str, file_name: &str, file_size: u64| PageOutput {
        page: 1,
        r2_key: r2_key.to_owned(),
        file_name: file_name.to_owned(),
        file_size,
        text_r2_key: None,
        text_file_size: None,
    };
    let cases = [
        (page("staging/b1/a-p0001.jpg", "a.tif.jpg", 5), Some("staging/b1/a-p0001.jpg as its first page")),
        (page("staging/b1/a.jpg", "a-p0001.jpg", 5), Some("a-p0001.jpg as its first page")),
        (page("staging/b1/a.jpg", "a.tif.jpg", 6), Some("reported 5 bytes as its output, and 6 bytes")),
        (page("staging/b1/a.jpg", "a.tif.jpg", 5), None),
    ];
    for (page, reason) in cases {
        let (mut world, order) = one();
        let report = Report { outputs: Some(vec![page]), ..success(&order) };
        callback(&mut world, &order.attempt, report).unwrap();
        let task = tasks(&mut world).tasks.remove(0);
        match reason {
            Some(reason) => {
                assert!(task.error.as_deref().is_some_and(|error| error.contains(reason)), "{task:?}")
            }
            None => assert_eq!(task.status, TaskStatus::Completed),
        }
    }
}

/// A worker that found no room, so often.
fn hindered(mut world: World, by: Hindrance, times: u32) -> (World, TaskDocument) {
    start(&mut world, vec![file("a.tif", "image/tiff")]);
    for _ in 0..times {
        let Some(order) = orders(&mut world, "tiff").into_iter().next_back() else { break };
        let full = Report { hindered_by: Some(by), ..Report::error("No space left on device") };
        callback(&mut world, &order.attempt, full).unwrap();
        world.pass(minute(2));
    }
    let task = tasks(&mut world).tasks.remove(0);
    (world, task)
}

#[test]
fn a_full_disk_uses_up_no_attempt() {
    for by in [Hindrance::Bucket, Hindrance::Machine] {
        let (mut world, task) = hindered(world(options()), by, 9);
        let waits = (TaskStatus::Pending, 0, Some("No space left on device"));
        assert_eq!((task.status, task.retry_count, task.error.as_deref()), waits);
        let order = orders(&mut world, "tiff").into_iter().next_back().unwrap();
        callback(&mut world, &order.attempt, success(&order)).unwrap();
        assert_eq!(tasks(&mut world).tasks[0].status, TaskStatus::Completed);
        assert_eq!(counts(&mut world)[0], [1, 1, 0, 0]);
    }
}

#[test]
fn a_machine_of_its_own_that_is_too_small_does() {
    let elsewhere = || world(Options { shares_disk: false, ..options() });
    let (_, task) = hindered(elsewhere(), Hindrance::Machine, 9);
    assert_eq!((task.status, task.retry_count), (TaskStatus::Failed, 2));
    let (_, task) = hindered(elsewhere(), Hindrance::Bucket, 9);
    assert_eq!((task.status, task.retry_count), (TaskStatus::Pending, 0), "the bucket is everybody's");
}

#[test]
fn a_worker_that_failed_where_there_is_no_room_has_not() {
    let mut world = world(options());
    let mut left = 5;
    world.worker(jobs::QUEUE, "tiff", move |_| {
        left -= 1;
        let reason = "its worker ended with exit code 1; the disk has 0 bytes free".to_owned();
        done(&if left >= 0 { Ended::NoRoom { reason } } else { Ended::Failed { reason: "no".to_owned() } })
    });
    start(&mut world, vec![file("a.tif", "image/tiff")]);
    world.pass(hour(1));
    let task = tasks(&mut world).tasks.remove(0);
    assert_eq!((task.status, task.retry_count), (TaskStatus::Failed, 2), "{task:?}");
}

#[test]
fn an_attempt_that_is_over_may_write_no_more() {
    let (mut world, order) = one();
    let holder = Holder { batch: "b1".to_owned(), attempt: order.attempt.clone() };
    assert_eq!(Holder::parse(&holder.to_string()), Some(holder.clone()));
    let check = holder.check(&signer());
    for _ in 0..2 {
        let _: CheckAnswer = world.call(B, &check).unwrap();
    }
    callback(&mut world, &order.attempt, Report::error("timed out")).unwrap();
    let refused = world.call::<CheckAnswer>(B, &check).unwrap_err().to_string();
    assert!(refused.contains("attempt 1 of task b1_tiff_0000001 is over"), "{refused}");
    let second = AttemptRef { attempt: 2, ..order.attempt.clone() };
    let holder = Holder { attempt: second.clone(), ..holder };
    let _: CheckAnswer = world.call(B, &holder.check(&signer())).unwrap();
    callback(&mut world, &second, success(&order)).unwrap();
    assert!(world.call::<CheckAnswer>(B, &holder.check(&signer())).is_err(), "also once it succeeded");
    for nothing in ["", "b1", "b1/t/1", "b1/t/x/1", "b1/t/1/2/3", "b1//1/1"] {
        assert_eq!(Holder::parse(nothing), None, "{nothing:?}");
    }
}
