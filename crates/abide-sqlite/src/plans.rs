//! How SQLite runs every statement of this crate: by seeking, not by looking through whole tables.

use crate::{SqliteStore, open};
use abide_store::suite::cases;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use tempfile::TempDir;

thread_local! {
    /// The text of every statement that this thread has run.
    static SEEN: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

/// Notes a statement.
pub(crate) fn see(sql: &str) {
    SEEN.with_borrow_mut(|seen| {
        if !seen.contains(sql) {
            seen.insert(sql.to_owned());
        }
    });
}

/// Tables that are read whole on purpose: they have a row for each thing that an operator set up, not for each job or
/// object. And what a subquery has bounded already.
const SMALL: [&str; 5] = ["queues", "limit_policies", "workers", "CONSTANT ROW", "(subquery"];

#[test]
fn every_statement_seeks() {
    exercise();
    let dir = scratch();
    let store = SqliteStore::open(dir.path()).unwrap();
    let conn = rusqlite::Connection::open(dir.path().join(open::FILE)).unwrap();
    drop(store);
    let seen = SEEN.with_borrow(Clone::clone);
    assert!(seen.len() > 100, "only {} statements were run", seen.len());
    let mut slow = Vec::new();
    for sql in seen.iter().filter(|sql| !is_control(sql)) {
        for step in plan(&conn, sql) {
            let is_small = SMALL.iter().any(|table| step.starts_with(&format!("SCAN {table}")));
            // The first entry of an index, or of a table that is looked at from its beginning.
            let takes_first = sql.trim_end().ends_with("LIMIT 1") || sql.starts_with("SELECT EXISTS");
            let scans = step.starts_with("SCAN") && !is_small && !takes_first;
            if scans || step.contains("TEMP B-TREE") {
                slow.push(format!("{step}\n    {sql}"));
            }
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}

/// Runs every verb, most of them in many ways.
fn exercise() {
    for case in cases() {
        let dir = scratch();
        (case.run)(&mut SqliteStore::open(dir.path()).unwrap());
    }
}

fn is_control(sql: &str) -> bool {
    ["BEGIN", "COMMIT", "ROLLBACK", "PRAGMA"].iter().any(|word| sql.starts_with(word))
}

fn plan(conn: &rusqlite::Connection, sql: &str) -> Vec<String> {
    let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let parameters = vec![rusqlite::types::Null; statement.parameter_count()];
    let steps = statement.query_map(rusqlite::params_from_iter(parameters), |row| row.get(3)).unwrap();
    steps.map(Result::unwrap).collect()
}

/// A directory in memory where there is one.
fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory).unwrap() } else { TempDir::new().unwrap() }
}
