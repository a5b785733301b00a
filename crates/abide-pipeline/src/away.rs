//! Services of somebody else that read, extract or describe: each is asked about one directory, and calls back.
//!
//! ```text
//! take ──► a job brings the request to {url}/process ──► … ──► callback ──► the directory is through, or asked about again
//!                                    nobody calls back in time ──► once more, then the directory is left as it is
//! ```

use crate::flow::{End, Flow};
use crate::node::Node;
use crate::orders::{self, AwayOrder, QUEUE};
use crate::phases::reorganization::{chunk_id, due};
use crate::refusal::No;
use crate::rows;
use crate::status::PhaseName;
use abide_core::job::{JobOutcome, JobState, NewJob};
use abide_core::limits::cut_reason;
use abide_core::name::UniqueKey;
use abide_core::time::Time;
use abide_engine::{Halt, Record};
use abide_entities::{ContentId, EntityId};
use serde::{Deserialize, Serialize};

/// Which phases somebody else does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Away {
    /// Images are read elsewhere.
    pub ocr: bool,
    /// Metadata is extracted elsewhere.
    pub pinax: bool,
    /// Descriptions are written elsewhere.
    pub description: bool,
}

impl Away {
    /// Whether somebody else does a phase.
    #[must_use]
    pub const fn does(self, phase: PhaseName) -> bool {
        match phase {
            PhaseName::Ocr => self.ocr,
            PhaseName::Pinax => self.pinax,
            PhaseName::Description => self.description,
            PhaseName::Discovery | PhaseName::Reorganization | PhaseName::Cheimarros => false,
        }
    }

    /// The phase that a service of this name does, if somebody else's does it.
    #[must_use]
    pub fn phase_of(self, service: &str) -> Option<PhaseName> {
        let known = [PhaseName::Ocr, PhaseName::Pinax, PhaseName::Description];
        known.into_iter().find(|phase| phase.as_str() == service && self.does(*phase))
    }
}

/// What a service is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceRequest {
    /// Which batch.
    pub batch_id: String,
    /// Which request.
    pub chunk_id: String,
    /// The directory, as an entity: the one.
    pub pis: Vec<EntityId>,
    /// What people want.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_prompt: Option<String>,
    /// The institution, if it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub institution: Option<String>,
}

/// What a service says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServiceCallback {
    /// Which batch.
    pub batch_id: String,
    /// Which request.
    pub chunk_id: String,
    /// A result for the directory.
    #[serde(default)]
    pub results: Vec<ServiceResult>,
    /// What it took, if that is said.
    #[serde(default)]
    pub cost_usd: f64,
    /// Why there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What came of a directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServiceResult {
    /// Its entity.
    pub pi: EntityId,
    /// How much of it was done.
    pub status: ServiceStatus,
    /// Its tip now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_tip: Option<ContentId>,
    /// Its version now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_version: Option<u32>,
    /// Images that were read.
    #[serde(default)]
    pub refs_completed: u64,
    /// Images that could not be read.
    #[serde(default)]
    pub refs_failed: u64,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How much was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServiceStatus {
    /// All of it.
    Success,
    /// Some of it.
    Partial,
    /// Nothing.
    Error,
}

/// A request whose answer is awaited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Awaited {
    place: u32,
    phase: PhaseName,
    due_at: Time,
    /// Requests about the directory that were not answered in time.
    timeouts: u32,
    /// Requests that failed.
    errors: u32,
}

impl Record for Awaited {}

/// Asks about a directory.
pub(crate) fn send(flow: &mut Flow<'_, '_>, node: &Node, phase: PhaseName) -> Result<(), Halt<No>> {
    ask(flow, node, Awaited { place: node.place, phase, due_at: Time::default(), timeouts: 0, errors: 0 })
}

fn ask(flow: &mut Flow<'_, '_>, node: &Node, awaited: Awaited) -> Result<(), Halt<No>> {
    let message = rows::message(flow.turn)?;
    let id = chunk_id(flow);
    let request = ServiceRequest {
        batch_id: flow.batch_id()?.to_string(),
        chunk_id: id.clone(),
        pis: vec![node.pi.clone().ok_or(No::UnknownNode(node.place))?],
        custom_prompt: message.custom_prompts.unwrap_or_default().of(awaited.phase),
        institution: message.institution,
    };
    let job = NewJob::of(QUEUE, orders::AWAY, &AwayOrder { phase: awaited.phase, request })?;
    let unique_key = Some(UniqueKey::new(job_key(&id))?);
    flow.turn.enqueue(NewJob {
        unique_key,
        max_attempts: Some(flow.options.max_directory_retries),
        ..job
    })?;
    flow.turn.put(&rows::live_key(&job_key(&id)), &true)?;
    let due_at = due(flow, &id, flow.options.callback_timeout_ms)?;
    flow.turn.put(&rows::away_key(&id), &Awaited { due_at, ..awaited })?;
    flow.state.live += 1;
    Ok(())
}

