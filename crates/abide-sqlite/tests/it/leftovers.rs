//! What is removed leaves nothing behind in the file.

use crate::world::{LIFE, claim, claimed, job, object, open, put_one, scratch};
use abide_core::commit::{AlarmWrite, Commit, Ending, FollowWrite, KeyedReply, Reply, TicketWrite};
use abide_core::event::Consumes;
use abide_core::job::{AttemptEnd, RetryWish};
use abide_core::json::Json;
use abide_core::name::{AlarmName, IdempotencyKey, LimitKey, QueueName, UniqueKey};
use abide_core::object::{Fence, Incarnation, ObjectKey, Version};
use abide_core::queue::QueuePolicy;
use abide_core::row::{Row, RowWrite};
use abide_core::seed::Seed;
use abide_core::ticket::Ticket;
use abide_core::time::Time;
use abide_store::{Store, Write};
use rusqlite::Connection;
use std::path::Path;

/// Tables that have rows, but for those that are meant to stay.
fn tables_with_rows(dir: &Path) -> Vec<String> {
    let conn = Connection::open(dir.join("abide.db")).unwrap();
    let mut tables = conn.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let names: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let has_rows = |name: &String| -> bool {
        conn.query_row(&format!("SELECT EXISTS (SELECT 1 FROM \"{name}\")"), [], |row| row.get(0)).unwrap()
    };
    let stays = |name: &str| matches!(name, "meta" | "queues" | "limit_policies");
    names.into_iter().filter(|name| !stays(name) && has_rows(name)).collect()
}

/// A turn that leaves a bit of everything.
fn full_turn() -> Commit {
    let fence = Fence::At { incarnation: Incarnation(7), version: Version(1), by: LIFE };
    let mut commit = Commit::new(object(), fence, LIFE, Time(1), Consumes::Call);
    let ticket = Ticket::draw(&mut Seed::new(1));
    let key = IdempotencyKey::new("call").unwrap();
    commit.keyed_reply = Some(KeyedReply { key, request: 1, reply: Reply::Later(ticket.clone()) });
    commit.rows = vec![RowWrite::Put { key: "b".into(), row: Row { schema: 1, value: Json::null() } }];
    commit.alarms = vec![AlarmWrite::Set { name: AlarmName::new("wake").unwrap(), at: Time(50) }];
    let source = ObjectKey::new("other", "one").unwrap();
    commit.follows = vec![FollowWrite::Follow { source, after: Default::default() }];
    commit.log = vec![Json::null(), Json::null()];
    commit.tickets = vec![TicketWrite::Open(ticket)];
    commit.jobs = (0..3)
        .map(|n| {
            let mut job = job(n);
            job.unique_key = Some(UniqueKey::new(format!("key-{n}")).unwrap());
            job.limit_keys = vec![LimitKey::new("host:a").unwrap()];
            job
        })
        .collect();
    commit
}

#[test]
fn what_is_deleted_swept_and_pruned_is_gone() {
    let dir = scratch();
    let mut store = open(dir.path());
    let policy = QueuePolicy {
        retain_ms: Some(1_000),
        retain_failed_ms: Some(1_000),
        forget_keys_after_ms: Some(1_000),
        ..QueuePolicy::default()
    };
    let queue = QueueName::new("q").unwrap();
    let mut keyed = job(9);
    keyed.unique_key = Some(UniqueKey::new("outside").unwrap());
    let rate = serde_json::from_str(r#"{"concurrency":1,"rates":["1/s"]}"#).unwrap();
    let host = LimitKey::new("host:*").unwrap();
    store
        .write(
            Time(10),
            &[
                Write::SetQueue { queue, policy },
                Write::SetLimit { key: host, policy: Some(rate) },
                put_one(0, "a", "1"),
                Write::Commit(Box::new(full_turn())),
                Write::Enqueue { jobs: vec![keyed, job(10)] },
            ],
        )
        .unwrap();
    let batch = store.write(Time(20), &[claim(10)]).unwrap();
    let ends = [
        AttemptEnd::Done { result: Json::null() },
        AttemptEnd::Error { reason: "no".into(), retry: RetryWish::Never },
        AttemptEnd::Skipped { reason: "nothing to do".into() },
    ];
    let leases = &claimed(&batch.written[0]).leases;
    assert_eq!(leases.len(), 3, "two from outside, and one that the limit lets through");
    let finish = |(lease, end): (&abide_core::job::Lease, AttemptEnd)| Write::Finish {
        lease: lease.lease,
        finish: end.into(),
        seed: 1,
    };
    store.write(Time(30), &leases.iter().zip(ends).map(finish).collect::<Vec<_>>()).unwrap();
    let fence = Fence::At { incarnation: Incarnation(7), version: Version(2), by: LIFE };
    let mut last = Commit::new(object(), fence, LIFE, Time(40), Consumes::Call);
    last.ending = Ending::Deleted;
    store.write(Time(40), &[Write::Commit(Box::new(last))]).unwrap();
    assert!(tables_with_rows(dir.path()).len() > 8, "{:?}", tables_with_rows(dir.path()));
    let later = Time(40 + 48 * 60 * 60 * 1000);
    store.write(later, &[Write::Sweep { max: 1_000 }, Write::Prune { max: 1_000 }]).unwrap();
    drop(store);
    assert_eq!(tables_with_rows(dir.path()), Vec::<String>::new());
}
