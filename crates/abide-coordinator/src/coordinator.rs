//! The coordinator: takes items, has each processed, keeps what came of it.

use crate::calls::{Call, Page, ResultBy};
use crate::item::{Event, Item};
use crate::items::{self, Placed, TALLY};
use crate::limits::{ATTEMPTS, PAGE_BYTES, PAGE_ITEMS};
use crate::messages::{ToCoordinator, ToProcessor, Work};
use crate::mode::Mode;
use crate::options::Options;
use crate::processor::Processor;
use crate::refusal::No;
use crate::replies::{
    BatchAnswer, ItemAnswer, ProcessAnswer, QueueAnswer, Reply, StatsAnswer, StatusAnswer, SuccessAnswer,
};
use crate::report::Report;
use crate::submit::Submit;
use crate::trim;
use crate::work::{DeadLetter, QueueMessage, WorkId, WorkItem};
use crate::{PROCESS, QUEUE};
use abide_core::event::{Event as EngineEvent, Sender};
use abide_core::job::{JobOutcome, JobState, NewJob};
use abide_core::json::Json;
use abide_core::limits::cut_reason;
use abide_core::name::{JobKind, Kind, QueueName, UniqueKey};
use abide_core::object::ObjectKey;
use abide_core::seed::one_way;
use abide_core::time::Time;
use abide_engine::{Answer, Halt, Object, Turn, TurnError};

/// A kind of object that takes work items and has each processed once.
#[derive(Debug, Clone)]
pub struct Coordinator {
    retain_ms: i64,
    max_attempts: u32,
}

impl Coordinator {
    /// One that behaves like this.
    #[must_use]
    pub fn new(options: &Options) -> Coordinator {
        Coordinator {
            retain_ms: options.retain_finished_for_ms,
            max_attempts: options.retries.saturating_add(1),
        }
    }
}

impl Object for Coordinator {
    const KIND: &'static str = "coordinator";
    type Call = Call;
    type Reply = Reply;
    type Message = ToCoordinator;
    type Refusal = No;

    fn call(&self, turn: &mut Turn<'_>, call: Call) -> Result<Answer<Reply>, Halt<No>> {
        let reply = match call {
            Call::Status => Reply::Status(StatusAnswer { status: "CoordinatorDo ready".into() }),
            Call::Queue(page) => Reply::Queue(queue(turn, page)?),
            Call::Item { work_id } => {
                let found = items::find(turn, &work_id)?.ok_or(No::UnknownWork(work_id))?;
                Reply::Item(Box::new(ItemAnswer { work_item: found.item.into() }))
            }
            Call::Submit(submit) => {
                let mut taken = take(turn, [submit], self.retain_ms)?;
                let work_item = taken.pop().expect("one was submitted");
                Reply::Item(Box::new(ItemAnswer { work_item }))
            }
            Call::SubmitBatch(batch) => {
                let work_items = take(turn, batch.into_submits(), self.retain_ms)?;
                Reply::Batch(BatchAnswer { count: work_items.len(), work_items })
            }
            Call::Process { work_id, mode } => {
                let started = begin_again(turn, &work_id, mode)?;
                Reply::Process(ProcessAnswer { success: true, started })
            }
            Call::Result { work_id, by, report } => {
                self.reported(turn, &work_id, &by, report)?;
                Reply::Success(SuccessAnswer { success: true })
            }
            Call::Stats => Reply::Stats(StatsAnswer::from(&items::tally(turn)?)),
            Call::Clear => {
                clear(turn)?;
                Reply::Success(SuccessAnswer { success: true })
            }
        };
        Ok(reply.into())
    }

    fn message(
        &self,
        turn: &mut Turn<'_>,
        _from: Option<&Sender>,
        message: ToCoordinator,
    ) -> Result<(), Halt<No>> {
        match message {
            ToCoordinator::Begin { work_ids } => {
                for work_id in &work_ids {
                    self.begin(turn, work_id)?;
                }
                Ok(())
            }
            ToCoordinator::Processed { work_id, attempt, result } => {
                let timestamps = Some(result.timestamps.clone());
                let result = Some(encode("a result", &result)?);
                let Some(placed) = items::find(turn, &work_id)? else { return Ok(()) };
                self.apply(turn, &placed, Event::Processed { attempt, result, timestamps }).map(drop)
            }
        }
    }

