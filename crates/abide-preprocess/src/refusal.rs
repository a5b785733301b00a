//! What a batch says no with.

use crate::limits::PAGES_PER_PART;
use abide_engine::{Refusal, RefusalClass};

/// What a batch says no with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum No {
    /// There is no such batch.
    #[error("there is no batch {0}: send its queue message to begin it")]
    UnknownBatch(String),
    /// There is no such task.
    #[error("there is no task {0:?} in this batch")]
    UnknownTask(String),
    /// There is no such phase.
    #[error("there is no phase {0:?}")]
    UnknownPhase(String),
    /// The signature is not that of the attempt.
    #[error("the signature is not that of attempt {attempt} of task {task_id}")]
    Forged {
        /// Which task.
        task_id: String,
        /// Which attempt.
        attempt: u32,
    },
    /// The attempt is not under way any more.
    #[error("attempt {attempt} of task {task_id} is over: what it still makes is not taken")]
    Over {
        /// Of which task.
        task_id: String,
        /// Which.
        attempt: u32,
    },
    /// A report about something else.
    #[error("the report is about {0:?}, and this is the callback of another")]
    OtherTask(String),
    /// More pages than one call brings.
    #[error(
        "the report has {0} pages, and one call brings {PAGES_PER_PART}: send the others before it, in parts"
    )]
    LongReport(usize),
    /// Only a failed task can be tried again.
    #[error("task {0} has not failed: only a task that failed can be tried again")]
    NotFailed(String),
    /// What a failed task was about went on without it.
    #[error("a later phase has taken the file of task {0}: reset the batch and send its message again")]
    PassedOn(String),
    /// Nothing can be made of files that are not there any more.
    #[error(
        "the staging of this batch was emptied after it was delivered, its files with it: bring them there again, reset the \
         batch and send its queue message"
    )]
    Swept,
    /// It goes on, or was finished again.
    #[error("the batch goes on, or was finished again: it is delivered as it is then")]
    NotFinished,
    /// The batch has ended.
    #[error("the batch has ended with an error: send its queue message to begin it again")]
    Ended,
}

impl Refusal for No {
    fn code(&self) -> &'static str {
        match self {
            No::UnknownBatch(_) => "unknown_batch",
            No::UnknownTask(_) => "unknown_task",
            No::UnknownPhase(_) => "unknown_phase",
            No::Forged { .. } => "forged",
            No::Over { .. } => "attempt_over",
            No::OtherTask(_) => "other_task",
            No::LongReport(_) => "long_report",
            No::NotFailed(_) => "not_failed",
            No::PassedOn(_) => "passed_on",
            No::Swept => "swept",
            No::NotFinished => "not_finished",
            No::Ended => "ended",
        }
    }

    fn class(&self) -> RefusalClass {
        match self {
            No::UnknownBatch(_) | No::UnknownTask(_) => RefusalClass::NotFound,
            No::UnknownPhase(_) | No::OtherTask(_) | No::LongReport(_) => RefusalClass::Invalid,
            No::Forged { .. } => RefusalClass::Forbidden,
            No::Over { .. }
            | No::NotFailed(_)
            | No::PassedOn(_)
            | No::Swept
            | No::NotFinished
            | No::Ended => RefusalClass::Conflict,
        }
    }
}
