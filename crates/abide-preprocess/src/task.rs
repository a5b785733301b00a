//! Tasks: one file through one phase. The life of a task is a pure table, drawn in `docs/states.md`.

use crate::file::{Place, ProcessableFile};
use crate::message::BatchId;
use crate::report::Report;
use abide_core::time::Time;
use abide_engine::Record;
use serde::{Deserialize, Serialize};

/// Where a task is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskStatus {
    /// It waits to be begun.
    Pending,
    /// A machine or process is at it.
    Processing,
    /// Its outputs are there.
    Completed,
    /// It used up its attempts, or trying again cannot help.
    Failed,
}

impl TaskStatus {
    /// Whether it is over.
    #[must_use]
    pub const fn is_over(self) -> bool {
        match self {
            TaskStatus::Pending | TaskStatus::Processing => false,
            TaskStatus::Completed | TaskStatus::Failed => true,
        }
    }
}

/// One file through one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Its id: `{batch_id}_{tag}_{place}`.
    pub task_id: String,
    /// The phase's place in the chain.
    pub phase: usize,
    /// The file's place.
    pub place: Place,
    /// Where it is.
    pub status: TaskStatus,
    /// Which attempt is the present one, from 1. Only what names it counts.
    pub attempt: u32,
    /// The attempt after which a failure is the last.
    pub last_attempt: u32,
    /// Attempts that could not be made, which was not its fault: they do not count.
    #[serde(default)]
    pub put_off: u32,
    /// What the variants of an image are known by.
    pub asset_id: String,
    /// The file.
    pub input: ProcessableFile,
    /// When the present attempt began.
    pub started_at: Option<Time>,
    /// When it was over.
    pub completed_at: Option<Time>,
    /// Why its last attempt failed.
    pub error: Option<String>,
    /// The machine at it.
    pub machine_id: Option<String>,
    /// What its worker said, once it is completed.
    pub report: Option<Report>,
    /// Pages of that report that came in parts, each a row of its own.
    #[serde(default)]
    pub in_parts: u32,
    /// A later phase took the file although this task failed.
    pub passed_on: bool,
}

impl Record for Task {}

/// What happens to a task.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskEvent {
    /// A machine or process is started for it, or known by this id.
    Begun {
        /// Which.
        machine_id: Option<String>,
    },
    /// Its outputs are there.
    Completed {
        /// What its worker says.
        report: Box<Report>,
        /// So many pages of it are in rows of their own.
        in_parts: u32,
    },
    /// This attempt failed, and another may do better.
    Failed {
        /// Why.
        reason: String,
        /// Whether another may.
        retryable: bool,
    },
    /// It could not be done now, which is not its fault.
    NotNow {
        /// Why.
        reason: String,
    },
    /// Its batch has ended, and nobody is at it any more.
    Stopped,
    /// Somebody asks for it although it failed.
    Again {
        /// So many more attempts.
        attempts: u32,
    },
}

/// What came of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Moved {
    /// The same attempt goes on.
    Same(Task),
    /// Another attempt is to be begun.
    Another(Task),
    /// It is over.
    Over(Task),
}

impl Moved {
    /// The task as it is now.
    #[must_use]
    pub fn task(&self) -> &Task {
        match self {
            Moved::Same(task) | Moved::Another(task) | Moved::Over(task) => task,
        }
    }
}

impl Task {
    /// The id of a task.
    #[must_use]
    pub fn id(batch: &BatchId, tag: &str, place: &Place) -> String {
        format!("{batch}_{tag}_{}", place.as_str())
    }

    /// An id for the asset of a task that follows from the task: the same for each attempt, so that attempts replace each
    /// other, and of no other task. Ids of our tasks have nothing in them that has to be replaced.
    #[must_use]
    pub fn drawn_asset_id(task_id: &str) -> String {
        task_id
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' })
            .collect()
    }

    /// Attempts before the present one that count.
    #[must_use]
    pub const fn retries(&self) -> u32 {
        (self.attempt - 1).saturating_sub(self.put_off)
    }

    /// Where `event` about `attempt` takes a task; none if it changes nothing: it is late, repeated or out of place.
    #[must_use]
    pub fn after(&self, attempt: u32, event: TaskEvent, now: Time) -> Option<Moved> {
        use TaskStatus::{Completed, Failed, Pending, Processing};
        if attempt != self.attempt {
            return None;
        }
        match (self.status, event) {
            (Pending | Processing, TaskEvent::Begun { machine_id }) => {
                let started_at = self.started_at.or(Some(now));
                let machine_id = machine_id.or_else(|| self.machine_id.clone());
                let begun = Task { status: Processing, started_at, machine_id, ..self.clone() };
                (begun != *self).then_some(Moved::Same(begun))
            }
            (Pending | Processing, TaskEvent::Completed { report, in_parts }) => {
                let completed_at = Some(now);
                let report = Some(*report);
                Some(Moved::Over(Task {
                    status: Completed,
                    completed_at,
                    report,
                    in_parts,
                    error: None,
                    ..self.clone()
                }))
            }
            (Pending | Processing, TaskEvent::Failed { reason, retryable }) => {
                let error = Some(reason);
                if retryable && self.attempt < self.last_attempt {
                    Some(Moved::Another(Task { error, ..self.next_attempt() }))
                } else {
                    let completed_at = Some(now);
                    Some(Moved::Over(Task { status: Failed, completed_at, error, ..self.clone() }))
                }
            }
            (Pending | Processing, TaskEvent::NotNow { reason }) => {
                let (last_attempt, put_off) = (self.last_attempt + 1, self.put_off + 1);
                let error = Some(reason);
                Some(Moved::Another(Task { last_attempt, put_off, error, ..self.next_attempt() }))
            }
            (Processing, TaskEvent::Stopped) => Some(Moved::Same(Task {
                status: Pending,
                started_at: None,
                machine_id: None,
                ..self.clone()
            })),
            (Failed, TaskEvent::Again { attempts }) => {
                let next = self.next_attempt();
                let last_attempt = self.attempt + attempts;
                Some(Moved::Another(Task { last_attempt, completed_at: None, ..next }))
            }
            (Pending | Processing | Completed, TaskEvent::Again { .. })
            | (Pending, TaskEvent::Stopped)
            | (
                Completed | Failed,
                TaskEvent::Begun { .. }
                | TaskEvent::Completed { .. }
                | TaskEvent::Failed { .. }
                | TaskEvent::NotNow { .. }
                | TaskEvent::Stopped,
            ) => None,
        }
    }

    /// How many pages came of it, if its worker says so.
    #[must_use]
    pub fn pages(&self) -> Option<usize> {
        let outputs = self.report.as_ref()?.outputs.as_ref();
        if self.in_parts > 0 { Some(self.in_parts as usize) } else { outputs.map(Vec::len) }
    }

    fn next_attempt(&self) -> Task {
        let attempt = self.attempt + 1;
        Task { status: TaskStatus::Pending, attempt, started_at: None, machine_id: None, ..self.clone() }
    }
}
