//! Manifests: read from the bucket, brought to their batch a part at a time.

use super::to_dead_messages;
use crate::calls::{Call, HaveAnswer, OkAnswer};
use crate::file::ProcessableFile;
use crate::jobs::BatchOrder;
use crate::limits::{CALL_BYTES, FILES_PER_CALL, MANIFEST_ATTEMPTS, MANIFEST_BYTES};
use crate::manifest;
use crate::service::Service;
use abide_blob::{BlobError, Key};
use abide_core::job::Finish;
use abide_core::json::Json;
use abide_engine::JobContext;
use abide_engine::worker::{Worker, done, failed, failed_for_good, skipped};
use std::future::Future;
use std::pin::Pin;

/// Reads manifests.
#[derive(Clone)]
pub(crate) struct Manifest(pub(crate) Service);

/// Why the files did not all come.
enum Unread {
    /// Trying again may help.
    Now(String),
    /// It cannot.
    Ever(String),
}

impl From<BlobError> for Unread {
    fn from(error: BlobError) -> Unread {
        match error {
            BlobError::BadKey(_) | BlobError::TooLarge { .. } => Unread::Ever(error.to_string()),
            BlobError::NotFound(_)
            | BlobError::Full { .. }
            | BlobError::Failed { .. }
            | BlobError::Unusable { .. } => Unread::Now(error.to_string()),
        }
    }
}

impl Worker for Manifest {
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let service = self.0.clone();
        Box::pin(async move {
            let order: BatchOrder = match job.payload() {
                Ok(order) => order,
                Err(error) => return failed_for_good(error.to_string()),
            };
            let (reason, hopeless) = match read(&service, &order).await {
                Ok(0) => return skipped("the batch takes no more files"),
                Ok(files) => return done(&serde_json::json!({ "files": files })),
                Err(Unread::Now(reason)) => (reason, job.lease().failures + 1 >= MANIFEST_ATTEMPTS),
                Err(Unread::Ever(reason)) => (reason, true),
            };
            if !hopeless {
                return failed(reason);
            }
            if let Ok(message) = Json::encode(&order.message) {
                to_dead_messages(&service.site().await, job.job().0, message, &reason).await;
            }
            failed_for_good(reason)
        })
    }
}

/// Brings every file to the batch; how many there were, or 0 if it takes none.
async fn read(service: &Service, order: &BatchOrder) -> Result<u64, Unread> {
    let site = service.site().await;
    let message = &order.message;
    let Some(life) = order.life else { return Err(Unread::Ever("it names no life of the batch".to_owned())) };
    let key = Key::new(&message.manifest_r2_key).map_err(BlobError::from)?;
    let bytes = service.buckets().staging.get_bytes(&key, MANIFEST_BYTES).await?;
    let files = manifest::read(&bytes, message).map_err(|error| Unread::Ever(error.to_string()))?;
    let tree = manifest::tree(&bytes).map_err(|error| Unread::Ever(error.to_string()))?;
    drop(bytes);
    if !tree.is_empty() {
        let asked = site.ask::<OkAnswer>(message.batch_id.as_str(), &Call::Tree { life }).await;
        asked.map_err(|error| Unread::Now(error.to_string()))?;
    }
    let mut from = 0_usize;
    loop {
        let part = part(&files[from..]);
        let last = from + part.len() == files.len();
        let call = Call::Files { life, from: from as u64, files: part.to_vec(), last };
        let answer = site.ask::<HaveAnswer>(message.batch_id.as_str(), &call).await;
        let answer = answer.map_err(|error| Unread::Now(error.to_string()))?;
        match answer.have.and_then(|have| usize::try_from(have).ok()) {
            None if last => return Ok(files.len() as u64),
            None => return Ok(0),
            Some(have) if have > files.len() => {
                return Err(Unread::Ever("the manifest has become shorter while it was read".to_owned()));
            }
            Some(have) => from = have,
        }
    }
}

/// As many of the first files as one call brings.
fn part(files: &[ProcessableFile]) -> &[ProcessableFile] {
    let mut bytes = 0;
    let fits = files.iter().take(FILES_PER_CALL).take_while(|file| {
        bytes += serde_json::to_string(file).map_or(CALL_BYTES, |text| text.len());
        bytes <= CALL_BYTES
    });
    let count = fits.count().max(1).min(files.len());
    &files[..count]
}
