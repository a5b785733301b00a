//! Crashes at every commit: the batch finishes, each task once, counters exact.

use crate::world::{
    B, callback, counts, file, life, message, options, orders, output, status, success, world,
};
use abide_engine::testing::{Moment, World, minute};
use abide_preprocess::calls::HaveAnswer;
use abide_preprocess::{Call, Report};
use std::collections::BTreeSet;

/// Asks until it is answered, as a worker does that lost its connection.
fn drive(world: &mut World) {
    let started = Call::Start(Box::new(message()));
    while world.call::<serde_json::Value>(B, &started).is_err() {}
    let files = vec![file("a.tif", "image/tiff"), file("b.tif", "image/tiff"), file("c.png", "image/png")];
    let life = life(world);
    loop {
        let call = Call::Files { life, from: 0, files: files.clone(), last: true };
        if let Ok(HaveAnswer { have: None }) = world.call::<HaveAnswer>(B, &call) {
            break;
        }
    }
    let mut fail_first = BTreeSet::new();
    for _ in 0..20 {
        world.pass(minute(1));
        for tag in ["tiff", "image"] {
            for order in orders(world, tag) {
                let first = fail_first.insert(order.attempt.task_id.clone());
                let report = if first { Report::error("out of memory") } else { success(&order) };
                while callback(world, &order.attempt, report.clone()).is_err() {}
            }
        }
        if matches!(world.call::<abide_preprocess::calls::StatusAnswer>(B, &Call::Status), Ok(status) if status.status == "DONE")
        {
            return;
        }
    }
}

#[test]
fn a_crash_at_any_commit_loses_nothing() {
    let mut points = 0;
    for moment in [Moment::BeforeItIsDurable, Moment::BeforeItIsAnswered] {
        for nth in 1.. {
            let mut world = world(options());
            world.crash_at_commit(nth, moment);
            drive(&mut world);
            assert_eq!(status(&mut world).status, "DONE", "{moment:?} {nth}");
            assert_eq!(counts(&mut world), [[2, 2, 0, 0], [0, 0, 0, 0], [3, 3, 0, 0]], "{moment:?} {nth}");
            let ledger = status(&mut world).inputs;
            assert_eq!((ledger.total, ledger.converted, ledger.open), (3, 3, 0));
            let keys: Vec<_> = output(&mut world).into_iter().map(|file| file.r2_key).collect();
            assert_eq!(keys.len(), 5);
            assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), 5);
            assert_eq!(world.dead_letters(), []);
            let lives: BTreeSet<_> = world.commits().iter().map(|commit| commit.by).collect();
            if nth > 1 && lives.len() == 1 {
                break;
            }
            points += 1;
        }
    }
    assert!(points > 20, "there were only {points} points to die at");
}
