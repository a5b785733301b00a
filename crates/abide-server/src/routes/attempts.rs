//! `/v1/jobs/{job}/heartbeat|progress|vacate|finish`: what a worker outside of the process says about its attempt.

use crate::app::App;
use crate::body::JsonBody;
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::path::At;
use crate::routes::lease::lease_ms;
use abide_core::job::{AttemptEnd, CoolDown, Finish, JobId, JobState, LeaseRef, LeaseToken, RetryWish};
use abide_core::json::Json as JsonText;
use abide_core::limits::{LATER_MS, LIMIT_KEYS_PER_JOB, PROGRESS_BYTES, VALUE_BYTES, cut_reason, within};
use abide_core::name::LimitKey;
use abide_core::time::Time;
use abide_store::write::Renewal;
use abide_store::{Answer, Read, Write, Written};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};

/// The longest rest that a worker may ask for: a day.
const COOL_DOWN_MS: i64 = 24 * 60 * 60 * 1_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeartbeatRequest {
    attempt: u32,
    token: LeaseToken,
    lease_ms: Option<i64>,
}

#[derive(Serialize)]
pub(crate) struct HeldDocument {
    job: JobId,
    lease_expires_at: Time,
    cancel_asked: bool,
}

/// Lengthens a lease, and says whether the job was asked to stop.
pub(crate) async fn heartbeat(
    State(app): State<App>,
    At(job): At<JobId>,
    JsonBody(request): JsonBody<HeartbeatRequest>,
) -> Result<Json<HeldDocument>, ApiError> {
    let lease = LeaseRef { job, attempt: request.attempt, token: request.token };
    let lease_ms = lease_ms(request.lease_ms)?;
    let Written::Renewed(renewals) = app.write(Write::Renew { leases: vec![lease], lease_ms }).await? else {
        unreachable!("the store answers a renewal in kind")
    };
    match renewals.first() {
        Some(Renewal::Held { until, cancel_asked }) => {
            Ok(Json(HeldDocument { job, lease_expires_at: *until, cancel_asked: *cancel_asked }))
        }
        Some(Renewal::Lost) | None => {
            let message = format!(
                "attempt {} of job {job} does not hold the lease any more: drop it and lease another job",
                request.attempt
            );
            Err(ApiError::new(ErrorCode::LeaseLost, message))
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProgressRequest {
    attempt: u32,
    token: LeaseToken,
    progress: JsonText,
}

#[derive(Serialize)]
pub(crate) struct NotedDocument {
    job: JobId,
    attempt: u32,
}

/// Notes how far an attempt is.
pub(crate) async fn progress(
    State(app): State<App>,
    At(job): At<JobId>,
    JsonBody(request): JsonBody<ProgressRequest>,
) -> Result<Json<NotedDocument>, ApiError> {
    let ProgressRequest { attempt, token, progress } = request;
    within("bytes in a note of progress", PROGRESS_BYTES, progress.len())?;
    let lease = LeaseRef { job, attempt, token };
    let Written::Progressed(noted) = app.write(Write::Progress { lease, progress }).await? else {
        unreachable!("the store answers about progress in kind")
    };
    noted.map_err(|lost| about(lease, lost))?;
    Ok(Json(NotedDocument { job, attempt }))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VacateRequest {
    attempt: u32,
    token: LeaseToken,
}

/// Frees the places of the job's limit keys, while its attempt goes on with what needs none.
pub(crate) async fn vacate(
    State(app): State<App>,
    At(job): At<JobId>,
    JsonBody(request): JsonBody<VacateRequest>,
) -> Result<Json<NotedDocument>, ApiError> {
    let VacateRequest { attempt, token } = request;
    let lease = LeaseRef { job, attempt, token };
    let Written::Vacated(vacated) = app.write(Write::Vacate { lease }).await? else {
        unreachable!("the store answers about places in kind")
    };
    vacated.map_err(|lost| about(lease, lost))?;
    Ok(Json(NotedDocument { job, attempt }))
}

/// How an attempt ended, as a worker writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum End {
    Done,
    Skipped,
    Error,
    HandedBack,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FinishRequest {
    attempt: u32,
    token: LeaseToken,
    end: End,
    result: Option<JsonText>,
    reason: Option<String>,
    retry: Option<RetryWish>,
    #[serde(default)]
    refund: Vec<LimitKey>,
    #[serde(default)]
    cool_down: Vec<CoolDown>,
}

#[derive(Serialize)]
pub(crate) struct FinishedDocument {
    job: JobId,
    state: JobState,
    run_at: Option<Time>,
    repeated: bool,
}

/// Ends an attempt, exactly once.
pub(crate) async fn finish(
    State(app): State<App>,
    At(job): At<JobId>,
    JsonBody(request): JsonBody<FinishRequest>,
) -> Result<Json<FinishedDocument>, ApiError> {
    let lease = LeaseRef { job, attempt: request.attempt, token: request.token };
    let finish = finish_of(request)?;
    if !finish.cool_down.is_empty() {
        check_rests(&app, job, &finish.cool_down).await?;
    }
    let Written::Finished(finished) = app.write(Write::Finish { lease, finish, seed: 0 }).await? else {
        unreachable!("the store answers a finish in kind")
    };
    let finished = finished.map_err(|lost| about(lease, lost))?;
    let (state, run_at, repeated) = (finished.state, finished.run_at, finished.repeated);
    Ok(Json(FinishedDocument { job, state, run_at, repeated }))
}

/// A worker may have its job's keys rest, and keys of the same classes: a redirect leads to another host.
async fn check_rests(app: &App, job: JobId, rests: &[CoolDown]) -> Result<(), ApiError> {
    let Answer::Job(view) = app.read(Read::Job(job)).await? else {
        unreachable!("the store answers about a job in kind")
    };
    // Of a job that is not there the finish itself will say so.
    let Some(view) = view else { return Ok(()) };
    let own = LimitKey::of_queue(&view.queue);
    let is_near = |key: &LimitKey| {
        let near = |held: &LimitKey| held == key || (held.class().is_some() && held.class() == key.class());
        *key == own || view.limit_keys.iter().any(near)
    };
    match rests.iter().find(|rest| !is_near(&rest.key)) {
        None => Ok(()),
        Some(CoolDown { key, .. }) => Err(ApiError::bad(format!(
            "{key} is to rest: job {job} has no such limit key, nor one of its class"
        ))),
    }
}

fn about(lease: LeaseRef, lost: abide_store::write::LeaseLost) -> ApiError {
    ApiError::from(lost).within(&format!("attempt {} of job {}", lease.attempt, lease.job))
}

fn finish_of(request: FinishRequest) -> Result<Finish, ApiError> {
    let FinishRequest { end, result, reason, retry, refund, cool_down, .. } = request;
    within("limit keys in a refund", LIMIT_KEYS_PER_JOB, refund.len())?;
    within("limit keys that are to rest", LIMIT_KEYS_PER_JOB, cool_down.len())?;
    if let Some(long) = cool_down.iter().find(|rest| !(0..=COOL_DOWN_MS).contains(&rest.for_ms)) {
        let (key, for_ms) = (&long.key, long.for_ms);
        return Err(ApiError::bad(format!("{key} is to rest for {for_ms} ms: give 0 to {COOL_DOWN_MS}")));
    }
    let wait = match retry {
        Some(RetryWish::AfterMs(ms)) => Some(("after_ms", ms)),
        Some(RetryWish::UncountedAfterMs(ms)) => Some(("uncounted_after_ms", ms)),
        Some(RetryWish::ByPolicy | RetryWish::Never) | None => None,
    };
    if let Some((name, ms)) = wait.filter(|(_, ms)| !(0..=LATER_MS).contains(ms)) {
        return Err(ApiError::bad(format!("{name} is {ms}: give 0 to {LATER_MS}")));
    }
    let end = match (end, result, reason, retry) {
        (End::Done, result, None, None) => {
            let result = result.unwrap_or_else(JsonText::null);
            within("bytes in a job's result", VALUE_BYTES, result.len())?;
            AttemptEnd::Done { result }
        }
        (End::Skipped, None, Some(reason), None) => AttemptEnd::Skipped { reason: cut(&reason) },
        (End::Error, None, Some(reason), retry) => {
            AttemptEnd::Error { reason: cut(&reason), retry: retry.unwrap_or(RetryWish::ByPolicy) }
        }
        (End::HandedBack, None, None, None) => AttemptEnd::HandedBack,
        (End::Done, ..) => {
            return Err(ApiError::bad("an attempt that is done has a result, no reason and no retry"));
        }
        (End::Skipped, ..) => {
            return Err(ApiError::bad("an attempt that was skipped has a reason, no result and no retry"));
        }
        (End::Error, ..) => return Err(ApiError::bad("an attempt that failed has a reason and no result")),
        (End::HandedBack, ..) => {
            return Err(ApiError::bad(
                "an attempt that is handed back has no result, no reason and no retry",
            ));
        }
    };
    Ok(Finish { end, refund, cool_down })
}

fn cut(reason: &str) -> String {
    cut_reason(reason).to_owned()
}
