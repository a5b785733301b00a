//! Answers of the organizer: groups become nodes of their own.

use crate::again;
use crate::calls::FoundGroup;
use crate::chunk::{Chunk, ChunkResult, ChunkState, GroupResult, Missed};
use crate::flow::Flow;
use crate::node::{FileKind, FileRecord, Node};
use crate::phases::reorganization::{missed, no_longer_awaited, planned, settled};
use crate::refusal::No;
use crate::rows;
use crate::status::PhaseName;
use abide_engine::Halt;
use abide_entities::{ContentId, EntityId};
use abide_organize::contract::{CallbackPayload, GroupEntity, Operation, PiResult, PiStatus};
use abide_organize::names;
use std::collections::BTreeSet;

/// Bytes kept of a plan for the parts of a directory: it is in every request about them.
const GUIDANCE_BYTES: usize = 8 * 1024;

/// Takes an answer. How many results counted: none of one that nobody awaits any more.
pub(crate) fn take(flow: &mut Flow<'_, '_>, payload: CallbackPayload) -> Result<usize, Halt<No>> {
    let batch = flow.batch_id()?.to_string();
    if payload.batch_id != batch {
        return Err(No::OtherBatch(payload.batch_id).into());
    }
    if payload.operation == Operation::Organize && payload.results.is_none() && payload.error.is_none() {
        return Err(No::NoResults.into());
    }
    let late = rows::late_key(&payload.chunk_id);
    if flow.turn.get::<bool>(&late)?.is_some() {
        flow.turn.delete(&late);
        pay(flow, &payload);
    }
    if flow.state.phase() != Some(PhaseName::Reorganization) {
        return Ok(0);
    }
    let Some((node, number, chunk)) = no_longer_awaited(flow, &payload.chunk_id)? else {
        flow.state.note(format!("an answer about chunk {} came that nobody awaits", payload.chunk_id));
        return Ok(0);
    };
    pay(flow, &payload);
    match chunk.operation {
        Operation::Strategize => strategized(flow, node, number, chunk, payload)?,
        Operation::Organize => organized(flow, node, number, chunk, payload)?,
    }
    Ok(1)
}

fn pay(flow: &mut Flow<'_, '_>, payload: &CallbackPayload) {
    flow.state.cost.cost_usd += payload.spend.cost_usd;
    flow.state.cost.tokens += payload.spend.tokens.total;
}

/// What a failure comes to; one that says nothing may pass.
const fn failure(retryable: Option<bool>) -> Missed {
    match retryable {
        Some(false) => Missed::Hopeless,
        Some(true) | None => Missed::Failed,
    }
}

fn strategized(
    flow: &mut Flow<'_, '_>,
    mut node: Node,
    number: u32,
    mut chunk: Chunk,
    payload: CallbackPayload,
) -> Result<(), Halt<No>> {
    let Some(result) = payload.strategize_result else {
        let reason = payload.error.unwrap_or_else(|| "the organizer gave no plan".to_owned());
        return missed(flow, node, number, chunk, failure(payload.retryable), &reason);
    };
    chunk.state = ChunkState::Done;
    flow.turn.put(&rows::chunk_key(node.place, number), &chunk)?;
    if result.should_coordinate && !result.guidance.is_empty() {
        let mut end = result.guidance.len().min(GUIDANCE_BYTES);
        while !result.guidance.is_char_boundary(end) {
            end -= 1;
        }
        flow.turn.put(&rows::guidance_key(node.place), &result.guidance[..end].to_owned())?;
    }
    planned(flow, &mut node)
}

