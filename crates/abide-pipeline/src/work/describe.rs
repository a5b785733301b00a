//! Describes a node.

use super::context::{files, of_children, own};
use super::publish::{Written, write};
use super::{ChildText, DescribeRequest, WorkError, run};
use crate::calls::BriefAnswer;
use crate::orders::{NodeOrder, Published};
use crate::service::Service;
use crate::site::Site;
use crate::status::PhaseName;
use abide_core::job::Finish;
use abide_engine::JobContext;
use abide_engine::worker::Worker;
use std::pin::Pin;

const DESCRIPTION: &str = "description.md";
const PINAX: &str = "pinax.json";

/// Describes directories.
#[derive(Clone)]
pub(crate) struct DescribeNode(pub(crate) Service);

impl Worker for DescribeNode {
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let service = self.0.clone();
        Box::pin(run(job, |order: NodeOrder| async move { describe(&service, &order).await }))
    }
}

async fn describe(service: &Service, order: &NodeOrder) -> Result<Published, WorkError> {
    let site = service.site().await;
    write(&site, order, PhaseName::Description, DESCRIPTION, |brief| make(service, &site, order, brief)).await
}

async fn make(
    service: &Service,
    site: &Site,
    order: &NodeOrder,
    brief: BriefAnswer,
) -> Result<Written, WorkError> {
    let describe = service.shared.describe.as_ref();
    let describe = describe.ok_or_else(|| WorkError::Never("nothing here describes".to_owned()))?;
    let entities = site.entities.as_ref();
    let shown = entities.get(&order.pi).await?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let children = of_children(entities, &shown, DESCRIPTION).await?;
    let children =
        children.into_iter().map(|ChildText { pi, label, what }| ChildText { pi, label, what: text(what) });
    let pinax = own(entities, &shown, PINAX).await?;
    let request = DescribeRequest {
        pi: order.pi.clone(),
        directory_name: brief.node.map(|node| node.name().to_owned()).unwrap_or_default(),
        pinax: pinax.and_then(|bytes| serde_json::from_slice(&bytes).ok()),
        files: files(entities, &shown).await?,
        children: children.collect(),
        previous: own(entities, &shown, DESCRIPTION).await?.map(text),
        custom_prompt: brief.custom_prompt,
    };
    let described = describe.describe(request).await?;
    let bytes = described.markdown.into_bytes();
    Ok(Written { bytes, warnings: described.warnings, spent: described.spent })
}
