//! Backups: a copy of the whole store at one instant, and the way back.

use crate::error::{Fault, OpenError};
use crate::migrate;
use crate::open::{self, FILE, sync_dir};
use crate::store::SqliteStore;
use crate::{DataDir, has_data};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A backup that was not made, or not restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// Something is there already.
    #[error("{} is there already: give another file, or remove it", path.display())]
    Exists {
        /// What.
        path: PathBuf,
    },
    /// There is data that would be lost.
    #[error("{} has data ({file}): restore into another directory, or move it away", dir.display())]
    HasData {
        /// Where.
        dir: PathBuf,
        /// In which file.
        file: &'static str,
    },
    /// The file cannot be read or written.
    #[error("{} cannot be used: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The backup is not whole.
    #[error("{} is damaged: {reason}; use another backup", path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// The file is no backup that this program can read.
    #[error(transparent)]
    File(OpenError),
    /// The store or the directory cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// A backup that was made or restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackupDone {
    /// Its bytes.
    pub bytes: u64,
}

/// Copies the store in `dir`, as it is at one instant, to the file `to`, which must not be there. The store may be in use:
/// its writer goes on. The file appears whole and durable, or not at all.
pub fn backup(dir: &Path, to: &Path) -> Result<BackupDone, BackupError> {
    if to.symlink_metadata().is_ok() {
        return Err(BackupError::Exists { path: to.into() });
    }
    let _turn = Turn::at(to)?;
    let part = beside(to);
    // Made first, so that nobody else can read what is copied into it.
    remove(&part).and_then(|()| private(&part)).map_err(|error| match error {
        BackupError::Io { error, .. } => BackupError::Io { path: to.into(), error },
        other => other,
    })?;
    let copied = reading(&dir.join(FILE)).map_err(BackupError::from);
    let copied = copied.and_then(|source| copy(&source, &part)).and_then(|()| put(&part, to));
    if copied.is_err() {
        // What is left of it is of no use, and removed at the next try if not now.
        drop(std::fs::remove_file(&part));
    }
    copied
}

/// The files that this process makes copies for.
static UNDER_WAY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The turn to make a copy for one file: two at once would be made in one and the same part.
struct Turn(PathBuf);

impl Turn {
    fn at(to: &Path) -> Result<Turn, BackupError> {
        if under_way().insert(to.to_owned()) {
            return Ok(Turn(to.to_owned()));
        }
        let error = io::Error::new(io::ErrorKind::ResourceBusy, "another backup is being made there");
        Err(BackupError::Io { path: to.into(), error })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        under_way().remove(&self.0);
    }
}

/// Locked for a look only. Whoever panicked left nothing half done.
fn under_way() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A row that belongs to the store in which it was written, and not to a copy of it: the id of something that goes on
/// elsewhere while the copy goes another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnRow {
    /// Of objects of this kind.
    pub kind: &'static str,
    /// Under this key.
    pub key: &'static str,
}

const FORGET: &str = "DELETE FROM \"rows\" WHERE key = ?2 AND incarnation IN \
     (SELECT incarnation FROM objects WHERE kind = ?1)";

/// Puts the backup `from` into `dir`, which must have no data, without the rows that are not a copy's. It is checked first;
/// what is wrong with it is said, and nothing is changed.
pub fn restore(from: &Path, dir: &Path, without: &[OwnRow]) -> Result<BackupDone, BackupError> {
    let source = checked(from)?;
    let owned = DataDir::open(dir)?;
    if let Some(file) = data_in(dir) {
        return Err(BackupError::HasData { dir: dir.into(), file });
    }
    let target = dir.join(FILE);
    let part = beside(&target);
    remove(&part)?;
    private(&part)?;
    // Not byte by byte: a store that was in use has a log beside it, which is a part of it.
    copy(&source, &part)?;
    forget(&part, without)?;
    let done = put(&part, &target)?;
    drop(SqliteStore::open(owned.path())?);
    Ok(done)
}

/// Takes rows out of a copy that nobody has opened yet. Their table has been the same in every schema.
fn forget(part: &Path, rows: &[OwnRow]) -> Result<(), OpenError> {
    let fault = |error: rusqlite::Error| OpenError::of_fault(part, Fault::from(error));
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(part, flags).map_err(fault)?;
    // Everything is in the file itself when it gets its name.
    conn.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).map_err(fault)?;
    for OwnRow { kind, key } in rows {
        conn.execute(FORGET, [kind, key]).map_err(fault)?;
    }
    conn.close().map_err(|(_, error)| fault(error))
}

/// The file that keeps somebody's data.
fn data_in(dir: &Path) -> Option<&'static str> {
    if has_data(dir) { Some(FILE) } else { open::log_without_file(dir) }
}

/// The file as a whole store of ours.
fn checked(path: &Path) -> Result<Connection, BackupError> {
    File::open(path).map_err(|error| BackupError::Io { path: path.into(), error })?;
    let conn = reading(path).map_err(of_backup)?;
    migrate::identify(path, &conn).map_err(of_backup)?;
    let damaged =
        |error: rusqlite::Error| BackupError::Damaged { path: path.into(), reason: error.to_string() };
    let schema: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(damaged)?;
    if schema == 0 {
        let reason = "it holds no store".to_owned();
        return Err(BackupError::Damaged { path: path.into(), reason });
    }
    let found: String = conn.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).map_err(damaged)?;
    if found == "ok" { Ok(conn) } else { Err(BackupError::Damaged { path: path.into(), reason: found }) }
}

/// What is wrong with a backup, said of a backup.
fn of_backup(error: OpenError) -> BackupError {
    match error {
        OpenError::Corrupt { path, reason } => BackupError::Damaged { path, reason },
        OpenError::Foreign { path, .. } => {
            BackupError::Damaged { path, reason: "it is a database of another program".to_owned() }
        }
        other => BackupError::File(other),
    }
}

/// Copies the store as it is at one instant, with what is only in its log so far.
fn copy(source: &Connection, part: &Path) -> Result<(), BackupError> {
    let fault = |error: rusqlite::Error| OpenError::of_fault(part, Fault::from(error));
    // A name need not be UTF-8.
    let name = ToSqlOutput::Borrowed(ValueRef::Text(part.as_os_str().as_bytes()));
    source.execute("VACUUM INTO ?1", [name]).map_err(fault)?;
    Ok(())
}

fn reading(path: &Path) -> Result<Connection, OpenError> {
    let fault = |error: rusqlite::Error| OpenError::of_fault(path, Fault::from(error));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).map_err(fault)?;
    conn.busy_timeout(open::BUSY).map_err(fault)?;
    Ok(conn)
}

/// Makes `part` durable and gives it its name, unless something has that name.
fn put(part: &Path, to: &Path) -> Result<BackupDone, BackupError> {
    let io = |error| BackupError::Io { path: to.into(), error };
    let file = File::open(part).map_err(io)?;
    file.sync_all().map_err(io)?;
    let bytes = file.metadata().map_err(io)?.len();
    match std::fs::hard_link(part, to) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(BackupError::Exists { path: to.into() });
        }
        Err(error) => return Err(io(error)),
    }
    remove(part)?;
    sync_dir(to.parent().unwrap_or(Path::new(".")))?;
    Ok(BackupDone { bytes })
}

/// The place beside a file where it is made.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

fn private(path: &Path) -> Result<File, BackupError> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    made.map_err(|error| BackupError::Io { path: path.into(), error })
}

fn remove(path: &Path) -> Result<(), BackupError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(BackupError::Io { path: path.into(), error })
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
