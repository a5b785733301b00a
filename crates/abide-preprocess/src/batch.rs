//! The batch: takes a message, goes through its phases, hands over what came of it.

use crate::calls::{Call, HaveAnswer, OkAnswer, Reply, StartAnswer};
use crate::file::{Place, ProcessableFile};
use crate::flow::{self, Flow, Spread};
use crate::handover::{SWEEP, empty, handover};
use crate::jobs::{self, Ended};
use crate::limits::CANCELLED_PER_TURN;
use crate::message::{BatchId, QueueMessage};
use crate::options::Options;
use crate::phases::{self, Phases};
use crate::refusal::No;
use crate::rows::{self, LIVE, MESSAGE, MessageRow, STATE};
use crate::show;
use crate::state::{State, Step};
use crate::task::{Moved, Task, TaskEvent};
use abide_core::event::{Event as EngineEvent, Sender};
use abide_core::job::{JobOutcome, JobState};
use abide_core::limits::cut_reason;
use abide_core::name::UniqueKey;
use abide_core::object::Incarnation;
use abide_core::time::Time;
use abide_engine::{Answer, Halt, Object, Turn};
use serde::{Deserialize, Serialize};

/// The alarm that looks at a running phase.
pub(crate) const TICK: &str = "tick";

/// What a batch is sent, by itself and by those around it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToBatch {
    /// Begin, if it is not begun.
    Start(Box<QueueMessage>),
    /// Hand tasks to launchers.
    Tick,
    /// Go on writing the files that a completed task made.
    Spread {
        /// Which task.
        task_id: String,
        /// From where.
        from: Spread,
    },
    /// Cancel what is with launchers, and go on until nothing is.
    Cancel,
    /// From whoever was told of the finished batch: nothing of its staging is read any more.
    Taken {
        /// As it was finished for the how manieth time.
        finishes: u32,
    },
    /// From whoever was asked whether staging may be emptied: it may.
    Empty {
        /// As it was finished for the how manieth time.
        finishes: u32,
    },
}

/// A kind of object that takes a batch of files through phases.
pub struct Batch {
    pub(crate) options: Options,
    pub(crate) phases: Phases,
}

impl Batch {
    /// One that goes through every phase.
    #[must_use]
    pub fn new(options: Options) -> Batch {
        Batch::with_phases(options, phases::ALL)
    }

    /// One that goes through these phases.
    #[must_use]
    pub fn with_phases(options: Options, phases: Phases) -> Batch {
        Batch { options, phases }
    }
}

impl Object for Batch {
    const KIND: &'static str = "preprocess";
    type Call = Call;
    type Reply = Reply;
    type Message = ToBatch;
    type Refusal = No;

    fn call(&self, turn: &mut Turn<'_>, call: Call) -> Result<Answer<Reply>, Halt<No>> {
        let reply = match call {
            Call::Start(message) => self.start(turn, *message)?,
            Call::Status => Reply::Status(Box::new(show::status(turn, self.phases)?)),
            Call::Files { life, from, files, last } => self.files(turn, life, from, files, last)?,
            Call::Begin { attempt, machine_id } => self.begin(turn, &attempt, machine_id)?,
            Call::Callback { attempt, signature, report, in_parts } => {
                self.callback(turn, &attempt, &signature, *report, in_parts)?
            }
            Call::Pages { attempt, signature, from, pages } => {
                self.pages(turn, &attempt, &signature, from, pages)?
            }
            Call::Check { attempt, signature } => self.check(turn, &attempt, &signature)?,
            Call::Reset => reset(turn)?,
            Call::Tasks(page) => Reply::Tasks(show::tasks(turn, self.phases, &page)?),
            Call::Output(page) => Reply::Output(show::output(turn, &page)?),
            Call::Inputs(page) => Reply::Inputs(show::inputs(turn, &page)?),
            Call::Handover { finishes, after } => Reply::Output(handover(turn, finishes, after)?),
            Call::Tree { life } => has_tree(turn, life)?,
            Call::Retry { task_id } => self.retry(turn, &task_id)?,
        };
        Ok(reply.into())
    }

    fn message(&self, turn: &mut Turn<'_>, _from: Option<&Sender>, message: ToBatch) -> Result<(), Halt<No>> {
        match message {
            ToBatch::Start(message) => self.start(turn, *message).map(drop),
            ToBatch::Tick => self.tick(turn),
            ToBatch::Spread { task_id, from } => self.spread(turn, &task_id, from),
            ToBatch::Cancel => cancel_live(turn),
            ToBatch::Taken { finishes } => self.taken(turn, finishes),
            ToBatch::Empty { finishes } => empty(turn, finishes),
        }
    }

