//! Files are put into groups: the organizer is asked about a directory, or about parts of a large one.

use super::{Order, Phase, Taken, lost, waiting};
use crate::away;
use crate::chunk::{self, Chunk, ChunkState, Missed};
use crate::flow::{End, Flow, JobKey};
use crate::limits::MESSAGE_BYTES;
use crate::node::Node;
use crate::options::{Options, Organizer};
use crate::orders::{self, QUEUE};
use crate::refusal::No;
use crate::rows::{self, DUE, GroupsRow, READY, SentRow};
use crate::status::PhaseName;
use abide_core::job::{JobOutcome, JobState, NewJob};
use abide_core::limits::cut_reason;
use abide_core::name::UniqueKey;
use abide_core::time::Time;
use abide_engine::Halt;
use abide_organize::contract::{
    ExistingGroup, FileInput, Operation, PiRequest, ProcessRequest, ProcessingConfig, StrategizeInput,
    ToOrganizer,
};
use abide_organize::limits::EXISTING_GROUPS;
use std::collections::BTreeSet;

/// The alarm for the next request that is not answered in time.
pub(crate) const TIMEOUT: &str = "timeout";
/// Files of a large directory that it is decided on how to organize it.
const SAMPLE: usize = 50;
/// Requests that time out in one turn.
const DUE_PER_TURN: usize = 50;
/// The job that looks for groups that a request made and did not tell of.
const LOOK: &str = "look";
/// Bytes of a message around a request.
const REQUEST_ROOM: usize = 1_000;

pub(crate) struct Reorganization;

impl Phase for Reorganization {
    fn order(&self) -> Order {
        Order::Any
    }

    fn window(&self, options: &Options) -> u32 {
        options.batch_size_reorganization
    }

    fn resume(&self, flow: &mut Flow<'_, '_>, room: u32) -> Result<(), Halt<No>> {
        for (key, _) in flow.turn.scan::<bool>(READY, None, room as usize)? {
            flow.turn.delete(&key);
            let at = key.strip_prefix(READY).and_then(|at| at.split_once('/'));
            let at = at.and_then(|(place, chunk)| Some((place.parse().ok()?, chunk.parse().ok()?)));
            let Some((place, number)) = at else { continue };
            let mut node = rows::node(flow.turn, place)?;
            send(flow, &mut node, number)?;
            rows::put_node(flow.turn, &node)?;
        }
        Ok(())
    }

    fn take(&self, flow: &mut Flow<'_, '_>, node: &mut Node, room: u32) -> Result<Taken, Halt<No>> {
        if let Some(lost) = lost(node) {
            return Ok(lost);
        }
        if let Some(reason) = passed_over(node, flow.options) {
            return Ok(Taken::Through(End::Skipped(Some(reason))));
        }
        let (names, former) = rows::to_group(flow.turn, node.place)?;
        if names.is_empty() {
            return Ok(Taken::Through(End::Skipped(Some(
                "its files stay where somebody put them".to_owned(),
            ))));
        }
        let most = flow.options.max_files as usize;
        let mut parts = if names.len() > most { chunk::split(&names, most) } else { vec![names.clone()] };
        // Where nothing is new, nothing comes into a group.
        parts.retain(|files| files.iter().any(|name| !former.contains(name)));
        if parts.is_empty() {
            return Ok(Taken::Through(End::Skipped(Some("none of its files is new".to_owned()))));
        }
        let first = if parts.len() > 1 {
            let ask = Chunk::new(Operation::Strategize, chunk::sample(&names, SAMPLE));
            flow.turn.put(&rows::chunk_key(node.place, 0), &ask)?;
            node.open = 1;
            0
        } else {
            1
        };
        for (number, files) in (1_u32..).zip(parts) {
            let former = files.iter().filter(|name| former.contains(*name)).cloned().collect();
            let chunk = Chunk { former, ..Chunk::new(Operation::Organize, files) };
            flow.turn.put(&rows::chunk_key(node.place, number), &chunk)?;
            node.open += 1;
        }
        debug_assert!(room > 0, "nodes are taken in hand only where there is room");
        send(flow, node, first)?;
        Ok(Taken::InHand)
    }

    fn ended(
        &self,
        flow: &mut Flow<'_, '_>,
        mut node: Node,
        key: &JobKey,
        outcome: &JobOutcome,
    ) -> Result<(), Halt<No>> {
        if key.which != LOOK {
            return Ok(());
        }
        let end = match outcome.state {
            JobState::Done => end_of(&node),
            _ => {
                End::Failed(outcome.reason.clone().unwrap_or_else(|| "its groups were not found".to_owned()))
            }
        };
        flow.through(&mut node, PhaseName::Reorganization, end)
    }
}

