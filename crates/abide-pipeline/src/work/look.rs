//! Looks for groups of a node that a request made and that nobody told the batch of.

use super::{WorkError, run};
use crate::calls::{Call, FoundGroup, OkAnswer};
use crate::orders::NodeOrder;
use crate::service::Service;
use abide_core::job::Finish;
use abide_engine::JobContext;
use abide_engine::worker::Worker;
use abide_organize::contract::OWN_COMPONENTS;
use serde_json::{Value, json};
use std::pin::Pin;

/// Files of groups that one call brings; one group is always brought.
const FILES_PER_CALL: usize = 400;

/// Looks for groups.
#[derive(Clone)]
pub(crate) struct Look(pub(crate) Service);

impl Worker for Look {
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let service = self.0.clone();
        Box::pin(run(job, |order: NodeOrder| async move { look(&service, &order).await }))
    }
}

async fn look(service: &Service, order: &NodeOrder) -> Result<Value, WorkError> {
    let site = service.site().await;
    let (batch, life, place) = (order.batch.batch_id.as_str(), order.batch.life, order.place);
    let shown = site.entities.get(&order.pi).await?;
    let (mut children, mut files) = (Vec::new(), 0);
    for pi in &shown.children_pi {
        let child = site.entities.get(pi).await?;
        let named = child.components.iter().filter(|(name, _)| !OWN_COMPONENTS.contains(&name.as_str()));
        let found = FoundGroup {
            pi: pi.clone(),
            label: child.label.unwrap_or_else(|| pi.to_string()),
            tip: child.tip,
            ver: child.ver,
            files: named.map(|(name, cid)| (name.clone(), *cid)).collect(),
        };
        files += found.files.len();
        children.push(found);
        if files > FILES_PER_CALL {
            let children = std::mem::take(&mut children);
            site.ask::<OkAnswer>(batch, &Call::Found { life, place, children }).await?;
            files = 0;
        }
    }
    if !children.is_empty() {
        site.ask::<OkAnswer>(batch, &Call::Found { life, place, children }).await?;
    }
    Ok(json!({ "children": shown.children_pi.len() }))
}
