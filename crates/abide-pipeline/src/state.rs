//! The state of a batch: one row, however many directories it has.

use crate::limits::{NOTE_CHARS, NOTES};
use crate::status::{Cost, Ledger, PhaseName, Progress, Status};
use abide_core::time::Time;
use abide_engine::Record;
use abide_entities::EntityId;
use serde::{Deserialize, Serialize};

/// Where a batch is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub(crate) enum Step {
    /// Its directories and files are being brought.
    Loading {
        /// How many items have come.
        have: u64,
    },
    /// In a phase.
    Phase {
        /// Which.
        phase: PhaseName,
        /// The next directory to look at; none when all were.
        sweep: Option<u32>,
    },
    /// Through.
    Done,
    /// It ended before it was through.
    Error {
        /// Why.
        error: String,
    },
}

/// The state of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// Where it is.
    pub step: Step,
    /// Directories by how far they are.
    pub progress: Progress,
    /// Files by what became of them.
    pub files: Ledger,
    /// What is under way in the phase: jobs and requests.
    pub live: u32,
    /// Whether a message to itself is on its way that goes on.
    pub ticking: bool,
    /// Directories that a phase gave up on.
    pub failed: u64,
    /// Its topmost entity.
    pub root_pi: Option<EntityId>,
    /// What models took.
    pub cost: Cost,
    /// What people should know.
    pub notes: Vec<String>,
    /// When its message came.
    pub started_at: Time,
    /// When something last changed.
    pub updated_at: Time,
    /// When it was through.
    pub completed_at: Option<Time>,
    /// How often files came for it after the first time.
    #[serde(default, skip_serializing_if = "crate::node::is_zero")]
    pub round: u32,
    /// For the how manieth time its preprocessing was finished when its files were last asked for.
    #[serde(default, skip_serializing_if = "crate::node::is_zero")]
    pub finishes: u32,
    /// Whether preprocessing waits to empty its staging, as it was finished for the how manieth time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empties: Option<u32>,
}

impl Record for State {}

impl State {
    /// A batch whose message came.
    #[must_use]
    pub(crate) fn new(now: Time) -> State {
        State {
            step: Step::Loading { have: 0 },
            progress: Progress::default(),
            files: Ledger::default(),
            live: 0,
            ticking: false,
            failed: 0,
            root_pi: None,
            cost: Cost::default(),
            notes: Vec::new(),
            started_at: now,
            updated_at: now,
            completed_at: None,
            round: 0,
            finishes: 0,
            empties: None,
        }
    }

    /// The phase that runs.
    #[must_use]
    pub(crate) const fn phase(&self) -> Option<PhaseName> {
        match self.step {
            Step::Phase { phase, .. } => Some(phase),
            Step::Loading { .. } | Step::Done | Step::Error { .. } => None,
        }
    }

    /// Where it is, in the words of the routes.
    #[must_use]
    pub(crate) fn status(&self) -> Status {
        match &self.step {
            Step::Loading { .. } => Status::Queued,
            Step::Phase { phase, .. } => Status::from(*phase),
            Step::Done => Status::Done,
            Step::Error { .. } => Status::Error,
        }
    }

    /// Notes something for people, in short; the oldest of too many go.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        if self.notes.len() == NOTES {
            self.notes.remove(0);
        }
        let mut note = note.into();
        note.truncate(note.floor_char_boundary(NOTE_CHARS));
        self.notes.push(note);
    }
}
