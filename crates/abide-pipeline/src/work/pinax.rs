//! The record of a node.

use super::context::without_ocr_beyond;
use super::publish::Written;
use super::writing::Source;
use super::{ChildText, MetadataRequest, Undone, WorkError};
use crate::service::Service;
use abide_organize::budget;
use serde_json::Value;

pub(super) async fn make(service: &Service, mut source: Source) -> Result<Written, Undone> {
    let metadata = service.shared.metadata.as_ref();
    let metadata = metadata.ok_or_else(|| WorkError::Never("nothing here extracts metadata".to_owned()))?;
    let records = source.children.iter().flat_map(|child| &child.what[0]);
    let tokens = records.map(|record| budget::tokens(&String::from_utf8_lossy(record))).sum();
    without_ocr_beyond(&mut source.files, tokens, service.shared.ocr_text_token_threshold);
    let children = source.children.into_iter().map(|ChildText { pi, label, what: [record, _] }| {
        let what = record.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        ChildText { pi, label, what }
    });
    let request = MetadataRequest {
        pi: source.pi,
        directory_name: source.directory_name,
        files: source.files,
        children: children.collect(),
        previous: source.previous.and_then(|bytes| serde_json::from_slice(&bytes).ok()),
        custom_prompt: source.custom_prompt,
        institution: source.institution,
    };
    let extracted = metadata.extract(request).await?;
    let bytes = serde_json::to_vec_pretty(&extracted.pinax).map_err(|e| WorkError::Never(e.to_string()))?;
    Ok(Written { bytes, warnings: extracted.warnings, spent: extracted.spent })
}
