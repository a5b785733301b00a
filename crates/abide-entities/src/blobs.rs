//! The blobs: which bytes are kept, since when, and whether a manifest names them.
//!
//! Bytes are kept once, under their id and a generation. A collection ends a generation before it deletes its bytes, and an
//! upload of the same file begins the next one, so neither waits for the other and neither deletes what the other wrote.
//!
//! | row | what |
//! |---|---|
//! | `b/{cid}` | one blob: what is kept of it, and how often manifests of all versions of all entities name it |
//! | `free/{cid}` | one that was named and is not any more: its bytes are to be deleted, or were within the last day |

use crate::content::ContentId;
use crate::limits::REMEMBERED_MS;
use crate::messages::{ToBlobs, ToEntity};
use crate::refusal::No;
use abide_core::event::{Event, Sender};
use abide_core::time::Time;
use abide_engine::{Answer, Halt, Object, Record, Turn};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The name of the one object of its kind.
pub(crate) const MAIN: &str = "main";

const ROWS: &str = "b/";
const FREE: &str = "free/";

/// What is asked about blobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum BlobsCall {
    /// A file is about to be kept.
    Keep {
        /// Which.
        cid: ContentId,
        /// Its bytes.
        size: u64,
        /// Its root node as DAG-JSON, if it has one.
        node: Option<Value>,
    },
    /// Its bytes are there.
    Kept {
        /// Which.
        cid: ContentId,
        /// In which generation.
        generation: u32,
    },
    /// Whether it is there.
    Find {
        /// Which.
        cid: ContentId,
    },
    /// These are about to be named: they are as young as if they had come now. Those that were deleted meanwhile are said.
    Touch {
        /// Which.
        cids: Vec<ContentId>,
    },
    /// Some of those that may be collected.
    Unnamed {
        /// Not touched for this long.
        older_than_ms: i64,
        /// After this one.
        after: Option<ContentId>,
        /// Blobs to look at.
        limit: usize,
    },
    /// Some of those that were named and are not any more.
    Free {
        /// After this one.
        after: Option<ContentId>,
        /// Blobs to look at.
        limit: usize,
    },
    /// End a generation, if it still may be collected.
    Condemn {
        /// Which blob.
        cid: ContentId,
        /// Not touched for this long.
        older_than_ms: i64,
    },
    /// The bytes of a generation are deleted.
    Deleted {
        /// Which blob.
        cid: ContentId,
        /// Which generation.
        generation: u32,
    },
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum BlobsReply {
    /// Where the file is to be put, and whether it is there already.
    Keep(Stored),
    /// What is kept of it.
    Found(Option<Stored>),
    /// These may be collected.
    Unnamed {
        /// Which, with their sizes.
        blobs: Vec<(ContentId, u64)>,
        /// Where to look on; none at the end.
        next: Option<ContentId>,
    },
    /// These were touched; those that were deleted within the last day are not there to be named.
    Touched {
        /// Which were deleted.
        deleted: Vec<ContentId>,
    },
    /// The generation whose bytes are to be deleted; none if it may not be collected any more.
    Condemned(Option<u32>),
    /// Noted.
    Done,
}

/// What is kept of a blob.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// Its bytes.
    pub size: u64,
    /// Under which generation they are.
    pub generation: u32,
    /// Whether they are all there.
    pub is_there: bool,
    /// Its root node as DAG-JSON, if it has one.
    pub node: Option<Value>,
}

/// One blob.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Blob {
    /// How many components, of any version of any entity, are it.
    names: u64,
    /// When it was last named.
    named_at: Time,
    /// When it was last uploaded, or about to be named.
    touched_at: Time,
    /// When somebody was last about to name it.
    claimed_at: Time,
    stored: Option<Stored>,
    /// A generation that was ended and whose bytes may still be there.
    ended: Option<u32>,
}

/// Names of a blob whose names were not counted: it is never deleted.
const NOT_COUNTED: u64 = 1 << 32;

impl Record for Blob {
    const SCHEMA: u16 = 2;

    fn upgrade(_from: u16, mut old: Value) -> Result<Value, String> {
        let is_named = old["named"].as_bool().unwrap_or(true);
        old["names"] = Value::from(if is_named { NOT_COUNTED } else { 0 });
        old["named_at"] = Value::from(0);
        old["claimed_at"] = Value::from(0);
        Ok(old)
    }
}

impl Blob {
    /// Whether it may go: nobody names it, and nobody is about to. Whoever brought one that was never named gets time to;
    /// whoever brought one again that was named is told if it is deleted.
    fn may_go(&self, now: Time, older_than_ms: i64) -> bool {
        let was_named = self.named_at != Time::default() && self.named_at >= self.claimed_at;
        self.names == 0
            && (self.stored.is_some() || self.ended.is_some())
            && (was_named || now.since(self.touched_at) > older_than_ms)
    }

