//! How a download fails.

use crate::error::FetchError;
use crate::reason::Reason;
use abide_core::job::RetryWish;
use std::io;
use std::path::PathBuf;

/// A download that gave no file.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// The fetch failed.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// It is something else than was wanted.
    #[error("the content type is {found}, and {expected} was expected")]
    UnexpectedType {
        /// What was wanted.
        expected: String,
        /// What came.
        found: String,
    },
    /// Another attempt, perhaps one that was given up, is still writing this file.
    #[error("another attempt is still writing {path}")]
    Busy {
        /// Its part.
        path: PathBuf,
    },
    /// A place that files may not be written to.
    #[error("files cannot be saved in {path}: {why}")]
    Path {
        /// Which.
        path: PathBuf,
        /// Why.
        why: &'static str,
    },
    /// The disk failed.
    #[error("{doing} {path} failed: {source}")]
    Disk {
        /// What was tried.
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The disk would be too full.
    #[error("{path} has {free} bytes free, too few for {needed} more while {floor} stay free")]
    NoRoom {
        /// Which directory.
        path: PathBuf,
        /// What is free.
        free: u64,
        /// What is missing of the file.
        needed: u64,
        /// What stays free.
        floor: u64,
    },
    /// It was asked to stop. What has arrived is kept.
    #[error("stopped before its end")]
    Stopped,
}

impl DownloadError {
    /// The code.
    #[must_use]
    pub const fn reason(&self) -> Reason {
        match self {
            DownloadError::Fetch(error) => error.reason(),
            DownloadError::UnexpectedType { .. } => Reason::UnexpectedCt,
            DownloadError::Path { .. } => Reason::PathPolicy,
            DownloadError::Busy { .. }
            | DownloadError::Disk { .. }
            | DownloadError::NoRoom { .. }
            | DownloadError::Stopped => Reason::DownloadError,
        }
    }

    /// Whether and when to try again.
    #[must_use]
    pub fn retry(&self) -> RetryWish {
        match self {
            DownloadError::Fetch(error) => error.retry(),
            DownloadError::UnexpectedType { .. } | DownloadError::Path { .. } => RetryWish::Never,
            DownloadError::Busy { .. }
            | DownloadError::Disk { .. }
            | DownloadError::NoRoom { .. }
            | DownloadError::Stopped => RetryWish::ByPolicy,
        }
    }

    /// Whether this machine is the reason, and not the server or the file: it passes when somebody makes room, say, and
    /// then every download goes on. A failure of the disk that only one name meets is not meant.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match self {
            DownloadError::Busy { .. } | DownloadError::NoRoom { .. } => true,
            DownloadError::Disk { source, .. } => !is_about_the_name(source),
            DownloadError::Fetch(_)
            | DownloadError::UnexpectedType { .. }
            | DownloadError::Path { .. }
            | DownloadError::Stopped => false,
        }
    }

    /// Whether asking for the rest at once may bring it: the body broke off, and nobody said to wait.
    pub(super) const fn is_worth_resuming(&self) -> bool {
        matches!(self, DownloadError::Fetch(FetchError::Cut { .. } | FetchError::Broken { .. }))
    }
}

/// Whether the system refused because of what stands at a name, or because of the name.
fn is_about_the_name(error: &io::Error) -> bool {
    let by_kind = matches!(
        error.kind(),
        io::ErrorKind::IsADirectory
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::DirectoryNotEmpty
            | io::ErrorKind::AlreadyExists
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidFilename
            | io::ErrorKind::FileTooLarge
    );
    by_kind || matches!(error.raw_os_error(), Some(libc::ELOOP | libc::EISDIR | libc::ENOTDIR))
}