/// Why a directory is left as it is.
fn passed_over(node: &Node, options: &Options) -> Option<String> {
    let files = node.files();
    match node.processing_config.reorganize {
        Some(false) => Some("reorganize is false".to_owned()),
        Some(true) if files > 0 => None,
        Some(true) => Some("it has no files to organize".to_owned()),
        None if files < options.min_files => {
            Some(format!("it has {files} files, and from {} on they are organized", options.min_files))
        }
        None => None,
    }
}

/// Sends a chunk to the organizer.
fn send(flow: &mut Flow<'_, '_>, node: &mut Node, number: u32) -> Result<(), Halt<No>> {
    let Some(mut chunk) = rows::chunk(flow.turn, node.place, number)? else { return Ok(()) };
    let now = flow.turn.now();
    // Our own organizer has kept the answers that were paid for under the id of the request that failed. One of somebody else
    // may still be about to end that request, and would not begin it again.
    let kept = chunk.again.take().filter(|_| flow.options.organizer == Organizer::Here);
    let chunk_id = kept.unwrap_or_else(|| chunk_id(flow));
    let due_at = due(flow, &chunk_id, flow.options.callback_timeout_ms)?;
    let request = request(flow, node, number, &chunk, &chunk_id)?;
    match flow.options.organizer {
        Organizer::Here => {
            waiting::tell(flow.turn, &chunk_id, &ToOrganizer::Process(Box::new(request)))?;
            flow.turn.put(&rows::live_key(&organizer_key(&chunk_id)), &true)?;
        }
        Organizer::Elsewhere => {
            let job = NewJob::of(QUEUE, orders::DISPATCH, &request)?;
            let unique_key = Some(UniqueKey::new(dispatch_key(&chunk_id))?);
            let max_attempts = Some(flow.options.max_directory_retries);
            flow.turn.enqueue(NewJob { unique_key, max_attempts, ..job })?;
            flow.turn.put(&rows::live_key(&dispatch_key(&chunk_id)), &true)?;
        }
    }
    flow.turn.put(&rows::sent_key(&chunk_id), &SentRow { place: node.place, chunk: number })?;
    node.organizer_callback_batch = Some(chunk_id.clone());
    node.organizer_callback_pending = true;
    node.awaited += 1;
    node.organizer_callback_sent_at = Some(abide_preprocess::iso(now));
    chunk.state = ChunkState::Sent { chunk_id, sent_at: now, due_at, is_asked: false };
    flow.turn.put(&rows::chunk_key(node.place, number), &chunk)?;
    flow.state.live += 1;
    Ok(())
}

/// Until when an answer is awaited; the alarm rings for the first that is late.
pub(crate) fn due(flow: &mut Flow<'_, '_>, chunk_id: &str, within_ms: i64) -> Result<Time, Halt<No>> {
    let now = flow.turn.now();
    let due_at = now.plus_ms(within_ms);
    flow.turn.put(&rows::due_key(due_at.0, chunk_id), &true)?;
    // An alarm of the past is the one that rings now.
    if flow.turn.alarm(TIMEOUT)?.is_none_or(|at| at <= now) {
        flow.turn.set_alarm(TIMEOUT, due_at)?;
    }
    Ok(due_at)
}

/// The unique key of the job that brings a request to an organizer of somebody else.
fn dispatch_key(chunk_id: &str) -> String {
    format!("dispatch/{chunk_id}")
}

/// What a request to our own organizer is called among what is under way.
fn organizer_key(chunk_id: &str) -> String {
    format!("organizer/{chunk_id}")
}

/// The request to our own organizer, by that.
pub(crate) fn organizing(key: &str) -> Option<&str> {
    key.strip_prefix("organizer/")
}

/// The request that a dispatching job was about, by its key.
pub(crate) fn dispatched(key: &str) -> Option<&str> {
    key.strip_prefix("dispatch/")
}

/// The time and six random characters.
pub(crate) fn chunk_id(flow: &mut Flow<'_, '_>) -> String {
    let now = flow.turn.now().0;
    let mut drawn = flow.turn.seed().next_u64();
    let mut letters = String::new();
    for _ in 0..6 {
        letters.extend(char::from_digit((drawn % 36) as u32, 36));
        drawn /= 36;
    }
    format!("{now}-{letters}")
}