    /// Whether its bytes were deleted and nobody brought them again. Whoever uploaded it before is to hear of it.
    fn is_deleted(&self) -> bool {
        self.names == 0 && self.stored.is_none()
    }
}

/// The kind of object that knows the blobs. There is one, `main`.
#[derive(Debug, Clone, Copy)]
pub struct Blobs;

impl Object for Blobs {
    const KIND: &'static str = "blobs";
    type Call = BlobsCall;
    type Reply = BlobsReply;
    type Message = ToBlobs;
    type Refusal = No;

    fn call(&self, turn: &mut Turn<'_>, call: BlobsCall) -> Result<Answer<BlobsReply>, Halt<No>> {
        let reply = match call {
            BlobsCall::Keep { cid, size, node } => BlobsReply::Keep(keep(turn, cid, size, node)?),
            BlobsCall::Kept { cid, generation } => {
                kept(turn, cid, generation)?;
                BlobsReply::Done
            }
            BlobsCall::Find { cid } => {
                let blob: Option<Blob> = turn.get(&key(cid))?;
                BlobsReply::Found(blob.and_then(|blob| blob.stored).filter(|stored| stored.is_there))
            }
            BlobsCall::Touch { cids } => BlobsReply::Touched { deleted: touch(turn, cids)? },
            BlobsCall::Free { after, limit } => free(turn, after, limit)?,
            BlobsCall::Unnamed { older_than_ms, after, limit } => unnamed(turn, older_than_ms, after, limit)?,
            BlobsCall::Condemn { cid, older_than_ms } => {
                BlobsReply::Condemned(condemn(turn, cid, older_than_ms)?)
            }
            BlobsCall::Deleted { cid, generation } => {
                deleted(turn, cid, generation)?;
                BlobsReply::Done
            }
        };
        Ok(reply.into())
    }

    fn message(&self, turn: &mut Turn<'_>, from: Option<&Sender>, message: ToBlobs) -> Result<(), Halt<No>> {
        for cid in message.named {
            let key = key(cid);
            let blob: Blob = turn.get(&key)?.unwrap_or_default();
            turn.put(&key, &Blob { names: blob.names + 1, named_at: turn.now(), ..blob })?;
        }
        for cid in message.held {
            let key = key(cid);
            if let Some(blob) = turn.get::<Blob>(&key)? {
                turn.put(&key, &Blob { named_at: turn.now(), ..blob })?;
            }
        }
        if message.dropped.is_empty() {
            return Ok(());
        }
        for cid in message.dropped {
            drop_one(turn, cid)?;
        }
        match from {
            Some(from) => Ok(turn.answer(from, &ToEntity::Forgotten)?),
            None => Ok(()),
        }
    }

    fn prefetch(&self, event: &Event) -> Vec<String> {
        let cids = match event {
            Event::Message { body, .. } => body
                .decode::<ToBlobs>()
                .map(|message| [message.named, message.held, message.dropped].concat()),
            Event::Call { body } => body.decode::<BlobsCall>().map(|call| match call {
                BlobsCall::Keep { cid, .. }
                | BlobsCall::Kept { cid, .. }
                | BlobsCall::Find { cid }
                | BlobsCall::Condemn { cid, .. }
                | BlobsCall::Deleted { cid, .. } => vec![cid],
                BlobsCall::Touch { cids } => cids,
                BlobsCall::Unnamed { .. } | BlobsCall::Free { .. } => Vec::new(),
            }),
            Event::Alarm { .. } | Event::Outcome(_) | Event::Entries { .. } => return Vec::new(),
        };
        cids.unwrap_or_default().into_iter().map(key).collect()
    }
}

fn key(cid: ContentId) -> String {
    format!("{ROWS}{cid}")
}

fn free_key(cid: ContentId) -> String {
    format!("{FREE}{cid}")
}

/// A component less is this blob. One that nothing names any more is to be deleted.
fn drop_one(turn: &mut Turn<'_>, cid: ContentId) -> Result<(), Halt<No>> {
    let key = key(cid);
    let Some(blob) = turn.get::<Blob>(&key)? else { return Ok(()) };
    let names = blob.names.saturating_sub(1);
    if names == 0 && blob.stored.is_none() && blob.ended.is_none() {
        // It was never here: others have it.
        turn.delete(&key);
        return Ok(());
    }
    if names == 0 {
        turn.put(&free_key(cid), &true)?;
    }
    Ok(turn.put(&key, &Blob { names, ..blob })?)
}

fn keep(turn: &mut Turn<'_>, cid: ContentId, size: u64, node: Option<Value>) -> Result<Stored, Halt<No>> {
    let key = key(cid);
    let blob: Blob = turn.get(&key)?.unwrap_or_default();
    let stored = blob.stored.unwrap_or_else(|| {
        let generation = blob.ended.map_or(0, |ended| ended + 1);
        Stored { size, generation, is_there: false, node }
    });
    turn.put(&key, &Blob { touched_at: turn.now(), stored: Some(stored.clone()), ..blob })?;
    Ok(stored)
}

