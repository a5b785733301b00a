//! What the tests write and ask, in few words.

use abide_core::commit::Commit;
use abide_core::event::Consumes;
use abide_core::job::NewJob;
use abide_core::json::Json;
use abide_core::name::{JobKind, QueueName, WorkerId};
use abide_core::object::{Fence, Incarnation, Life, ObjectKey, Version};
use abide_core::row::{Row, RowWrite};
use abide_core::time::Time;
use abide_sqlite::SqliteStore;
use abide_store::read::{Got, Load, Loaded, Want};
use abide_store::write::{Claim, Claimed};
use abide_store::{Answer, Read, Store, Write, Written};
use std::path::Path;
use tempfile::TempDir;

/// The life of the engine that the tests pretend to be.
pub(crate) const LIFE: Life = Life(1);

/// A directory in memory where there is one, for what does not need a disk.
pub(crate) fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory).unwrap() } else { TempDir::new().unwrap() }
}

pub(crate) fn open(dir: &Path) -> SqliteStore {
    SqliteStore::open(dir).unwrap()
}

/// The object that most tests are about.
pub(crate) fn object() -> ObjectKey {
    ObjectKey::new("counter", "one").unwrap()
}

/// Puts rows; the object is at `version` before.
pub(crate) fn put(version: i64, rows: impl IntoIterator<Item = (String, String)>) -> Write {
    let incarnation = Incarnation(7);
    let fence = match version {
        0 => Fence::Absent { begin: incarnation },
        _ => Fence::At { incarnation, version: Version(version), by: LIFE },
    };
    let mut commit = Commit::new(object(), fence, LIFE, Time(1), Consumes::Call);
    let put =
        |(key, value)| RowWrite::Put { key, row: Row { schema: 1, value: Json::parse(value).unwrap() } };
    commit.rows = rows.into_iter().map(put).collect();
    Write::Commit(Box::new(commit))
}

/// Puts one row.
pub(crate) fn put_one(version: i64, key: &str, value: &str) -> Write {
    put(version, [(key.to_owned(), value.to_owned())])
}

fn load(store: &dyn Store, wants: Vec<Want>) -> Loaded {
    let load = Load { object: object(), wants, reply_for: None };
    match store.reader().unwrap().read(Time(1), &Read::Load(load)).unwrap() {
        Answer::Load(loaded) => loaded,
        other => panic!("{other:?}"),
    }
}

/// One row of the object, as text.
pub(crate) fn row(store: &dyn Store, key: &str) -> Option<String> {
    match load(store, vec![Want::Row(key.to_owned())]).got.as_slice() {
        [Got::Row(row)] => row.as_ref().map(|row| row.value.to_string()),
        other => panic!("{other:?}"),
    }
}

/// The object's version; 0 if it does not exist.
pub(crate) fn version(store: &dyn Store) -> i64 {
    load(store, Vec::new()).header.map_or(0, |header| header.version.0)
}

pub(crate) fn job(number: usize) -> NewJob {
    let payload = Json::parse(format!("{{\"n\":{number}}}")).unwrap();
    NewJob::new(QueueName::new("q").unwrap(), JobKind::new("work").unwrap(), payload)
}

pub(crate) fn claim(max: usize) -> Write {
    Write::Claim(Claim {
        worker: WorkerId::new("w").unwrap(),
        life: Some(LIFE),
        queues: vec![QueueName::new("q").unwrap()],
        kinds: vec![JobKind::new("work").unwrap()],
        max,
        lease_ms: 5_000,
        seed: 1,
        key: None,
    })
}

pub(crate) fn claimed(written: &Written) -> &Claimed {
    match written {
        Written::Claimed(claimed) => claimed,
        other => panic!("{other:?}"),
    }
}
