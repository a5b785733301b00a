//! The catalog: every entity in the order in which they changed, and every manifest by its id.
//!
//! | row | what |
//! |---|---|
//! | `count` | changes so far |
//! | `e/{id}` | an entity: its version and its place |
//! | `t/{place}` | the entity that changed there, as lists have it; the newest change has the smallest place |
//! | `cid/{cid}` | whose manifest or page of children that is |

use crate::answer::{EntityList, Listed, Metadata};
use crate::content::ContentId;
use crate::id::EntityId;
use crate::messages::{ToCatalog, ToEntity};
use crate::refusal::No;
use abide_core::event::{Event, Sender};
use abide_engine::{Answer, Halt, Object, Record, Turn};
use serde::{Deserialize, Serialize};

const COUNT: &str = "count";
const PLACES: &str = "t/";

/// What the catalog is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CatalogCall {
    /// Entities, the one that changed last first.
    List {
        /// How many.
        limit: usize,
        /// After this place.
        cursor: Option<String>,
        /// Whether to say more than id and tip.
        with_metadata: bool,
    },
    /// Where a block is.
    Find {
        /// Which.
        cid: ContentId,
    },
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CatalogReply {
    /// Entities.
    List(EntityList),
    /// A block, if it is known.
    Found(Option<Block>),
}

/// Where a block is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Whose.
    pub entity: EntityId,
    /// Of which version.
    pub ver: u32,
    /// Which page of children; the manifest if none.
    pub page: Option<u64>,
}

impl Record for Block {}

/// Where an entity is in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    ver: u32,
    place: String,
}

impl Record for Entry {}

/// An entity in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    id: EntityId,
    tip: ContentId,
    metadata: Metadata,
}

impl Record for Line {}

/// The kind of object that the catalog is. There is one, `main`.
#[derive(Debug, Clone, Copy)]
pub struct Catalog;

impl Object for Catalog {
    const KIND: &'static str = "catalog";
    type Call = CatalogCall;
    type Reply = CatalogReply;
    type Message = ToCatalog;
    type Refusal = No;

    fn call(&self, turn: &mut Turn<'_>, call: CatalogCall) -> Result<Answer<CatalogReply>, Halt<No>> {
        let reply = match call {
            CatalogCall::List { limit, cursor, with_metadata } => {
                CatalogReply::List(list(turn, limit, cursor, with_metadata)?)
            }
            CatalogCall::Find { cid } => CatalogReply::Found(turn.get(&block_key(cid))?),
        };
        Ok(reply.into())
    }

    fn message(
        &self,
        turn: &mut Turn<'_>,
        from: Option<&Sender>,
        message: ToCatalog,
    ) -> Result<(), Halt<No>> {
        let Some((from, entity)) = from.and_then(|from| Some((from, sender(from)?))) else { return Ok(()) };
        let (cid, pages, metadata) = match message {
            ToCatalog::Version { cid, pages, metadata } => (cid, pages, *metadata),
            ToCatalog::Gone { gone } => return forget(turn, from, &entity, &gone),
        };
        let ver = metadata.ver;
        let block = Block { entity: entity.clone(), ver, page: None };
        turn.put(&block_key(cid), &block)?;
        for (page, cid) in pages {
            turn.put(&block_key(cid), &Block { page: Some(page), ..block.clone() })?;
        }
        let key = entry_key(&entity);
        let former: Option<Entry> = turn.get(&key)?;
        if former.as_ref().is_some_and(|former| former.ver >= ver) {
            return Ok(());
        }
        if let Some(former) = former {
            turn.delete(&place_key(&former.place));
        }
        let count = turn.get::<u64>(COUNT)?.unwrap_or(0) + 1;
        turn.put(COUNT, &count)?;
        let place = format!("{:020}", u64::MAX - count);
        let line = Line { id: entity, tip: cid, metadata };
        turn.put(&place_key(&place), &line)?;
        Ok(turn.put(&key, &Entry { ver, place })?)
    }

    fn prefetch(&self, event: &Event) -> Vec<String> {
        match event {
            Event::Message { from: Some(from), .. } => {
                let entry = sender(from).map(|entity| entry_key(&entity));
                entry.into_iter().chain([COUNT.to_owned()]).collect()
            }
            Event::Message { from: None, .. }
            | Event::Call { .. }
            | Event::Alarm { .. }
            | Event::Outcome(_)
            | Event::Entries { .. } => Vec::new(),
        }
    }
}

/// An entity is not listed any more, and its manifests are nobody's.
fn forget(turn: &mut Turn<'_>, from: &Sender, entity: &EntityId, gone: &[ContentId]) -> Result<(), Halt<No>> {
    if let Some(entry) = turn.get::<Entry>(&entry_key(entity))? {
        turn.delete(&place_key(&entry.place));
        turn.delete(&entry_key(entity));
    }
    gone.iter().for_each(|cid| turn.delete(&block_key(*cid)));
    Ok(turn.answer(from, &ToEntity::Forgotten)?)
}

fn sender(from: &Sender) -> Option<EntityId> {
    EntityId::parse(from.object.name.as_str()).ok()
}

fn entry_key(entity: &EntityId) -> String {
    format!("e/{entity}")
}

fn place_key(place: &str) -> String {
    format!("{PLACES}{place}")
}

fn block_key(cid: ContentId) -> String {
    format!("cid/{cid}")
}

fn list(
    turn: &mut Turn<'_>,
    limit: usize,
    cursor: Option<String>,
    with_metadata: bool,
) -> Result<EntityList, Halt<No>> {
    let is_place = |place: &String| place.len() == 20 && place.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(cursor) = cursor.as_ref().filter(|cursor| !is_place(cursor)) {
        return Err(No::BadCursor(cursor.clone()).into());
    }
    let past = cursor.as_deref().map(place_key);
    let found: Vec<(String, Line)> = turn.scan(PLACES, past.as_deref(), limit)?;
    let next_cursor = found.last().filter(|_| found.len() == limit).map(|(key, _)| {
        let place = key.strip_prefix(PLACES).unwrap_or(key);
        place.to_owned()
    });
    let entities = found.into_iter().map(|(_, line)| {
        let metadata = with_metadata.then_some(line.metadata);
        Listed { id: line.id, tip: line.tip, metadata }
    });
    Ok(EntityList { entities: entities.collect(), limit, next_cursor })
}