    /// A job is over, and with it an attempt of an item.
    fn outcome(&self, turn: &mut Turn<'_>, outcome: &JobOutcome) -> Result<(), Halt<No>> {
        let Some((work_id, attempt)) = outcome.unique_key.as_ref().and_then(read_job_key) else {
            return Ok(());
        };
        let Some(placed) = items::find(turn, &work_id)? else { return Ok(()) };
        let reason = outcome.reason.clone().unwrap_or_default();
        let failed = |error: String| Event::Failed { attempt, error, timestamps: None };
        let event = match outcome.state {
            JobState::Done => return self.worked(turn, &placed, attempt, outcome.result.as_ref()),
            JobState::Failed => {
                let dead_letter = DeadLetter { job: outcome.job, attempt: outcome.attempt, reason };
                Event::Died { attempt, dead_letter }
            }
            JobState::Skipped => failed(format!("the worker skipped it: {reason}")),
            JobState::Cancelled => failed("its job was cancelled".to_owned()),
            JobState::Scheduled | JobState::Ready | JobState::Running => return Ok(()),
        };
        self.apply(turn, &placed, event).map(drop)
    }

    fn alarm(&self, turn: &mut Turn<'_>, name: &str, _at: Time) -> Result<(), Halt<No>> {
        if name != trim::TRIM {
            return Ok(());
        }
        let work_ids = trim::trim(turn, self.retain_ms)?;
        if !work_ids.is_empty() {
            turn.send(&processor_of(turn), &ToProcessor::Forget { work_ids })?;
        }
        Ok(())
    }

    fn prefetch(&self, event: &EngineEvent) -> Vec<String> {
        let work_id = match event {
            EngineEvent::Outcome(outcome) => outcome.unique_key.as_ref().and_then(read_job_key),
            EngineEvent::Call { .. }
            | EngineEvent::Message { .. }
            | EngineEvent::Alarm { .. }
            | EngineEvent::Entries { .. } => None,
        };
        work_id.map(|(work_id, _)| items::id_key(&work_id)).into_iter().chain([TALLY.to_owned()]).collect()
    }
}

impl Coordinator {
    /// What `event` makes of an item; none if it changes nothing.
    fn apply(&self, turn: &mut Turn<'_>, before: &Placed, event: Event) -> Result<Option<Placed>, Halt<No>> {
        let Some(after) = before.item.after(event, turn.now()) else { return Ok(None) };
        let after = items::replace(turn, before, after)?;
        if after.item.is_finished() {
            trim::after_finish(turn, self.retain_ms)?;
        }
        Ok(Some(after))
    }

    /// Sends an item that was taken on its way.
    fn begin(&self, turn: &mut Turn<'_>, work_id: &WorkId) -> Result<(), Halt<No>> {
        let Some(placed) = items::find(turn, work_id)? else { return Ok(()) };
        let proof = draw_proof(turn);
        let begun = Event::Begun { proof: proof.clone() };
        let Some(Placed { item, .. }) = self.apply(turn, &placed, begun)? else { return Ok(()) };
        match item.mode {
            Mode::Queue => turn.enqueue(self.job(turn, item, proof)?)?,
            Mode::Direct => turn.send(&processor_of(turn), &ToProcessor::Process(work(item)))?,
        }
        Ok(())
    }

