//! Extracts the metadata of a node.

use super::context::{files, of_children, own, without_ocr_beyond};
use super::publish::{Written, write};
use super::{ChildText, MetadataRequest, WorkError, run};
use crate::calls::BriefAnswer;
use crate::orders::{NodeOrder, Published};
use crate::service::Service;
use crate::site::Site;
use crate::status::PhaseName;
use abide_core::job::Finish;
use abide_engine::JobContext;
use abide_engine::worker::Worker;
use abide_organize::budget;
use serde_json::Value;
use std::pin::Pin;

const PINAX: &str = "pinax.json";

/// Extracts metadata.
#[derive(Clone)]
pub(crate) struct ExtractNode(pub(crate) Service);

impl Worker for ExtractNode {
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let service = self.0.clone();
        Box::pin(run(job, |order: NodeOrder| async move { extract(&service, &order).await }))
    }
}

async fn extract(service: &Service, order: &NodeOrder) -> Result<Published, WorkError> {
    let site = service.site().await;
    write(&site, order, PhaseName::Pinax, PINAX, |brief| make(service, &site, order, brief)).await
}

async fn make(
    service: &Service,
    site: &Site,
    order: &NodeOrder,
    brief: BriefAnswer,
) -> Result<Written, WorkError> {
    let metadata = service.shared.metadata.as_ref();
    let metadata = metadata.ok_or_else(|| WorkError::Never("nothing here extracts metadata".to_owned()))?;
    let entities = site.entities.as_ref();
    let shown = entities.get(&order.pi).await?;
    let children = of_children(entities, &shown, PINAX).await?;
    let tokens = children.iter().map(|child| budget::tokens(&String::from_utf8_lossy(&child.what))).sum();
    let mut files = files(entities, &shown).await?;
    without_ocr_beyond(&mut files, tokens, service.shared.ocr_text_token_threshold);
    let children = children.into_iter().filter_map(|ChildText { pi, label, what }| {
        Some(ChildText { pi, label, what: serde_json::from_slice::<Value>(&what).ok()? })
    });
    let previous = own(entities, &shown, PINAX).await?;
    let request = MetadataRequest {
        pi: order.pi.clone(),
        directory_name: brief.node.map(|node| node.name().to_owned()).unwrap_or_default(),
        files,
        children: children.collect(),
        previous: previous.and_then(|bytes| serde_json::from_slice(&bytes).ok()),
        custom_prompt: brief.custom_prompt,
        institution: brief.institution,
    };
    let extracted = metadata.extract(request).await?;
    let bytes = serde_json::to_vec_pretty(&extracted.pinax).map_err(|e| WorkError::Never(e.to_string()))?;
    Ok(Written { bytes, warnings: extracted.warnings, spent: extracted.spent })
}
