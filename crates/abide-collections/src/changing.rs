//! Changes by hand, one after the other in each collection.
//!
//! ```text
//! look, decide ── Begin{after} ──► written down, unless another one was begun since the look: then look again
//! do it, step by step ── End ──► done, and remembered of the files that it is about
//! ```
//!
//! Whoever comes while one is written down finishes it first, be it under way or left by a process that was stopped. Two may
//! so do the same change: each step is made on a version that was read while the change was still written down, so that who
//! is late finds it done, or is refused.

use crate::by_hand::ByHand;
use crate::catalog::{Call, Reply};
use crate::collection::Collection;
use crate::error::ShelfError;
use crate::limits::{CHANGES_AT_ONCE, ITEMS_PER_CALL};
use crate::refusal::No;
use crate::shelf::Shelf;
use crate::snapshot::pinned;
use crate::text::shown_name;
use abide_entities::answer::Shown;
use abide_entities::request::Append;
use abide_entities::{ContentId, EntityError, EntityId};
use std::collections::{BTreeMap, BTreeSet};

impl Shelf {
    /// A collection that must be there, with no change by hand under way.
    pub async fn known(&self, name: &str) -> Result<Collection, ShelfError> {
        loop {
            let collection = self.remembered(name).await?;
            let Some(change) = &collection.changing else { return Ok(collection) };
            // If it cannot be done, that is for whoever began it.
            self.finish(&collection, change).await?.ok();
        }
    }

    pub(crate) async fn remembered(&self, name: &str) -> Result<Collection, ShelfError> {
        match self.ask(&Call::Get { name: name.to_owned() }).await? {
            Reply::Collection(Some(collection)) => Ok(*collection),
            Reply::Collection(None) => Err(No::Unknown(name.to_owned()).into()),
            _ => Err(ShelfError::Strange),
        }
    }

    /// Makes a change that was decided with the collection as it is here. False if another one came before it.
    pub(crate) async fn change(&self, collection: &Collection, change: &ByHand) -> Result<bool, ShelfError> {
        let begin = Call::Begin {
            name: collection.name.clone(),
            after: collection.by_hand,
            change: Box::new(change.clone()),
        };
        match self.ask(&begin).await? {
            Reply::Collection(Some(begun)) => {
                self.finish(&begun, change).await??;
                Ok(true)
            }
            Reply::Collection(None) => Ok(false),
            _ => Err(ShelfError::Strange),
        }
    }

    /// Does what is written down, and says so. What cannot be done, however often it is tried, is given up.
    async fn finish(
        &self,
        begun: &Collection,
        change: &ByHand,
    ) -> Result<Result<(), EntityError>, ShelfError> {
        let done = match self.carry_out(begun, change).await {
            Err(ShelfError::Entities(error)) if !error.is_retryable() => Err(error),
            done => Ok(done?),
        };
        if let (Err(_), ByHand::MoveFiles { from, into, components, .. }) = (&done, change) {
            // What went before it failed comes back, if it can.
            self.transfer(begun, into, from, components).await.ok();
        }
        let end = Call::End { name: begun.name.clone(), nth: begun.by_hand, is_done: done.is_ok() };
        self.ask(&end).await?;
        Ok(done)
    }

    async fn carry_out(&self, begun: &Collection, change: &ByHand) -> Result<(), ShelfError> {
        match change {
            ByHand::MoveFiles { from, into, components, .. } => {
                self.transfer(begun, from, into, components).await
            }
            ByHand::RenameFile { part, component, to, .. } => {
                let renamed = |shown: &Shown| {
                    let cid =
                        shown.components.get(component).filter(|_| !shown.components.contains_key(to))?;
                    Some(Append {
                        components: BTreeMap::from([(to.clone(), *cid)]),
                        components_remove: BTreeSet::from([component.clone()]),
                        note: Some(format!(
                            "{} renamed by hand to {}",
                            shown_name(component),
                            shown_name(to)
                        )),
                        ..Append::onto(shown.tip)
                    })
                };
                self.step(begun, part, renamed).await?;
                self.expect_gone(begun, part, [component]).await
            }
            ByHand::MovePart { part, from, into } => self.move_part(begun, part, from.as_ref(), into).await,
            ByHand::RenamePart { part, label } => {
                let renamed = |shown: &Shown| {
                    (shown.label.as_ref() != Some(label)).then(|| Append {
                        label: Some(label.clone()),
                        note: Some("renamed by hand".to_owned()),
                        ..Append::onto(shown.tip)
                    })
                };
                self.step(begun, part, renamed).await
            }
        }
    }