    fn job(&self, turn: &Turn<'_>, item: Item, proof: String) -> Result<NewJob, TurnError> {
        let unique_key = Some(job_key(&item)?);
        let priority = item.priority;
        let payload = QueueMessage {
            work_id: item.id,
            payload: item.payload,
            coordinator_id: turn.object().name.as_str().to_owned(),
            timestamps: item.timestamps,
            attempt: item.attempt,
            proof,
        };
        let payload = encode("a job's payload", &payload)?;
        let job = NewJob::new(QueueName::new(QUEUE)?, JobKind::new(PROCESS)?, payload);
        Ok(NewJob { unique_key, priority, max_attempts: Some(self.max_attempts), ..job })
    }

    /// A job is done: its item has its result when the processor has counted it, or at once if the worker gave one.
    fn worked(
        &self,
        turn: &mut Turn<'_>,
        placed: &Placed,
        attempt: u32,
        result: Option<&Json>,
    ) -> Result<(), Halt<No>> {
        let (report, unreadable) = match result.map_or(Ok(Report::default()), Json::decode) {
            Ok(report) => (report, None),
            Err(error) => (Report::default(), Some(format!("the worker's result is not valid: {error}"))),
        };
        let Report { result, error, timestamps } = report;
        let Some(worked) = self.apply(turn, placed, Event::Worked { attempt, timestamps })? else {
            return Ok(());
        };
        if let Some(error) = unreadable.or(error) {
            let error = cut_reason(&error).to_owned();
            return self.apply(turn, &worked, Event::Failed { attempt, error, timestamps: None }).map(drop);
        }
        if result.is_some() {
            self.apply(turn, &worked, Event::Processed { attempt, result, timestamps: None })?;
        }
        Ok(turn.send(&processor_of(turn), &ToProcessor::Count(work(worked.item)))?)
    }

    /// Somebody says what came of an item. Its job or message is not needed any more.
    fn reported(
        &self,
        turn: &mut Turn<'_>,
        work_id: &WorkId,
        by: &ResultBy,
        report: Report,
    ) -> Result<(), Halt<No>> {
        let Some(placed) = items::find(turn, work_id)? else { return Ok(()) };
        let attempt = placed.item.attempt;
        match by {
            ResultBy::Attempt { attempt: other, .. } if *other != attempt => return Ok(()),
            ResultBy::Attempt { proof, .. } if !proves(proof, &placed.item) => {
                return Err(No::WrongProof { work_id: work_id.clone(), attempt }.into());
            }
            ResultBy::Attempt { .. } | ResultBy::Operator => {}
        }
        let Report { result, error, timestamps } = report;
        let processed = error.is_none();
        let event = match error {
            Some(error) => {
                let error = cut_reason(&error).to_owned();
                Event::Failed { attempt, error, timestamps }
            }
            None => Event::Processed { attempt, result, timestamps },
        };
        let Some(after) = self.apply(turn, &placed, event)? else { return Ok(()) };
        stop(turn, &placed.item)?;
        if processed {
            turn.send(&processor_of(turn), &ToProcessor::Count(work(after.item)))?;
        }
        Ok(())
    }
}

/// Takes new items: they are begun in the background, by a message to itself.
fn take(
    turn: &mut Turn<'_>,
    submits: impl IntoIterator<Item = Submit>,
    retain_ms: i64,
) -> Result<Vec<WorkItem>, Halt<No>> {
    let mut taken = Vec::new();
    for submit in submits {
        let id = WorkId(turn.seed().uuid());
        let item = Item::new(submit, id, turn.now());
        items::add(turn, &item)?;
        taken.push(WorkItem::from(item));
    }
    trim::after_submit(turn, taken.len(), retain_ms)?;
    begin_later(turn, taken.iter().map(|item| item.id.clone()).collect())?;
    Ok(taken)
}

fn begin_later(turn: &mut Turn<'_>, work_ids: Vec<WorkId>) -> Result<(), TurnError> {
    let itself = Sender { object: turn.object().clone(), incarnation: turn.incarnation() };
    turn.answer(&itself, &ToCoordinator::Begin { work_ids })
}

