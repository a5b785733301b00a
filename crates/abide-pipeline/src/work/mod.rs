//! The outside work of a batch: its jobs, and the traits of those who read, extract and describe.

mod contents;
mod context;
mod describe;
mod discover;
mod dispatch;
mod doers;
mod known;
mod look;
mod ocr;
mod pinax;
mod publish;
mod snapshot;
mod start;
mod writing;

pub use doers::{
    ChildSaid, ChildText, Describe, DescribeRequest, Described, Doing, Extracted, Image, Images, Metadata,
    MetadataRequest, Ocr, OcrText, Paying, Spent, Undone, WorkError,
};
pub use ocr::NO_OCR;

pub(crate) use discover::Discover;
pub(crate) use dispatch::{Dispatch, DispatchAway};
pub(crate) use look::Look;
pub(crate) use ocr::ReadImage;
pub(crate) use snapshot::{Snapshot, Target, keep};
pub(crate) use start::Start;
pub(crate) use writing::{What, WriteNode};

use abide_core::job::{AttemptEnd, Finish, RetryWish};
use abide_engine::worker::{done, failed, failed_for_good};
use abide_engine::{CallError, JobContext};
use abide_entities::EntityError;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Runs a job: reads what it is told, does it, and says how it went.
pub(crate) async fn run<P, T, F>(job: JobContext, work: impl FnOnce(P) -> F) -> Finish
where
    P: DeserializeOwned,
    T: Serialize,
    F: Future<Output = Result<T, WorkError>>,
{
    let order = match job.payload::<P>() {
        Ok(order) => order,
        Err(error) => return failed_for_good(error.to_string()),
    };
    match work(order).await {
        Ok(result) => done(&result),
        Err(WorkError::Never(reason)) => failed_for_good(reason),
        Err(WorkError::Later(reason)) => failed(reason),
        Err(WorkError::After { reason, wait_ms }) => {
            AttemptEnd::Error { reason, retry: RetryWish::AfterMs(wait_ms) }.into()
        }
    }
}

impl From<CallError> for WorkError {
    fn from(error: CallError) -> WorkError {
        match error {
            CallError::Refused(_) => WorkError::Never(error.to_string()),
            _ => WorkError::Later(error.to_string()),
        }
    }
}

impl From<EntityError> for WorkError {
    fn from(error: EntityError) -> WorkError {
        match error {
            EntityError::Invalid(_)
            | EntityError::InvalidParams(_)
            | EntityError::InvalidCursor(_)
            | EntityError::Forbidden(_)
            | EntityError::NotFound(_)
            | EntityError::TooLarge(_) => WorkError::Never(error.to_string()),
            EntityError::Conflict(_)
            | EntityError::Cas(_)
            | EntityError::Blobs(_)
            | EntityError::Backend(_)
            | EntityError::Internal(_) => WorkError::Later(error.to_string()),
        }
    }
}

impl From<abide_blob::BlobError> for WorkError {
    fn from(error: abide_blob::BlobError) -> WorkError {
        use abide_blob::BlobError;
        match error {
            BlobError::NotFound(_) | BlobError::BadKey(_) | BlobError::TooLarge { .. } => {
                WorkError::Never(error.to_string())
            }
            BlobError::Full { .. } | BlobError::Failed { .. } | BlobError::Unusable { .. } => {
                WorkError::Later(error.to_string())
            }
        }
    }
}