    /// A part goes into another one. It is there when it says so, and gone from where it was when that does.
    async fn move_part(
        &self,
        begun: &Collection,
        part: &EntityId,
        from: Option<&EntityId>,
        into: &EntityId,
    ) -> Result<(), ShelfError> {
        if self.entities.get(part).await?.parent_pi.as_ref() != Some(into) {
            self.pin(begun, part).await?;
            let come = |shown: &Shown| {
                (!shown.children_pi.contains(part)).then(|| Append {
                    children_pi_add: vec![part.clone()],
                    note: Some("moved here by hand".to_owned()),
                    ..Append::onto(shown.tip)
                })
            };
            self.step(begun, into, come).await?;
        }
        let Some(from) = from.filter(|from| *from != into) else { return Ok(()) };
        let go = |shown: &Shown| {
            shown.children_pi.contains(part).then(|| Append {
                children_pi_remove: vec![part.clone()],
                note: Some("moved away by hand".to_owned()),
                ..Append::onto(shown.tip)
            })
        };
        self.step(begun, from, go).await
    }

    /// Files of groups in a part are looked for near their folder: from now on they are known to be where they are.
    async fn pin(&self, begun: &Collection, part: &EntityId) -> Result<(), ShelfError> {
        let (tree, known) = (self.whole(begun).await?, self.files(&begun.name).await?);
        let pinned: Vec<(String, EntityId)> = pinned(&begun.name, &tree, &known, part).into_iter().collect();
        for some in pinned.chunks(ITEMS_PER_CALL) {
            let at = some.iter().cloned().collect();
            self.ask(&Call::Pin { name: begun.name.clone(), nth: begun.by_hand, at }).await?;
        }
        Ok(())
    }

    /// Components of one entity go to another. For a moment they are in both, never in none; what the other has under the
    /// same name with another content is left alone.
    async fn transfer(
        &self,
        begun: &Collection,
        from: &EntityId,
        into: &EntityId,
        components: &BTreeSet<String>,
    ) -> Result<(), ShelfError> {
        let components: Vec<&String> = components.iter().filter(|_| from != into).collect();
        for part in components.chunks(CHANGES_AT_ONCE) {
            let source = self.entities.get(from).await?.components;
            let moving = part.iter().filter_map(|name| Some(((*name).clone(), *source.get(*name)?)));
            let moving: BTreeMap<String, ContentId> = moving.collect();
            let come = |shown: &Shown| {
                let lacks = moving.iter().filter(|(name, _)| !shown.components.contains_key(*name));
                let lacks: BTreeMap<String, ContentId> =
                    lacks.map(|(name, cid)| (name.clone(), *cid)).collect();
                (!lacks.is_empty()).then(|| Append {
                    note: Some(format!("{} moved here", files(lacks.keys()))),
                    components: lacks,
                    ..Append::onto(shown.tip)
                })
            };
            self.step(begun, into, come).await?;
            let there = self.entities.get(into).await?.components;
            let go = |shown: &Shown| {
                let is_there = |name: &&String| {
                    shown.components.contains_key(*name) && shown.components.get(*name) == there.get(*name)
                };
                let gone: BTreeSet<String> = moving.keys().filter(is_there).cloned().collect();
                (!gone.is_empty()).then(|| Append {
                    note: Some(format!("{} moved away", files(gone.iter()))),
                    components_remove: gone,
                    ..Append::onto(shown.tip)
                })
            };
            self.step(begun, from, go).await?;
            self.expect_gone(begun, from, moving.keys()).await?;
        }
        Ok(())
    }

    /// An error if an entity still has one of the components that were to leave it: another file has got the name since the change
    /// was decided.
    async fn expect_gone<'a>(
        &self,
        begun: &Collection,
        id: &EntityId,
        components: impl IntoIterator<Item = &'a String>,
    ) -> Result<(), ShelfError> {
        let has = self.entities.get(id).await?.components;
        let Some(left) = components.into_iter().find(|name| has.contains_key(*name)) else { return Ok(()) };
        if !self.is_under_way(begun).await? {
            return Ok(());
        }
        let reason = format!("{} stays as it is: another file got the name meanwhile", shown_name(left));
        Err(EntityError::Conflict(reason).into())
    }

    /// Whether a change that was begun is still written down.
    async fn is_under_way(&self, begun: &Collection) -> Result<bool, ShelfError> {
        let now = self.remembered(&begun.name).await?;
        Ok(now.changing.is_some() && (now.life, now.by_hand) == (begun.life, begun.by_hand))
    }

    /// Makes a version of an entity if there is something to change, while the change is written down.
    async fn step(
        &self,
        begun: &Collection,
        id: &EntityId,
        change: impl Fn(&Shown) -> Option<Append>,
    ) -> Result<(), ShelfError> {
        loop {
            let Some(append) = change(&self.entities.get(id).await?) else { return Ok(()) };
            if !self.is_under_way(begun).await? {
                // Somebody else has done it to its end.
                return Ok(());
            }
            match self.entities.append(id, append).await {
                // Each time one of all has won.
                Err(EntityError::Cas(_)) => {}
                made => return Ok(made.map(drop)?),
            }
        }
    }
}

/// Files for a note.
fn files<'a>(mut names: impl ExactSizeIterator<Item = &'a String>) -> String {
    match (names.len(), names.next()) {
        (1, Some(name)) => name.clone(),
        (count, _) => format!("{count} files"),
    }
}
