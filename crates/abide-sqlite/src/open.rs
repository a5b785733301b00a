//! Opening the file: who may, how it is set up, and what is found there.

use crate::db::Link;
use crate::error::{Fault, OpenError};
use crate::{has_data, migrate};
use rusqlite::{Connection, OpenFlags};
use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file in the data directory.
pub(crate) const FILE: &str = "abide.db";

/// How long a connection waits for another one's lock.
pub(crate) const BUSY: Duration = Duration::from_secs(5);

/// Pages of the log of writes after which they are carried over into the file.
const CHECKPOINT_PAGES: u32 = 4_000;

/// Bytes to which the log of writes is cut back after it was carried over.
pub(crate) const WAL_BYTES: u64 = 64 * 1024 * 1024;

/// Where the file is.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    /// SQLite's name of the file system that it lies on; none for the machine's own.
    pub(crate) vfs: Option<String>,
}

impl Place {
    fn connect(&self, flags: OpenFlags) -> Result<Connection, rusqlite::Error> {
        match &self.vfs {
            None => Connection::open_with_flags(&self.path, flags),
            Some(vfs) => Connection::open_with_flags_and_vfs(&self.path, flags, vfs.as_str()),
        }
    }

    /// The log of writes, if it lies on the machine's own file system.
    pub(crate) fn wal(&self) -> Option<PathBuf> {
        let mut wal = self.path.as_os_str().to_owned();
        wal.push("-wal");
        self.vfs.is_none().then(|| wal.into())
    }
}

/// Creates the data directory, for its owner alone, so that it is there after a power loss too.
pub(crate) fn create_dir(dir: &Path) -> Result<(), OpenError> {
    let missing: Vec<&Path> = dir.ancestors().take_while(|path| !path.exists()).collect();
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|error| OpenError::of_io(dir, &error))?;
    missing.iter().try_for_each(|path| path.parent().map_or(Ok(()), sync_dir))
}

/// Makes the names in a directory durable.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), OpenError> {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(|error| OpenError::of_io(dir, &error))
}

/// What SQLite keeps beside the file while somebody writes to it.
const LOGS: [&str; 2] = ["abide.db-wal", "abide.db-journal"];

/// A log that was left alone when its file was moved away. It would be lost with the next file that comes here, or be taken
/// for the log of that.
pub(crate) fn log_without_file(dir: &Path) -> Option<&'static str> {
    let holds = |log: &&str| dir.join(log).symlink_metadata().is_ok_and(|found| found.len() > 0);
    if has_data(dir) { None } else { LOGS.into_iter().find(holds) }
}

/// The file of a data directory, created empty if there is none.
pub(crate) fn create_file(dir: &Path) -> Result<PathBuf, OpenError> {
    let path = dir.join(FILE);
    if let Some(log) = log_without_file(dir) {
        let reason = format!("it is the log of an {FILE} that is not here: move it to where that is");
        return Err(OpenError::Other { path: dir.join(log), reason });
    }
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .open(&path)
        .map_err(|error| OpenError::of_io(&path, &error))?;
    sync_dir(dir)?;
    Ok(path)
}

/// The connection that writes. Brings the schema up to date.
pub(crate) fn writer(place: &Place) -> Result<Link, OpenError> {
    let path = place.path.as_path();
    let fault = |fault: Fault| OpenError::of_fault(path, fault);
    let sqlite = |error: rusqlite::Error| OpenError::of_fault(path, Fault::from(error));
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, place.vfs.is_some());
    let mut conn = place.connect(flags).map_err(sqlite)?;
    conn.busy_timeout(BUSY).map_err(sqlite)?;
    if conn.is_readonly("main").map_err(sqlite)? {
        return Err(OpenError::ReadOnly { path: path.into(), reason: "the file is read-only".into() });
    }
    migrate::identify(path, &conn)?;
    conn.execute_batch("PRAGMA page_size = 4096").map_err(sqlite)?;
    let mode: String = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(sqlite)?;
    if mode != "wal" {
        let reason = "its file system does not let readers work beside the writer".into();
        return Err(OpenError::Other { path: path.into(), reason });
    }
    conn.execute_batch(&format!(
        "PRAGMA synchronous = FULL;
         PRAGMA foreign_keys = OFF;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -65536;
         PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES};
         PRAGMA journal_size_limit = {WAL_BYTES};"
    ))
    .map_err(sqlite)?;
    migrate::migrate(&mut conn).map_err(fault)?;
    let link = Link::new(conn);
    migrate::look(&link.db()).map_err(fault)?;
    Ok(link)
}

/// A connection that reads beside the writer.
pub(crate) fn reader(place: &Place) -> Result<Link, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = place.connect(flags)?;
    conn.busy_timeout(BUSY)?;
    conn.execute_batch("PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY;")?;
    Ok(Link::new(conn))
}
