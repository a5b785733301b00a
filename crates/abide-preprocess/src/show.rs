//! What people and programs are shown of a batch.

use crate::calls::{
    FilePage, InputDocument, InputsAnswer, OutputAnswer, PhaseProgress, StatusAnswer, TaskDocument, TaskPage,
    TasksAnswer,
};
use crate::file::{FileRow, Place};
use crate::iso;
use crate::limits::PAGE_ITEMS;
use crate::phases::Phases;
use crate::refusal::No;
use crate::rows::{self, FILE, file_key, task_key, task_prefix};
use crate::state::Step;
use crate::task::Task;
use abide_engine::{Halt, Turn};

/// Bytes of rows on one page, about: what fits into an answer.
const PAGE_BYTES: usize = 160 * 1024;

pub(crate) fn status(turn: &mut Turn<'_>, phases: Phases) -> Result<StatusAnswer, Halt<No>> {
    let state = rows::state(turn)?;
    let (status, error) = match &state.step {
        Step::Loading { .. } => (phases[0].name(), None),
        Step::Phase { index } => (phases[*index].name(), None),
        Step::Done => ("DONE", None),
        Step::Error { error, .. } => ("ERROR", Some(error.clone())),
    };
    let progress = |(index, counts): (usize, &crate::state::Counts)| PhaseProgress {
        phase: phases[index].name().to_owned(),
        progress: (*counts).into(),
        in_flight: counts.begun,
    };
    Ok(StatusAnswer {
        batch_id: turn.object().name.as_str().to_owned(),
        status: status.to_owned(),
        progress: state.counts[state.shown()].into(),
        started_at: iso(state.started_at),
        updated_at: iso(state.updated_at),
        completed_at: state.completed_at.map(iso),
        error,
        phases: state.counts.iter().enumerate().map(progress).collect(),
        inputs: state.ledger,
        delivery: state.delivery,
        // Of the machine, not of the batch: who has both says so.
        waits: None,
    })
}

/// Tasks by phase, in the order of their files. So many are looked at, so that a page may have few and a `next`.
pub(crate) fn tasks(turn: &mut Turn<'_>, phases: Phases, page: &TaskPage) -> Result<TasksAnswer, Halt<No>> {
    rows::state(turn)?;
    let batch = turn.object().name.as_str().to_owned();
    let limit = page.limit.unwrap_or(100).clamp(1, PAGE_ITEMS);
    let after = match &page.after {
        None => None,
        Some(id) => {
            let (phase, place) =
                rows::read_task_id(&batch, phases, id).ok_or_else(|| No::UnknownTask(id.clone()))?;
            Some(task_key(phase, &place))
        }
    };
    let prefix = match &page.phase {
        None => "task/".to_owned(),
        Some(name) => {
            let index = phases.iter().position(|phase| phase.name() == name);
            task_prefix(index.ok_or_else(|| No::UnknownPhase(name.clone()))?)
        }
    };
    // Who looks for a few among many looks further.
    let looks = if page.status.is_some() { PAGE_ITEMS } else { limit };
    let found = turn.scan::<Task>(&prefix, after.as_deref(), looks)?;
    let (last, full) = (found.len(), found.len() == looks);
    let (mut tasks, mut bytes) = (Vec::new(), 0);
    for (nth, (_, task)) in (1..).zip(found) {
        let next = Some(task.task_id.clone()).filter(|_| nth < last || full);
        if page.status.is_none_or(|status| status == task.status) {
            bytes += 1_024 + task.input.r2_key.len() * 3;
            let phase = phases[task.phase].name();
            tasks.push(TaskDocument::of(task, phase));
        }
        if nth == last || tasks.len() == limit || bytes > PAGE_BYTES {
            return Ok(TasksAnswer { tasks, next });
        }
    }
    Ok(TasksAnswer { tasks, next: None })
}

/// Rows of files, and where the next page begins.
type FileRows = (Vec<(Place, FileRow)>, Option<Place>);

fn file_rows(turn: &mut Turn<'_>, page: &FilePage) -> Result<FileRows, Halt<No>> {
    rows::state(turn)?;
    let limit = page.limit.unwrap_or(100).clamp(1, PAGE_ITEMS);
    let after = page.after.as_ref().map(file_key);
    let found = turn.scan::<FileRow>(FILE, after.as_deref(), limit)?;
    let full = found.len() == limit;
    let (mut rows, mut bytes) = (Vec::new(), 0);
    for (key, row) in found {
        let Some(place) = key.strip_prefix(FILE).and_then(Place::parse) else { continue };
        bytes += row.file.as_ref().map_or(256, |file| {
            512 + file.r2_key.len() + file.logical_path.len() + file.processing_config.to_string().len()
        });
        rows.push((place, row));
        if bytes > PAGE_BYTES {
            let next = rows.last().map(|(place, _)| place.clone());
            return Ok((rows, next));
        }
    }
    let next = rows.last().map(|(place, _)| place.clone()).filter(|_| full);
    Ok((rows, next))
}

/// Files as they are delivered.
pub(crate) fn output(turn: &mut Turn<'_>, page: &FilePage) -> Result<OutputAnswer, Halt<No>> {
    let (rows, next) = file_rows(turn, page)?;
    let files = rows.into_iter().filter_map(|(place, row)| Some((place, row.file?.delivered())));
    let (places, output) = files.unzip();
    Ok(OutputAnswer { output, places, next })
}

/// Inputs and how they ended.
pub(crate) fn inputs(turn: &mut Turn<'_>, page: &FilePage) -> Result<InputsAnswer, Halt<No>> {
    let (rows, next) = file_rows(turn, page)?;
    let inputs = rows.into_iter().filter_map(|(place, row)| {
        row.fared.map(|fared| InputDocument {
            place,
            end: fared.end(),
            file_name: fared.file_name,
            logical_path: fared.logical_path,
        })
    });
    Ok(InputsAnswer { inputs: inputs.collect(), next })
}