/// What the organizer is asked. Files are named, and it reads them off the entity.
fn request(
    flow: &mut Flow<'_, '_>,
    node: &Node,
    number: u32,
    chunk: &Chunk,
    chunk_id: &str,
) -> Result<ProcessRequest, Halt<No>> {
    let message = rows::message(flow.turn)?;
    let prompts = message.custom_prompts.unwrap_or_default();
    let former: BTreeSet<&String> = chunk.former.iter().collect();
    let file = |name: &String| FileInput { former: former.contains(name), ..FileInput::named(name) };
    let files: Vec<FileInput> = chunk.files.iter().map(file).collect();
    let pi = node.pi.clone().ok_or(No::UnknownNode(node.place))?;
    let mut request = ProcessRequest {
        batch_id: flow.batch_id()?.to_string(),
        chunk_id: chunk_id.to_owned(),
        r2_prefix: message.r2_prefix,
        operation: chunk.operation,
        custom_prompt: prompts.of(PhaseName::Reorganization),
        ..ProcessRequest::default()
    };
    match chunk.operation {
        Operation::Strategize => {
            request.strategize = Some(StrategizeInput {
                pi: Some(pi),
                directory_path: node.path.clone(),
                files,
                total_file_count: u64::from(node.files() + node.other_count),
                chunk_count: u64::from(node.open.saturating_sub(1)).max(1),
            });
        }
        Operation::Organize => {
            request.strategy_guidance = flow.turn.get(&rows::guidance_key(node.place))?;
            let groups: Option<GroupsRow> = flow.turn.get(&rows::groups_key(node.place))?;
            let config = node.processing_config;
            request.pis = vec![PiRequest {
                current_tip: node.current_tip,
                directory_path: Some(node.path.clone()),
                files: Some(files),
                existing_groups: groups.map(|row| row.0).unwrap_or_default(),
                processing_config: Some(ProcessingConfig {
                    ocr: config.ocr,
                    reorganize: config.reorganize.unwrap_or(true),
                    pinax: config.pinax,
                    cheimarros: config.cheimarros,
                    describe: config.describe,
                }),
                part: Some(number),
                ..PiRequest::whole(pi)
            }];
        }
    }
    Ok(fitting(request))
}

/// Keeps the groups that a directory has from before: they are named to the organizer. Of very many some are not; what it calls
/// by their names is put into them all the same.
pub(crate) fn offer(
    flow: &mut Flow<'_, '_>,
    node: &Node,
    mut groups: Vec<ExistingGroup>,
) -> Result<(), Halt<No>> {
    if groups.is_empty() {
        return Ok(());
    }
    if groups.len() > EXISTING_GROUPS {
        flow.state.note(format!(
            "{} has {} groups, and {EXISTING_GROUPS} of them are named to the organizer: the others get new files only if it \
             chooses their names",
            node.path,
            groups.len()
        ));
        groups.truncate(EXISTING_GROUPS);
    }
    Ok(flow.turn.put(&rows::groups_key(node.place), &GroupsRow(groups))?)
}

/// What a request says of groups that exist is cut until it fits a message: their names come first, their descriptions go
/// first.
fn fitting(mut request: ProcessRequest) -> ProcessRequest {
    let fits = |request: &ProcessRequest| {
        serde_json::to_string(request).is_ok_and(|text| text.len() + REQUEST_ROOM <= MESSAGE_BYTES)
    };
    if !fits(&request) {
        let groups = request.pis.iter_mut().flat_map(|pi| &mut pi.existing_groups);
        groups.for_each(|group| group.description.clear());
    }
    while !fits(&request) && request.pis.iter().any(|pi| !pi.existing_groups.is_empty()) {
        for pi in &mut request.pis {
            pi.existing_groups.truncate(pi.existing_groups.len() / 2);
        }
    }
    request
}

/// A request was answered or came to nothing: its chunk is no longer awaited. None if it was not.
pub(crate) fn no_longer_awaited(
    flow: &mut Flow<'_, '_>,
    chunk_id: &str,
) -> Result<Option<(Node, u32, Chunk)>, Halt<No>> {
    let Some(SentRow { place, chunk: number }) = flow.turn.get(&rows::sent_key(chunk_id))? else {
        return Ok(None);
    };
    let Some(chunk) = rows::chunk(flow.turn, place, number)? else { return Ok(None) };
    let ChunkState::Sent { due_at, .. } = chunk.state else { return Ok(None) };
    flow.turn.delete(&rows::sent_key(chunk_id));
    flow.turn.delete(&rows::due_key(due_at.0, chunk_id));
    flow.turn.delete(&rows::live_key(&dispatch_key(chunk_id)));
    flow.turn.delete(&rows::live_key(&organizer_key(chunk_id)));
    flow.state.live = flow.state.live.saturating_sub(1);
    let mut node = rows::node(flow.turn, place)?;
    node.awaited = node.awaited.saturating_sub(1);
    node.organizer_callback_pending = node.awaited > 0;
    Ok(Some((node, number, chunk)))
}

