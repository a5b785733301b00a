//! What goes wrong with SQLite, and what that means for whoever asked.

use abide_core::json::BadJson;
use abide_store::StoreError;
use rusqlite::ErrorCode;
use rusqlite::types::FromSqlError;
use std::path::PathBuf;

/// A data directory could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process owns it.
    #[error("{} is in use by {}. Stop that process, or give another data directory", dir.display(), owner(*pid, address.as_deref()))]
    Locked {
        /// The directory.
        dir: PathBuf,
        /// The owner's process, if it is known.
        pid: Option<u32>,
        /// Where the owner listens, if it does.
        address: Option<String>,
    },
    /// A newer Abide wrote it.
    #[error("{} has schema {found}, and this Abide knows schemas up to {known}. Use the newer Abide that wrote it", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest schema this program knows.
        known: i64,
    },
    /// Another program's database lies where ours should be.
    #[error("{} is a database of another program (application id {found:#010x}). Give another data directory", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The application id it carries.
        found: i64,
    },
    /// The file is damaged, or no database at all.
    #[error("{} is damaged or no database: {reason}. Restore a backup", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// The directory or a file in it cannot be written.
    #[error("{} cannot be written: {reason}. Check its owner and permissions", path.display())]
    ReadOnly {
        /// Which.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// There is something else where the directory should be.
    #[error("{} is not a directory. Give another data directory", path.display())]
    NotADirectory {
        /// Where.
        path: PathBuf,
    },
    /// The disk is full.
    #[error("{} cannot be opened because the disk is full: {reason}. Free some space", path.display())]
    Full {
        /// Where.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// Anything else.
    #[error("{} cannot be opened: {reason}", path.display())]
    Other {
        /// Which.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
}

fn owner(pid: Option<u32>, address: Option<&str>) -> String {
    match (pid, address) {
        (Some(pid), Some(address)) => format!("process {pid}, which listens on {address}"),
        (Some(pid), None) => format!("process {pid}"),
        (None, _) => "another process".into(),
    }
}

impl OpenError {
    pub(crate) fn of_io(path: impl Into<PathBuf>, error: &std::io::Error) -> OpenError {
        use std::io::ErrorKind;
        let (path, reason) = (path.into(), error.to_string());
        match error.kind() {
            ErrorKind::NotADirectory | ErrorKind::AlreadyExists => OpenError::NotADirectory { path },
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                OpenError::ReadOnly { path, reason }
            }
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => OpenError::Full { path, reason },
            _ => OpenError::Other { path, reason },
        }
    }

    pub(crate) fn of_fault(path: impl Into<PathBuf>, fault: Fault) -> OpenError {
        let path = path.into();
        match fault.into_store() {
            StoreError::Full(reason) => OpenError::Full { path, reason },
            StoreError::ReadOnly(reason) => OpenError::ReadOnly { path, reason },
            StoreError::Corrupt(reason) => OpenError::Corrupt { path, reason },
            StoreError::Ambiguous(reason)
            | StoreError::Unavailable(reason)
            | StoreError::Rejected(reason) => OpenError::Other { path, reason },
        }
    }
}

impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> StoreError {
        let sentence = error.to_string();
        match error {
            OpenError::Corrupt { reason, .. } => StoreError::Corrupt(reason),
            OpenError::ReadOnly { reason, .. } => StoreError::ReadOnly(reason),
            OpenError::Full { reason, .. } => StoreError::Full(reason),
            OpenError::Locked { .. }
            | OpenError::Newer { .. }
            | OpenError::Foreign { .. }
            | OpenError::NotADirectory { .. }
            | OpenError::Other { .. } => StoreError::Unavailable(sentence),
        }
    }
}

/// Why a statement did not give what it should.
#[derive(Debug)]
pub(crate) enum Fault {
    /// SQLite says so.
    Sqlite(rusqlite::Error),
    /// A row does not hold what we put there.
    Damaged(String),
}

/// What statements give.
pub(crate) type Outcome<T> = Result<T, Fault>;

