//! A directory and its groups as entities, with everything checked that must always hold.

use crate::rig::Rig;
use abide_entities::answer::Shown;
use abide_entities::{EntityId, EntityStore};
use abide_organize::contract::{DESCRIPTION_FILE, DESCRIPTION_SOURCE};
use std::collections::{BTreeMap, BTreeSet};

/// What a test may compare between runs: names and content, not versions and times.
#[derive(Debug, PartialEq)]
pub(crate) struct Tree {
    pub(crate) parent: BTreeMap<String, String>,
    pub(crate) children: BTreeSet<EntityId>,
    pub(crate) groups: BTreeMap<EntityId, Grouped>,
    pub(crate) description: String,
}

/// Label, description and components of a group.
pub(crate) type Grouped = (Option<String>, Option<String>, BTreeMap<String, String>);

fn components(shown: &Shown) -> BTreeMap<String, String> {
    shown.components.iter().map(|(name, cid)| (name.clone(), cid.to_string())).collect()
}

/// The directory and its groups, with everything checked that must always hold.
pub(crate) async fn tree(rig: &Rig, before: &Shown) -> Tree {
    let parent = rig.get(&before.id).await;
    let mut groups = BTreeMap::new();
    let mut all = components(&parent);
    for child in &parent.children_pi {
        let group = rig.get(child).await;
        assert_eq!(group.parent_pi.as_ref(), Some(&before.id), "links are symmetric");
        assert!(!group.components.is_empty(), "no group is empty");
        all.extend(components(&group));
        groups.insert(child.clone(), (group.label.clone(), group.description.clone(), components(&group)));
        versions_are_whole(rig, child).await;
    }
    versions_are_whole(rig, &before.id).await;
    all.remove(DESCRIPTION_FILE);
    all.remove(DESCRIPTION_SOURCE);
    assert_eq!(all, components(before), "nothing is lost and nothing is made up");
    let description = match parent.components.contains_key(DESCRIPTION_FILE) {
        true => rig.text(&parent, DESCRIPTION_FILE).await,
        false => String::new(),
    };
    let children = parent.children_pi.iter().cloned().collect();
    Tree { parent: components(&parent), children, groups, description }
}

/// Versions count up by one along `prev`, and the tip resolves.
async fn versions_are_whole(rig: &Rig, id: &EntityId) {
    let shown = rig.get(id).await;
    assert_eq!(rig.entities.resolve(id).await.unwrap().tip, shown.tip);
    let versions = rig.entities.versions(id, 1_000, None).await.unwrap().items;
    let numbers: Vec<u32> = versions.iter().map(|version| version.ver).collect();
    assert_eq!(numbers, (1..=shown.ver).rev().collect::<Vec<_>>());
}