    fn alarm(&self, turn: &mut Turn<'_>, name: &str, _at: Time) -> Result<(), Halt<No>> {
        match name {
            TICK => self.tick(turn),
            SWEEP => self.sweep(turn),
            _ => Ok(()),
        }
    }

    fn outcome(&self, turn: &mut Turn<'_>, outcome: &JobOutcome) -> Result<(), Halt<No>> {
        match outcome.kind.as_str() {
            jobs::MANIFEST => manifest_read(turn, outcome),
            jobs::FINALIZE => self.delivered(turn, outcome),
            jobs::SWEEP => Ok(()),
            _ => self.run_ended(turn, outcome),
        }
    }

    fn prefetch(&self, event: &EngineEvent) -> Vec<String> {
        match event {
            EngineEvent::Call { .. }
            | EngineEvent::Message { .. }
            | EngineEvent::Alarm { .. }
            | EngineEvent::Outcome(_)
            | EngineEvent::Entries { .. } => vec![STATE.to_owned()],
        }
    }
}

impl Batch {
    /// A message came. One about a batch that goes on changes nothing; one about a batch that has ended begins it anew.
    fn start(&self, turn: &mut Turn<'_>, message: QueueMessage) -> Result<Reply, Halt<No>> {
        let batch_id = message.batch_id.to_string();
        if let Some(state) = turn.get::<State>(STATE)? {
            let ended = matches!(state.step, Step::Error { .. });
            if ended {
                // The rows of the former life go with it, and so does whatever still arrives for it.
                turn.delete_self();
                let me = turn.object().clone();
                turn.send(&me, &ToBatch::Start(Box::new(message)))?;
            }
            return Ok(Reply::Started(StartAnswer { batch_id, started: ended }));
        }
        let state = State::new(self.phases.len(), message.prefix(), turn.now());
        turn.put(STATE, &State { stable_assets: message.has_stable_assets(), ..state })?;
        let job = jobs::manifest(&message, turn.incarnation())?;
        turn.put(MESSAGE, &MessageRow(message))?;
        turn.enqueue(job)?;
        Ok(Reply::Started(StartAnswer { batch_id, started: true }))
    }

    /// Files of the manifest came.
    fn files(
        &self,
        turn: &mut Turn<'_>,
        life: Incarnation,
        from: u64,
        files: Vec<ProcessableFile>,
        last: bool,
    ) -> Result<Reply, Halt<No>> {
        let mut flow = self.flow(turn)?;
        let have = match flow.state.step {
            Step::Loading { have } if life == turn.incarnation() => have,
            Step::Loading { .. } | Step::Phase { .. } | Step::Done | Step::Error { .. } => {
                return Ok(Reply::Have(HaveAnswer { have: None }));
            }
        };
        // A worker that begins again is told where to go on.
        if from != have {
            return Ok(Reply::Have(HaveAnswer { have: Some(have) }));
        }
        let now_have = have + files.len() as u64;
        for (index, file) in (have..).zip(files) {
            flow.input(turn, &Place::of_input(index), file)?;
        }
        flow.state.step = Step::Loading { have: now_have };
        if last {
            self.advance(turn, &mut flow)?;
        }
        flow.save(turn)?;
        Ok(Reply::Have(HaveAnswer { have: (!last).then_some(now_have) }))
    }

