//! Uploads: an `ingest/{batch_id}` takes files over HTTP, makes entities of its directories and has the files preprocessed;
//! then the pipeline takes over.
//!
//! | row | what |
//! |---|---|
//! | `state` | where the upload is, counts and sizes |
//! | `prompts` | words for the models |
//! | `file/{path}` | a file, by where it was |
//! | `dir/{path}` | that a directory has files |
//! | `upload/{id}` | the file that comes by an upload |
//!
//! Files come at places of their own, in one part or several. What came is put together where the batch finds it when its file
//! is complete: whatever comes at those places later changes nothing.

mod abandoned;
mod calls;
mod door;
mod files;
mod intake;
mod jobs;
mod refusal;
mod request;
mod work;

pub(crate) use abandoned::Sweep;
pub use calls::{
    Call, CompleteFile, Completed, DiscoveryProgress, Expected, FileDocument, FilePage, FinalizeAnswer,
    Inited, Processed, ProcessedAnswer, StartedFile, StatusAnswer, ToIntake, UploadType, WithdrawFile,
};
pub use door::UploadError;
pub use intake::{Intake, PART_BYTES};
pub use jobs::{COMPLETE, DISCOVERY, QUEUE, SWEEP};
pub use refusal::No;
pub use request::{BadUpload, Init, Limits, ProcessedBody, StartFile};
pub(crate) use work::{Complete, Discovery};

use abide_entities::ContentId;

/// Where processed files of a batch are listed: another list is at another place, so that one that is refused replaces none.
pub(crate) fn processed_key(batch: &str, list: &ContentId) -> String {
    format!("staging/{batch}/_processed-{list}.json")
}

/// Where the uploaded files of a batch are listed.
pub(crate) fn manifest_key(batch: &str) -> String {
    format!("staging/{batch}/_manifest.json")
}

/// Where the files of a batch are.
pub(crate) fn prefix(batch: &str) -> String {
    format!("staging/{batch}/")
}

/// Where a part of a file is until all of them are there.
#[must_use]
pub fn part_key(batch: &str, upload_id: &str, part: u32) -> String {
    format!("uploads/{batch}/{upload_id}/{part:05}")
}
