//! What an upload says no with.

use abide_core::json::Json;
use abide_engine::{Refusal, RefusalClass};

/// What an upload says no with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum No {
    /// There is no such batch.
    #[error("there is no batch {0}")]
    UnknownBatch(String),
    /// The batch is there already.
    #[error("the batch {0} is there already")]
    Taken(String),
    /// It does not take that now.
    #[error("the batch is {0}, and that is for one that is {1}")]
    WrongStatus(&'static str, &'static str),
    /// There is no such file.
    #[error("the batch has no file {0}")]
    UnknownFile(String),
    /// A file is there.
    #[error("{0} is uploaded already")]
    FileThere(String),
    /// A file is being put together.
    #[error("{0} is being completed")]
    Completing(String),
    /// A file is not below the root.
    #[error("{0} is not below the root_path {1}")]
    Outside(String, String),
    /// Nothing is awaited at that place any more.
    #[error("nothing is awaited for the upload {0}: its file is complete or withdrawn, or was begun anew")]
    UnknownUpload(String),
    /// More than was said.
    #[error("{0}")]
    TooMuch(String),
    /// The upload is another one.
    #[error("{0}")]
    OtherUpload(String),
    /// Files are not uploaded.
    #[error("{} files are not uploaded, {} among them", .count, .names.first().map_or("", String::as_str))]
    Incomplete {
        /// How many.
        count: u64,
        /// Some of them.
        names: Vec<String>,
    },
    /// There are no files.
    #[error("the batch has no files")]
    Empty,
}

impl Refusal for No {
    fn code(&self) -> &'static str {
        match self {
            No::UnknownBatch(_) => "unknown_batch",
            No::Taken(_) => "batch_exists",
            No::WrongStatus(..) => "wrong_status",
            No::UnknownFile(_) => "unknown_file",
            No::FileThere(_) => "file_exists",
            No::Completing(_) => "completing",
            No::Outside(..) => "outside_root",
            No::UnknownUpload(_) => "unknown_upload",
            No::TooMuch(_) => "more_than_declared",
            No::OtherUpload(_) => "other_upload",
            No::Incomplete { .. } => "incomplete",
            No::Empty => "no_files",
        }
    }

    fn class(&self) -> RefusalClass {
        match self {
            No::UnknownBatch(_) | No::UnknownFile(_) => RefusalClass::NotFound,
            No::Taken(_) | No::FileThere(_) | No::Completing(_) | No::UnknownUpload(_) => {
                RefusalClass::Conflict
            }
            No::WrongStatus(..)
            | No::TooMuch(_)
            | No::OtherUpload(_)
            | No::Outside(..)
            | No::Incomplete { .. }
            | No::Empty => RefusalClass::Invalid,
        }
    }

    fn details(&self) -> Option<Json> {
        match self {
            No::Incomplete { names, .. } => Json::encode(&serde_json::json!({ "incomplete": names })).ok(),
            _ => None,
        }
    }
}