fn organized(
    flow: &mut Flow<'_, '_>,
    mut node: Node,
    number: u32,
    mut chunk: Chunk,
    payload: CallbackPayload,
) -> Result<(), Halt<No>> {
    let results = payload.results.unwrap_or_default();
    let (own, others): (Vec<PiResult>, Vec<PiResult>) =
        results.into_iter().partition(|result| Some(&result.pi) == node.pi.as_ref());
    for other in others {
        let note =
            format!("chunk {} has a result for {}, which it does not ask about", payload.chunk_id, other.pi);
        flow.state.note(note);
    }
    let result =
        own.into_iter().next().filter(|result| result.status == PiStatus::Success || result.error.is_some());
    let result = match result {
        Some(result) if result.status == PiStatus::Success => result,
        failed => {
            let retryable = failed.as_ref().map_or(payload.retryable, |result| result.retryable);
            let reason = failed.and_then(|result| result.error).or(payload.error);
            let reason = reason.unwrap_or_else(|| "the organizer gave no result and no reason".to_owned());
            return missed(flow, node, number, chunk, failure(retryable), &reason);
        }
    };
    chunk.state = ChunkState::Done;
    flow.turn.put(&rows::chunk_key(node.place, number), &chunk)?;
    // Chunks of one directory may be answered in any order: the newest version counts.
    let version = result.new_parent_version.or(result.new_version);
    if version > node.current_version {
        node.current_tip = result.new_parent_tip.or(result.new_tip);
        node.current_version = version;
    }
    let groups = result.group_entities.clone().unwrap_or_default();
    let mut grouped = BTreeSet::new();
    for group in &groups {
        if put_group(flow, &mut node, &Group::of(group))? {
            grouped.extend(group.files.iter().cloned());
        }
    }
    leave(flow, &mut node, &grouped)?;
    let said = ChunkResult {
        groups: groups
            .into_iter()
            .map(|group| GroupResult {
                group_name: group.group_name,
                description: group.description,
                files: group.files,
            })
            .collect(),
        ungrouped_files: result.ungrouped_files.unwrap_or_default(),
        description: result.reorganization_description.unwrap_or_default(),
        timestamp: abide_preprocess::iso(flow.turn.now()),
        llm_metrics: result.llm_metrics.and_then(|metrics| serde_json::to_value(metrics).ok()),
        skipped: result.skipped,
    };
    flow.turn.put(&rows::said_key(node.place, number), &said)?;
    settled(flow, node)
}

/// A group as it is told or found.
struct Group<'a> {
    name: &'a str,
    pi: &'a EntityId,
    tip: Option<ContentId>,
    ver: Option<u32>,
    files: Vec<(&'a str, Option<ContentId>)>,
}

