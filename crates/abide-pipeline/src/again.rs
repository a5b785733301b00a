//! What comes for a batch after the first time: a task of its preprocessing was tried again, or its files are listed anew. Only
//! what is new is taken; the directories that it is in go through the phases again, and what they are in is described again.

use crate::calls::{HaveAnswer, Item, Reply, ToPipeline};
use crate::flow::Flow;
use crate::message::IngestMessage;
use crate::node::{FileRecord, Node};
use crate::phases::{self, Order, discovery};
use crate::pipeline::{add_file, add_node, discover, start};
use crate::refusal::No;
use crate::rows::{self, GroupsRow, LATER, LaterRow, STATE};
use crate::state::{State, Step};
use crate::status::PhaseName;
use abide_core::object::ObjectKey;
use abide_engine::{Halt, Object, Turn};
use abide_organize::contract::ExistingGroup;
use abide_preprocess::jobs::Finished;
use abide_preprocess::{Batch, ToBatch};

/// What is done again with what a directory with something new is in.
const ABOVE: [PhaseName; 2] = [PhaseName::Pinax, PhaseName::Description];

/// A batch is preprocessed, for the first time or again.
pub(crate) fn preprocessed(turn: &mut Turn<'_>, finished: Finished) -> Result<(), Halt<No>> {
    let message = IngestMessage::of_preprocessed(&finished);
    let message = message.map_err(|error| No::BadMessage(error.to_string()))?;
    let later = LaterRow { message, finishes: finished.finishes };
    take(turn, later, ToPipeline::Preprocessed(Box::new(finished)))
}

/// The files of a batch are listed anew.
pub(crate) fn listed(turn: &mut Turn<'_>, message: IngestMessage) -> Result<(), Halt<No>> {
    let later = LaterRow { message: message.clone(), finishes: 0 };
    take(turn, later, ToPipeline::Listed(Box::new(message)))
}

/// Staging is to be emptied: now, or when nothing of it is read any more. One that ended may be begun anew, and reads it then.
pub(crate) fn may_empty(turn: &mut Turn<'_>, finishes: u32) -> Result<(), Halt<No>> {
    match turn.get::<State>(STATE)? {
        Some(state) if state.step == Step::Done => empty(turn, finishes),
        None => empty(turn, finishes),
        Some(state) => Ok(turn.put(STATE, &State { empties: Some(finishes), ..state })?),
    }
}

/// Whoever preprocessed a batch may empty its staging.
pub(crate) fn empty(turn: &mut Turn<'_>, finishes: u32) -> Result<(), Halt<No>> {
    let to = ObjectKey::new(Batch::KIND, turn.object().name.as_str())?;
    Ok(turn.send(&to, &ToBatch::Empty { finishes })?)
}

/// Takes what came now, or after what goes on. It begins a batch that is not there or ended; the next life of one that ended is
/// sent `again`.
fn take(turn: &mut Turn<'_>, later: LaterRow, again: ToPipeline) -> Result<(), Halt<No>> {
    let Some(mut state) = turn.get::<State>(STATE)? else {
        start(turn, later.message)?;
        let state = rows::state(turn)?;
        return Ok(turn.put(STATE, &State { finishes: later.finishes, ..state })?);
    };
    match state.step {
        Step::Error { .. } => {
            turn.delete_self();
            let me = turn.object().clone();
            Ok(turn.send(&me, &again)?)
        }
        Step::Loading { .. } | Step::Phase { .. } => Ok(turn.put(LATER, &later)?),
        Step::Done => {
            begin(turn, &mut state, later)?;
            Ok(turn.put(STATE, &state)?)
        }
    }
}

/// Begins another round of a batch that is through.
pub(crate) fn begin(turn: &mut Turn<'_>, state: &mut State, later: LaterRow) -> Result<(), Halt<No>> {
    state.step = Step::Loading { have: 0 };
    state.round += 1;
    state.finishes = later.finishes;
    state.completed_at = None;
    state.updated_at = turn.now();
    discover(turn, state, later.message)
}

