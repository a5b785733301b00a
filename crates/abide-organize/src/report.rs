//! What is told of a request: the callback, in parts that fit a message.

use crate::contract::{
    CallbackPayload, CallbackStatus, NewPi, Operation, OrganizerKind, PiResult, PiStatus, ProcessingConfig,
    Spend, StrategizeResult, Summary,
};
use crate::limits::CALLBACK_BYTES;
use crate::paid::Paid;
use crate::refusal::No;
use crate::rows::{Pi, STRATEGY, State, Status, result_key};
use abide_engine::{Halt, Turn};
use abide_entities::{ContentId, EntityId};

/// A result with nothing in it yet.
pub(crate) fn result(pi: EntityId, status: PiStatus) -> PiResult {
    PiResult {
        pi,
        status,
        new_parent_tip: None,
        new_tip: None,
        new_parent_version: None,
        new_version: None,
        group_entities: None,
        ungrouped_files: None,
        reorganization_description: None,
        llm_metrics: None,
        skipped: None,
        spend: Spend::default(),
        error: None,
        retryable: None,
    }
}

impl PiResult {
    /// With the directory's tip and version, under the names of both generations.
    pub(crate) fn at(self, tip: ContentId, ver: u32) -> PiResult {
        PiResult {
            new_parent_tip: Some(tip),
            new_tip: Some(tip),
            new_parent_version: Some(ver),
            new_version: Some(ver),
            ..self
        }
    }
}

/// What is told of a request that cannot be done.
pub(crate) fn refused(
    batch_id: String,
    chunk_id: String,
    operation: Operation,
    organizer: OrganizerKind,
    error: String,
) -> CallbackPayload {
    CallbackPayload {
        batch_id,
        chunk_id,
        operation,
        status: CallbackStatus::Error,
        results: None,
        new_pis: Vec::new(),
        strategize_result: None,
        summary: Summary::default(),
        organizer,
        model: None,
        spend: Spend::default(),
        batch: None,
        error: Some(error),
        retryable: Some(false),
    }
}

/// The callback: usually one part, more if there are many directories with many files. Each part is whole for its directories.
pub(crate) fn parts(
    turn: &mut Turn<'_>,
    state: &State,
    pis: &[Pi],
) -> Result<Vec<CallbackPayload>, Halt<No>> {
    let failed = pis.iter().filter(|pi| pi.status == Status::Failed).count();
    let status = match failed {
        0 => CallbackStatus::Success,
        _ if failed == pis.len() => CallbackStatus::Error,
        _ => CallbackStatus::Partial,
    };
    let strategize_result = turn.get::<StrategizeResult>(STRATEGY)?;
    let head = CallbackPayload {
        batch_id: state.batch_id.clone(),
        chunk_id: state.chunk_id.clone(),
        operation: state.operation,
        status,
        results: None,
        new_pis: Vec::new(),
        strategize_result,
        summary: Summary {
            total: pis.len(),
            succeeded: pis.len() - failed,
            failed,
            processing_time_ms: turn.now().since(state.started_at),
        },
        organizer: state.organizer,
        model: state.model.clone(),
        spend: pis.iter().fold(Paid::default(), |paid, pi| paid.plus(pi.paid)).spend(),
        batch: None,
        error: pis.iter().find_map(|pi| pi.error.clone()).filter(|_| status == CallbackStatus::Error),
        retryable: (status == CallbackStatus::Error).then(|| pis.iter().any(|pi| !pi.is_hopeless)),
    };
    if state.operation == Operation::Strategize {
        return Ok(vec![head]);
    }
    let mut parts: Vec<CallbackPayload> = Vec::new();
    let mut room = 0;
    turn.prefetch((0..pis.len()).map(result_key))?;
    for (place, pi) in pis.iter().enumerate() {
        let Some(found) = turn.get::<PiResult>(&result_key(place))? else { continue };
        let result = PiResult { spend: pi.paid.spend(), ..found };
        let new_pis = new_pis(&result, pi.config);
        let bytes = json_bytes(&result) + json_bytes(&new_pis);
        if parts.is_empty() || bytes > room {
            parts.push(CallbackPayload { results: Some(Vec::new()), ..head.clone() });
            room = CALLBACK_BYTES.saturating_sub(json_bytes(&head));
        }
        room = room.saturating_sub(bytes);
        if let Some(part) = parts.last_mut() {
            part.results.get_or_insert_default().push(result);
            part.new_pis.extend(new_pis);
        }
    }
    if parts.is_empty() {
        parts.push(CallbackPayload { results: Some(Vec::new()), ..head });
    }
    Ok(parts)
}

fn json_bytes(value: &impl serde::Serialize) -> usize {
    serde_json::to_vec(value).map_or(0, |bytes| bytes.len())
}

fn new_pis(result: &PiResult, config: Option<ProcessingConfig>) -> Vec<NewPi> {
    let processing_config = config.unwrap_or(ProcessingConfig::USUAL).of_group();
    let groups = result.group_entities.iter().flatten();
    groups
        .map(|group| NewPi {
            pi: group.pi.clone(),
            parent_pi: result.pi.clone(),
            children_pi: Vec::new(),
            processing_config,
        })
        .collect()
}
