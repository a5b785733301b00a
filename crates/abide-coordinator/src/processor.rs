//! The processor: processes items directly, and counts every item once, however it was processed.

use crate::limits::{DELAY_MS, FORGOTTEN_ROWS};
use crate::messages::{ToCoordinator, ToProcessor, Work};
use crate::replies::StatusAnswer;
use crate::stamp::{Tag, stamp};
use crate::work::{ProcessorResult, WorkId};
use abide_core::event::Sender;
use abide_core::object::Incarnation;
use abide_core::time::Time;
use abide_engine::{Answer, Halt, Object, Record, Refusal, Turn};
use serde::{Deserialize, Serialize};

/// How many items were counted.
const COUNT: &str = "processCount";

/// The processor of the coordinator with the same name.
#[derive(Debug, Clone, Copy, Default)]
pub struct Processor;

/// What can be asked of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProcessorCall {
    /// Whether it is there.
    Status,
    /// How many items it has counted.
    Stats,
}

/// What it answers.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum ProcessorReply {
    /// To [`ProcessorCall::Status`].
    Status(StatusAnswer),
    /// To [`ProcessorCall::Stats`].
    Stats(ProcessorStats),
}

/// How many items were counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessorStats {
    /// Each once.
    pub process_count: i64,
}

/// What a processor says no with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unanswerable {
    /// It answers who sent the work, and nobody did.
    #[error("work for a processor must come from an object that takes the answer")]
    NoSender,
}

impl Refusal for Unanswerable {
    fn code(&self) -> &'static str {
        match self {
            Unanswerable::NoSender => "no_sender",
        }
    }
}

/// An item that waits out its delay, and who wants to know.
#[derive(Debug, Serialize, Deserialize)]
struct Waiting {
    work: Work,
    sender: Sender,
}

impl Record for Waiting {}

impl Object for Processor {
    const KIND: &'static str = "processor";
    type Call = ProcessorCall;
    type Reply = ProcessorReply;
    type Message = ToProcessor;
    type Refusal = Unanswerable;

    fn call(
        &self,
        turn: &mut Turn<'_>,
        call: ProcessorCall,
    ) -> Result<Answer<ProcessorReply>, Halt<Unanswerable>> {
        let reply = match call {
            ProcessorCall::Status => {
                ProcessorReply::Status(StatusAnswer { status: "ProcessorDo ready".into() })
            }
            ProcessorCall::Stats => {
                let process_count = turn.get(COUNT)?.unwrap_or(0);
                ProcessorReply::Stats(ProcessorStats { process_count })
            }
        };
        Ok(reply.into())
    }

    fn message(
        &self,
        turn: &mut Turn<'_>,
        from: Option<&Sender>,
        message: ToProcessor,
    ) -> Result<(), Halt<Unanswerable>> {
        match message {
            ToProcessor::Process(work) => begin(turn, known(from)?, work),
            ToProcessor::Count(work) => {
                let sender = known(from)?;
                cancel(turn, &waiting_key(sender.incarnation, &work.work_id))?;
                count_and_answer(turn, sender, work)
            }
            ToProcessor::Cancel { work_id } => cancel(turn, &waiting_key(known(from)?.incarnation, &work_id)),
            ToProcessor::Forget { work_ids } => forget(turn, known(from)?.incarnation, &work_ids),
            ToProcessor::ForgetLife { life } => forget_life(turn, life),
        }
    }

    /// A delay is over: the alarm has the name of the row.
    fn alarm(&self, turn: &mut Turn<'_>, name: &str, _at: Time) -> Result<(), Halt<Unanswerable>> {
        let Some(Waiting { work, sender }) = turn.get(name)? else { return Ok(()) };
        turn.delete(name);
        complete(turn, &sender, work)
    }
}

fn known(from: Option<&Sender>) -> Result<&Sender, Unanswerable> {
    from.ok_or(Unanswerable::NoSender)
}

