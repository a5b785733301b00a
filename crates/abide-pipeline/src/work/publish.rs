//! Writes a component of a node: made once, kept, and then published.

use super::{Spent, Undone, WorkError};
use crate::calls::{BriefAnswer, Call, OkAnswer};
use crate::orders::{NodeOrder, Published};
use crate::rows::MadeRow;
use crate::site::Site;
use crate::status::PhaseName;
use abide_entities::request::Append;
use abide_entities::{ContentId, EntityStore, update};
use bytes::Bytes;
use futures_util::stream;

/// What a worker made for a component.
pub(super) struct Written {
    pub(super) bytes: Vec<u8>,
    pub(super) warnings: Vec<String>,
    pub(super) spent: Spent,
}

/// Keeps bytes as a file.
pub(super) async fn keep(
    entities: &dyn EntityStore,
    name: &str,
    bytes: Vec<u8>,
) -> Result<ContentId, WorkError> {
    let pieces = stream::iter([Ok(Bytes::from(bytes))]);
    Ok(entities.upload(name.to_owned(), Box::pin(pieces)).await?.cid)
}

/// Notes what was paid for nothing, and gives the reason.
pub(super) async fn paid(site: &Site, order: &NodeOrder, undone: Undone) -> WorkError {
    let Undone { why, spent } = undone;
    if spent != Spent::default() {
        let call = Call::Spent { life: order.batch.life, spent };
        // A batch that cannot be told now is told nothing else either: the job is done again.
        drop(site.ask::<OkAnswer>(order.batch.batch_id.as_str(), &call).await);
    }
    why
}

/// Publishes a component that `make` makes of the entity as it is, unless it was made before: what a model was paid for is not asked for again.
pub(super) async fn write<F>(
    site: &Site,
    order: &NodeOrder,
    phase: PhaseName,
    component: &'static str,
    make: impl FnOnce(BriefAnswer) -> F,
) -> Result<Published, WorkError>
where
    F: Future<Output = Result<Written, Undone>>,
{
    let (batch, life, place) = (order.batch.batch_id.as_str(), order.batch.life, order.place);
    let brief: BriefAnswer = site.ask(batch, &Call::Brief { life, place, phase }).await?;
    if brief.node.is_none() {
        return Err(WorkError::Never("nothing is to be done with the directory any more".to_owned()));
    }
    let note = brief.custom_note.clone().unwrap_or_else(|| format!("{component} by batch {batch}"));
    let made = match brief.made.clone() {
        Some(made) => made,
        None => {
            let Written { bytes, warnings, spent } = match make(brief).await {
                Ok(written) => written,
                Err(undone) => return Err(paid(site, order, undone).await),
            };
            let cid = keep(site.entities.as_ref(), component, bytes).await?;
            let made = MadeRow { cid, warnings, spent };
            site.ask::<OkAnswer>(batch, &Call::Keep { life, place, phase, made: made.clone() }).await?;
            made
        }
    };
    let MadeRow { cid, warnings, spent } = made;
    let shown = site.entities.get(&order.pi).await?;
    if shown.components.get(component) == Some(&cid) {
        return Ok(Published { tip: shown.tip, ver: shown.ver, warnings, spent });
    }
    let changed = update(site.entities.as_ref(), &order.pi, |shown| Append {
        components: [(component.to_owned(), cid)].into(),
        note: Some(note.clone()),
        ..Append::onto(shown.tip)
    });
    let changed = changed.await?;
    Ok(Published { tip: changed.tip, ver: changed.ver, warnings, spent })
}
