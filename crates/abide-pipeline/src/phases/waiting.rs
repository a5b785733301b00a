//! Answers of our own organizer that are late: it is asked how far it is before a request counts as lost, since it may wait in its
//! queue behind others, or for a slow model.
//!
//! ```text
//! due ──► asked ──► under way ──► awaited as long again
//!           ├─► knows nothing of it ──► lost
//!           └─► does not say so in time ──► lost
//! ```

use super::reorganization::{due, given_up};
use crate::chunk::{Chunk, ChunkState};
use crate::flow::Flow;
use crate::options::Organizer;
use crate::refusal::No;
use crate::rows::{self, SentRow};
use crate::status::PhaseName;
use abide_core::object::ObjectKey;
use abide_engine::{Halt, Turn};
use abide_organize::contract::{Phase, ToOrganizer};

/// How long our own organizer may take to say how far it is.
const SAYS_MS: i64 = 60_000;
/// The kind of object that organizes.
const ORGANIZER: &str = "organizer";

/// What is sent to our own organizer about a request of this batch.
pub(crate) fn tell(turn: &mut Turn<'_>, chunk_id: &str, message: &ToOrganizer) -> Result<(), Halt<No>> {
    let organizer = ObjectKey::new(ORGANIZER, format!("{}:{chunk_id}", turn.object().name.as_str()))?;
    Ok(turn.send(&organizer, message)?)
}

/// Asks how far a request is that is late. False if there is nobody to ask any more: one of somebody else cannot be asked, and
/// one that was asked did not say.
pub(crate) fn ask(flow: &mut Flow<'_, '_>, chunk_id: &str) -> Result<bool, Halt<No>> {
    if flow.options.organizer == Organizer::Elsewhere {
        return Ok(false);
    }
    let Some((at, chunk)) = sent(flow, chunk_id)? else { return Ok(false) };
    let ChunkState::Sent { chunk_id, sent_at, is_asked: false, .. } = chunk.state else { return Ok(false) };
    tell(flow.turn, &chunk_id, &ToOrganizer::HowFar { chunk_id: chunk_id.clone() })?;
    let due_at = due(flow, &chunk_id, SAYS_MS)?;
    let state = ChunkState::Sent { chunk_id, sent_at, due_at, is_asked: true };
    flow.turn.put(&rows::chunk_key(at.place, at.chunk), &Chunk { state, ..chunk })?;
    Ok(true)
}

/// The organizer says how far a request is.
pub(crate) fn told(flow: &mut Flow<'_, '_>, chunk_id: &str, phase: Option<Phase>) -> Result<(), Halt<No>> {
    if flow.state.phase() != Some(PhaseName::Reorganization) {
        return Ok(());
    }
    let Some((at, chunk)) = sent(flow, chunk_id)? else { return Ok(()) };
    let ChunkState::Sent { chunk_id, sent_at, due_at, is_asked: true } = chunk.state else { return Ok(()) };
    if phase.is_none_or(Phase::is_final) {
        return given_up(flow, &chunk_id);
    }
    flow.turn.delete(&rows::due_key(due_at.0, &chunk_id));
    let due_at = due(flow, &chunk_id, flow.options.callback_timeout_ms)?;
    let state = ChunkState::Sent { chunk_id, sent_at, due_at, is_asked: false };
    Ok(flow.turn.put(&rows::chunk_key(at.place, at.chunk), &Chunk { state, ..chunk })?)
}

fn sent(flow: &mut Flow<'_, '_>, chunk_id: &str) -> Result<Option<(SentRow, Chunk)>, Halt<No>> {
    let Some(at) = flow.turn.get::<SentRow>(&rows::sent_key(chunk_id))? else { return Ok(None) };
    Ok(rows::chunk(flow.turn, at.place, at.chunk)?.map(|chunk| (at, chunk)))
}