fn begin_again(turn: &mut Turn<'_>, work_id: &WorkId, mode: Option<Mode>) -> Result<bool, Halt<No>> {
    let placed = items::find(turn, work_id)?.ok_or_else(|| No::UnknownWork(work_id.clone()))?;
    let Some(after) = placed.item.after(Event::Again { mode }, turn.now()) else { return Ok(false) };
    if after.attempt > ATTEMPTS {
        return Err(No::TooManyAttempts(work_id.clone()).into());
    }
    let started = after.attempt != placed.item.attempt;
    items::replace::<No>(turn, &placed, after)?;
    if started {
        stop(turn, &placed.item)?;
        begin_later(turn, vec![work_id.clone()])?;
    }
    Ok(started)
}

/// Stops the attempt of an item that is under way. What it says nevertheless is late.
fn stop(turn: &mut Turn<'_>, item: &Item) -> Result<(), TurnError> {
    match item.mode {
        Mode::Queue => {
            turn.cancel(&job_key(item)?);
            Ok(())
        }
        Mode::Direct => turn.send(&processor_of(turn), &ToProcessor::Cancel { work_id: item.id.clone() }),
    }
}

/// Ends this life of the coordinator: its jobs are cancelled with it, and answers to it do not reach the next one.
fn clear(turn: &mut Turn<'_>) -> Result<(), TurnError> {
    if turn.existed() {
        turn.send(&processor_of(turn), &ToProcessor::ForgetLife { life: turn.incarnation() })?;
        turn.delete_self();
    }
    Ok(())
}

fn queue(turn: &mut Turn<'_>, page: Page) -> Result<QueueAnswer, Halt<No>> {
    let limit = page.limit.unwrap_or(PAGE_ITEMS).clamp(1, PAGE_ITEMS);
    let tally = items::tally(turn)?;
    let last_beyond = page.newest.and_then(|newest| tally.before_newest(newest));
    let found = items::page(turn, page.after.max(last_beyond), limit)?;
    let is_full = found.len() == limit;
    let (mut queue, mut bytes, mut next) = (Vec::new(), 0, None);
    for Placed { place, item } in found {
        bytes += item.bytes();
        queue.push(item.into());
        let is_heavy = bytes >= PAGE_BYTES;
        next = Some(place).filter(|place| (is_full || is_heavy) && !tally.is_last(*place));
        if is_heavy {
            break;
        }
    }
    Ok(QueueAnswer { queue, next })
}

fn processor_of(turn: &Turn<'_>) -> ObjectKey {
    ObjectKey { kind: Kind::trusted(Processor::KIND), name: turn.object().name.clone() }
}

fn work(item: Item) -> Work {
    Work { work_id: item.id, attempt: item.attempt, payload: item.payload, timestamps: item.timestamps }
}

/// The unique key of an attempt's job.
fn job_key(item: &Item) -> Result<UniqueKey, TurnError> {
    Ok(UniqueKey::new(format!("{}/{}", item.id, item.attempt))?)
}

fn read_job_key(key: &UniqueKey) -> Option<(WorkId, u32)> {
    let (work_id, attempt) = key.as_str().rsplit_once('/')?;
    Some((WorkId(work_id.to_owned()), attempt.parse().ok()?))
}

/// A proof that nobody can tell from the id of an item or the proof of another: ids are drawn in other turns, and all
/// proofs of a turn are made one-way from a number that never leaves it.
fn draw_proof(turn: &mut Turn<'_>) -> String {
    let hidden = turn.seed().next_u64();
    format!("{:016x}{:016x}", one_way(hidden, 1), one_way(hidden, 2))
}

/// Compares in the same time wherever the difference is.
fn proves(given: &str, item: &Item) -> bool {
    item.proof.as_ref().is_some_and(|proof| {
        given.len() == proof.len()
            && given.bytes().zip(proof.bytes()).fold(0, |diff, (a, b)| diff | (a ^ b)) == 0
    })
}

fn encode<T: serde::Serialize>(what: &str, value: &T) -> Result<Json, TurnError> {
    Json::encode(value).map_err(|e| TurnError::BadValue { what: what.to_owned(), reason: e.0 })
}
