//! Manifests: the block that a version's id is the id of.

use crate::content::{Codec, ContentId, dag_cbor};
use crate::id::EntityId;
use crate::rows::Version;
use crate::stamp::stamp;
use ipld_core::ipld::Ipld;
use serde_json::Value;
use std::collections::BTreeMap;

const SCHEMA: &str = "arke/eidos@v1";

/// The children of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Children {
    /// In the manifest itself.
    Inline(Vec<EntityId>),
    /// In blocks of their own.
    Pages(Vec<ContentId>),
}

/// The manifest of a version; `version.cid` does not count.
pub(crate) fn manifest(
    id: &EntityId,
    created_at: i64,
    version: &Version,
    components: impl IntoIterator<Item = (String, ContentId)>,
    children: &Children,
) -> Ipld {
    let text = |text: &str| Ipld::String(text.to_owned());
    let components = components.into_iter().map(|(name, cid)| (name, cid.link())).collect();
    let mut fields: BTreeMap<String, Ipld> = BTreeMap::new();
    let mut put = |name: &str, value: Ipld| fields.insert(name.to_owned(), value);
    put("schema", text(SCHEMA));
    put("id", text(id.as_str()));
    put("type", text(&version.kind));
    put("created_at", text(&stamp(created_at)));
    put("ver", Ipld::Integer(version.ver.into()));
    put("ts", text(&stamp(version.ts)));
    put("prev", version.prev.map_or(Ipld::Null, ContentId::link));
    put("components", Ipld::Map(components));
    if let Some(properties) = &version.properties {
        put("properties", of_json(&Value::Object(properties.clone())));
    }
    match children {
        Children::Inline(ids) if ids.is_empty() => None,
        Children::Inline(ids) => put("children_pi", list_of(ids)),
        Children::Pages(pages) if pages.is_empty() => None,
        Children::Pages(pages) => {
            put("children_pages", Ipld::List(pages.iter().map(|cid| cid.link()).collect()))
        }
    };
    let words = [
        ("parent_pi", version.parent.as_ref().map(EntityId::as_str)),
        ("source_pi", version.source.as_ref().map(EntityId::as_str)),
        ("label", version.label.as_deref()),
        ("description", version.description.as_deref()),
        ("note", version.note.as_deref()),
    ];
    for (name, word) in words {
        if let Some(word) = word {
            put(name, text(word));
        }
    }
    Ipld::Map(fields)
}

/// A page of children.
pub(crate) fn page(ids: &[EntityId]) -> Ipld {
    Ipld::Map(BTreeMap::from([("children_pi".to_owned(), list_of(ids))]))
}

/// The id of a manifest or a page.
pub(crate) fn id_of(block: &Ipld) -> ContentId {
    ContentId::of(Codec::DagCbor, &dag_cbor(block))
}

fn list_of(ids: &[EntityId]) -> Ipld {
    Ipld::List(ids.iter().map(|id| Ipld::String(id.as_str().to_owned())).collect())
}

/// A value of JSON; numbers without a fraction are whole ones.
pub(crate) fn of_json(value: &Value) -> Ipld {
    match value {
        Value::Null => Ipld::Null,
        Value::Bool(truth) => Ipld::Bool(*truth),
        Value::Number(number) => {
            let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
            whole.map_or_else(|| Ipld::Float(number.as_f64().unwrap_or(0.0)), Ipld::Integer)
        }
        Value::String(text) => Ipld::String(text.clone()),
        Value::Array(items) => Ipld::List(items.iter().map(of_json).collect()),
        Value::Object(fields) => {
            Ipld::Map(fields.iter().map(|(name, value)| (name.clone(), of_json(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_has_the_id_that_other_implementations_give_it() {
        let blob = ContentId::of(Codec::Raw, b"hello world");
        assert_eq!(blob.to_string(), "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e");
        let at = 1_735_689_600_000;
        let version = Version {
            ver: 1,
            cid: blob,
            prev: None,
            ts: at,
            note: None,
            kind: "PI".to_owned(),
            label: None,
            description: None,
            properties: None,
            parent: None,
            source: None,
            components: 1,
            children: 0,
            next_seq: 0,
        };
        let id = EntityId::parse("01J8ME3H6FZ3KQ5W1P2XY8K7E5").expect("an id");
        let components = [("a.txt".to_owned(), blob)];
        let made = manifest(&id, at, &version, components, &Children::Inline(Vec::new()));
        assert_eq!(dag_cbor(&made).len(), 197);
        assert_eq!(id_of(&made).to_string(), "bafyreihcfcrkmxvsarw2cmz57dm6rqwyq3y64qratzt63bigmbzoldgtpm");
    }
}