/// A request came to nothing: it is sent again, or its chunk is given up.
pub(crate) fn missed(
    flow: &mut Flow<'_, '_>,
    mut node: Node,
    number: u32,
    chunk: Chunk,
    missed: Missed,
    reason: &str,
) -> Result<(), Halt<No>> {
    let reason = cut_reason(reason);
    *node.retry_counts.entry(PhaseName::Reorganization.as_str().to_owned()).or_default() += 1;
    let chunk = chunk.after(missed, flow.options.max_directory_retries, reason);
    flow.turn.put(&rows::chunk_key(node.place, number), &chunk)?;
    match (&chunk.state, chunk.operation) {
        (ChunkState::Skipped { .. }, Operation::Strategize) => {
            let note = format!("{} is organized without a common plan: {reason}", node.path);
            flow.state.note(note);
            planned(flow, &mut node)
        }
        (ChunkState::Skipped { .. }, Operation::Organize) => {
            let word = PhaseName::Reorganization.as_str().to_owned();
            node.phase_errors.insert(word, reason.to_owned());
            settled(flow, node)
        }
        (ChunkState::Waiting | ChunkState::Sent { .. } | ChunkState::Done, _) => {
            flow.turn.put(&rows::ready_key(node.place, number), &true)?;
            rows::put_node(flow.turn, &node)
        }
    }
}

/// It is known how a large directory is organized: its parts are next.
pub(crate) fn planned(flow: &mut Flow<'_, '_>, node: &mut Node) -> Result<(), Halt<No>> {
    node.open = node.open.saturating_sub(1);
    for number in 1..=node.open {
        flow.turn.put(&rows::ready_key(node.place, number), &true)?;
    }
    rows::put_node(flow.turn, node)
}

/// A part of a directory is settled; the directory is when all parts are. If a request was repeated, the one before may have
/// made groups that nobody heard of, and they are looked for.
pub(crate) fn settled(flow: &mut Flow<'_, '_>, mut node: Node) -> Result<(), Halt<No>> {
    node.open = node.open.saturating_sub(1);
    if node.open > 0 {
        return rows::put_node(flow.turn, &node);
    }
    if node.retry_counts.contains_key(PhaseName::Reorganization.as_str()) {
        let order = flow.order(&node)?;
        flow.enqueue(&JobKey::new(PhaseName::Reorganization, &node, LOOK), orders::LOOK, &order)?;
        return rows::put_node(flow.turn, &node);
    }
    let end = end_of(&node);
    flow.through(&mut node, PhaseName::Reorganization, end)
}

fn end_of(node: &Node) -> End {
    match node.phase_errors.get(PhaseName::Reorganization.as_str()) {
        Some(reason) => End::Failed(reason.clone()),
        None => End::Done,
    }
}

/// Requests that were not answered in time.
pub(crate) fn timed_out(flow: &mut Flow<'_, '_>) -> Result<(), Halt<No>> {
    let now = flow.turn.now();
    for (key, _) in flow.turn.scan::<bool>(DUE, None, DUE_PER_TURN)? {
        let Some((at, chunk_id)) = key.strip_prefix(DUE).and_then(|due| due.split_once('/')) else {
            continue;
        };
        if at.parse::<i64>().is_ok_and(|at| at > now.0) {
            break;
        }
        flow.turn.delete(&key);
        if !away::timed_out(flow, chunk_id)? && !waiting::ask(flow, chunk_id)? {
            given_up(flow, chunk_id)?;
        }
    }
    let next = flow.turn.scan::<bool>(DUE, None, 1)?;
    let next = next.first().and_then(|(key, _)| key.strip_prefix(DUE)?.split_once('/')?.0.parse().ok());
    if let Some(at) = next {
        flow.turn.set_alarm(TIMEOUT, Time(at))?;
    }
    Ok(())
}

/// A request is not waited for any longer.
pub(crate) fn given_up(flow: &mut Flow<'_, '_>, chunk_id: &str) -> Result<(), Halt<No>> {
    let Some((node, number, chunk)) = no_longer_awaited(flow, chunk_id)? else { return Ok(()) };
    let seconds = flow.options.callback_timeout_ms / 1_000;
    let reason = format!("the organizer did not answer within {seconds} seconds");
    match flow.options.organizer {
        // It is paid for no longer, if it goes on after all.
        Organizer::Here => {
            let reason = reason.clone();
            waiting::tell(flow.turn, chunk_id, &ToOrganizer::Cancel { reason })?;
        }
        Organizer::Elsewhere => flow.turn.put(&rows::late_key(chunk_id), &true)?,
    }
    missed(flow, node, number, chunk, Missed::TimedOut, &reason)
}
