//! How reaching the work fails.

use std::net::SocketAddr;
use std::path::PathBuf;

/// A request that did not get what it asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReachError {
    /// There is nothing to look at.
    #[error(
        "there is no data in {}: give another directory with --data-dir, or begin there with `abide queue enqueue` or \
         `abide serve`",
        dir.display()
    )]
    NoData {
        /// Where.
        dir: PathBuf,
    },
    /// Another process owns the directory and cannot be asked.
    #[error(
        "{} is in use by {}, which does not listen: wait for it to end, or stop it",
        dir.display(),
        pid.map_or("another process".to_owned(), |pid| format!("process {pid}"))
    )]
    Busy {
        /// The directory.
        dir: PathBuf,
        /// The owner, if it is known.
        pid: Option<u32>,
    },
    /// The owner of the directory does not answer.
    #[error(
        "process {pid} owns the data directory and does not answer at {address}: {error}; look at its log, or stop it"
    )]
    NoAnswer {
        /// The owner.
        pid: u32,
        /// Where it said that it listens.
        address: SocketAddr,
        /// What came instead.
        error: String,
    },
    /// The connection broke.
    #[error("the server at {address} went away: {error}; whether it did what was asked is not known")]
    Lost {
        /// Where.
        address: SocketAddr,
        /// What came instead.
        error: String,
    },
    /// The server ended, and nobody took its place.
    #[error("the server of {} has ended and none has taken its place", dir.display())]
    Gone {
        /// Whose.
        dir: PathBuf,
    },
    /// The server does not let this command in.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The server refused, with its code and sentence.
    #[error("{message}")]
    Refused {
        /// The status of the answer.
        status: u16,
        /// The server's word for it.
        code: String,
        /// The server's sentence.
        message: String,
    },
    /// The answer is none of this interface.
    #[error("the server at {address} answered {request} with something else than was expected: {error}")]
    Strange {
        /// Where.
        address: SocketAddr,
        /// What was asked.
        request: String,
        /// What is wrong with it.
        error: String,
    },
    /// There can be no connections.
    #[error("no HTTP client can be made: {0}")]
    Client(String),
}

impl ReachError {
    /// Whether the process that was asked ends, or has ended.
    pub(crate) fn is_of_an_end(&self) -> bool {
        match self {
            ReachError::Lost { .. } | ReachError::Gone { .. } => true,
            // What a process did that ended meanwhile is not known.
            ReachError::Refused { code, .. } => matches!(code.as_str(), "stopping" | "outcome_unknown"),
            ReachError::NoData { .. }
            | ReachError::Busy { .. }
            | ReachError::NoAnswer { .. }
            | ReachError::Denied(_)
            | ReachError::Strange { .. }
            | ReachError::Client(_) => false,
        }
    }

    /// Whether the same request may be answered later, for requests that change nothing when they are made twice. A server
    /// that was started again does not know the token of before.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            ReachError::NoAnswer { .. } | ReachError::Denied(_) => true,
            ReachError::Refused { code, .. } => self.is_of_an_end() || code.starts_with("store_"),
            ReachError::Lost { .. }
            | ReachError::Gone { .. }
            | ReachError::NoData { .. }
            | ReachError::Busy { .. }
            | ReachError::Strange { .. }
            | ReachError::Client(_) => self.is_of_an_end(),
        }
    }
}

/// A server that does not let this command in.
#[derive(Debug, thiserror::Error)]
#[error("the server at {address} does not accept this command's token: {message}")]
pub(crate) struct Denied {
    /// Where.
    pub(crate) address: SocketAddr,
    /// The server's sentence.
    pub(crate) message: String,
}

impl ReachError {
    /// The word that programs branch on.
    pub(crate) fn code(&self) -> &str {
        match self {
            ReachError::NoData { .. } => "no_data",
            ReachError::Busy { .. } => "data_dir_in_use",
            ReachError::NoAnswer { .. } => "server_not_answering",
            ReachError::Lost { .. } => "server_lost",
            ReachError::Gone { .. } => "server_gone",
            ReachError::Denied(_) => "server_denied",
            ReachError::Refused { code, .. } => code,
            ReachError::Strange { .. } => "server_strange",
            ReachError::Client(_) => "system_refused",
        }
    }

    /// The exit code, as documented in the help.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            ReachError::Refused { .. } | ReachError::Client(_) => 1,
            ReachError::NoData { .. } | ReachError::Busy { .. } => 3,
            ReachError::NoAnswer { .. }
            | ReachError::Lost { .. }
            | ReachError::Gone { .. }
            | ReachError::Denied(_)
            | ReachError::Strange { .. } => 5,
        }
    }
}
