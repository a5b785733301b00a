//! What an organizer keeps.

use crate::contract::{
    Operation, OrganizerKind, Phase, PiRequest, PiResult, ProcessingConfig, StrategizeInput, StrategizeResult,
};
use crate::jobs::Planned;
use crate::limits::{ANSWERS, PIS};
use crate::paid::Paid;
use abide_core::event::Sender;
use abide_core::time::Time;
use abide_engine::turn::Turn;
use abide_engine::{Halt, Record};
use abide_entities::{ContentId, EntityId};
use abide_llm::Answer;
use serde::{Deserialize, Serialize};

/// The row of the request as a whole.
pub(crate) const STATE: &str = "state";
/// The row of what the owner wants.
pub(crate) const PROMPTS: &str = "prompts";
/// The row of what came of a request to strategize.
pub(crate) const STRATEGY: &str = "strategy";

/// A request as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) batch_id: String,
    pub(crate) chunk_id: String,
    pub(crate) operation: Operation,
    pub(crate) phase: Phase,
    /// How often it was begun: jobs of an earlier run do not count.
    pub(crate) run: u32,
    /// Directories; 1 to strategize.
    pub(crate) places: usize,
    pub(crate) reply_to: ReplyTo,
    pub(crate) organizer: OrganizerKind,
    pub(crate) model: Option<String>,
    pub(crate) started_at: Time,
    pub(crate) completed_at: Option<Time>,
    /// Parts of the callback that nobody has taken yet.
    pub(crate) undelivered: Vec<usize>,
    pub(crate) error: Option<String>,
}

impl Record for State {}

/// Who is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReplyTo {
    /// The object that asked by message.
    Sender(Sender),
    /// The orchestrator, over HTTP.
    Orchestrator,
}

/// What the owner wants.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Prompts {
    /// Beside what is always wanted.
    pub custom_prompt: Option<String>,
    /// What all parts of a large directory go by.
    pub strategy_guidance: Option<String>,
}

impl Record for Prompts {}

/// Where a directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Pending,
    Processing,
    Publishing,
    Done,
    Failed,
}

/// A directory of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pi {
    /// None to strategize.
    pub(crate) pi: Option<EntityId>,
    pub(crate) status: Status,
    pub(crate) config: Option<ProcessingConfig>,
    pub(crate) paid: Paid,
    pub(crate) error: Option<String>,
    /// Whether nothing else comes of asking again.
    #[serde(default)]
    pub(crate) is_hopeless: bool,
}

impl Record for Pi {}

/// What is to be done with a directory, as it was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// What.
    pub task: Task,
    /// The blob with contents that were sent with it and are too large for a row: a map from name to text.
    pub contents: Option<ContentId>,
}

impl Record for Asked {}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Group a directory.
    Organize(PiRequest),
    /// Say how a large one is best grouped.
    Strategize(StrategizeInput),
}

impl Record for Planned {}
impl Record for PiResult {}
impl Record for StrategizeResult {}

/// An answer that was paid for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// In which run it was last used.
    pub(crate) run: u32,
    pub(crate) answer: Answer,
}

impl Record for Kept {}

pub(crate) fn pi_key(place: usize) -> String {
    format!("pi/{place:03}")
}

pub(crate) fn asked_key(place: usize) -> String {
    format!("ask/{place:03}")
}

pub(crate) fn plan_key(place: usize) -> String {
    format!("plan/{place:03}")
}

pub(crate) fn result_key(place: usize) -> String {
    format!("result/{place:03}")
}

pub(crate) fn answer_key(key: &str) -> String {
    format!("answer/{key}")
}

/// Every directory, by place.
pub(crate) fn pis<E>(turn: &mut Turn<'_>) -> Result<Vec<Pi>, Halt<E>> {
    Ok(turn.scan::<Pi>("pi/", None, PIS)?.into_iter().map(|(_, pi)| pi).collect())
}

/// Forgets what an earlier run left, but not the answers that it paid for.
pub(crate) fn clear(turn: &mut Turn<'_>, places: usize) {
    for place in 0..places {
        for key in [pi_key(place), asked_key(place), plan_key(place), result_key(place)] {
            turn.delete(&key);
        }
    }
    turn.delete(STRATEGY);
}

/// Forgets answers that the run before this one did not use.
pub(crate) fn forget_answers<E>(turn: &mut Turn<'_>, run: u32) -> Result<(), Halt<E>> {
    for (key, kept) in turn.scan::<Kept>("answer/", None, ANSWERS)? {
        if kept.run + 1 < run {
            turn.delete(&key);
        }
    }
    Ok(())
}
