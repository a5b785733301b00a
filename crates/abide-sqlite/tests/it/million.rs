//! Every list and filter in a store with a million jobs:
//! `cargo test --release -p abide-sqlite --test it -- --ignored --nocapture every_list`.

use crate::world::{LIFE, job, object, open};
use abide_core::commit::Commit;
use abide_core::event::Consumes;
use abide_core::job::{JobId, JobState, NewJob};
use abide_core::name::{JobKind, LimitKey, QueueName, UniqueKey};
use abide_core::object::{Fence, Incarnation, ObjectKey, Version};
use abide_core::time::Time;
use abide_sqlite::SqliteStore;
use abide_store::view::{JobFilter, TimeRange};
use abide_store::{Answer, Read, Store, Write};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const JOBS: usize = 1_000_000;
const BATCH: usize = 10_000;
/// Of each batch, so many have an owner.
const OWNED: usize = 100;
/// How long a list may take.
const IN_TIME: Duration = Duration::from_millis(50);

fn one(number: usize) -> NewJob {
    NewJob {
        queue: QueueName::trusted(["mail", "download", "work"][number % 3]),
        kind: JobKind::trusted(["send", "fetch", "process", "index"][number % 4]),
        unique_key: Some(UniqueKey::trusted(format!("{:02}/{number}", number % 97))),
        limit_keys: vec![LimitKey::trusted(format!("host:{}", number % 1_000))],
        ..job(number)
    }
}

/// Jobs in three queues, a tenth of them cancelled, the last of each batch with an owner; each batch at a time of its own.
fn fill(store: &mut SqliteStore) {
    for batch in 0..JOBS / BATCH {
        let (first, at) = (batch * BATCH, Time(batch as i64 + 1));
        let jobs = (first..first + BATCH - OWNED).map(one).collect();
        let owned = enqueue_of_owner(batch as i64, (first + BATCH - OWNED..first + BATCH).map(one).collect());
        store.write(at, &[Write::Enqueue { jobs }, owned]).unwrap();
        let cancelled = (first..first + BATCH).step_by(10);
        let cancels: Vec<Write> =
            cancelled.map(|number| Write::Cancel { job: JobId(number as i64 + 1) }).collect();
        store.write(at, &cancels).unwrap();
    }
}

/// A turn of the owner, which was at `version` before.
fn enqueue_of_owner(version: i64, jobs: Vec<NewJob>) -> Write {
    let incarnation = Incarnation(1);
    let fence = match version {
        0 => Fence::Absent { begin: incarnation },
        _ => Fence::At { incarnation, version: Version(version), by: LIFE },
    };
    let commit = Commit::new(object(), fence, LIFE, Time(1), Consumes::Call);
    Write::Commit(Box::new(Commit { jobs, ..commit }))
}

fn filters() -> Vec<(&'static str, JobFilter)> {
    let all = JobFilter { limit: 1_000, ..JobFilter::default() };
    let state = |state| JobFilter { state: Some(state), ..all.clone() };
    let queue = Some(QueueName::trusted("mail"));
    let kind = Some(JobKind::trusted("index"));
    let early = TimeRange { from: Time(3), until: Time(4) };
    let with = |change: &dyn Fn(&mut JobFilter)| {
        let mut filter = all.clone();
        change(&mut filter);
        filter
    };
    vec![
        ("no filter", all.clone()),
        ("far back", with(&|filter| filter.before = Some(JobId(500)))),
        ("state ready", state(JobState::Ready)),
        ("state cancelled", state(JobState::Cancelled)),
        ("state failed, of which there is none", state(JobState::Failed)),
        ("queue", with(&|filter| filter.queue = queue.clone())),
        ("a queue that is not there", with(&|filter| filter.queue = Some(QueueName::trusted("none")))),
        ("kind", with(&|filter| filter.kind = kind.clone())),
        ("a kind that is not there", with(&|filter| filter.kind = Some(JobKind::trusted("none")))),
        ("owner", with(&|filter| filter.owner = Some(object()))),
        ("an owner that is not there", with(&|filter| filter.owner = ObjectKey::new("counter", "two").ok())),
        ("limit key", with(&|filter| filter.limit_key = Some(LimitKey::trusted("host:7")))),
        ("limit key that is not there", with(&|filter| filter.limit_key = Some(LimitKey::trusted("host:x")))),
        ("unique prefix", with(&|filter| filter.unique_prefix = Some("07/".to_owned()))),
        ("unique prefix that is not there", with(&|filter| filter.unique_prefix = Some("x".to_owned()))),
        ("created", with(&|filter| filter.created = early)),
        ("finished", with(&|filter| filter.finished = early)),
        (
            "state, queue and kind",
            with(&|filter| {
                filter.state = Some(JobState::Cancelled);
                filter.queue = queue.clone();
                filter.kind = kind.clone();
            }),
        ),
        (
            "everything at once",
            with(&|filter| {
                filter.state = Some(JobState::Cancelled);
                filter.queue = queue.clone();
                filter.kind = kind.clone();
                filter.limit_key = Some(LimitKey::trusted("host:7"));
                filter.unique_prefix = Some("07/".to_owned());
                filter.created = early;
                filter.finished = early;
            }),
        ),
    ]
}

#[test]
#[ignore = "fills a store with a million jobs"]
#[expect(clippy::disallowed_methods, reason = "measures")]
fn every_list_is_answered_in_time() {
    let dir = TempDir::new().unwrap();
    let mut store = open(dir.path());
    let began = Instant::now();
    fill(&mut store);
    println!("filled in {:.1} s", began.elapsed().as_secs_f64());
    let mut reader = store.reader().unwrap();
    let owned = JobFilter { owner: Some(object()), limit: 1_000, ..JobFilter::default() };
    let Answer::Jobs(owned) = reader.read(Time(JOBS as i64), &Read::Jobs(owned)).unwrap() else {
        panic!("the store answers about jobs in kind")
    };
    assert_eq!(owned.jobs.len(), 1_000, "jobs of an owner are there to be found");
    let mut reads: Vec<(&str, Read)> =
        filters().into_iter().map(|(name, filter)| (name, Read::Jobs(filter))).collect();
    reads.push(("queues", Read::Queues));
    reads.push(("limits", Read::Limits { after: None, limit: 1_000 }));
    reads.push(("objects", Read::Objects { kind: None, after: None, limit: 1_000 }));
    reads.push(("dead letters", Read::Dead { after: None, limit: 1_000 }));
    reads.push(("one job", Read::Job(JobId(5))));
    reads.push(("why of the last job", Read::Why(JobId(JOBS as i64))));
    let mut late = Vec::new();
    for (name, read) in reads {
        // The second time, as on a server that runs.
        let times = [(); 2].map(|()| {
            let began = Instant::now();
            reader.read(Time(JOBS as i64), &read).unwrap();
            began.elapsed()
        });
        println!("{name:40} {:8.1} ms {:8.1} ms", ms(times[0]), ms(times[1]));
        if times[1] > IN_TIME {
            late.push(name);
        }
    }
    assert!(late.is_empty(), "not in time: {late:?}");
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