/// The unique key of the job that brings a request.
fn job_key(chunk_id: &str) -> String {
    format!("away/{chunk_id}")
}

/// The request that a job brought, by its key.
pub(crate) fn brought(key: &str) -> Option<&str> {
    key.strip_prefix("away/")
}

/// A request is not awaited any more. None if it was not.
fn taken_back(flow: &mut Flow<'_, '_>, id: &str) -> Result<Option<Awaited>, Halt<No>> {
    let Some(awaited) = flow.turn.get::<Awaited>(&rows::away_key(id))? else { return Ok(None) };
    flow.turn.delete(&rows::away_key(id));
    flow.turn.delete(&rows::due_key(awaited.due_at.0, id));
    flow.turn.delete(&rows::live_key(&job_key(id)));
    flow.state.live = flow.state.live.saturating_sub(1);
    Ok(Some(awaited).filter(|awaited| flow.state.phase() == Some(awaited.phase)))
}

/// Takes an answer. How many results counted.
pub(crate) fn take(
    flow: &mut Flow<'_, '_>,
    phase: PhaseName,
    said: ServiceCallback,
) -> Result<usize, Halt<No>> {
    if said.batch_id != flow.batch_id()?.as_str() {
        return Err(No::OtherBatch(said.batch_id).into());
    }
    let is_of_phase =
        flow.turn.get::<Awaited>(&rows::away_key(&said.chunk_id))?.is_some_and(|row| row.phase == phase);
    let Some(awaited) = taken_back(flow, &said.chunk_id)?.filter(|_| is_of_phase) else {
        flow.state.note(format!("an answer about chunk {} came that nobody awaits", said.chunk_id));
        return Ok(0);
    };
    flow.state.cost.cost_usd += said.cost_usd;
    let mut node = rows::node(flow.turn, awaited.place)?;
    let result = said.results.into_iter().find(|result| Some(&result.pi) == node.pi.as_ref());
    match result {
        Some(result) if result.status != ServiceStatus::Error => {
            if phase == PhaseName::Ocr {
                flow.state.files.ocr_read += result.refs_completed;
                flow.state.files.ocr_failed += result.refs_failed;
            }
            if result.new_version > node.current_version {
                node.current_tip = result.new_tip;
                node.current_version = result.new_version;
            }
            flow.through(&mut node, phase, End::Done)?;
        }
        failed => {
            let reason = failed.and_then(|result| result.error).or(said.error);
            let reason = reason.unwrap_or_else(|| format!("the {} service gave no reason", phase.as_str()));
            missed(flow, Awaited { errors: awaited.errors + 1, ..awaited }, &reason)?;
        }
    }
    Ok(1)
}

/// A job that brought a request is over.
pub(crate) fn dispatched(flow: &mut Flow<'_, '_>, id: &str, outcome: &JobOutcome) -> Result<(), Halt<No>> {
    if outcome.state == JobState::Done {
        return Ok(());
    }
    let Some(awaited) = taken_back(flow, id)? else { return Ok(()) };
    let reason = outcome.reason.clone().unwrap_or_else(|| "the service was not reached".to_owned());
    // The job has tried often enough.
    missed(flow, Awaited { errors: flow.options.max_directory_retries, ..awaited }, &reason)
}

/// Nobody called back in time. Whether it was one of ours.
pub(crate) fn timed_out(flow: &mut Flow<'_, '_>, id: &str) -> Result<bool, Halt<No>> {
    let Some(awaited) = taken_back(flow, id)? else { return Ok(false) };
    let seconds = flow.options.callback_timeout_ms / 1_000;
    let reason = format!("the {} service did not answer within {seconds} seconds", awaited.phase.as_str());
    missed(flow, Awaited { timeouts: awaited.timeouts + 1, ..awaited }, &reason)?;
    Ok(true)
}

/// A request came to nothing: it is sent again, or the directory is left as it is.
fn missed(flow: &mut Flow<'_, '_>, awaited: Awaited, reason: &str) -> Result<(), Halt<No>> {
    let mut node = rows::node(flow.turn, awaited.place)?;
    *node.retry_counts.entry(awaited.phase.as_str().to_owned()).or_default() += 1;
    if awaited.timeouts > 1 || awaited.errors >= flow.options.max_directory_retries {
        return flow.through(&mut node, awaited.phase, End::Failed(cut_reason(reason).to_owned()));
    }
    ask(flow, &node, awaited)?;
    rows::put_node(flow.turn, &node)
}
