//! What happens to tasks and files in one turn of a batch: rows, counters and ledger move together.

use crate::file::{Fared, FileRow, Place, ProcessableFile};
use crate::jobs;
use crate::limits::HANDED_PER_TURN;
use crate::message::BatchId;
use crate::options::Options;
use crate::parts;
use crate::phases::Phases;
use crate::refusal::No;
use crate::report::Report;
use crate::rows::{self, STATE, file_key, job_key, live_key, task_key, todo_key, todo_prefix};
use crate::state::{Counts, State, Step};
use crate::task::{Moved, Task, TaskEvent, TaskStatus};
use abide_engine::{Halt, Turn};
use serde::{Deserialize, Serialize};

/// An entry in a batch's log: how far it is now. About a hundred for each phase, however many tasks it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The phase, `DONE` or `ERROR`.
    pub status: String,
    /// The phase's tasks.
    #[serde(flatten)]
    pub counts: Counts,
    /// Why it ended, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Note {
    pub(crate) fn ended(error: &str) -> Note {
        Note { status: "ERROR".to_owned(), counts: Counts::default(), error: Some(error.to_owned()) }
    }
}

/// How far the files of a completed task are written: behind which page, behind which file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    page: u32,
    file: usize,
}

impl Spread {
    const BEGIN: Spread = Spread { page: 0, file: 0 };
}

/// A batch's state on its way through a turn.
pub(crate) struct Flow<'a> {
    pub(crate) state: State,
    batch: BatchId,
    phases: Phases,
    options: &'a Options,
}

