//! The rows of a batch.

use crate::file::{FileRow, Place};
use crate::message::QueueMessage;
use crate::phases::Phases;
use crate::refusal::No;
use crate::state::State;
use crate::task::Task;
use abide_engine::{Halt, Record, Turn};
use serde::{Deserialize, Serialize};

/// Where the state is.
pub(crate) const STATE: &str = "batch";
/// Where the queue message is.
pub(crate) const MESSAGE: &str = "message";
/// How the keys of files begin.
pub(crate) const FILE: &str = "file/";
/// How the keys of tasks begin.
const TASK: &str = "task/";

/// The queue message as it came.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct MessageRow(pub(crate) QueueMessage);

impl Record for MessageRow {}

pub(crate) fn file_key(place: &Place) -> String {
    format!("{FILE}{}", place.as_str())
}

pub(crate) fn task_prefix(phase: usize) -> String {
    format!("{TASK}{phase:02}/")
}

pub(crate) fn task_key(phase: usize, place: &Place) -> String {
    format!("{}{}", task_prefix(phase), place.as_str())
}

/// Tasks that nobody has begun.
pub(crate) fn todo_prefix(phase: usize) -> String {
    format!("todo/{phase:02}/")
}

pub(crate) fn todo_key(phase: usize, place: &Place) -> String {
    format!("{}{}", todo_prefix(phase), place.as_str())
}

/// Tasks with launchers: the value is the key of the job.
pub(crate) const LIVE: &str = "live/";

pub(crate) fn live_key(phase: usize, place: &Place) -> String {
    format!("{LIVE}{phase:02}/{}", place.as_str())
}

/// The key of the task whose key as a live one this is.
pub(crate) fn task_of_live(key: &str) -> String {
    format!("{TASK}{}", key.strip_prefix(LIVE).unwrap_or(key))
}

/// How far the parts of a long report have come.
pub(crate) fn parts_key(phase: usize, place: &Place) -> String {
    format!("parts/{phase:02}/{}", place.as_str())
}

pub(crate) fn part_prefix(phase: usize, place: &Place) -> String {
    format!("part/{phase:02}/{}/", place.as_str())
}

/// The pages behind the first `from`.
pub(crate) fn part_key(phase: usize, place: &Place, from: u32) -> String {
    format!("{}{from:05}", part_prefix(phase, place))
}

/// The unique key of the job for an attempt.
pub(crate) fn job_key(task: &Task) -> String {
    format!("{}/{}", task.task_id, task.attempt)
}

/// The phase and place that a task's id names.
pub(crate) fn read_task_id(batch: &str, phases: Phases, task_id: &str) -> Option<(usize, Place)> {
    let rest = task_id.strip_prefix(batch)?.strip_prefix('_')?;
    let (tag, place) = rest.rsplit_once('_')?;
    let phase = phases.iter().position(|phase| phase.tag() == tag)?;
    Some((phase, Place::parse(place)?))
}

pub(crate) fn state(turn: &mut Turn<'_>) -> Result<State, Halt<No>> {
    let name = turn.object().name.as_str().to_owned();
    turn.get::<State>(STATE)?.ok_or(Halt::Refused(No::UnknownBatch(name)))
}

pub(crate) fn task(turn: &mut Turn<'_>, phases: Phases, task_id: &str) -> Result<Task, Halt<No>> {
    let batch = turn.object().name.as_str().to_owned();
    let unknown = || Halt::Refused(No::UnknownTask(task_id.chars().take(200).collect()));
    let (phase, place) = read_task_id(&batch, phases, task_id).ok_or_else(unknown)?;
    turn.get::<Task>(&task_key(phase, &place))?.ok_or_else(unknown)
}

pub(crate) fn file(turn: &mut Turn<'_>, place: &Place) -> Result<Option<FileRow>, Halt<No>> {
    Ok(turn.get::<FileRow>(&file_key(place))?)
}
