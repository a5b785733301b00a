//! Our own organizer in one world with the pipeline: what waits in its queue is waited for, and what nobody wants any more is
//! neither asked nor published.

use crate::rig::{BATCH, Dir, Rig, cid, names, rig_with};
use abide_core::job::{AttemptEnd, Finish, JobId, Lease, RetryWish};
use abide_engine::testing::{day, hour, minute};
use abide_engine::worker::done;
use abide_organize::calls::{Call as Ask, Reply};
use abide_organize::contract::{LlmMetrics, Phase, Standing, StatusReply};
use abide_organize::jobs::{self, Judged, Outcome, Planned, Published, Skipped};
use abide_organize::{Group, Organizer, Plan, Spending};
use abide_pipeline::contract::*;
use abide_pipeline::{Call, Options};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

fn rig(
    options: Options,
    llm: impl FnMut(&Lease) -> Finish + 'static,
    publish: impl FnMut(&Lease) -> Finish + 'static,
) -> Rig {
    rig_with(options, |world| {
        world.object(Organizer::new(abide_organize::Options::builtin()));
        world.object(Spending { retain_ms: day(30) });
        world.worker(jobs::QUEUE, jobs::LLM, llm);
        world.worker(jobs::QUEUE, jobs::PUBLISH, publish);
    })
}

fn later(ms: i64) -> Finish {
    AttemptEnd::Error { reason: "not yet".to_owned(), retry: RetryWish::UncountedAfterMs(ms) }.into()
}

fn left_alone() -> Finish {
    let skipped = Skipped { reason: "so".to_owned(), files: Vec::new(), tip: cid("t"), ver: 1 };
    done(&Judged::Skipped(skipped))
}

fn planned() -> Finish {
    let files = vec!["a000.txt".to_owned(), "a001.txt".to_owned()];
    let group = Group { group_name: "G".to_owned(), description: "of a".to_owned(), files };
    let plan = Plan {
        groups: vec![group],
        ungrouped_files: Vec::new(),
        reorganization_description: "so".to_owned(),
    };
    done(&Judged::Planned(Box::new(Planned { plan, metrics: LlmMetrics::default() })))
}

fn published() -> Finish {
    let published =
        Published { tip: cid("p"), ver: 2, groups: Vec::new(), ungrouped: Vec::new(), warnings: Vec::new() };
    done(&Outcome::Published(Box::new(published)))
}

/// A model that answers one question after the other, each in a minute; and the questions that it was asked.
fn slow_model() -> (Rc<RefCell<BTreeSet<JobId>>>, impl FnMut(&Lease) -> Finish) {
    let asked = Rc::new(RefCell::new(BTreeSet::new()));
    let seen = Rc::clone(&asked);
    let (mut began, mut free) = (None, 0);
    let answer = move |lease: &Lease| {
        // Leases are of one length: by their ends it is known what time it is.
        let now = lease.lease_expires_at.since(*began.get_or_insert(lease.lease_expires_at));
        if !seen.borrow_mut().insert(lease.lease.job) {
            return left_alone();
        }
        free = now.max(free) + minute(1);
        later(free - now)
    };
    (asked, answer)
}

#[test]
fn what_waits_in_the_queue_of_the_organizer_is_not_asked_twice() {
    let (asked, model) = slow_model();
    let options = Options { batch_size_reorganization: 60, ..Options::default() };
    let mut rig = rig(options, model, |_| published());
    let paths: Vec<String> = (0..60).map(|n| format!("/d{n:02}")).collect();
    let dirs: Vec<Dir<'_>> = paths.iter().map(|path| (path.as_str(), names("a", 3))).collect();
    rig.begin(&dirs);
    rig.world.pass(minute(59));
    assert_eq!((rig.status().status, rig.status().in_flight), (Status::Reorganization, 1));
    rig.world.pass(minute(2));
    let status = rig.status();
    assert_eq!((status.status, status.directories_failed), (Status::Done, 0), "{:?}", status.notes);
    assert_eq!(asked.borrow().len(), 60);
    assert!(rig.nodes().iter().all(|node| node.retry_counts.is_empty()));
}

fn standing(rig: &mut Rig) -> Standing {
    let name = rig.to_organizers().remove(0).0;
    match rig.world.call::<Reply>(&name, &Ask::Status).unwrap() {
        Reply::Status(StatusReply::Found(standing)) => *standing,
        other => panic!("{other:?}"),
    }
}

/// Whether it is being asked or published: a batch that is stopped stops it.
#[test]
fn a_batch_that_is_stopped_stops_its_requests() {
    for at in [Phase::Processing, Phase::Publishing] {
        let counts = Rc::new(RefCell::new((0, 0)));
        let (asked, publishing) = (Rc::clone(&counts), Rc::clone(&counts));
        let model = move |_: &Lease| {
            asked.borrow_mut().0 += 1;
            let holds = at == Phase::Processing && asked.borrow().0 == 1;
            if holds { later(minute(1)) } else { planned() }
        };
        let publish = move |_: &Lease| {
            publishing.borrow_mut().1 += 1;
            if publishing.borrow().1 == 1 { later(minute(1)) } else { published() }
        };
        let mut rig = rig(Options::default(), model, publish);
        rig.begin(&[("/d", names("a", 5))]);
        assert_eq!(standing(&mut rig).phase, at);
        let before = *counts.borrow();
        let _: Value = rig.world.call(BATCH, &Call::Reset).unwrap();
        rig.world.pass(hour(1));
        assert_eq!(*counts.borrow(), before, "{at:?}: nobody is asked, nothing is published");
        let standing = standing(&mut rig);
        assert_eq!((standing.phase, standing.progress.failed), (Phase::Error, 1));
        assert_eq!(standing.error.as_deref(), Some("the batch was stopped"));
        assert_eq!(rig.world.dead_letters(), []);
    }
}
