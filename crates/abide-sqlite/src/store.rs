//! The store: one connection that writes, one transaction per batch, and what is kept in memory between batches.

use crate::db::{Db, Link};
use crate::error::{Fault, OpenError, Outcome};
use crate::held::Held;
use crate::migrate;
use crate::open::{self, Place};
use crate::reader::SqliteReader;
use crate::wal::Wal;
use crate::writer::Writer;
use abide_core::time::Time;
use abide_store::{Batch, Reader, Store, StoreError, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

/// A store on `abide.db` in a data directory.
///
/// The caller owns the directory (see [`DataDir`](crate::DataDir)): there is one writer.
pub struct SqliteStore {
    place: Place,
    /// None after an ambiguous write, until it is reopened.
    link: Option<Link>,
    /// What the file held after the last batch; none if that is to be read again.
    held: Option<Held>,
    /// The latest time of a batch, for readers.
    clock_at: Arc<AtomicI64>,
    counts: Counts,
    /// How long the last COMMIT took.
    last_sync: Duration,
    /// The log of writes.
    wal: Wal,
    /// The length of it at which readers are waited for so that it can be cut.
    wal_bound: u64,
}

/// What the writer has done since the store was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Statements, BEGIN and COMMIT included.
    pub statements: u64,
    /// Steps of SQLite's machine: what the statements cost, the same on every machine.
    pub steps: u64,
    /// Rows inserted, changed and deleted.
    pub rows_written: u64,
    /// Commits: each syncs the disk once.
    pub commits: u64,
}

const BEGIN: &str = "BEGIN IMMEDIATE";
const COMMIT: &str = "COMMIT";
const ROLLBACK: &str = "ROLLBACK";
/// Carries the whole log of writes over into the file, so that what is read now is on the disk whatever came before.
const SETTLE: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

impl SqliteStore {
    /// Opens the store of a data directory; creates what is not there and brings an older schema up to date.
    pub fn open(dir: &Path) -> Result<SqliteStore, OpenError> {
        open::create_dir(dir)?;
        let path = open::create_file(dir)?;
        SqliteStore::open_at(Place { path, vfs: None })
    }

    /// Opens the store on a file of a file system that was registered with SQLite under the name `vfs`.
    pub fn open_on(vfs: &str, path: &Path) -> Result<SqliteStore, OpenError> {
        SqliteStore::open_at(Place { path: path.into(), vfs: Some(vfs.into()) })
    }

    fn open_at(place: Place) -> Result<SqliteStore, OpenError> {
        let link = open::writer(&place)?;
        let fault = |fault| OpenError::of_fault(&place.path, fault);
        settle(&link.db()).map_err(fault)?;
        begin_log_anew(&link).map_err(fault)?;
        let held = Held::load(&link.db()).map_err(fault)?;
        let clock_at = Arc::new(AtomicI64::new(held.clock_at().0));
        let (wal, counts) = (Wal::of(&place), Counts::default());
        Ok(SqliteStore {
            place,
            link: Some(link),
            held: Some(held),
            clock_at,
            counts,
            last_sync: Duration::ZERO,
            wal,
            wal_bound: open::WAL_BYTES,
        })
    }

