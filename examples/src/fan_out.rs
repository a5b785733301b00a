//! Fan-out and fan-in: one call becomes many jobs, and their outcomes become its answer.

use abide_core::job::{Finish, JobOutcome, NewJob};
use abide_core::name::{JobKind, QueueName, UniqueKey};
use abide_core::ticket::Ticket;
use abide_engine::worker::{done, failed_for_good};
use abide_engine::{Answer, Halt, JobContext, Nothing, Object, Record, Refusal, Turn, TurnError};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The queue that the jobs go to.
pub const QUEUE: &str = "texts";
/// The kind of the jobs.
pub const COUNT_WORDS: &str = "count-words";

/// Counts the words of many texts, one job for each.
pub struct Batch;

/// The texts of a batch.
#[derive(Debug, Serialize, Deserialize)]
pub struct Texts(pub Vec<String>);

/// What came of a batch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Words in all texts that could be counted.
    pub words: u64,
    /// Texts that could not.
    pub failed: u64,
}

/// How far a batch is.
#[derive(Debug, Serialize, Deserialize)]
struct Progress {
    ticket: Ticket,
    open: usize,
    report: Report,
}

impl Record for Progress {}

/// Says no to a batch that nothing would ever come back from.
#[derive(Debug, thiserror::Error)]
#[error("a batch needs at least one text")]
pub struct Empty;

impl Refusal for Empty {
    fn code(&self) -> &'static str {
        "empty"
    }
}

impl Object for Batch {
    const KIND: &'static str = "batch";
    type Call = Texts;
    type Reply = Report;
    type Message = Nothing;
    type Refusal = Empty;

    /// The first call begins the work and answers later; whoever calls again gets the same ticket, or the report.
    fn call(&self, turn: &mut Turn<'_>, Texts(texts): Texts) -> Result<Answer<Report>, Halt<Empty>> {
        if let Some(Progress { ticket, open, report }) = turn.get("progress")? {
            return Ok(if open == 0 { Answer::Now(report) } else { Answer::Later(ticket) });
        }
        if texts.is_empty() {
            return Err(Empty.into());
        }
        for (index, text) in texts.iter().enumerate() {
            turn.enqueue(job(index, text)?)?;
        }
        let ticket = turn.open_ticket();
        let (open, report) = (texts.len(), Report::default());
        turn.put("progress", &Progress { ticket: ticket.clone(), open, report })?;
        Ok(Answer::Later(ticket))
    }

    /// The last outcome answers the call. A job that failed ends once more if it is retried: its row tells.
    fn outcome(&self, turn: &mut Turn<'_>, outcome: &JobOutcome) -> Result<(), Halt<Empty>> {
        let Some(mut progress) = turn.get::<Progress>("progress")? else { return Ok(()) };
        let failed = format!("failed/{}", outcome.job);
        match turn.get::<String>(&failed)? {
            Some(_) => progress.report.failed -= 1,
            None => progress.open -= 1,
        }
        turn.delete(&failed);
        match outcome.result.as_ref().and_then(|result| result.decode::<u64>().ok()) {
            Some(words) => progress.report.words += words,
            None => {
                progress.report.failed += 1;
                turn.put(&failed, &outcome.reason.clone().unwrap_or_default())?;
            }
        }
        if progress.open == 0 {
            turn.resolve(&progress.ticket, &progress.report)?;
        }
        Ok(turn.put("progress", &progress)?)
    }
}

fn job(index: usize, text: &str) -> Result<NewJob, TurnError> {
    let mut job = NewJob::new(QueueName::new(QUEUE)?, JobKind::new(COUNT_WORDS)?, json!(text).into());
    job.unique_key = Some(UniqueKey::new(index.to_string())?);
    Ok(job)
}

/// The worker: anything with I/O would be here.
pub async fn work(job: JobContext) -> Finish {
    match job.payload::<String>() {
        Ok(text) => count_words(&text),
        Err(error) => failed_for_good(error.to_string()),
    }
}

/// What the worker decides.
pub fn count_words(text: &str) -> Finish {
    match text.split_whitespace().count() {
        0 => failed_for_good("there is nothing to count"),
        words => done(&words),
    }
}