impl<'a> Group<'a> {
    fn of(group: &'a GroupEntity) -> Group<'a> {
        let files = group.files.iter().map(|name| (name.as_str(), None)).collect();
        Group { name: &group.group_name, pi: &group.pi, tip: group.tip, ver: group.ver, files }
    }
}

/// Groups that a request made and did not tell of.
pub(crate) fn found(flow: &mut Flow<'_, '_>, place: u32, children: &[FoundGroup]) -> Result<(), Halt<No>> {
    let mut node = rows::node(flow.turn, place)?;
    let mut grouped = BTreeSet::new();
    flow.turn.prefetch(children.iter().map(|child| rows::pi_key(&child.pi)))?;
    for child in children {
        if flow.turn.get::<u32>(&rows::pi_key(&child.pi))?.is_some() {
            continue;
        }
        let files = child.files.iter().map(|(name, cid)| (name.as_str(), Some(*cid))).collect();
        let (tip, ver) = (Some(child.tip), Some(child.ver));
        put_group(flow, &mut node, &Group { name: &child.label, pi: &child.pi, tip, ver, files })?;
        grouped.extend(child.files.iter().map(|(name, _)| name.clone()));
    }
    leave(flow, &mut node, &grouped)?;
    rows::put_node(flow.turn, &node)
}

/// A group's node, new or known from another chunk, with these files too. False for a directory of the batch that is no part of
/// this one: that does not count.
fn put_group(flow: &mut Flow<'_, '_>, parent: &mut Node, group: &Group<'_>) -> Result<bool, Halt<No>> {
    let known = flow.turn.get::<u32>(&rows::pi_key(group.pi))?;
    let mut node = match known {
        Some(place) => rows::node(flow.turn, place)?,
        None => new_group(flow, parent, group)?,
    };
    if node.parent != Some(parent.place) {
        flow.state.note(format!("{} is no group of {}: it is {}", group.pi, parent.path, node.path));
        return Ok(false);
    }
    if group.ver > node.current_version {
        node.current_tip = group.tip;
        node.current_version = group.ver;
    }
    let places = [parent.place, node.place];
    let names = group.files.iter().map(|(name, _)| name);
    flow.turn.prefetch(names.flat_map(|name| places.map(|place| rows::file_key(place, name))))?;
    for (name, cid) in &group.files {
        let from: Option<FileRecord> = flow.turn.get(&rows::file_key(parent.place, name))?;
        let here = rows::file_key(node.place, name);
        if flow.turn.get::<FileRecord>(&here)?.is_some() {
            continue;
        }
        let file = match (from, cid) {
            (Some(file), _) => file,
            (None, Some(cid)) => FileRecord::published(name, *cid),
            (None, None) => continue,
        };
        *node.count(file.kind) += 1;
        flow.turn.put(&here, &file)?;
        again::describe_again(flow, &mut node)?;
    }
    rows::put_node(flow.turn, &node)?;
    Ok(true)
}

fn new_group(flow: &mut Flow<'_, '_>, parent: &mut Node, group: &Group<'_>) -> Result<Node, Halt<No>> {
    let progress = &mut flow.state.progress;
    let place = u32::try_from(progress.directories_total).unwrap_or(u32::MAX);
    progress.directories_total += 1;
    for phase in [PhaseName::Discovery, PhaseName::Ocr, PhaseName::Reorganization] {
        *progress.complete(phase) += 1;
    }
    let name = names::safe(group.name).unwrap_or_else(|| group.pi.to_string());
    let node = Node {
        path: format!("{}/{name}", parent.path.trim_end_matches('/')),
        depth: parent.depth + 1,
        parent_path: Some(parent.path.clone()),
        place,
        parent: Some(parent.place),
        processing_config: parent.processing_config,
        pi: Some(group.pi.clone()),
        existed: true,
        snapshot_published: true,
        ocr_complete: true,
        reorganization_complete: true,
        ..Node::default()
    };
    parent.children += 1;
    // It is through with that phase, too, which goes from the bottom up.
    let done = rows::kids_done(flow.turn, PhaseName::Discovery, parent.place)? + 1;
    flow.turn.put(&rows::kids_done_key(PhaseName::Discovery, parent.place), &done)?;
    flow.turn.put(&rows::pi_key(group.pi), &place)?;
    flow.turn.put(&rows::kid_key(parent.place, place), &true)?;
    Ok(node)
}

/// Files that are in a group are the directory's no longer.
fn leave(flow: &mut Flow<'_, '_>, node: &mut Node, grouped: &BTreeSet<String>) -> Result<(), Halt<No>> {
    flow.turn.prefetch(grouped.iter().map(|name| rows::file_key(node.place, name)))?;
    for name in grouped {
        let key = rows::file_key(node.place, name);
        if let Some(file) = flow.turn.get::<FileRecord>(&key)? {
            let count = node.count(file.kind);
            *count = count.saturating_sub(1);
            flow.turn.delete(&key);
        }
    }
    Ok(())
}

impl FileRecord {
    /// A file of an entity that is there.
    #[must_use]
    pub fn published(name: &str, cid: ContentId) -> FileRecord {
        FileRecord {
            filename: name.to_owned(),
            kind: FileKind::of(name),
            staging_key: None,
            cid: Some(cid),
            ocr: true,
            ocr_complete: false,
            error: None,
            fixed: false,
            former: false,
            round: 0,
        }
    }
}