    /// What has been done so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let (statements, steps) = self.link.as_ref().map_or((0, 0), Link::work);
        let rows_written = self.link.as_ref().map_or(0, |link| link.conn().total_changes());
        Counts {
            statements: self.counts.statements + statements,
            steps: self.counts.steps + steps,
            rows_written: self.counts.rows_written + rows_written,
            commits: self.counts.commits,
        }
    }

    fn close(&mut self) {
        self.counts = self.counts();
        self.held = None;
        self.link = None;
    }

    fn apply(&mut self, now: Time, batch: &[Write]) -> Outcome<Batch> {
        let db = self.link.as_ref().expect("looked at before").db();
        db.run(BEGIN, [])?;
        let held = match self.held.take() {
            Some(held) if held.is_current(&db)? => held,
            Some(_) | None => Held::load(&db)?,
        };
        let (batch, held) = Writer::begin(db, held, now).write(batch)?;
        self.held = Some(held);
        Ok(batch)
    }

    #[expect(clippy::disallowed_methods, reason = "a stopwatch: nothing is decided by it")]
    fn sync(&mut self) -> Outcome<usize> {
        let began = Instant::now();
        let committed = self.link.as_ref().map_or(Ok(0), |link| link.db().run(COMMIT, []));
        self.last_sync = began.elapsed();
        committed
    }

    /// Makes sure that nothing of the failed batch is left, or that nobody believes so.
    fn roll_back(&mut self, error: StoreError) -> StoreError {
        self.held = None;
        let error = match self.link.as_ref().map(roll_back) {
            Some(Err(fault)) => {
                StoreError::Ambiguous(format!("{error}, and rolling back failed: {}", fault.into_store()))
            }
            Some(Ok(())) | None => error,
        };
        if matches!(error, StoreError::Ambiguous(_)) {
            self.close();
        }
        error
    }

    /// Lays out the log of writes ahead, and waits for readers to let go of it once it has grown past its bound.
    fn care_for_wal(&mut self) {
        let Some(link) = &self.link else { return };
        let bytes = self.wal.bytes();
        self.wal.lay_out(bytes);
        if bytes > self.wal_bound {
            // What cannot be cut now is tried again when the log has doubled.
            self.wal_bound = match settle(&link.db()) {
                Ok(true) => open::WAL_BYTES,
                Ok(false) | Err(_) => self.wal_bound.saturating_mul(2),
            };
        }
    }
}

/// Ends the transaction without effect, unless SQLite has done so by itself.
fn roll_back(link: &Link) -> Outcome<()> {
    if link.conn().is_autocommit() {
        return Ok(());
    }
    let rolled_back = link.db().run(ROLLBACK, []);
    if link.conn().is_autocommit() { Ok(()) } else { rolled_back.map(drop) }
}

/// Whether all that can be read is now in the file itself, on the disk. Not if a reader does not let go.
fn settle(db: &Db<'_>) -> Outcome<bool> {
    Ok(db.one(SETTLE, [], |row| row.int(0))? == Some(0))
}

/// Begins the log of writes anew on the disk, once it is settled: what failed commits left there is void, even if the disk
/// has not seen yet that the old log was cut or deleted. The number of the schema is written again for that; a row that
/// keeps its value would not be written at all.
fn begin_log_anew(link: &Link) -> Outcome<()> {
    Ok(link.conn().pragma_update(None, "user_version", migrate::NEWEST)?)
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        if let Some(link) = &self.link {
            // Only tidies up: what cannot be carried over now is at the next open.
            drop(settle(&link.db()));
        }
    }
}

impl Store for SqliteStore {
    fn write(&mut self, now: Time, batch: &[Write]) -> Result<Batch, StoreError> {
        if self.link.is_none() {
            return Err(StoreError::Ambiguous("the store was not reopened".into()));
        }
        let batch = match self.apply(now, batch) {
            Ok(batch) => batch,
            Err(fault) => return Err(self.roll_back(fault.into_store())),
        };
        let committed = self.sync();
        if let Err(fault) = committed {
            return Err(self.roll_back(fault.into_store_at_commit()));
        }
        self.counts.commits += 1;
        self.clock_at.store(batch.at.0, Ordering::Release);
        self.care_for_wal();
        Ok(batch)
    }

    fn last_sync(&self) -> Option<Duration> {
        Some(self.last_sync)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        let link = open::reader(&self.place).map_err(Fault::into_store)?;
        Ok(Box::new(SqliteReader::new(link, Arc::clone(&self.clock_at))))
    }

    fn reopen(&mut self) -> Result<(), StoreError> {
        self.close();
        let link = open::writer(&self.place)?;
        if !settle(&link.db()).map_err(Fault::into_store)? {
            return Err(StoreError::Unavailable("a reader does not let go of the log of writes".into()));
        }
        begin_log_anew(&link).map_err(Fault::into_store)?;
        let held = Held::load(&link.db()).map_err(Fault::into_store)?;
        self.clock_at.store(held.clock_at().0, Ordering::Release);
        self.held = Some(held);
        self.link = Some(link);
        self.wal = Wal::of(&self.place);
        Ok(())
    }
}
