//! The description of a node.

use super::publish::Written;
use super::writing::Source;
use super::{ChildSaid, ChildText, DescribeRequest, Undone, WorkError};
use crate::service::Service;

pub(super) async fn make(service: &Service, source: Source) -> Result<Written, Undone> {
    let describe = service.shared.describe.as_ref();
    let describe = describe.ok_or_else(|| WorkError::Never("nothing here describes".to_owned()))?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let children = source.children.into_iter().map(|ChildText { pi, label, what: [record, description] }| {
        let record = record.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        ChildText { pi, label, what: ChildSaid { description: description.map(text), record } }
    });
    let request = DescribeRequest {
        pi: source.pi,
        directory_name: source.directory_name,
        pinax: source.record.and_then(|bytes| serde_json::from_slice(&bytes).ok()),
        files: source.files,
        children: children.collect(),
        previous: source.previous.map(text),
        custom_prompt: source.custom_prompt,
    };
    let described = describe.describe(request).await?;
    let bytes = described.markdown.into_bytes();
    Ok(Written { bytes, warnings: described.warnings, spent: described.spent })
}
