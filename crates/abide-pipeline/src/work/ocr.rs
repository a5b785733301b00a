//! Reads one image: its text goes into a new version of its ref.

use super::context::read;
use super::publish::{keep, paid};
use super::{Image, Undone, WorkError, run};
use crate::limits::{IMAGE_BYTES, REF_BYTES};
use crate::orders::{OcrDone, OcrOrder};
use crate::service::Service;
use abide_core::job::Finish;
use abide_engine::JobContext;
use abide_engine::worker::Worker;
use abide_preprocess::report::RefData;
use serde_json::{Map, Value};
use std::pin::Pin;

/// Why no image is read if nobody reads any.
pub const NO_OCR: &str = "no OCR is configured";

/// Reads images.
#[derive(Clone)]
pub(crate) struct ReadImage(pub(crate) Service);

impl Worker for ReadImage {
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let service = self.0.clone();
        Box::pin(run(job, |order: OcrOrder| async move {
            let undone = match read_image(&service, &order).await {
                Ok(done) => return Ok(done),
                Err(undone) => undone,
            };
            match paid(&service.site().await, &order.node, undone).await {
                WorkError::Never(reason) => Ok(OcrDone::Unreadable { reason }),
                other => Err(other),
            }
        }))
    }
}

async fn read_image(service: &Service, order: &OcrOrder) -> Result<OcrDone, Undone> {
    let site = service.site().await;
    let entities = site.entities.as_ref();
    let unreadable = |error: serde_json::Error| WorkError::Never(format!("its ref cannot be read: {error}"));
    let bytes = read(entities, order.cid, REF_BYTES).await?;
    let mut fields: Map<String, Value> = serde_json::from_slice(&bytes).map_err(unreadable)?;
    if fields.get("ocr").and_then(Value::as_str).is_some() {
        return Ok(OcrDone::Already);
    }
    let reference: RefData = serde_json::from_value(Value::Object(fields.clone())).map_err(unreadable)?;
    let Some(ocr) = &service.shared.ocr else {
        return Err(WorkError::Never(NO_OCR.to_owned()).into());
    };
    let bytes = service.shared.images.bytes(&reference, IMAGE_BYTES).await?;
    let text = ocr.read(Image { reference, bytes }).await?;
    let chars = text.text.chars().count();
    fields.insert("ocr".to_owned(), text.text.into());
    let bytes = serde_json::to_vec_pretty(&fields).map_err(unreadable)?;
    match keep(entities, &order.filename, bytes).await {
        Ok(cid) => Ok(OcrDone::Read { cid, chars, by: text.by, spent: text.spent }),
        // It was paid for, and is to be read again.
        Err(why) => Err(Undone { why, spent: text.spent }),
    }
}
