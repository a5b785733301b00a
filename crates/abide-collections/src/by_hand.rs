//! What people change by hand. Each is one change that may be repeated.

use crate::part::children;
use crate::tree::label;
use abide_entities::answer::Shown;
use abide_entities::request::Append;
use abide_entities::{EntityError, EntityId, EntityStore, update};
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

/// Moves an entity with everything in it into another one.
pub async fn move_node(store: &dyn EntityStore, id: &EntityId, to: &EntityId) -> Result<(), EntityError> {
    let mut above = Some(to.clone());
    while let Some(one) = above {
        if one == *id {
            return Err(EntityError::Invalid(format!("{id} cannot be moved into itself")));
        }
        above = store.get(&one).await?.parent_pi;
    }
    let moved = store.get(id).await?;
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
