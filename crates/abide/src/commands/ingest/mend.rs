//! `--mend`: what is missing where bytes are kept, as after a backup that was restored without them.

use std::collections::{BTreeMap, BTreeSet};

use abide_collections::{Tree, Unfinished, is_file};
use abide_entities::request::Append;
use abide_entities::{ContentId, EntityError, EntityId, Part, update};

use super::Going;
use super::look::Look;
use super::remember::Again;
use crate::failure::Failure;

/// Parts that miss bytes, each with what was written about it and is missing.
pub(super) type Lost = BTreeMap<EntityId, BTreeSet<String>>;

impl Going<'_> {
    /// Looks for what is missing. Files of which something is are taken for edited, so that they are brought again.
    pub(super) async fn mend(&self, look: &mut Look) -> Result<(), Failure> {
        let Some(collection) = &look.collection else { return Ok(()) };
        let tree = match Tree::read(self.entities.as_ref(), &collection.root_pi).await {
            // Nothing of it is there yet.
            Err(EntityError::NotFound(_)) => return Ok(()),
            tree => tree?,
        };
        let mut names = BTreeSet::new();
        for branch in tree.branches() {
            for (name, cid) in &branch.entity.components {
                if self.is_missing(*cid).await? {
                    let written = look.lost.entry(branch.entity.id.clone()).or_default();
                    if is_file(name) {
                        names.insert(name);
                    } else {
                        written.insert(name.clone());
                    }
                }
            }
        }
        for (path, file) in &look.known {
            let is_lost = file.made.iter().any(|made| names.contains(file.named.get(made).unwrap_or(made)));
            let Some(found) = look.plan.found.get_mut(path).filter(|_| is_lost) else { continue };
            found.digest.get_or_insert_with(|| file.digest.clone());
            look.plan.changes.touched.remove(path);
            look.plan.changes.edited.insert(path.clone());
        }
        Ok(())
    }

    /// Has parts described again that miss bytes, beside what is done again anyhow. What was written about them and is missing is
    /// taken out: whoever describes them reads what there is.
    pub(super) async fn write_again(&self, lost: Lost, again: &mut Again) -> Result<(), Failure> {
        if lost.is_empty() {
            return Ok(());
        }
        for id in lost.keys() {
            again.entry(id.clone()).or_insert(Unfinished::Words);
        }
        self.save_unfinished(again).await?;
        for (id, written) in lost.iter().filter(|(_, written)| !written.is_empty()) {
            update(self.entities.as_ref(), id, |shown| Append {
                components_remove: written.clone(),
                note: Some("what is missing is written again".to_owned()),
                ..Append::onto(shown.tip)
            })
            .await?;
        }
        Ok(())
    }

    async fn is_missing(&self, cid: ContentId) -> Result<bool, Failure> {
        match self.entities.cat(cid, Some(Part::From(0, Some(0)))).await {
            // One without bytes has no first one.
            Ok(_) | Err(EntityError::InvalidParams(_)) => Ok(false),
            Err(EntityError::NotFound(_)) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}
