//! SQLite on a disk that loses power and fails: what was acknowledged is there, and nothing by half.

use abide_core::seed::Seed;
use abide_sqlite::SqliteStore;
use abide_store::suite::random::{Blow, Fragile, Mismatch, Survived, survive};
use abide_store::{Store, StoreError};
use abide_testdisk::{Syncs, TestDisk, Trouble};
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

/// Histories and their length: what a machine can do in a few seconds. More were run by hand.
const SEEDS: u64 = 30;
const STEPS: usize = 50;

/// How often the store is tried again before that counts as an error.
const PATIENCE: usize = 20;

/// A store on a disk that fails. The store is dropped before the disk.
struct OnDisk {
    store: Option<SqliteStore>,
    disk: TestDisk,
}

fn path() -> &'static Path {
    Path::new("abide.db")
}

impl OnDisk {
    fn new(seed: u64, syncs: Syncs) -> OnDisk {
        let disk = TestDisk::new(seed);
        disk.set_syncs(syncs);
        let store = SqliteStore::open_on(disk.vfs(), path()).unwrap();
        OnDisk { store: Some(store), disk }
    }

    fn lose_power(&mut self) -> Result<Blow, StoreError> {
        self.disk.power_off();
        self.store = None;
        self.disk.power_on();
        self.store = Some(SqliteStore::open_on(self.disk.vfs(), path())?);
        self.check_integrity().map(|()| Blow::PowerLoss)
    }

    fn check_integrity(&self) -> Result<(), StoreError> {
        let damaged = |error: rusqlite::Error| StoreError::Corrupt(error.to_string());
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let conn = Connection::open_with_flags_and_vfs(path(), flags, self.disk.vfs()).map_err(damaged)?;
        let found: String =
            conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).map_err(damaged)?;
        if found == "ok" { Ok(()) } else { Err(StoreError::Corrupt(found)) }
    }
}

impl Fragile for OnDisk {
    fn store(&mut self) -> &mut dyn Store {
        self.store.as_mut().unwrap()
    }

    fn threaten(&mut self, random: &mut Seed) {
        let (trouble, calls) = match random.below(9) {
            0 | 1 => (Trouble::PowerLoss, random.below(20)),
            2 => (Trouble::PowerLossAtSync, 0),
            3 => (Trouble::Full, random.below(12)),
            4 => (Trouble::Io, random.below(30)),
            5 => (Trouble::Sync, 0),
            _ => return,
        };
        self.disk.expect_trouble(trouble, calls);
    }

    fn recover(&mut self, failed: Option<&StoreError>, random: &mut Seed) -> Result<Blow, StoreError> {
        self.disk.end_trouble();
        if !self.disk.is_on() {
            return self.lose_power();
        }
        if matches!(failed, Some(StoreError::Ambiguous(_))) {
            // Opening it again may fail, too; then the next try must work.
            let mut opened = Err(StoreError::Unavailable("not tried".into()));
            for _ in 0..PATIENCE {
                if opened.is_ok() {
                    break;
                }
                if random.below(2) == 0 {
                    self.disk.expect_trouble(Trouble::Sync, random.below(2));
                } else if random.below(2) == 0 {
                    self.disk.expect_trouble(Trouble::Io, random.below(40));
                }
                opened = self.store.as_mut().unwrap().reopen();
                self.disk.end_trouble();
            }
            opened?;
        }
        if random.below(10) == 0 { self.lose_power() } else { Ok(Blow::None) }
    }
}

fn run(syncs: Syncs) -> Result<Survived, Mismatch> {
    let mut sum = Survived::default();
    for seed in 0..SEEDS {
        let survived = survive(seed, STEPS, &mut OnDisk::new(seed, syncs))?;
        sum.power_losses += survived.power_losses;
        sum.kept += survived.kept;
        sum.gone += survived.gone;
        sum.refused += survived.refused;
    }
    Ok(sum)
}

#[test]
fn nothing_acknowledged_is_lost_with_the_power_and_nothing_is_there_by_half() {
    let survived = run(Syncs::Honest).unwrap_or_else(|mismatch| panic!("{mismatch}"));
    let Survived { power_losses, kept, gone, refused } = survived;
    assert!(power_losses > 100 && kept > 5 && gone > 100 && refused > 10, "{survived:?}");
}

#[test]
fn the_disk_finds_out_a_store_that_does_not_sync() {
    for syncs in [Syncs::Ignored, Syncs::IgnoredForTheLog] {
        assert!(run(syncs).is_err(), "{syncs:?}");
    }
}

/// Every call of one batch, in turn, is the last before the power goes.
#[test]
fn the_power_goes_at_every_call_of_a_batch() {
    use crate::world::{put, version};
    use abide_core::time::Time;
    let rows = |from: usize| (from..from + 40).map(|n| (format!("row-{n}"), format!("\"{n:0>200}\"")));
    let mut last = None;
    for calls in 0.. {
        let mut on_disk = OnDisk::new(calls, Syncs::Honest);
        on_disk.store().write(Time(1), &[put(0, rows(0))]).unwrap();
        on_disk.disk.expect_trouble(Trouble::PowerLoss, calls);
        let written = on_disk.store().write(Time(2), &[put(1, rows(1_000))]);
        let struck = on_disk.disk.end_trouble();
        on_disk.lose_power().unwrap();
        let found = version(on_disk.store());
        match written {
            Ok(_) => assert_eq!(found, 2, "after {calls} calls"),
            Err(_) => assert!([1, 2].contains(&found), "after {calls} calls"),
        }
        if !struck {
            last = Some(calls);
            break;
        }
    }
    assert!(last.is_some_and(|calls| calls > 10), "{last:?}");
}
