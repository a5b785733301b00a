//! What people change by hand. Each is one change that may be repeated.

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
    let change = |shown: &abide_entities::answer::Shown| Append {
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
    if store.get(id).await?.parent_pi.as_ref() == Some(to) {
        return Ok(());
    }
    update(store, to, |shown| Append {
        children_pi_add: vec![id.clone()],
        note: Some("moved here by hand".to_owned()),
        ..Append::onto(shown.tip)
    })
    .await
    .map(drop)
}
