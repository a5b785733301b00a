//! Writes a component of a node: its record or its description.

use super::context::{files, of_children, own};
use super::publish::{Written, write};
use super::{ChildText, Undone, WorkError, describe, pinax, run};
use crate::calls::BriefAnswer;
use crate::orders::{NodeOrder, Published};
use crate::service::Service;
use crate::site::Site;
use crate::status::PhaseName;
use abide_core::job::Finish;
use abide_engine::JobContext;
use abide_engine::worker::Worker;
use abide_entities::EntityId;
use abide_organize::InputFile;
use std::pin::Pin;

const RECORD: &str = "pinax.json";
const DESCRIPTION: &str = "description.md";

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// `pinax.json`.
    Record,
    /// `description.md`.
    Description,
}

impl What {
    const fn phase(self) -> PhaseName {
        match self {
            What::Record => PhaseName::Pinax,
            What::Description => PhaseName::Description,
        }
    }

    const fn component(self) -> &'static str {
        match self {
            What::Record => RECORD,
            What::Description => DESCRIPTION,
        }
    }
}

/// Writes one of them.
#[derive(Clone)]
pub(crate) struct WriteNode {
    pub(crate) service: Service,
    pub(crate) what: What,
}

/// What it is written from.
pub(super) struct Source {
    pub(super) pi: EntityId,
    pub(super) directory_name: String,
    /// Texts, and what was read off images.
    pub(super) files: Vec<InputFile>,
    /// Every child, with its record and its description as far as they are there.
    pub(super) children: Vec<ChildText<[Option<Vec<u8>>; 2]>>,
    /// The same component as it was.
    pub(super) previous: Option<Vec<u8>>,
    /// The record, if there is one.
    pub(super) record: Option<Vec<u8>>,
    pub(super) custom_prompt: Option<String>,
    pub(super) institution: Option<String>,
}

impl Worker for WriteNode {
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let WriteNode { service, what } = self.clone();
        Box::pin(run(job, move |order: NodeOrder| async move { written(&service, what, &order).await }))
    }
}

async fn written(service: &Service, what: What, order: &NodeOrder) -> Result<Published, WorkError> {
    let site = service.site().await;
    let make = |brief| make(service, &site, what, order, brief);
    write(&site, order, what.phase(), what.component(), make).await
}

async fn make(
    service: &Service,
    site: &Site,
    what: What,
    order: &NodeOrder,
    brief: BriefAnswer,
) -> Result<Written, Undone> {
    let entities = site.entities.as_ref();
    let shown = entities.get(&order.pi).await?;
    let also = match what {
        What::Record => None,
        What::Description => Some(DESCRIPTION),
    };
    let source = Source {
        pi: order.pi.clone(),
        directory_name: brief.node.map(|node| node.name().to_owned()).unwrap_or_default(),
        files: files(entities, &shown).await?,
        children: of_children(entities, &shown, RECORD, also).await?,
        previous: own(entities, &shown, what.component()).await?,
        record: own(entities, &shown, What::Record.component()).await?,
        custom_prompt: brief.custom_prompt,
        institution: brief.institution,
    };
    match what {
        What::Record => pinax::make(service, source).await,
        What::Description => describe::make(service, source).await,
    }
}