impl Fault {
    /// What it means before COMMIT, when everything rolls back.
    pub(crate) fn into_store(self) -> StoreError {
        match self {
            Fault::Damaged(what) => StoreError::Corrupt(what),
            Fault::Sqlite(error) => of_sqlite(&error),
        }
    }

    /// What it means if COMMIT itself gave it.
    pub(crate) fn into_store_at_commit(self) -> StoreError {
        match &self {
            Fault::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure) => {
                StoreError::Ambiguous(error.to_string())
            }
            Fault::Sqlite(_) | Fault::Damaged(_) => self.into_store(),
        }
    }
}

fn of_sqlite(error: &rusqlite::Error) -> StoreError {
    let what = error.to_string();
    let Some(code) = error.sqlite_error_code() else {
        return match error {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..)
            | rusqlite::Error::QueryReturnedNoRows => StoreError::Corrupt(what),
            _ => StoreError::Rejected(what),
        };
    };
    match code {
        ErrorCode::DiskFull => StoreError::Full(what),
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied => {
            StoreError::ReadOnly(what)
        }
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Corrupt(what),
        ErrorCode::ConstraintViolation | ErrorCode::TooBig | ErrorCode::TypeMismatch => {
            StoreError::Rejected(what)
        }
        ErrorCode::ApiMisuse | ErrorCode::ParameterOutOfRange | ErrorCode::Unknown => {
            StoreError::Rejected(what)
        }
        _ => StoreError::Unavailable(what),
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Fault {
        Fault::Sqlite(error)
    }
}

impl From<FromSqlError> for Fault {
    fn from(error: FromSqlError) -> Fault {
        Fault::Damaged(error.to_string())
    }
}

impl From<BadJson> for Fault {
    fn from(error: BadJson) -> Fault {
        Fault::Damaged(error.to_string())
    }
}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Fault {
        Fault::Damaged(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::Fault;
    use abide_store::StoreError;
    use rusqlite::ffi;

    fn word(error: StoreError) -> &'static str {
        match error {
            StoreError::Ambiguous(_) => "ambiguous",
            StoreError::Full(_) => "full",
            StoreError::ReadOnly(_) => "read-only",
            StoreError::Unavailable(_) => "unavailable",
            StoreError::Rejected(_) => "rejected",
            StoreError::Corrupt(_) => "corrupt",
        }
    }

    #[test]
    fn what_sqlite_says_and_what_it_means_before_and_at_commit() {
        for (code, before, at_commit) in [
            (ffi::SQLITE_FULL, "full", "full"),
            (ffi::SQLITE_READONLY, "read-only", "read-only"),
            (ffi::SQLITE_READONLY_DBMOVED, "read-only", "read-only"),
            (ffi::SQLITE_PERM, "read-only", "read-only"),
            (ffi::SQLITE_CORRUPT, "corrupt", "corrupt"),
            (ffi::SQLITE_NOTADB, "corrupt", "corrupt"),
            (ffi::SQLITE_IOERR, "unavailable", "ambiguous"),
            (ffi::SQLITE_IOERR_WRITE, "unavailable", "ambiguous"),
            (ffi::SQLITE_IOERR_FSYNC, "unavailable", "ambiguous"),
            (ffi::SQLITE_BUSY, "unavailable", "unavailable"),
            (ffi::SQLITE_LOCKED, "unavailable", "unavailable"),
            (ffi::SQLITE_CANTOPEN, "unavailable", "unavailable"),
            (ffi::SQLITE_NOMEM, "unavailable", "unavailable"),
            (ffi::SQLITE_CONSTRAINT_UNIQUE, "rejected", "rejected"),
            (ffi::SQLITE_TOOBIG, "rejected", "rejected"),
            (ffi::SQLITE_MISMATCH, "rejected", "rejected"),
        ] {
            let fault = || Fault::from(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
            let meant = (word(fault().into_store()), word(fault().into_store_at_commit()));
            assert_eq!(meant, (before, at_commit), "code {code}");
        }
    }
}