    pub(crate) fn flow(&self, turn: &mut Turn<'_>) -> Result<Flow<'_>, Halt<No>> {
        let batch = turn.object().name.as_str().to_owned();
        let batch = BatchId::new(batch.clone()).map_err(|_| No::UnknownBatch(batch))?;
        Ok(Flow::new(rows::state(turn)?, batch, self.phases, &self.options))
    }

    /// A machine or process ended, or could not be started.
    fn run_ended(&self, turn: &mut Turn<'_>, outcome: &JobOutcome) -> Result<(), Halt<No>> {
        let named = outcome.unique_key.as_ref().and_then(|key| key.as_str().rsplit_once('/'));
        let Some((task_id, attempt)) = named else { return Ok(()) };
        let Ok(attempt) = attempt.parse::<u32>() else { return Ok(()) };
        let mut flow = self.flow(turn)?;
        if matches!(flow.state.step, Step::Error { .. }) {
            return Ok(());
        }
        let task = rows::task(turn, self.phases, task_id)?;
        if task.attempt != attempt || task.status.is_over() {
            return Ok(());
        }
        let reason = outcome.reason.clone().unwrap_or_default();
        let failed = |reason: String| TaskEvent::Failed { reason, retryable: true };
        let event = match outcome.state {
            JobState::Done => match outcome.result.as_ref().map(|result| result.decode::<Ended>()) {
                Some(Ok(Ended::Exited)) => failed("its worker ended without calling back".to_owned()),
                Some(Ok(Ended::Failed { reason })) => failed(cut_reason(&reason).to_owned()),
                Some(Ok(Ended::Hopeless { reason })) => {
                    TaskEvent::Failed { reason: cut_reason(&reason).to_owned(), retryable: false }
                }
                Some(Ok(Ended::NoRoom { reason })) => {
                    TaskEvent::NotNow { reason: cut_reason(&reason).to_owned() }
                }
                Some(Err(_)) | None => failed("its launcher said nothing that can be read".to_owned()),
            },
            JobState::Failed => return self.phase_failed(turn, flow, &task, &reason),
            JobState::Skipped | JobState::Cancelled => {
                failed(format!("its job was {}: {reason}", outcome.state))
            }
            JobState::Scheduled | JobState::Ready | JobState::Running => return Ok(()),
        };
        if flow.apply(turn, &task, attempt, event)? {
            self.advance(turn, &mut flow)?;
            flow.save(turn)?;
        }
        Ok(())
    }

    /// Nothing could be started for a task, which is a failure of the phase: it rests, and ends the batch if that does
    /// not help. Tasks that fail while it rests are of the same failure.
    fn phase_failed(
        &self,
        turn: &mut Turn<'_>,
        mut flow: Flow<'_>,
        task: &Task,
        reason: &str,
    ) -> Result<(), Halt<No>> {
        let now = turn.now();
        if flow.state.paused_until.is_none_or(|until| until <= now) {
            flow.state.phase_retry_count += 1;
            let count = flow.state.phase_retry_count;
            if count >= self.options.max_retry_attempts {
                let name = self.phases[task.phase].name();
                let error =
                    format!("{name} failed {count} times, the last time with: {}", cut_reason(reason));
                return end(turn, flow.state, error);
            }
            let wait_ms = self.options.error_retry_ms.min(1_000 << count.min(20));
            flow.state.paused_until = Some(now.plus_ms(wait_ms));
            turn.set_alarm(TICK, now.plus_ms(wait_ms))?;
        }
        let not_now = TaskEvent::NotNow { reason: cut_reason(reason).to_owned() };
        flow.apply(turn, task, task.attempt, not_now)?;
        flow.save(turn)
    }

    /// Hands tasks to launchers, as many as the phase's window has room for.
    fn tick(&self, turn: &mut Turn<'_>) -> Result<(), Halt<No>> {
        let Some(_) = turn.get::<State>(STATE)? else { return Ok(()) };
        let mut flow = self.flow(turn)?;
        flow.state.ticking = false;
        if let Step::Phase { index } = flow.state.step {
            let now = turn.now();
            let next = match flow.state.paused_until.filter(|until| *until > now) {
                Some(until) => until,
                None => {
                    flow.state.paused_until = None;
                    flow.hand_over(turn, index)?;
                    now.plus_ms(self.options.settings_of(self.phases[index]).alarm_delay_ms)
                }
            };
            turn.set_alarm(TICK, next)?;
        }
        flow.save_quietly(turn)
    }

    /// Goes on with a task that made many files.
    fn spread(&self, turn: &mut Turn<'_>, task_id: &str, from: Spread) -> Result<(), Halt<No>> {
        let mut flow = self.flow(turn)?;
        if matches!(flow.state.step, Step::Error { .. }) {
            return Ok(());
        }
        let task = rows::task(turn, self.phases, task_id)?;
        flow.spread(turn, &task, from)?;
        self.advance(turn, &mut flow)?;
        flow.save(turn)
    }

    /// Goes on: to the first phase with tasks, or to the end.
    pub(crate) fn advance(&self, turn: &mut Turn<'_>, flow: &mut Flow<'_>) -> Result<(), Halt<No>> {
        match flow.state.unfinished() {
            Some(index) => {
                if flow.state.step != (Step::Phase { index }) {
                    flow.state.step = Step::Phase { index };
                    flow.state.phase_retry_count = 0;
                    flow.note(turn, index)?;
                }
                let counts = flow.state.counts[index];
                let window = self.options.settings_of(self.phases[index]).batch_size as u64;
                let rests = flow.state.paused_until.is_some_and(|until| until > turn.now());
                if counts.waiting() > 0 && counts.live * 2 <= window && !flow.state.ticking && !rests {
                    flow.state.ticking = true;
                    let me = turn.object().clone();
                    turn.send(&me, &ToBatch::Tick)?;
                }
                Ok(())
            }
            None => self.finish(turn, flow),
        }
    }

    /// Tries a failed task again. A batch that was done goes on until it is done again.
    fn retry(&self, turn: &mut Turn<'_>, task_id: &str) -> Result<Reply, Halt<No>> {
        let mut flow = self.flow(turn)?;
        if matches!(flow.state.step, Step::Error { .. }) {
            return Err(No::Ended.into());
        }
        if flow.state.is_swept {
            return Err(No::Swept.into());
        }
        let task = rows::task(turn, self.phases, task_id)?;
        if task.passed_on {
            return Err(No::PassedOn(task.task_id).into());
        }
        let again = TaskEvent::Again { attempts: self.options.task_attempts };
        if !flow.apply(turn, &task, task.attempt, again)? {
            return Err(No::NotFailed(task.task_id).into());
        }
        if flow.state.step == Step::Done {
            flow.state.completed_at = None;
            flow.state.delivery = None;
            // What is delivered is the batch when it is done again, and its staging is needed until then.
            turn.cancel(&UniqueKey::new(jobs::finalize_key(flow.state.finishes))?);
            turn.clear_alarm(SWEEP)?;
        }
        if !matches!(flow.state.step, Step::Loading { .. }) {
            self.advance(turn, &mut flow)?;
            let delay_ms = self.options.settings_of(self.phases[task.phase]).alarm_delay_ms;
            turn.set_alarm(TICK, turn.now().plus_ms(delay_ms))?;
        }
        flow.save(turn)?;
        Ok(Reply::Ok(OkAnswer { ok: true, message: Some(format!("task {task_id} is tried again")) }))
    }
}

/// The manifest has entities of directories, which are handed over with the files.
fn has_tree(turn: &mut Turn<'_>, life: Incarnation) -> Result<Reply, Halt<No>> {
    let state = rows::state(turn)?;
    if life == turn.incarnation() && matches!(state.step, Step::Loading { .. }) {
        turn.put(STATE, &State { has_tree: true, ..state })?;
    }
    Ok(Reply::Ok(OkAnswer { ok: true, message: None }))
}

/// The manifest's worker is through: with all files, or without any hope.
fn manifest_read(turn: &mut Turn<'_>, outcome: &JobOutcome) -> Result<(), Halt<No>> {
    let state = rows::state(turn)?;
    match (&state.step, outcome.state) {
        (Step::Loading { .. }, JobState::Failed | JobState::Skipped | JobState::Cancelled) => {
            let reason = outcome.reason.clone().unwrap_or_else(|| "its job was cancelled".to_owned());
            end(turn, state, reason)
        }
        (Step::Loading { .. } | Step::Phase { .. } | Step::Done | Step::Error { .. }, _) => Ok(()),
    }
}

/// Stops everything. A batch that does not exist needs no stopping.
fn reset(turn: &mut Turn<'_>) -> Result<Reply, Halt<No>> {
    let name = turn.object().name.as_str().to_owned();
    let state = turn.get::<State>(STATE)?;
    if let Some(state) = state.filter(|state| !matches!(state.step, Step::Error { .. })) {
        end(turn, state, "manually reset".to_owned())?;
    }
    let message = Some(format!("batch {name} is stopped: send its queue message to begin it again"));
    Ok(Reply::Ok(OkAnswer { ok: true, message }))
}

/// The batch has ended for a reason.
fn end(turn: &mut Turn<'_>, mut state: State, error: String) -> Result<(), Halt<No>> {
    let now = turn.now();
    let phase = Some(state.shown());
    for counts in &mut state.counts {
        (counts.live, counts.begun) = (0, 0);
    }
    turn.clear_alarm(TICK)?;
    turn.clear_alarm(SWEEP)?;
    turn.cancel(&UniqueKey::new(jobs::MANIFEST_KEY)?);
    turn.cancel(&UniqueKey::new(jobs::finalize_key(state.finishes))?);
    // What is brought again for the next life is not what this one had to empty.
    turn.cancel(&UniqueKey::new(jobs::SWEEP_KEY)?);
    turn.append(&flow::Note::ended(&error))?;
    turn.put(STATE, &State { step: Step::Error { error, phase }, updated_at: now, delivery: None, ..state })?;
    cancel_live(turn)
}

/// Cancels jobs of tasks, a part at a time: whoever runs them stops its process or destroys its machine.
fn cancel_live(turn: &mut Turn<'_>) -> Result<(), Halt<No>> {
    let live = turn.scan::<String>(LIVE, None, CANCELLED_PER_TURN)?;
    let more = live.len() == CANCELLED_PER_TURN;
    let now = turn.now();
    turn.prefetch(live.iter().map(|(key, _)| rows::task_of_live(key)))?;
    for (key, job) in live {
        turn.cancel(&UniqueKey::new(job)?);
        turn.delete(&key);
        let task_key = rows::task_of_live(&key);
        let task = turn.get::<Task>(&task_key)?;
        let stopped = task.and_then(|task| task.after(task.attempt, TaskEvent::Stopped, now));
        if let Some(Moved::Same(task)) = stopped {
            turn.put(&task_key, &task)?;
        }
    }
    if more {
        let me = turn.object().clone();
        turn.send(&me, &ToBatch::Cancel)?;
    }
    Ok(())
}
