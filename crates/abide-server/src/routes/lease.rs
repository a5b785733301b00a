//! `/v1/lease`: jobs for workers outside of the process.

use crate::access::{Caller, Credentials};
use crate::app::App;
use crate::body::JsonBody;
use crate::error::ApiError;
use crate::hidden::may_work_on;
use crate::poll::{Ask, poll};
use crate::routes::objects::Key;
use crate::wait;
use abide_core::job::Lease;
use abide_core::limits::{CLAIM_ITEMS, LEASE_MS};
use abide_core::name::{JobKind, QueueName, WorkerId};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};

/// How long a lease may be.
const LEASE_RANGE_MS: std::ops::RangeInclusive<i64> = 1_000..=600_000;
/// Queues or kinds that one worker may name.
const NAMES: std::ops::RangeInclusive<usize> = 1..=100;

/// What a worker asks for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LeaseRequest {
    worker: WorkerId,
    queues: Vec<QueueName>,
    kinds: Vec<JobKind>,
    max: Option<usize>,
    lease_ms: Option<i64>,
    wait_ms: Option<u64>,
}

#[derive(Serialize)]
pub(crate) struct Leases {
    leases: Vec<Lease>,
}

/// Leases jobs, waiting for some if asked to. Under a key that was used before, what is still held of that claim.
pub(crate) async fn lease(
    State(app): State<App>,
    caller: Caller,
    credentials: Credentials,
    Key(key): Key,
    JsonBody(request): JsonBody<LeaseRequest>,
) -> Result<Json<Leases>, ApiError> {
    request.queues.iter().try_for_each(|queue| may_work_on(queue, caller))?;
    let wait = wait::duration(request.wait_ms)?;
    let ask = Ask {
        lease_ms: lease_ms(request.lease_ms)?,
        max: count("max", request.max.unwrap_or(1), 1..=CLAIM_ITEMS)?,
        worker: request.worker,
        queues: request.queues,
        kinds: request.kinds,
        key,
    };
    count("the number of queues", ask.queues.len(), NAMES)?;
    count("the number of kinds", ask.kinds.len(), NAMES)?;
    Ok(Json(Leases { leases: poll(&app, &ask, wait, &credentials).await? }))
}

fn count(what: &str, given: usize, range: std::ops::RangeInclusive<usize>) -> Result<usize, ApiError> {
    if range.contains(&given) {
        return Ok(given);
    }
    Err(ApiError::bad(format!("{what} is {given}: give {} to {}", range.start(), range.end())))
}

/// The length of a lease, checked.
pub(crate) fn lease_ms(given: Option<i64>) -> Result<i64, ApiError> {
    let lease_ms = given.unwrap_or(LEASE_MS);
    if LEASE_RANGE_MS.contains(&lease_ms) {
        return Ok(lease_ms);
    }
    let (least, most) = (LEASE_RANGE_MS.start(), LEASE_RANGE_MS.end());
    Err(ApiError::bad(format!("lease_ms is {lease_ms}: give {least} to {most} and send heartbeats")))
}