/// Directories and files came: those that the batch does not have, and directories with such files. A worker that begins again
/// asks which these are now, so that nothing comes twice.
pub(crate) fn items(
    mut flow: Flow<'_, '_>,
    from: u64,
    items: Vec<Item>,
    last: bool,
) -> Result<Reply, Halt<No>> {
    let have = from + items.len() as u64;
    flow.turn.prefetch(items.iter().map(|item| match item {
        Item::Node(new) => rows::pi_key(&new.pi),
        Item::File { place, file } => rows::file_key(*place, &file.filename),
    }))?;
    for item in items {
        match item {
            Item::Node(new) => match flow.turn.get::<u32>(&rows::pi_key(&new.pi))? {
                Some(place) => touch(&mut flow, place, new.existing_groups)?,
                None => {
                    let parent = new.parent;
                    add_node(&mut flow, *new)?;
                    parent.map_or(Ok(()), |parent| touch(&mut flow, parent, Vec::new()))?;
                }
            },
            Item::File { place, file } => {
                let is_there = flow.turn.get::<FileRecord>(&rows::file_key(place, &file.filename))?.is_some();
                if !is_there {
                    let round = flow.state.round;
                    add_file(&mut flow, place, &FileRecord { round, ..file })?;
                }
            }
        }
    }
    flow.state.step = Step::Loading { have };
    if last {
        flow.enter(PhaseName::Discovery)?;
    }
    flow.save()?;
    Ok(Reply::Have(HaveAnswer { have: (!last).then_some(have) }))
}

/// A directory goes through every phase again, and is described again with what it is in. New files are offered to the groups
/// that it has, however few they are.
fn touch(flow: &mut Flow<'_, '_>, place: u32, groups: Vec<ExistingGroup>) -> Result<(), Halt<No>> {
    let mut node = rows::node(flow.turn, place)?;
    if !groups.is_empty() {
        node.processing_config.reorganize = node.processing_config.reorganize.or(Some(true));
        flow.turn.put(&rows::groups_key(place), &GroupsRow(groups))?;
    }
    flow.turn.delete(&rows::guidance_key(place));
    if node.phase_errors.contains_key(PhaseName::Discovery.as_str()) {
        // They count as failed with their directory, which is tried again.
        let open = discovery::open_files(flow, place)?;
        flow.state.files.failed -= open;
        flow.state.files.open += open;
    }
    reopen(flow, &mut node, &PhaseName::ALL)?;
    rows::put_node(flow.turn, &node)?;
    let mut above = node.parent;
    while let Some(place) = above {
        let mut node = rows::node(flow.turn, place)?;
        describe_again(flow, &mut node)?;
        rows::put_node(flow.turn, &node)?;
        above = node.parent;
    }
    Ok(())
}

/// Something came into a node, or into what is in it.
pub(crate) fn describe_again(flow: &mut Flow<'_, '_>, node: &mut Node) -> Result<(), Halt<No>> {
    reopen(flow, node, &ABOVE)
}

/// A node is not through with these phases any more.
fn reopen(flow: &mut Flow<'_, '_>, node: &mut Node, again: &[PhaseName]) -> Result<(), Halt<No>> {
    let had_failed = !node.phase_errors.is_empty();
    for phase in again {
        if !phase.is_complete(node) {
            continue;
        }
        *phase.flag(node) = false;
        node.processing_complete = false;
        *flow.state.progress.complete(*phase) -= 1;
        let word = phase.as_str();
        node.phase_errors.remove(word);
        node.phase_skips.remove(word);
        node.retry_counts.remove(word);
        if let (Order::BottomUp, Some(parent)) = (phases::of(*phase).order(), node.parent) {
            let done = rows::kids_done(flow.turn, *phase, parent)?.saturating_sub(1);
            flow.turn.put(&rows::kids_done_key(*phase, parent), &done)?;
        }
    }
    flow.state.failed -= u64::from(had_failed && node.phase_errors.is_empty());
    node.round = flow.state.round;
    Ok(())
}
