//! What an organizer of somebody else says: groups are looked up before they count.

use crate::calls::{Call, CallbackAnswer};
use crate::pipeline::Pipeline;
use crate::service::Service;
use abide_engine::{CallError, Object};
use abide_entities::answer::Shown;
use abide_entities::{EntityError, EntityId, EntityStore};
use abide_organize::contract::{CallbackPayload, GroupEntity, NewPi, OWN_COMPONENTS};
use std::collections::{BTreeMap, BTreeSet};

/// Reasons that are told.
const TOLD: usize = 20;

/// An answer that was not taken.
#[derive(Debug, thiserror::Error)]
pub enum CallbackError {
    /// Entities cannot be looked up now.
    #[error("the groups cannot be looked up: {0}")]
    Entities(EntityError),
    /// The batch says no.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl Service {
    /// Takes what an organizer says of a batch. A group counts only if it is a child of the directory, with the files that are in
    /// it. One that is only in `new_pis`, which the second generation sends, has the name and the files that its entity has.
    pub async fn take_answer(
        &self,
        batch: &str,
        mut payload: CallbackPayload,
    ) -> Result<CallbackAnswer, CallbackError> {
        let site = self.site().await;
        let entities = site.entities.as_ref();
        let mut ignored = Vec::new();
        let mut new: BTreeMap<EntityId, BTreeSet<EntityId>> = BTreeMap::new();
        for NewPi { pi, parent_pi, .. } in payload.new_pis.drain(..) {
            new.entry(parent_pi).or_default().insert(pi);
        }
        for result in payload.results.iter_mut().flatten() {
            let (mut counting, mut unnamed) = (Vec::new(), new.remove(&result.pi).unwrap_or_default());
            for group in result.group_entities.take().unwrap_or_default() {
                unnamed.remove(&group.pi);
                let checked = check(entities, &result.pi, group).await;
                counting.extend(checked.map_err(CallbackError::Entities)?.noting(&mut ignored));
            }
            for pi in unnamed {
                let checked = whole(entities, &result.pi, pi).await;
                counting.extend(checked.map_err(CallbackError::Entities)?.noting(&mut ignored));
            }
            result.group_entities = Some(counting);
        }
        ignored.extend(
            new.keys().map(|parent| format!("new_pis: there is no result for their parent {parent}")),
        );
        ignored.truncate(TOLD);
        let call = Call::Callback { service: "organizer".to_owned(), payload: Box::new(payload), ignored };
        Ok(site.call(Pipeline::KIND, batch, &call).await?)
    }
}

/// A group with what of it counts.
struct Checked {
    group: Option<GroupEntity>,
    ignored: Option<String>,
}

impl Checked {
    fn noting(self, ignored: &mut Vec<String>) -> Option<GroupEntity> {
        ignored.extend(self.ignored);
        self.group
    }
}

/// The entity of a group, or why it does not count.
async fn child(
    entities: &dyn EntityStore,
    parent: &EntityId,
    pi: &EntityId,
    called: &str,
) -> Result<Result<Shown, String>, EntityError> {
    match entities.get(pi).await {
        Ok(shown) if shown.parent_pi.as_ref() == Some(parent) => Ok(Ok(shown)),
        Ok(_) => Ok(Err(format!("{called}: {pi} is no child of {parent}"))),
        Err(EntityError::NotFound(_)) => Ok(Err(format!("{called}: there is no entity {pi}"))),
        Err(error) => Err(error),
    }
}

async fn check(
    entities: &dyn EntityStore,
    parent: &EntityId,
    mut group: GroupEntity,
) -> Result<Checked, EntityError> {
    let name: String = group.group_name.chars().take(80).collect();
    let called = format!("group {name:?}");
    let shown = match child(entities, parent, &group.pi, &called).await? {
        Ok(shown) => shown,
        Err(why) => return Ok(Checked { group: None, ignored: Some(why) }),
    };
    let named = group.files.len();
    group.files.retain(|file| shown.components.contains_key(file));
    let missing = named - group.files.len();
    let ignored = (missing > 0).then(|| format!("{called}: {missing} of its files are not in {}", group.pi));
    Ok(Checked { group: Some(group), ignored })
}

/// A group of which only the id was said.
async fn whole(entities: &dyn EntityStore, parent: &EntityId, pi: EntityId) -> Result<Checked, EntityError> {
    let shown = match child(entities, parent, &pi, "new_pis").await? {
        Ok(shown) => shown,
        Err(why) => return Ok(Checked { group: None, ignored: Some(why) }),
    };
    let files = shown.components.into_keys().filter(|name| !OWN_COMPONENTS.contains(&name.as_str()));
    let group = GroupEntity {
        group_name: shown.label.unwrap_or_else(|| pi.to_string()),
        pi,
        tip: Some(shown.tip),
        ver: Some(shown.ver),
        files: files.collect(),
        description: shown.description.unwrap_or_default(),
    };
    Ok(Checked { group: Some(group), ignored: None })
}
