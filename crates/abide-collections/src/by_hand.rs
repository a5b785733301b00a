//! What people change by hand. Each is one change that may be repeated.

use crate::limits::{CHANGES_AT_ONCE, NAME_BYTES};
use crate::part::children;
use crate::text::{is_file, shown_name};
use crate::tree::label;
use abide_entities::answer::Shown;
use abide_entities::request::Append;
use abide_entities::{ContentId, EntityError, EntityId, EntityStore, update};
use abide_pipeline::FileKind;
use std::collections::{BTreeMap, BTreeSet};

/// Calls an entity something else.
pub async fn rename(store: &dyn EntityStore, id: &EntityId, label: &str) -> Result<(), EntityError> {
    if label.trim().is_empty() || label.contains(|c: char| c == '/' || c.is_control()) {
        return Err(EntityError::Invalid(format!(
            "{label:?} cannot be a name: it is empty, or has a / or a control character"
        )));
    }
    let label = label.trim().to_owned();
    if let Some(parent) = store.get(id).await?.parent_pi {
        check_free(store, &parent, id, &label).await?;
    }
    let change = |shown: &Shown| Append {
        label: Some(label.clone()),
        note: Some("renamed by hand".to_owned()),
        ..Append::onto(shown.tip)
    };
    update(store, id, change).await.map(drop)
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

/// Calls a component something else.
pub(crate) async fn rename_file(
    store: &dyn EntityStore,
    id: &EntityId,
    component: &str,
    to: &str,
) -> Result<(), EntityError> {
    let Some(cid) = store.get(id).await?.components.get(component).copied() else {
        return Err(EntityError::NotFound(format!("{id} has no file {component:?}")));
    };
    update(store, id, |shown| Append {
        components: BTreeMap::from([(to.to_owned(), cid)]),
        components_remove: BTreeSet::from([component.to_owned()]),
        note: Some(format!("{} renamed by hand to {}", shown_name(component), shown_name(to))),
        ..Append::onto(shown.tip)
    })
    .await
    .map(drop)
}

/// Moves a component from one entity to another. For a moment it is in both, never in none.
pub async fn move_file(
    store: &dyn EntityStore,
    from: &EntityId,
    component: &str,
    to: &EntityId,
) -> Result<(), EntityError> {
    move_files(store, from, &BTreeSet::from([component.to_owned()]), to).await
}

/// Moves components from one entity to another. For a moment they are in both, never in none.
pub(crate) async fn move_files(
    store: &dyn EntityStore,
    from: &EntityId,
    components: &BTreeSet<String>,
    to: &EntityId,
) -> Result<(), EntityError> {
    if from == to {
        return Ok(());
    }
    let (source, target) = (store.get(from).await?.components, store.get(to).await?.components);
    let mut moving = BTreeMap::new();
    for component in components {
        let Some(cid) = source.get(component).copied() else {
            return Err(EntityError::NotFound(format!("{from} has no file {component:?}")));
        };
        if target.get(component).is_some_and(|there| *there != cid) {
            return Err(EntityError::Conflict(format!("{to} has another file {component:?} already")));
        }
        moving.insert(component.clone(), cid);
    }
    let moving: Vec<(String, ContentId)> = moving.into_iter().collect();
    let what = |part: &[(String, ContentId)]| match part {
        [(component, _)] => component.clone(),
        part => format!("{} files", part.len()),
    };
    for part in moving.chunks(CHANGES_AT_ONCE) {
        update(store, to, |shown| Append {
            components: part.iter().cloned().collect(),
            note: Some(format!("{} moved here", what(part))),
            ..Append::onto(shown.tip)
        })
        .await?;
    }
    for part in moving.chunks(CHANGES_AT_ONCE) {
        update(store, from, |shown| Append {
            components_remove: part.iter().map(|(component, _)| component.clone()).collect(),
            note: Some(format!("{} moved away", what(part))),
            ..Append::onto(shown.tip)
        })
        .await?;
    }
    Ok(())
}

/// Moves an entity with everything in it into another one.
pub async fn move_node(store: &dyn EntityStore, id: &EntityId, to: &EntityId) -> Result<(), EntityError> {
    let moved = store.get(id).await?;
    let mut above = Some(to.clone());
    while let Some(one) = above {
        if one == *id {
            return Err(EntityError::Invalid(format!("{:?} cannot be moved into itself", label(&moved))));
        }
        above = store.get(&one).await?.parent_pi;
    }
    if moved.parent_pi.as_ref() == Some(to) {
        return Ok(());
    }
    check_free(store, to, id, label(&moved)).await?;
    update(store, to, |shown| Append {
        children_pi_add: vec![id.clone()],
        note: Some("moved here by hand".to_owned()),
        ..Append::onto(shown.tip)
    })
    .await
    .map(drop)
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
