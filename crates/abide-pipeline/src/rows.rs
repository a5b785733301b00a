//! Keys of rows, and reading them.

use crate::chunk::Chunk;
use crate::message::IngestMessage;
use crate::node::{FileRecord, Node};
use crate::orders::Published;
use crate::refusal::No;
use crate::state::State;
use crate::status::PhaseName;
use abide_engine::{Halt, Record, Turn};
use abide_entities::{ContentId, EntityId};
use abide_organize::contract::ExistingGroup;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

pub(crate) const STATE: &str = "state";
pub(crate) const MESSAGE: &str = "message";
/// What came for a batch that goes on, until it is through.
pub(crate) const LATER: &str = "later";
pub(crate) const TODO: &str = "todo/";
pub(crate) const READY: &str = "ready/";
pub(crate) const LIVE: &str = "live/";
pub(crate) const DUE: &str = "due/";

/// The message as it came.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct MessageRow(pub(crate) IngestMessage);

impl Record for MessageRow {}

/// Files came for a batch after the first time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LaterRow {
    /// Where they are.
    pub(crate) message: IngestMessage,
    /// For the how manieth time their preprocessing was finished, if that was here.
    pub(crate) finishes: u32,
}

impl Record for LaterRow {}

/// Which chunk of which node a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SentRow {
    pub(crate) place: u32,
    pub(crate) chunk: u32,
}

impl Record for SentRow {}

/// What a worker has made for a node and not yet published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MadeRow {
    /// The component's bytes.
    pub cid: ContentId,
    /// What people should know.
    pub warnings: Vec<String>,
    /// What it took.
    pub spent: crate::work::Spent,
}

impl Record for MadeRow {}
impl Record for Published {}

/// Groups that a node had before the batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct GroupsRow(pub(crate) Vec<ExistingGroup>);

impl Record for GroupsRow {}

pub(crate) fn node_key(place: u32) -> String {
    format!("node/{place:07}")
}

pub(crate) fn pi_key(pi: &EntityId) -> String {
    format!("pi/{pi}")
}

pub(crate) fn kids_prefix(parent: u32) -> String {
    format!("kid/{parent:07}/")
}

pub(crate) fn kid_key(parent: u32, place: u32) -> String {
    format!("kid/{parent:07}/{place:07}")
}

pub(crate) fn files_prefix(place: u32) -> String {
    format!("file/{place:07}/")
}

pub(crate) fn file_key(place: u32, name: &str) -> String {
    format!("file/{place:07}/{name}")
}

pub(crate) fn todo_key(place: u32) -> String {
    format!("todo/{place:07}")
}

/// How many children of a node are through with a phase.
pub(crate) fn kids_done_key(phase: PhaseName, parent: u32) -> String {
    format!("kids_done/{}/{parent:07}", phase.as_str())
}

pub(crate) fn kids_done(turn: &mut Turn<'_>, phase: PhaseName, parent: u32) -> Result<u32, Halt<No>> {
    Ok(turn.get(&kids_done_key(phase, parent))?.unwrap_or(0))
}

pub(crate) fn made_key(phase: PhaseName, place: u32) -> String {
    format!("made/{}/{place:07}", phase.as_str())
}

pub(crate) fn groups_key(place: u32) -> String {
    format!("groups/{place:07}")
}

pub(crate) fn live_key(job: &str) -> String {
    format!("live/{job}")
}

pub(crate) fn chunk_key(place: u32, chunk: u32) -> String {
    format!("chunk/{place:07}/{chunk:04}")
}

pub(crate) fn ready_key(place: u32, chunk: u32) -> String {
    format!("ready/{place:07}/{chunk:04}")
}

pub(crate) fn sent_key(chunk_id: &str) -> String {
    format!("sent/{chunk_id}")
}

/// A request that was given up: what its answer took is counted if it comes, once.
pub(crate) fn late_key(chunk_id: &str) -> String {
    format!("late/{chunk_id}")
}

/// A request to a service of somebody else.
pub(crate) fn away_key(chunk_id: &str) -> String {
    format!("away/{chunk_id}")
}

/// When a request times out, and which.
pub(crate) fn due_key(at_ms: i64, chunk_id: &str) -> String {
    format!("due/{at_ms:015}/{chunk_id}")
}

pub(crate) fn said_prefix(place: u32) -> String {
    format!("said/{place:07}/")
}

pub(crate) fn said_key(place: u32, chunk: u32) -> String {
    format!("said/{place:07}/{chunk:04}")
}

pub(crate) fn guidance_key(place: u32) -> String {
    format!("guidance/{place:07}")
}

/// The number at the end of a key that begins with `prefix`.
pub(crate) fn place_of(prefix: &str, key: &str) -> Option<u32> {
    key.strip_prefix(prefix)?.parse().ok()
}

pub(crate) fn state(turn: &mut Turn<'_>) -> Result<State, Halt<No>> {
    let name = turn.object().name.as_str().to_owned();
    turn.get(STATE)?.ok_or_else(|| No::UnknownBatch(name).into())
}

pub(crate) fn message(turn: &mut Turn<'_>) -> Result<IngestMessage, Halt<No>> {
    let name = turn.object().name.as_str().to_owned();
    let MessageRow(message) = turn.get(MESSAGE)?.ok_or(No::UnknownBatch(name))?;
    Ok(message)
}

pub(crate) fn node(turn: &mut Turn<'_>, place: u32) -> Result<Node, Halt<No>> {
    turn.get(&node_key(place))?.ok_or_else(|| No::UnknownNode(place).into())
}

pub(crate) fn put_node(turn: &mut Turn<'_>, node: &Node) -> Result<(), Halt<No>> {
    Ok(turn.put(&node_key(node.place), node)?)
}

pub(crate) fn chunk(turn: &mut Turn<'_>, place: u32, chunk: u32) -> Result<Option<Chunk>, Halt<No>> {
    Ok(turn.get(&chunk_key(place, chunk))?)
}

/// The names of a node's files that can be put into groups, in their order: also those that nobody can read, since a scan
/// belongs where its text is; and those of them that an earlier run left in no group. What somebody put there stays there.
pub(crate) fn to_group(turn: &mut Turn<'_>, place: u32) -> Result<(Vec<String>, BTreeSet<String>), Halt<No>> {
    const PAGE: usize = 1_000;
    let (prefix, round) = (files_prefix(place), node(turn, place)?.round);
    let (mut names, mut former) = (Vec::new(), BTreeSet::new());
    let mut after: Option<String> = None;
    loop {
        let page: Vec<(String, FileRecord)> = turn.scan(&prefix, after.as_deref(), PAGE)?;
        let full = page.len() == PAGE;
        for (key, file) in page {
            after = Some(key);
            if !file.fixed && (file.error.is_none() || file.cid.is_some()) {
                // What was there in an earlier round was offered then.
                let is_former = file.former || file.round < round;
                former.extend(is_former.then(|| file.filename.clone()));
                names.push(file.filename);
            }
        }
        if !full {
            return Ok((names, former));
        }
    }
}