fn waiting_key(life: Incarnation, work_id: &WorkId) -> String {
    format!("waiting/{}/{work_id}", life.0)
}

fn counted_key(life: Incarnation, work_id: &WorkId) -> String {
    format!("counted/{}/{work_id}", life.0)
}

fn begin(turn: &mut Turn<'_>, sender: &Sender, mut work: Work) -> Result<(), Halt<Unanswerable>> {
    let key = waiting_key(sender.incarnation, &work.work_id);
    if turn.get::<Waiting>(&key)?.is_some_and(|waiting| waiting.work.attempt >= work.attempt) {
        return Ok(());
    }
    stamp(&mut work.timestamps, Tag::ProcessingStarted, turn.now());
    let delay_ms = work.payload.delay.whole().min(DELAY_MS);
    if delay_ms <= 0 {
        return complete(turn, sender, work);
    }
    turn.set_alarm(&key, turn.now().plus_ms(delay_ms))?;
    Ok(turn.put(&key, &Waiting { work, sender: sender.clone() })?)
}

fn complete(turn: &mut Turn<'_>, sender: &Sender, mut work: Work) -> Result<(), Halt<Unanswerable>> {
    stamp(&mut work.timestamps, Tag::ProcessingCompleted, turn.now());
    count_and_answer(turn, sender, work)
}

fn cancel(turn: &mut Turn<'_>, key: &str) -> Result<(), Halt<Unanswerable>> {
    if turn.get::<Waiting>(key)?.is_some() {
        turn.delete(key);
        turn.clear_alarm(key)?;
    }
    Ok(())
}

fn count_and_answer(turn: &mut Turn<'_>, sender: &Sender, work: Work) -> Result<(), Halt<Unanswerable>> {
    let process_count = count(turn, sender.incarnation, &work.work_id)?;
    let Work { work_id, attempt, payload, timestamps } = work;
    let message = format!("Processed \"{}\", {process_count} in all", payload.message);
    let processed_at = turn.now();
    let result =
        ProcessorResult { processed: true, input: payload, processed_at, process_count, message, timestamps };
    Ok(turn.answer(sender, &ToCoordinator::Processed { work_id, attempt, result })?)
}

/// Counts an item that was not counted before. Gives the count it has.
fn count(turn: &mut Turn<'_>, life: Incarnation, work_id: &WorkId) -> Result<i64, Halt<Unanswerable>> {
    let key = counted_key(life, work_id);
    if let Some(counted) = turn.get(&key)? {
        return Ok(counted);
    }
    let count = turn.get::<i64>(COUNT)?.unwrap_or(0) + 1;
    turn.put(COUNT, &count)?;
    turn.put(&key, &count)?;
    Ok(count)
}

fn forget(turn: &mut Turn<'_>, life: Incarnation, work_ids: &[WorkId]) -> Result<(), Halt<Unanswerable>> {
    for work_id in work_ids {
        cancel(turn, &waiting_key(life, work_id))?;
        turn.delete(&counted_key(life, work_id));
    }
    Ok(())
}

/// Forgets all items of a coordinator's life, a part at a time.
fn forget_life(turn: &mut Turn<'_>, life: Incarnation) -> Result<(), Halt<Unanswerable>> {
    let waiting = turn.scan::<Waiting>(&format!("waiting/{}/", life.0), None, FORGOTTEN_ROWS)?;
    let counted = turn.scan::<i64>(&format!("counted/{}/", life.0), None, FORGOTTEN_ROWS)?;
    let more = waiting.len().max(counted.len()) >= FORGOTTEN_ROWS;
    for (key, _) in waiting {
        turn.delete(&key);
        turn.clear_alarm(&key)?;
    }
    for (key, _) in counted {
        turn.delete(&key);
    }
    if more {
        let itself = turn.object().clone();
        turn.send(&itself, &ToProcessor::ForgetLife { life })?;
    }
    Ok(())
}
