//! Versions as they are shown, rebuilt from the rows without walking.

use crate::answer::{Shown, VersionItem, Versions};
use crate::children::{self, Range};
use crate::components;
use crate::content::ContentId;
use crate::dag_json;
use crate::id::EntityId;
use crate::manifest;
use crate::refusal::No;
use crate::request::Selector;
use crate::rows::{self, Head, VERSIONS, Version};
use crate::stamp::stamp;
use abide_engine::{Halt, Turn};
use serde_json::Value;

/// The newest version.
pub(crate) fn newest(turn: &mut Turn<'_>, id: &EntityId, head: &Head) -> Result<Shown, Halt<No>> {
    shown(turn, id, head, head.version.clone())
}

/// The version that `selector` names.
pub(crate) fn version(
    turn: &mut Turn<'_>,
    id: &EntityId,
    head: &Head,
    selector: Selector,
) -> Result<Shown, Halt<No>> {
    let ver = match selector {
        Selector::Ver(ver) => ver,
        Selector::Cid(cid) => numbered(turn, id, cid)?,
    };
    let version = load(turn, id, ver)?;
    shown(turn, id, head, version)
}

/// Versions past the one with the manifest `cursor`, newest first.
pub(crate) fn versions(
    turn: &mut Turn<'_>,
    limit: usize,
    cursor: Option<ContentId>,
) -> Result<Versions, Halt<No>> {
    let past = match cursor {
        None => None,
        Some(cid) => {
            let ver: Option<u32> = turn.get(&rows::by_cid(cid))?;
            Some(ver.ok_or_else(|| No::BadCursor(cid.to_string()))?)
        }
    };
    let past = past.map(rows::version);
    let found: Vec<(String, Version)> = turn.scan(VERSIONS, past.as_deref(), limit)?;
    let next = found.last().filter(|(_, last)| found.len() == limit && last.ver > 1);
    let next_cursor = next.map(|(_, last)| last.cid);
    let items = found.into_iter().map(|(_, version)| VersionItem {
        ver: version.ver,
        cid: version.cid,
        ts: stamp(version.ts),
        note: version.note,
    });
    Ok(Versions { items: items.collect(), next_cursor })
}

/// A manifest, or a page of children, as DAG-JSON.
pub(crate) fn block(
    turn: &mut Turn<'_>,
    id: &EntityId,
    head: &Head,
    ver: u32,
    page: Option<u64>,
) -> Result<Value, Halt<No>> {
    if let Some(page) = page {
        let ids = children::in_version(turn, ver, Range::Page(page))?;
        return Ok(dag_json::of_value(&manifest::page(&ids)));
    }
    let version = load(turn, id, ver)?;
    let components = components::of_version(turn, ver)?;
    let children = children::of_version(turn, &version)?;
    let manifest = manifest::manifest(id, head.created_at, &version, components, &children);
    debug_assert_eq!(manifest::id_of(&manifest), version.cid, "a version is rebuilt as it was made");
    Ok(dag_json::of_value(&manifest))
}

fn load(turn: &mut Turn<'_>, id: &EntityId, ver: u32) -> Result<Version, Halt<No>> {
    let version = turn.get(&rows::version(ver))?;
    version.ok_or_else(|| No::UnknownVersion { id: id.clone(), given: ver.to_string() }.into())
}

fn numbered(turn: &mut Turn<'_>, id: &EntityId, cid: ContentId) -> Result<u32, Halt<No>> {
    let ver = turn.get(&rows::by_cid(cid))?;
    ver.ok_or_else(|| No::UnknownVersion { id: id.clone(), given: cid.to_string() }.into())
}

fn shown(turn: &mut Turn<'_>, id: &EntityId, head: &Head, version: Version) -> Result<Shown, Halt<No>> {
    let components = components::of_version(turn, version.ver)?;
    let children_pi = children::in_version(turn, version.ver, Range::All)?;
    Ok(Shown {
        id: id.clone(),
        pi: id.clone(),
        kind: version.kind,
        created_at: stamp(head.created_at),
        label: version.label,
        description: version.description,
        ver: version.ver,
        ts: stamp(version.ts),
        manifest_cid: version.cid,
        tip: head.version.cid,
        prev_cid: version.prev,
        components,
        properties: version.properties,
        children_pi,
        parent_pi: version.parent,
        source_pi: version.source,
        note: version.note,
    })
}
