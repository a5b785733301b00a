//! Calls and answers: what can be asked of a batch.

use crate::file::{Place, ProcessableFile};
use crate::message::QueueMessage;
use crate::report::{Outputs, PageOutput, Report};
use crate::state::{Counts, Delivery, Ledger};
use crate::task::{Task, TaskStatus};
use abide_core::object::Incarnation;
use serde::{Deserialize, Serialize};

/// What can be asked of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// Begin, if it is not begun.
    Start(Box<QueueMessage>),
    /// How far it is.
    Status,
    /// Files of its manifest, from its worker.
    Files {
        /// In which life.
        life: Incarnation,
        /// How many came before.
        from: u64,
        /// These.
        files: Vec<ProcessableFile>,
        /// Whether there are no more.
        last: bool,
    },
    /// A launcher asks whether an attempt is still to be made, and says what is at it.
    Begin {
        /// Which attempt.
        attempt: AttemptRef,
        /// The machine, once there is one.
        machine_id: Option<String>,
    },
    /// A worker says how its task went.
    Callback {
        /// Which attempt.
        attempt: AttemptRef,
        /// The proof.
        signature: String,
        /// What it says.
        report: Box<Report>,
        /// So many pages of it came before, in parts; 0 if it is whole.
        #[serde(default)]
        in_parts: u32,
    },
    /// Pages of a report that is too long for one call.
    Pages {
        /// Which attempt.
        attempt: AttemptRef,
        /// The proof.
        signature: String,
        /// How many came before.
        from: u32,
        /// These.
        pages: Vec<PageOutput>,
    },
    /// Whether a signature is that of a live attempt, and of which task.
    Check {
        /// Which attempt.
        attempt: AttemptRef,
        /// The proof.
        signature: String,
    },
    /// Stop everything and mark it as ended.
    Reset,
    /// Tasks, in the order of their files.
    Tasks(TaskPage),
    /// Files as they are now, in their order.
    Output(FilePage),
    /// Files of a batch that is done, for whoever hands them over.
    Handover {
        /// As it was finished for the how manieth time: another one is refused.
        finishes: u32,
        /// After this place.
        after: Option<Place>,
    },
    /// From the manifest's worker: it has entities of directories.
    Tree {
        /// In which life.
        life: Incarnation,
    },
    /// Inputs and how they ended, in their order.
    Inputs(FilePage),
    /// Try a failed task again.
    Retry {
        /// Which.
        task_id: String,
    },
}

/// Names one attempt of a task in one life of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptRef {
    /// In which life.
    pub life: Incarnation,
    /// Of which task.
    pub task_id: String,
    /// Which.
    pub attempt: u32,
}

/// A page of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TaskPage {
    /// Only of the phase with this name.
    pub phase: Option<String>,
    /// Only those in this status.
    pub status: Option<TaskStatus>,
    /// After this task: `next` of the page before.
    pub after: Option<String>,
    /// At most so many are given.
    pub limit: Option<usize>,
}

/// A page of files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FilePage {
    /// After this place.
    pub after: Option<Place>,
    /// At most so many are looked at.
    pub limit: Option<usize>,
}

/// What a batch answers. Whoever asks knows which of these to read.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// To [`Call::Status`].
    Status(Box<StatusAnswer>),
    /// To [`Call::Start`].
    Started(StartAnswer),
    /// To [`Call::Files`] and [`Call::Pages`].
    Have(HaveAnswer),
    /// To [`Call::Begin`].
    Begin(BeginAnswer),
    /// To [`Call::Check`].
    Check(Box<CheckAnswer>),
    /// To [`Call::Callback`].
    Heard(HeardAnswer),
    /// To [`Call::Tasks`].
    Tasks(TasksAnswer),
    /// To [`Call::Output`] and [`Call::Handover`].
    Output(OutputAnswer),
    /// To [`Call::Inputs`].
    Inputs(InputsAnswer),
    /// To what is simply done.
    Ok(OkAnswer),
}

/// How far a batch is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatusAnswer {
    /// Which.
    pub batch_id: String,
    /// The phase that runs, `DONE` or `ERROR`.
    pub status: String,
    /// Tasks of the phase that runs, or ran last.
    pub progress: Progress,
    /// When its message came.
    pub started_at: String,
    /// When something last changed.
    pub updated_at: String,
    /// When it was done.
    pub completed_at: Option<String>,
    /// Why it ended.
    pub error: Option<String>,
    /// Tasks by phase.
    pub phases: Vec<PhaseProgress>,
    /// Inputs by how they ended.
    pub inputs: Ledger,
    /// What became of its delivery; none before it is done, or if it is delivered to nobody.
    pub delivery: Option<Delivery>,
    /// What workers wait for, if they do: room on a disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
}

