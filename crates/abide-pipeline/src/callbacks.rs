//! What an organizer of somebody else says: groups are looked up before they count.

use crate::calls::{Call, CallbackAnswer};
use crate::pipeline::Pipeline;
use crate::service::Service;
use abide_engine::{CallError, Object};
use abide_entities::{EntityError, EntityId, EntityStore};
use abide_organize::contract::{CallbackPayload, GroupEntity};

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
    /// Takes what an organizer says of a batch. A group counts only if it is a child of the directory, with the files that are in it.
    pub async fn take_answer(
        &self,
        batch: &str,
        mut payload: CallbackPayload,
    ) -> Result<CallbackAnswer, CallbackError> {
        let site = self.site().await;
        let mut ignored = Vec::new();
        for result in payload.results.iter_mut().flatten() {
            let mut counting = Vec::new();
            for group in result.group_entities.take().unwrap_or_default() {
                let checked = check(site.entities.as_ref(), &result.pi, group).await;
                counting.extend(checked.map_err(CallbackError::Entities)?.noting(&mut ignored));
            }
            result.group_entities = Some(counting);
        }
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

async fn check(
    entities: &dyn EntityStore,
    parent: &EntityId,
    mut group: GroupEntity,
) -> Result<Checked, EntityError> {
    let nothing = |why: String| Ok(Checked { group: None, ignored: Some(why) });
    let name: String = group.group_name.chars().take(80).collect();
    let shown = match entities.get(&group.pi).await {
        Ok(shown) => shown,
        Err(EntityError::NotFound(_)) => {
            return nothing(format!("group {name:?}: there is no entity {}", group.pi));
        }
        Err(error) => return Err(error),
    };
    if shown.parent_pi.as_ref() != Some(parent) {
        return nothing(format!("group {name:?}: {} is no child of {parent}", group.pi));
    }
    let named = group.files.len();
    group.files.retain(|file| shown.components.contains_key(file));
    let missing = named - group.files.len();
    let ignored =
        (missing > 0).then(|| format!("group {name:?}: {missing} of its files are not in {}", group.pi));
    Ok(Checked { group: Some(group), ignored })
}
