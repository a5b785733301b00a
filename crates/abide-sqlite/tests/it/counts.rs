//! What verbs cost, counted: it must not grow with what lies around.

use crate::world::{claim, claimed, job, open, put, put_one, row, scratch};
use abide_core::job::{AttemptEnd, NewJob};
use abide_core::json::Json;
use abide_core::time::Time;
use abide_sqlite::{Counts, SqliteStore};
use abide_store::{Batch, Store, Write, Written};

/// What `work` took.
fn cost(store: &mut SqliteStore, now: i64, batch: &[Write]) -> (Counts, Batch) {
    let before = store.counts();
    let answer = store.write(Time(now), batch).unwrap();
    let after = store.counts();
    let counts = Counts {
        statements: after.statements - before.statements,
        steps: after.steps - before.steps,
        rows_written: after.rows_written - before.rows_written,
        commits: after.commits - before.commits,
    };
    (counts, answer)
}

/// A turn that puts one row of an object with this many.
fn one_row_turn(rows: usize) -> Counts {
    let dir = scratch();
    let mut store = open(dir.path());
    let many = (0..rows).map(|n| (format!("row-{n:06}"), format!("{n}")));
    store.write(Time(1), &[put(0, many)]).unwrap();
    store.write(Time(2), &[put_one(1, "row-000005", "1")]).unwrap();
    let (counts, batch) = cost(&mut store, 3, &[put_one(2, "row-000005", "2")]);
    assert!(matches!(batch.written.as_slice(), [Written::Committed(Ok(_))]));
    assert_eq!(row(&store, "row-000005").as_deref(), Some("2"));
    counts
}

#[test]
fn a_turn_costs_the_same_on_a_large_object() {
    let small = one_row_turn(10);
    assert_eq!(one_row_turn(100_000), small);
    // BEGIN, has somebody else written, the fence, the row, the clock, COMMIT; three rows; one sync.
    assert_eq!((small.statements, small.rows_written, small.commits), (6, 3, 1));
}

#[test]
fn a_batch_of_turns_syncs_once() {
    let dir = scratch();
    let mut store = open(dir.path());
    store.write(Time(1), &[put_one(0, "count", "0")]).unwrap();
    let turns: Vec<Write> = (1..=100).map(|n| put_one(n, "count", &n.to_string())).collect();
    let (counts, _) = cost(&mut store, 2, &turns);
    assert_eq!((counts.statements, counts.rows_written, counts.commits), (204, 201, 1));
}

/// A claim of ten jobs, and their ends, with this many more waiting.
fn claim_of_ten(backlog: usize) -> (Counts, Counts) {
    let dir = scratch();
    let mut store = open(dir.path());
    let jobs: Vec<NewJob> = (0..backlog + 20).map(job).collect();
    store.write(Time(1), &[Write::Enqueue { jobs }]).unwrap();
    // What is read ahead once for the claims that follow is not what is counted here.
    store.write(Time(2), &[claim(10)]).unwrap();
    let mut store = {
        drop(store);
        open(dir.path())
    };
    let (claiming, batch) = cost(&mut store, 3, &[claim(10)]);
    let leases = &claimed(&batch.written[0]).leases;
    assert_eq!(leases.len(), 10);
    let done = AttemptEnd::Done { result: Json::null() };
    let finish = |lease| Write::Finish { lease, finish: done.clone().into(), seed: 1 };
    let ends: Vec<Write> = leases.iter().map(|lease| finish(lease.lease)).collect();
    let (finishing, _) = cost(&mut store, 4, &ends);
    (claiming, finishing)
}

#[test]
fn a_claim_costs_the_same_before_a_long_backlog() {
    let (claiming, finishing) = claim_of_ten(1_000);
    assert_eq!(claim_of_ten(100_000), (claiming, finishing));
    // Each: the lease and the payload. Once: BEGIN, version, own key, heads, queue, key, clock, COMMIT.
    assert_eq!((claiming.statements, claiming.rows_written, claiming.commits), (28, 13, 1));
    // Each: the end. In eights: the history. Once: BEGIN, version, queue, key, clock, COMMIT.
    assert_eq!((finishing.statements, finishing.rows_written, finishing.commits), (19, 23, 1));
}