fn kept(turn: &mut Turn<'_>, cid: ContentId, generation: u32) -> Result<(), Halt<No>> {
    let key = key(cid);
    let Some(mut blob) = turn.get::<Blob>(&key)? else { return Ok(()) };
    if let Some(stored) = blob.stored.as_mut().filter(|stored| stored.generation == generation) {
        stored.is_there = true;
        turn.put(&key, &blob)?;
    }
    Ok(())
}

/// Only what is kept here is touched: whoever names something else names nothing that could be collected. Gives those that
/// were deleted.
fn touch(turn: &mut Turn<'_>, cids: Vec<ContentId>) -> Result<Vec<ContentId>, Halt<No>> {
    let (now, mut deleted) = (turn.now(), Vec::new());
    for cid in cids {
        let key = key(cid);
        let Some(blob) = turn.get::<Blob>(&key)? else { continue };
        if blob.is_deleted() {
            deleted.push(cid);
        } else {
            turn.put(&key, &Blob { touched_at: now, claimed_at: now, ..blob })?;
        }
    }
    Ok(deleted)
}

fn free(turn: &mut Turn<'_>, after: Option<ContentId>, limit: usize) -> Result<BlobsReply, Halt<No>> {
    let after = after.map(free_key);
    let found: Vec<(String, bool)> = turn.scan(FREE, after.as_deref(), limit)?;
    let is_full = found.len() == limit;
    let id_of = |key: &str| ContentId::parse(key.strip_prefix(FREE).unwrap_or(key)).ok();
    let cids: Vec<ContentId> = found.iter().filter_map(|(key, _)| id_of(key)).collect();
    let mut blobs = Vec::with_capacity(cids.len());
    turn.prefetch(cids.iter().map(|cid| key(*cid)))?;
    for cid in &cids {
        let stored = turn.get::<Blob>(&key(*cid))?.and_then(|blob| blob.stored);
        blobs.push((*cid, stored.map_or(0, |stored| stored.size)));
    }
    Ok(BlobsReply::Unnamed { next: cids.last().copied().filter(|_| is_full), blobs })
}

fn unnamed(
    turn: &mut Turn<'_>,
    older_than_ms: i64,
    after: Option<ContentId>,
    limit: usize,
) -> Result<BlobsReply, Halt<No>> {
    let after = after.map(key);
    let found: Vec<(String, Blob)> = turn.scan(ROWS, after.as_deref(), limit)?;
    let id_of = |key: &str| ContentId::parse(key.strip_prefix(ROWS).unwrap_or(key)).ok();
    let next = found.last().filter(|_| found.len() == limit).and_then(|(key, _)| id_of(key));
    let now = turn.now();
    let may_go = found.iter().filter(|(_, blob)| blob.may_go(now, older_than_ms));
    let blobs = may_go
        .filter_map(|(key, blob)| Some((id_of(key)?, blob.stored.as_ref().map_or(0, |stored| stored.size))));
    Ok(BlobsReply::Unnamed { blobs: blobs.collect(), next })
}

fn condemn(turn: &mut Turn<'_>, cid: ContentId, older_than_ms: i64) -> Result<Option<u32>, Halt<No>> {
    let key = key(cid);
    let Some(blob) = turn.get::<Blob>(&key)? else {
        turn.delete(&free_key(cid));
        return Ok(None);
    };
    if !blob.may_go(turn.now(), older_than_ms) {
        let was_deleted_long_ago =
            blob.is_deleted() && blob.ended.is_none() && turn.now().since(blob.touched_at) > REMEMBERED_MS;
        if was_deleted_long_ago {
            turn.delete(&key);
        }
        if was_deleted_long_ago || blob.names > 0 {
            turn.delete(&free_key(cid));
        }
        return Ok(None);
    }
    // One that was ended before, by a collection that did not come to its end, is deleted first.
    let generation = blob.ended.or_else(|| blob.stored.as_ref().map(|stored| stored.generation));
    let stored = if blob.ended.is_some() { blob.stored } else { None };
    turn.put(&key, &Blob { stored, ended: generation, ..blob })?;
    Ok(generation)
}

fn deleted(turn: &mut Turn<'_>, cid: ContentId, generation: u32) -> Result<(), Halt<No>> {
    let key = key(cid);
    let Some(blob) = turn.get::<Blob>(&key)? else { return Ok(()) };
    if blob.ended != Some(generation) {
        return Ok(());
    }
    if blob.stored.is_none() && blob.names == 0 {
        // Remembered for a while: somebody who uploaded it may be about to name it.
        turn.put(&free_key(cid), &true)?;
        return Ok(turn.put(&key, &Blob { ended: None, touched_at: turn.now(), ..blob })?);
    }
    Ok(turn.put(&key, &Blob { ended: None, ..blob })?)
}
