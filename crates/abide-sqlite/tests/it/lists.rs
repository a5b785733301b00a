//! Lists of jobs among many.

use crate::world::{job, open, scratch};
use abide_core::job::{JobId, JobState, NewJob};
use abide_core::limit::LimitPolicy;
use abide_core::name::{JobKind, LimitKey, QueueName, UniqueKey};
use abide_core::time::Time;
use abide_core::why::{Ahead, WhyFacts};
use abide_sqlite::SqliteStore;
use abide_store::view::{JobFilter, JobPage, TimeRange};
use abide_store::{Answer, Read, Store, Write};
use rusqlite::Connection;

/// More than a page looks at.
const MANY: usize = 12_000;

fn page(store: &SqliteStore, filter: &JobFilter) -> JobPage {
    match store.reader().unwrap().read(Time(9), &Read::Jobs(filter.clone())).unwrap() {
        Answer::Jobs(page) => page,
        other => panic!("{other:?}"),
    }
}

/// How many pages a whole listing has, and which jobs.
fn whole(store: &SqliteStore, filter: &JobFilter) -> (usize, Vec<JobId>) {
    let (mut pages, mut ids, mut filter) = (0, Vec::new(), filter.clone());
    loop {
        let page = page(store, &filter);
        pages += 1;
        ids.extend(page.jobs.iter().map(|job| job.job));
        match page.next {
            Some(next) => filter.before = Some(next),
            None => return (pages, ids),
        }
    }
}

/// One job of another kind and queue, then many, then one that is cancelled.
fn filled() -> (tempfile::TempDir, SqliteStore) {
    let dir = scratch();
    let mut store = open(dir.path());
    let other = NewJob {
        queue: QueueName::trusted("other"),
        kind: JobKind::trusted("other"),
        unique_key: Some(UniqueKey::trusted("rare/1")),
        ..job(0)
    };
    store.write(Time(1), &[Write::Enqueue { jobs: vec![other] }]).unwrap();
    let jobs = (1..MANY).map(job).collect();
    store.write(Time(2), &[Write::Enqueue { jobs }, Write::Cancel { job: JobId(7) }]).unwrap();
    (dir, store)
}

#[test]
fn a_rare_job_is_found_page_by_page_or_at_once() {
    let (_dir, store) = filled();
    let all = JobFilter { limit: 10, ..JobFilter::default() };
    let kind = Some(JobKind::trusted("other"));
    assert_eq!(whole(&store, &JobFilter { kind, ..all.clone() }), (3, vec![JobId(1)]));
    let unique_prefix = Some("rare/".to_owned());
    assert_eq!(whole(&store, &JobFilter { unique_prefix, ..all.clone() }), (1, vec![JobId(1)]));
    let queue = Some(QueueName::trusted("other"));
    assert_eq!(whole(&store, &JobFilter { queue, ..all.clone() }), (1, vec![JobId(1)]));
    let state = Some(JobState::Cancelled);
    assert_eq!(whole(&store, &JobFilter { state, ..all.clone() }), (1, vec![JobId(7)]));
    let created = TimeRange { from: Time(1), until: Time(2) };
    assert_eq!(whole(&store, &JobFilter { created, ..all.clone() }), (1, vec![JobId(1)]));
    let finished = TimeRange { from: Time(2), until: Time(3) };
    assert_eq!(whole(&store, &JobFilter { finished, ..all.clone() }), (1, vec![JobId(7)]));
    let (pages, ids) = whole(&store, &JobFilter { state: Some(JobState::Ready), limit: 1_000, ..all });
    assert_eq!((pages, ids.len()), (12, MANY - 1));
    assert!(ids.is_sorted_by(|a, b| a > b));
}

/// What is known of why the first job does not run where each of so many hosts has another one parked.
fn why_beside(hosts: usize) -> WhyFacts {
    let dir = scratch();
    let mut store = open(dir.path());
    let class = LimitKey::trusted("host:*");
    let policy = Some(LimitPolicy { concurrency: Some(1), ..LimitPolicy::default() });
    let jobs = (0..2 * hosts)
        .map(|n| NewJob { limit_keys: vec![LimitKey::trusted(format!("host:{}", n % hosts))], ..job(n) });
    let enqueue = Write::Enqueue { jobs: jobs.collect() };
    store.write(Time(1), &[Write::SetLimit { key: class, policy }, enqueue]).unwrap();
    match store.reader().unwrap().read(Time(2), &Read::Why(JobId(1))).unwrap() {
        Answer::Why(Some(facts)) => *facts,
        other => panic!("{other:?}"),
    }
}

#[test]
fn why_looks_at_so_many_hosts_and_no_more() {
    assert_eq!(why_beside(800).ahead, Ahead::NONE);
    assert_eq!(why_beside(1_200).ahead, Ahead { count: 0, or_more: true });
}

#[test]
fn a_store_of_the_first_schema_is_brought_forward() {
    let (dir, store) = filled();
    drop(store);
    let conn = Connection::open(dir.path().join("abide.db")).unwrap();
    conn.execute_batch(
        "DROP INDEX jobs_by_queue; DROP INDEX jobs_over_by_id; DROP INDEX jobs_by_key; ALTER TABLE messages DROP COLUMN trace;
         DROP INDEX jobs_by_claim; ALTER TABLE jobs DROP COLUMN claim_key; ALTER TABLE jobs DROP COLUMN has_vacated;
         PRAGMA user_version = 1",
    )
    .unwrap();
    drop(conn);
    let store = open(dir.path());
    let filter = JobFilter { state: Some(JobState::Cancelled), limit: 10, ..JobFilter::default() };
    assert_eq!(whole(&store, &filter), (1, vec![JobId(7)]));
}
