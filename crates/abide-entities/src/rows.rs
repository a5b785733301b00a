//! The rows of an entity, and their keys.

use crate::answer::Made;
use crate::content::ContentId;
use crate::id::EntityId;
use abide_core::limits::SCAN_ROWS;
use abide_core::ticket::Ticket;
use abide_engine::turn::Turn;
use abide_engine::{Halt, Record};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The key of the [`Head`].
pub(crate) const HEAD: &str = "head";
/// Keys of [`Component`]s in the newest version.
pub(crate) const COMPONENTS: &str = "k/";
/// Keys of [`Formerly`] held components, by the version in which they went.
pub(crate) const FORMER: &str = "h/";
/// Keys of [`Version`]s, newest first.
pub(crate) const VERSIONS: &str = "v/";
/// Keys of [`Kinship`]s, by place.
pub(crate) const KINSHIPS: &str = "kh/";
/// Keys of [`PageOfChildren`]s.
pub(crate) const PAGES: &str = "pg/";

/// The key of [`Leaving`].
pub(crate) const LEAVING: &str = "leaving";

/// The key of a component.
pub(crate) fn component(name: &str) -> String {
    format!("{COMPONENTS}{name}")
}

/// The key of a component that went in version `ver`.
pub(crate) fn former(ver: u32, name: &str) -> String {
    format!("{FORMER}{ver:010}/{name}")
}

/// The key of a version.
pub(crate) fn version(ver: u32) -> String {
    format!("{VERSIONS}{:010}", u32::MAX - ver)
}

/// The key by which a version is found by its manifest.
pub(crate) fn by_cid(cid: ContentId) -> String {
    format!("cid/{cid}")
}

/// The key of a child.
pub(crate) fn child(id: &EntityId) -> String {
    format!("kid/{id}")
}

/// The key of a child's place.
pub(crate) fn kinship(seq: u64) -> String {
    format!("{KINSHIPS}{seq:010}")
}

/// The key of a page of children.
pub(crate) fn page(page: u64) -> String {
    format!("{PAGES}{page:010}")
}

/// The key of a call that waits for others.
pub(crate) fn waiting(wait: u64) -> String {
    format!("wait/{wait}")
}

/// The newest version, and what only the newest has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) created_at: i64,
    /// What the entity was created with: the same again is the same creation.
    pub(crate) asked: ContentId,
    pub(crate) version: Version,
    /// How it is bound to the version's parent.
    pub(crate) bond: Option<Bond>,
    /// The number of the next link to a child. Only grows.
    pub(crate) next_link: u64,
    /// The number of the next call that waits.
    pub(crate) next_wait: u64,
}

impl Record for Head {}

/// How a child is bound to its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bond {
    /// It asked the parent, which has not answered yet.
    Asked(u64),
    /// The parent has it under this number.
    Link(u64),
}

/// One version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Version {
    pub(crate) ver: u32,
    pub(crate) cid: ContentId,
    pub(crate) prev: Option<ContentId>,
    pub(crate) ts: i64,
    pub(crate) note: Option<String>,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) label: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) properties: Option<Map<String, Value>>,
    pub(crate) parent: Option<EntityId>,
    pub(crate) source: Option<EntityId>,
    pub(crate) components: u32,
    pub(crate) children: u64,
    /// Places for children given out so far: past one page of them, the manifest has pages.
    pub(crate) next_seq: u64,
}

impl Record for Version {}

/// A component of the newest version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Component {
    pub(crate) cid: ContentId,
    /// The version that brought it.
    pub(crate) since: u32,
}

impl Record for Component {}

/// A component of older versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Formerly {
    pub(crate) name: String,
    pub(crate) cid: ContentId,
    /// The version that brought it; the row's key has the one that took it.
    pub(crate) since: u32,
}

impl Record for Formerly {}

/// A child of the newest version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Child {
    pub(crate) seq: u64,
    pub(crate) link: u64,
}

impl Record for Child {}

/// From when to when an entity was a child.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kinship {
    pub(crate) child: EntityId,
    pub(crate) added: u32,
    pub(crate) removed: Option<u32>,
}

impl Record for Kinship {}

impl Kinship {
    /// Whether version `ver` has this child.
    pub(crate) fn is_in(&self, ver: u32) -> bool {
        self.added <= ver && self.removed.is_none_or(|removed| removed > ver)
    }
}

/// The block of a page of children in the newest version; none if nobody of it is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PageOfChildren {
    pub(crate) cid: Option<ContentId>,
}

impl Record for PageOfChildren {}

/// A call that is answered when the entities that it links know of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Waiting {
    pub(crate) ticket: Ticket,
    /// What it is answered with: the version that it made, whatever others make meanwhile. None in rows of an older program.
    #[serde(default)]
    pub(crate) made: Option<Made>,
    pub(crate) left: u32,
    pub(crate) children_updated: u32,
    pub(crate) children_failed: u32,
}

impl Record for Waiting {}

/// An entity that is being deleted: it has no head any more, and tells others row by row what they may forget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Leaving {
    /// Who is told when it is gone.
    pub(crate) tickets: Vec<Ticket>,
    /// Rows of which kind are told about.
    pub(crate) telling: Telling,
    /// After this row.
    pub(crate) after: Option<String>,
}

impl Record for Leaving {}

/// What is told about, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Telling {
    /// What the newest version names.
    Components,
    /// What older versions named.
    Former,
    /// The versions.
    Versions,
}

/// Every row under a prefix, past a key.
pub(crate) fn all<R: Record, E>(
    turn: &mut Turn<'_>,
    prefix: &str,
    past: Option<&str>,
) -> Result<Vec<(String, R)>, Halt<E>> {
    let mut rows: Vec<(String, R)> = Vec::new();
    loop {
        let after = rows.last().map(|(key, _)| key.clone()).or_else(|| past.map(str::to_owned));
        let found = turn.scan(prefix, after.as_deref(), SCAN_ROWS)?;
        let is_full = found.len() == SCAN_ROWS;
        rows.extend(found);
        if !is_full {
            return Ok(rows);
        }
    }
}