/// Tasks of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// All.
    pub tasks_total: u64,
    /// Completed.
    pub tasks_completed: u64,
    /// Failed.
    pub tasks_failed: u64,
}

impl From<Counts> for Progress {
    fn from(counts: Counts) -> Progress {
        Progress { tasks_total: counts.total, tasks_completed: counts.completed, tasks_failed: counts.failed }
    }
}

/// Tasks of a phase, with its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseProgress {
    /// The phase.
    pub phase: String,
    /// Its tasks.
    #[serde(flatten)]
    pub progress: Progress,
    /// Those that a worker has begun.
    pub in_flight: u64,
}

/// Whether a message began a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartAnswer {
    /// Which.
    pub batch_id: String,
    /// Whether this message began it; it was begun before otherwise.
    pub started: bool,
}

/// How many files of the manifest, or pages of a report, have come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HaveAnswer {
    /// So many; none if no more are taken.
    pub have: Option<u64>,
}

/// Whether an attempt is to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeginAnswer {
    /// Whether.
    pub go: bool,
    /// A machine that was started for it before.
    pub machine_id: Option<String>,
}

/// What came of a callback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeardAnswer {
    /// That it was heard: one that is late or repeated as well.
    pub ok: bool,
    /// Whether it changed anything.
    pub counted: bool,
    /// How long after its beginning the attempt called back.
    pub took_ms: u64,
}

/// What a live attempt is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckAnswer {
    /// The file.
    pub input: ProcessableFile,
    /// The id of its asset.
    pub asset_id: String,
}

/// A page of tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TasksAnswer {
    /// The tasks.
    pub tasks: Vec<TaskDocument>,
    /// `after` of the next page; none if this is the last.
    pub next: Option<String>,
}

/// A task as everybody outside sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskDocument {
    /// Its id.
    pub task_id: String,
    /// Its phase.
    pub phase: String,
    /// Where it is.
    pub status: TaskStatus,
    /// Attempts before the present one, without those that could not be made for what is not its fault.
    pub retry_count: u32,
    /// When the present attempt began.
    pub started_at: Option<String>,
    /// When it was over.
    pub completed_at: Option<String>,
    /// Why its last attempt failed.
    pub error: Option<String>,
    /// Where its input is.
    pub input_r2_key: String,
    /// The name of it.
    pub input_file_name: String,
    /// What it is said to be.
    pub input_content_type: String,
    /// Its size.
    pub input_file_size: u64,
    /// Its content id.
    pub input_cid: Option<String>,
    /// The machine at it.
    pub fly_machine_id: Option<String>,
    /// Pages that came of it, if its worker says how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<usize>,
    /// What its worker said of its outputs.
    #[serde(flatten)]
    pub outputs: Outputs,
}

impl TaskDocument {
    /// A task of the phase with this name.
    #[must_use]
    pub fn of(task: Task, phase: &str) -> TaskDocument {
        let (pages, retry_count) = (task.pages(), task.retries());
        TaskDocument {
            task_id: task.task_id,
            phase: phase.to_owned(),
            status: task.status,
            retry_count,
            started_at: task.started_at.map(crate::iso),
            completed_at: task.completed_at.map(crate::iso),
            error: task.error,
            input_r2_key: task.input.r2_key,
            input_file_name: task.input.file_name,
            input_content_type: task.input.content_type,
            input_file_size: task.input.file_size,
            input_cid: task.input.cid,
            fly_machine_id: task.machine_id,
            pages,
            outputs: task.report.map_or_else(Outputs::default, |report| report.made),
        }
    }
}

/// A page of files as they are delivered, and what goes with them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputAnswer {
    /// The files.
    pub output: Vec<ProcessableFile>,
    /// The place of each: of which input it is, or came.
    #[serde(default)]
    pub places: Vec<Place>,
    /// `after` of the next page; none if this is the last.
    pub next: Option<Place>,
}

/// A page of inputs and how they ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputsAnswer {
    /// The inputs.
    pub inputs: Vec<InputDocument>,
    /// `after` of the next page; none if this is the last.
    pub next: Option<Place>,
}

/// An input and how it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputDocument {
    /// Its place.
    pub place: Place,
    /// Its name.
    pub file_name: String,
    /// Where it was for whoever uploaded it.
    pub logical_path: String,
    /// How it ended.
    #[serde(flatten)]
    pub end: crate::file::InputEnd,
}

/// It is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OkAnswer {
    /// That it is.
    pub ok: bool,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}
