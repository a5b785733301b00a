//! What people change by hand, and what may be changed. How it is done is in `changing.rs`.

use crate::collection::SourceFile;
use crate::limits::{DEPTH, NAME_BYTES};
use crate::part::children;
use crate::text::{is_file, shown_name};
use crate::tree::label;
use abide_entities::answer::Shown;
use abide_entities::request::Append;
use abide_entities::{EntityError, EntityId, EntityStore, update};
use abide_pipeline::FileKind;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What somebody changes by hand, decided as a whole. Doing it again changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ByHand {
    /// Everything that files became goes to another part.
    MoveFiles {
        /// Where it is.
        from: EntityId,
        /// Where it goes.
        into: EntityId,
        /// What goes.
        components: BTreeSet<String>,
        /// Files that it became of, by their paths in the folder.
        sources: BTreeSet<String>,
    },
    /// A component is called something else.
    RenameFile {
        /// Where it is.
        part: EntityId,
        /// Which.
        component: String,
        /// What it is called then.
        to: String,
        /// Files that it became of, by their paths in the folder.
        sources: BTreeSet<String>,
    },
    /// A part goes into another one, with everything in it.
    MovePart {
        /// Which.
        part: EntityId,
        /// What it is in.
        from: Option<EntityId>,
        /// Where it goes.
        into: EntityId,
    },
    /// A part is called something else.
    RenamePart {
        /// Which.
        part: EntityId,
        /// What it is called then.
        label: String,
    },
}

impl ByHand {
    /// Files that it is about: they are remembered in another way when it is done.
    pub(crate) fn sources(&self) -> &BTreeSet<String> {
        static NONE: BTreeSet<String> = BTreeSet::new();
        match self {
            ByHand::MoveFiles { sources, .. } | ByHand::RenameFile { sources, .. } => sources,
            ByHand::MovePart { .. } | ByHand::RenamePart { .. } => &NONE,
        }
    }

    /// Whether it changes where files are known to be, or under which names.
    pub(crate) const fn is_of_files(&self) -> bool {
        match self {
            ByHand::MoveFiles { .. } | ByHand::RenameFile { .. } | ByHand::MovePart { .. } => true,
            ByHand::RenamePart { .. } => false,
        }
    }

    /// One of its sources from now on.
    pub(crate) fn remember(&self, file: &mut SourceFile) {
        match self {
            ByHand::MoveFiles { into, .. } => file.at = Some(into.clone()),
            ByHand::RenameFile { component, to, .. } => {
                file.made.iter_mut().filter(|made| *made == component).for_each(|made| made.clone_from(to));
                let own = file.named.iter().find(|(_, named)| *named == component);
                let own = own.map_or_else(|| component.clone(), |(own, _)| own.clone());
                file.named.insert(own, to.clone());
            }
            ByHand::MovePart { .. } | ByHand::RenamePart { .. } => {}
        }
    }
}

/// What somebody calls a part, if it may be called so.
pub(crate) async fn check_label(
    store: &dyn EntityStore,
    part: &Shown,
    label: &str,
) -> Result<String, EntityError> {
    if label.trim().is_empty() || label.contains(|c: char| c == '/' || c.is_control()) {
        return Err(EntityError::Invalid(format!(
            "{label:?} cannot be a name: it is empty, or has a / or a control character"
        )));
    }
    let label = label.trim().to_owned();
    if let Some(parent) = &part.parent_pi {
        check_free(store, parent, &part.id, &label).await?;
    }
    Ok(label)
}

/// Whether a component may be called something else: it stays of its kind, as what its name ends with says how it is read.
pub(crate) fn check_file_name(component: &str, to: &str) -> Result<(), EntityError> {
    let kind = FileKind::of(component);
    let ending = |name: &str| shown_name(name).rsplit_once('.').map(|(_, ending)| ending.to_lowercase());
    let why = if to.trim() != to || to.is_empty() || to.contains(|c: char| c == '/' || c.is_control()) {
        "it is empty, has blanks around it, a / or a control character"
    } else if to.len() > NAME_BYTES {
        "it is too long"
    } else if !is_file(to) {
        "what is written about files has that name"
    } else if FileKind::of(to) != kind || kind == FileKind::Ref && ending(component) != ending(to) {
        "its ending would make something else of it"
    } else {
        return Ok(());
    };
    let (to, component) = (shown_name(to), shown_name(component));
    Err(EntityError::Invalid(format!("{to:?} cannot be the name of {component:?}: {why}")))
}

/// Moves a component from one entity to another. For a moment it is in both, never in none.
pub async fn move_file(
    store: &dyn EntityStore,
    from: &EntityId,
    component: &str,
    to: &EntityId,
) -> Result<(), EntityError> {
    if from == to {
        return Ok(());
    }
    let source = store.get(from).await?;
    let Some(cid) = source.components.get(component).copied() else {
        return Err(EntityError::NotFound(format!("{from} has no file {component:?}")));
    };
    let target = store.get(to).await?;
    if target.components.get(component).is_some_and(|there| *there != cid) {
        return Err(EntityError::Conflict(format!("{to} has another file {component:?} already")));
    }
    update(store, to, |shown| Append {
        components: BTreeMap::from([(component.to_owned(), cid)]),
        note: Some(format!("{component} moved here")),
        ..Append::onto(shown.tip)
    })
    .await?;
    update(store, from, |shown| Append {
        components_remove: BTreeSet::from([component.to_owned()]),
        note: Some(format!("{component} moved away")),
        ..Append::onto(shown.tip)
    })
    .await
    .map(drop)
}

/// Whether a part may go into another one.
pub(crate) async fn check_move(
    store: &dyn EntityStore,
    part: &Shown,
    into: &EntityId,
) -> Result<(), EntityError> {
    let mut above = Some(into.clone());
    for _ in 0..=DEPTH {
        let Some(one) = above else { break };
        if one == part.id {
            return Err(EntityError::Invalid(format!("{:?} cannot be moved into itself", label(part))));
        }
        above = store.get(&one).await?.parent_pi;
    }
    check_free(store, into, &part.id, label(part)).await
}

/// People know a part by its name: no other part beside it may have the same.
async fn check_free(
    store: &dyn EntityStore,
    parent: &EntityId,
    id: &EntityId,
    name: &str,
) -> Result<(), EntityError> {
    let beside = children(store, &store.get(parent).await?.children_pi).await?;
    let is_same = |other: &Shown| other.id != *id && label(other).to_lowercase() == name.to_lowercase();
    match beside.iter().find(|other| is_same(other)) {
        None => Ok(()),
        Some(other) => {
            Err(EntityError::Conflict(format!("there is another part {:?} already", label(other))))
        }
    }
}
