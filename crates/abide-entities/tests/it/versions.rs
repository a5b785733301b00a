//! Versions of an entity: compare-and-swap, the order of changes, any version by number.

use crate::world::{append, ask, blob, create, get, id, world};
use abide_engine::CallError;
use abide_engine::testing::World;
use abide_entities::request::{Append, Create, Selector};
use abide_entities::{Call, Reply};
use serde_json::{Map, json};
use std::collections::{BTreeMap, BTreeSet};

fn components(names: &[(&str, &str)]) -> BTreeMap<String, abide_entities::ContentId> {
    names.iter().map(|(name, text)| ((*name).to_owned(), blob(text))).collect()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn with_two(world: &mut World) -> abide_entities::ContentId {
    let given = Create { components: components(&[("a", "1"), ("b", "2")]), ..Create::default() };
    create(world, &id(1), given).unwrap().tip
}

#[test]
fn a_version_adds_then_removes_and_older_ones_stay_as_they_were() {
    let mut world = world(1);
    let tip = with_two(&mut world);
    let change = Append {
        components: components(&[("a", "other"), ("c", "3"), ("d", "4")]),
        components_remove: names(&["d", "b", "never there"]),
        ..Append::onto(tip)
    };
    let second = append(&mut world, &id(1), change).unwrap();
    assert_eq!(second.ver, 2);
    assert_eq!(get(&mut world, &id(1)).components, components(&[("a", "other"), ("c", "3")]));
    assert_eq!(get(&mut world, &id(1)).prev_cid, Some(tip));
    for selector in [Selector::Ver(1), Selector::Cid(tip)] {
        let Reply::Shown(first) = ask(&mut world, &id(1), &Call::Version(selector)).unwrap() else {
            panic!("no version")
        };
        assert_eq!(first.components, components(&[("a", "1"), ("b", "2")]));
        assert_eq!((first.ver, first.manifest_cid, first.tip), (1, tip, second.tip));
    }
}

#[test]
fn a_stale_tip_changes_nothing_and_says_which_one_is_true() {
    let mut world = world(1);
    let tip = with_two(&mut world);
    let second = append(&mut world, &id(1), Append::onto(tip)).unwrap();
    let stale = Call::Append(Box::new(Append::onto(tip)));
    let commits = world.commits().len();
    assert_eq!(ask(&mut world, &id(1), &stale).unwrap(), Reply::TipMoved { actual: second.tip });
    assert_eq!(world.commits().len(), commits);
}

#[test]
fn creating_again_is_the_same_creation_or_a_conflict() {
    let mut world = world(1);
    let given = Create { label: Some("letters".to_owned()), ..Create::default() };
    let first = create(&mut world, &id(1), given.clone()).unwrap();
    append(&mut world, &id(1), Append::onto(first.tip)).unwrap();
    assert_eq!(create(&mut world, &id(1), given).unwrap(), first);
    let other = create(&mut world, &id(1), Create::default()).unwrap_err();
    assert!(matches!(other, CallError::Refused(refused) if refused.code == "taken"));
}

#[test]
fn empty_properties_clear_them() {
    let mut world = world(1);
    let properties = json!({ "year": 1889, "share": 0.5 }).as_object().cloned();
    let made =
        create(&mut world, &id(1), Create { properties: properties.clone(), ..Create::default() }).unwrap();
    assert_eq!(get(&mut world, &id(1)).properties, properties);
    let made = append(&mut world, &id(1), Append::onto(made.tip)).unwrap();
    assert_eq!(get(&mut world, &id(1)).properties, properties);
    let cleared = Append { properties: Some(Map::new()), ..Append::onto(made.tip) };
    append(&mut world, &id(1), cleared).unwrap();
    assert_eq!(get(&mut world, &id(1)).properties, None);
}

#[test]
fn versions_are_listed_newest_first_page_by_page() {
    let mut world = world(1);
    let mut tips = vec![with_two(&mut world)];
    for _ in 0..4 {
        tips.push(append(&mut world, &id(1), Append::onto(*tips.last().unwrap())).unwrap().tip);
    }
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let call = Call::Versions { limit: 2, cursor };
        let Reply::Versions(page) = ask(&mut world, &id(1), &call).unwrap() else { panic!("no page") };
        seen.extend(page.items.into_iter().map(|item| item.cid));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    tips.reverse();
    assert_eq!(seen, tips);
}

#[test]
fn past_a_page_of_children_manifests_link_pages_and_every_version_is_rebuilt() {
    let mut world = world(1);
    let parent = id(0);
    let mut tip = create(&mut world, &parent, Create::default()).unwrap().tip;
    for hundred in 0..11 {
        let children: Vec<_> = (1..=100).map(|n| id(hundred * 100 + n)).collect();
        for child in &children {
            create(&mut world, child, Create::default()).unwrap();
        }
        tip = append(&mut world, &parent, Append { children_pi_add: children, ..Append::onto(tip) })
            .unwrap()
            .tip;
    }
    let removed = Append { children_pi_remove: vec![id(7)], ..Append::onto(tip) };
    let last = append(&mut world, &parent, removed).unwrap();
    assert_eq!(get(&mut world, &parent).children_pi.len(), 1_099);
    // A block that is not rebuilt as it was made fails an assertion inside.
    for ver in 1..=last.ver {
        let Reply::Block(block) = ask(&mut world, &parent, &Call::Block { ver, page: None }).unwrap() else {
            panic!("no block")
        };
        let pages = block["children_pages"].as_array().map_or(0, Vec::len);
        assert_eq!(pages, if ver > 11 { 2 } else { 0 }, "version {ver}");
    }
}