impl<'a> Flow<'a> {
    pub(crate) fn new(state: State, batch: BatchId, phases: Phases, options: &'a Options) -> Flow<'a> {
        Flow { state, batch, phases, options }
    }

    /// Writes the state, which has changed.
    pub(crate) fn save(mut self, turn: &mut Turn<'_>) -> Result<(), Halt<No>> {
        self.state.updated_at = turn.now();
        self.save_quietly(turn)
    }

    /// Writes the state, in which nothing changed that people look for.
    pub(crate) fn save_quietly(self, turn: &mut Turn<'_>) -> Result<(), Halt<No>> {
        Ok(turn.put(STATE, &self.state)?)
    }

    /// Notes how far the phase is.
    pub(crate) fn note(&self, turn: &mut Turn<'_>, phase: usize) -> Result<(), Halt<No>> {
        let status = match &self.state.step {
            Step::Loading { .. } | Step::Phase { .. } => self.phases[phase].name(),
            Step::Done => "DONE",
            Step::Error { .. } => "ERROR",
        };
        let counts = self.state.counts[phase];
        turn.append(&Note { status: status.to_owned(), counts, error: None })?;
        Ok(())
    }

    /// An input came.
    pub(crate) fn input(
        &mut self,
        turn: &mut Turn<'_>,
        place: &Place,
        file: ProcessableFile,
    ) -> Result<(), Halt<No>> {
        let open = u32::from(self.route(turn, place, &file, 0)?);
        let reason = match open {
            0 => format!("no phase takes {} of the type {:?}", file.file_name, file.content_type),
            _ => String::new(),
        };
        let (file_name, logical_path) = (file.file_name.clone(), file.logical_path.clone());
        let fared = Fared { file_name, logical_path, open, reason, ..Fared::default() };
        self.state.ledger.total += 1;
        *self.state.ledger.of(&fared.end()) += 1;
        Ok(turn.put(&file_key(place), &FileRow { file: Some(file), fared: Some(fared) })?)
    }

    /// Makes a task of a file for the first phase from `from` that takes it. Whether one does.
    fn route(
        &mut self,
        turn: &mut Turn<'_>,
        place: &Place,
        file: &ProcessableFile,
        from: usize,
    ) -> Result<bool, Halt<No>> {
        let taken_by = (from..self.phases.len()).find(|index| self.phases[*index].takes(file));
        let Some(phase) = taken_by else { return Ok(false) };
        let task_id = Task::id(&self.batch, self.phases[phase].tag(), place);
        let asset_id = if self.state.stable_assets {
            Task::drawn_asset_id(&task_id)
        } else {
            format!("{}{:016X}", base36(turn.now().0.unsigned_abs()), turn.seed().next_u64())
        };
        let task = Task {
            task_id,
            phase,
            place: place.clone(),
            status: TaskStatus::Pending,
            attempt: 1,
            last_attempt: self.options.task_attempts,
            put_off: 0,
            asset_id,
            input: file.clone(),
            started_at: None,
            completed_at: None,
            error: None,
            machine_id: None,
            report: None,
            in_parts: 0,
            passed_on: false,
        };
        turn.put(&task_key(phase, place), &task)?;
        turn.put(&todo_key(phase, place), &true)?;
        self.state.counts[phase].total += 1;
        Ok(true)
    }

    /// Hands waiting tasks of a phase to launchers, up to its window.
    pub(crate) fn hand_over(&mut self, turn: &mut Turn<'_>, phase: usize) -> Result<(), Halt<No>> {
        let window = self.options.settings_of(self.phases[phase]).batch_size;
        let live = usize::try_from(self.state.counts[phase].live).unwrap_or(usize::MAX);
        let room = window.saturating_sub(live).min(HANDED_PER_TURN);
        let prefix = todo_prefix(phase);
        let todo = turn.scan::<bool>(&prefix, None, room)?;
        let full = todo.len() == HANDED_PER_TURN;
        let todo: Vec<(String, Place)> = todo
            .into_iter()
            .filter_map(|(key, _)| key.strip_prefix(&prefix).and_then(Place::parse).map(|place| (key, place)))
            .collect();
        // Files are looked at when their tasks end. Brought one by one then, those of a batch that memory does not hold would
        // cost more than all the rest.
        let rows = |place: &Place| [task_key(phase, place), file_key(place), file_key(&place.input())];
        turn.prefetch(todo.iter().flat_map(|(_, place)| rows(place)))?;
        for (key, place) in todo {
            turn.delete(&key);
            let Some(task) = turn.get::<Task>(&task_key(phase, &place))? else { continue };
            self.launch(turn, &task, 0)?;
            self.state.counts[phase].live += 1;
        }
        if full {
            self.state.ticking = true;
            let me = turn.object().clone();
            turn.send(&me, &crate::batch::ToBatch::Tick)?;
        }
        Ok(())
    }

    fn launch(&self, turn: &mut Turn<'_>, task: &Task, delay_ms: i64) -> Result<(), Halt<No>> {
        let phase = self.phases[task.phase];
        let settings = self.options.settings_of(phase);
        let order = jobs::order(&self.batch, turn.incarnation(), task, phase.tag(), settings);
        let job = jobs::run(&order, turn.now().plus_ms(delay_ms))?;
        turn.put(&live_key(task.phase, &task.place), &job_key(task))?;
        Ok(turn.enqueue(job)?)
    }

    /// What `event` about `attempt` makes of a task, its file, the counters and the ledger. Whether it changed anything.
    pub(crate) fn apply(
        &mut self,
        turn: &mut Turn<'_>,
        task: &Task,
        attempt: u32,
        event: TaskEvent,
    ) -> Result<bool, Halt<No>> {
        let was_over = task.status.is_over();
        let Some(moved) = task.after(attempt, event, turn.now()) else { return Ok(false) };
        self.count_begun(task, moved.task());
        match moved {
            Moved::Same(after) => {
                turn.put(&task_key(after.phase, &after.place), &after)?;
                Ok(true)
            }
            Moved::Another(after) => {
                if was_over {
                    let counts = &mut self.state.counts[after.phase];
                    counts.failed -= 1;
                    counts.live += 1;
                    self.fare(turn, &after.place, |fared| {
                        fared.failed -= 1;
                        fared.open += 1;
                    })?;
                }
                turn.put(&task_key(after.phase, &after.place), &after)?;
                let pause_ms = self.state.paused_until.map_or(0, |until| until.since(turn.now()).max(0));
                let tries = after.attempt.saturating_sub(2).min(6);
                let backoff_ms = if was_over { 0 } else { 1_000 << tries };
                self.launch(turn, &after, pause_ms.max(backoff_ms))?;
                Ok(true)
            }
            Moved::Over(mut after) => {
                turn.delete(&live_key(after.phase, &after.place));
                self.over(turn, &mut after)?;
                turn.put(&task_key(after.phase, &after.place), &after)?;
                Ok(true)
            }
        }
    }

    /// Counts a task that a worker has begun, as long as that is so.
    fn count_begun(&mut self, before: &Task, after: &Task) {
        let is_begun = |task: &Task| u64::from(task.status == TaskStatus::Processing);
        let begun = &mut self.state.counts[after.phase].begun;
        // A batch of a version that did not count them has more such tasks than it knows of.
        *begun = begun.saturating_sub(is_begun(before)) + is_begun(after);
    }

    /// A task is over: its file becomes what the phase makes of it, and goes on to later phases.
    fn over(&mut self, turn: &mut Turn<'_>, task: &mut Task) -> Result<(), Halt<No>> {
        if task.report.is_some() {
            return self.spread(turn, task, Spread::BEGIN);
        }
        let input = task.input.clone();
        task.passed_on = self.route(turn, &task.place, &input, task.phase + 1)?;
        let opened = u32::from(task.passed_on);
        let reason = task.error.clone().unwrap_or_default();
        let reason = format!("{}: {reason}", self.phases[task.phase].name());
        self.count(turn, task, |counts| counts.failed += 1)?;
        self.fare(turn, &task.place, |fared| {
            fared.open = fared.open + opened - 1;
            fared.failed += 1;
            fared.reason = reason;
        })
    }

    /// Writes the files that a completed task made, a part of its pages in each turn. The task counts with the last.
    pub(crate) fn spread(&mut self, turn: &mut Turn<'_>, task: &Task, from: Spread) -> Result<(), Halt<No>> {
        let Some(report) = &task.report else { return Ok(()) };
        let mut next = from;
        let files = if task.in_parts == 0 {
            self.phases[task.phase].transform(&task.input, report)
        } else {
            let pages = parts::part(turn, task, from.page)?;
            parts::spent(turn, task, from.page);
            next.page += u32::try_from(pages.len()).unwrap_or(u32::MAX);
            let report = Report { outputs: Some(pages), ..report.clone() };
            self.phases[task.phase].transform(&task.input, &report)
        };
        let mut opened = 0;
        for (nth, file) in files.iter().enumerate() {
            match nth {
                0 if from == Spread::BEGIN => {
                    let fared = rows::file(turn, &task.place)?.and_then(|row| row.fared);
                    turn.put(&file_key(&task.place), &FileRow { file: Some(file.clone()), fared })?;
                    opened += u32::from(self.route(turn, &task.place, file, task.phase + 1)?);
                }
                0 => {}
                _ => {
                    next.file += 1;
                    let place = task.place.output(next.file);
                    turn.put(&file_key(&place), &FileRow { file: Some(file.clone()), fared: None })?;
                    opened += u32::from(self.route(turn, &place, file, task.phase + 1)?);
                }
            }
        }
        if files.is_empty() && from == Spread::BEGIN {
            let fared = rows::file(turn, &task.place)?.and_then(|row| row.fared);
            turn.put(&file_key(&task.place), &FileRow { file: None, fared })?;
        }
        if next.page > from.page && next.page < task.in_parts {
            let me = turn.object().clone();
            let task_id = task.task_id.clone();
            turn.send(&me, &crate::batch::ToBatch::Spread { task_id, from: next })?;
            return self.fare(turn, &task.place, |fared| fared.open += opened);
        }
        self.count(turn, task, |counts| counts.completed += 1)?;
        self.fare(turn, &task.place, |fared| {
            fared.open = fared.open + opened - 1;
            fared.completed += 1;
        })
    }

    /// Counts a task that is over, and notes every hundredth part of a phase.
    fn count(
        &mut self,
        turn: &mut Turn<'_>,
        task: &Task,
        change: impl FnOnce(&mut Counts),
    ) -> Result<(), Halt<No>> {
        let counts = &mut self.state.counts[task.phase];
        counts.live = counts.live.saturating_sub(1);
        change(counts);
        let over = counts.completed + counts.failed;
        if over.is_multiple_of((counts.total / 100).max(1)) { self.note(turn, task.phase) } else { Ok(()) }
    }

    /// Changes how the input of `place` fared, and the ledger with it.
    fn fare(
        &mut self,
        turn: &mut Turn<'_>,
        place: &Place,
        change: impl FnOnce(&mut Fared),
    ) -> Result<(), Halt<No>> {
        let place = place.input();
        let Some(mut row) = rows::file(turn, &place)? else { return Ok(()) };
        let Some(fared) = row.fared.as_mut() else { return Ok(()) };
        let was = fared.end();
        change(fared);
        let is = fared.end();
        if was != is {
            *self.state.ledger.of(&was) -= 1;
            *self.state.ledger.of(&is) += 1;
        }
        Ok(turn.put(&file_key(&place), &row)?)
    }
}

/// A number in base 36, upper case.
fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        let digit = u32::try_from(number % 36).unwrap_or(0);
        digits.push(char::from_digit(digit, 36).unwrap_or('0').to_ascii_uppercase());
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}
