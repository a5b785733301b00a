//! `/v1/jobs`: enqueue, look, ask why, cancel, retry.

use crate::access::Caller;
use crate::app::App;
use crate::body::{AnyBody, decode};
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::hidden::{is_closed_to, shown};
use crate::page;
use crate::params::{self, Params};
use crate::path::At;
use crate::sentence::sentence;
use abide_core::job::{Attempt, JobId, JobState, NewJob};
use abide_core::json::Json as JsonText;
use abide_core::limits::{ENQUEUE_ITEMS, LATER_MS, within};
use abide_core::name::{JobKind, LimitKey, QueueName, UniqueKey};
use abide_core::retry::Backoff;
use abide_core::time::Time;
use abide_core::why::Cause;
use abide_store::view::{JobFilter, JobPage, JobView, TimeRange};
use abide_store::write::Enqueued;
use abide_store::{Answer, Read, Write, Written};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};

/// Longest trace context: W3C's is 55 bytes.
pub(crate) const TRACE_BYTES: usize = 128;

/// The longest wait between attempts: 30 days.
pub(crate) const BACKOFF_MS: i64 = 30 * 24 * 60 * 60 * 1_000;

/// A job as clients write it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobDocument {
    queue: QueueName,
    kind: JobKind,
    #[serde(default = "JsonText::null")]
    payload: JsonText,
    #[serde(default)]
    priority: i32,
    run_at: Option<Time>,
    delay_ms: Option<i64>,
    unique_key: Option<UniqueKey>,
    #[serde(default)]
    limit_keys: Vec<LimitKey>,
    max_attempts: Option<u32>,
    backoff: Option<Backoff>,
    trace: Option<String>,
}

/// Many jobs as clients write them; each is decoded by itself so that an error can say which.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ManyDocument {
    jobs: Vec<JsonText>,
}

/// The last instant that everybody can write down: the end of the year 9999.
const LAST: Time = Time(253_402_300_799_999);

/// Tells one job from many.
#[derive(Debug, Deserialize)]
struct Probe {
    jobs: Option<serde::de::IgnoredAny>,
}

#[derive(Serialize)]
struct EnqueuedDocument {
    job: JobId,
    duplicate: bool,
}

#[derive(Serialize)]
struct ManyEnqueued {
    jobs: Vec<EnqueuedDocument>,
}

impl From<Enqueued> for EnqueuedDocument {
    fn from(enqueued: Enqueued) -> EnqueuedDocument {
        let duplicate = matches!(enqueued, Enqueued::Duplicate(_));
        EnqueuedDocument { job: enqueued.job(), duplicate }
    }
}

/// Enqueues one job, or many that enter together.
pub(crate) async fn enqueue(
    State(app): State<App>,
    headers: HeaderMap,
    AnyBody(body): AnyBody,
) -> Result<Response, ApiError> {
    if headers.contains_key("idempotency-key") {
        return Err(ApiError::bad("a job has no Idempotency-Key header: give it a unique_key instead"));
    }
    let now = app.engine().now();
    if !body.as_str().trim_start().starts_with('{') {
        return Err(ApiError::bad("send a job, or many as {\"jobs\": [...]}"));
    }
    let probe: Probe = decode(body.as_str())?;
    if probe.jobs.is_none() {
        let job = new_job(&body, now)?;
        let enqueued = app.engine().enqueue(vec![job]).await?;
        let enqueued = enqueued.into_iter().next().expect("a store answers for each job");
        let document = EnqueuedDocument::from(enqueued);
        let status = if document.duplicate { StatusCode::OK } else { StatusCode::CREATED };
        let location = [(header::LOCATION, format!("/v1/jobs/{}", document.job))];
        return Ok((status, location, Json(document)).into_response());
    }
    let ManyDocument { jobs } = decode(body.as_str())?;
    within("jobs in one enqueue", ENQUEUE_ITEMS, jobs.len())?;
    let mut new_jobs = Vec::with_capacity(jobs.len());
    for (index, job) in jobs.iter().enumerate() {
        let job = new_job(job, now).map_err(|error| error.within(&format!("jobs[{index}]")))?;
        new_jobs.push(job);
    }
    let enqueued = app.engine().enqueue(new_jobs).await?;
    Ok(Json(ManyEnqueued { jobs: enqueued.into_iter().map(EnqueuedDocument::from).collect() })
        .into_response())
}

fn new_job(text: &JsonText, now: Time) -> Result<NewJob, ApiError> {
    if !text.as_str().trim_start().starts_with('{') {
        return Err(ApiError::bad("a job is an object such as {\"queue\": \"mail\", \"kind\": \"send\"}"));
    }
    let document: JobDocument = decode(text.as_str())?;
    let run_at = match (document.run_at, document.delay_ms) {
        (Some(_), Some(_)) => return Err(ApiError::bad("run_at and delay_ms exclude each other: give one")),
        (None, Some(delay_ms)) if !(0..=LATER_MS).contains(&delay_ms) => {
            return Err(ApiError::bad(format!("delay_ms is {delay_ms}: give 0 to {LATER_MS}")));
        }
        (None, Some(delay_ms)) => Some(now.plus_ms(delay_ms)),
        (Some(run_at), None) if run_at > LAST => {
            return Err(ApiError::bad(format!("run_at is {}: give a time before the year 10000", run_at.0)));
        }
        (run_at, None) => run_at,
    };
    if document.max_attempts == Some(0) {
        return Err(ApiError::bad("max_attempts is 0: a job has at least 1 attempt"));
    }
    let is_sane = |ms: i64| (0..=BACKOFF_MS).contains(&ms);
    if let Some(Backoff { base_ms, cap_ms }) =
        document.backoff.filter(|backoff| !is_sane(backoff.base_ms) || !is_sane(backoff.cap_ms))
    {
        let message = format!("backoff is {base_ms} ms up to {cap_ms} ms: give 0 to {BACKOFF_MS} for either");
        return Err(ApiError::bad(message));
    }
    if let Some(key) = document.limit_keys.iter().find(|key| key.as_str().ends_with(":*")) {
        return Err(ApiError::bad(format!(
            "{key} is a class of limit keys: name the key that the job needs"
        )));
    }
    within("bytes in a trace context", TRACE_BYTES, document.trace.as_ref().map_or(0, String::len))?;
    let job = NewJob {
        queue: document.queue,
        kind: document.kind,
        payload: document.payload,
        priority: document.priority,
        run_at,
        unique_key: document.unique_key,
        limit_keys: document.limit_keys,
        max_attempts: document.max_attempts,
        backoff: document.backoff,
        trace: document.trace,
    };
    job.check()?;
    Ok(job)
}

/// Which jobs to list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListParams {
    state: Option<JobState>,
    queue: Option<QueueName>,
    kind: Option<JobKind>,
    owner: Option<String>,
    limit_key: Option<LimitKey>,
    unique_prefix: Option<String>,
    created_from: Option<Time>,
    created_until: Option<Time>,
    finished_from: Option<Time>,
    finished_until: Option<Time>,
    after: Option<i64>,
    limit: Option<usize>,
}

impl ListParams {
    fn filter(self) -> Result<JobFilter, ApiError> {
        let range = |from: Option<Time>, until: Option<Time>| {
            let all = TimeRange::default();
            TimeRange { from: from.unwrap_or(all.from), until: until.unwrap_or(all.until) }
        };
        Ok(JobFilter {
            state: self.state,
            queue: self.queue,
            kind: self.kind,
            owner: self.owner.as_deref().map(|owner| params::object("owner", owner)).transpose()?,
            limit_key: self.limit_key,
            unique_prefix: self.unique_prefix,
            created: range(self.created_from, self.created_until),
            finished: range(self.finished_from, self.finished_until),
            before: self.after.map(JobId),
            limit: page::items(self.limit)?,
        })
    }
}

/// Jobs, newest first.
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Params(params): Params<ListParams>,
) -> Result<Json<JobPage>, ApiError> {
    let page = matching(&app, params.filter()?).await?;
    let jobs = page.jobs.into_iter().map(|view| shown_to(caller, view)).collect();
    Ok(Json(JobPage { jobs, ..page }))
}

async fn matching(app: &App, filter: JobFilter) -> Result<JobPage, ApiError> {
    match app.read(Read::Jobs(filter)).await? {
        Answer::Jobs(page) => Ok(page),
        other => unreachable!("the store answered about jobs with {other:?}"),
    }
}

#[derive(Serialize)]
pub(crate) struct RetriedPage {
    retried: Vec<JobId>,
    next: Option<JobId>,
}

/// Gives a page of matching jobs fresh attempts: dead letters, if no state is given.
pub(crate) async fn retry_matching(
    State(app): State<App>,
    Params(params): Params<ListParams>,
) -> Result<Json<RetriedPage>, ApiError> {
    let mut filter = params.filter()?;
    match *filter.state.get_or_insert(JobState::Failed) {
        JobState::Failed | JobState::Cancelled | JobState::Skipped => {}
        state @ (JobState::Scheduled | JobState::Ready | JobState::Running | JobState::Done) => {
            let message =
                format!("jobs in the state {state} cannot be retried: give failed, cancelled or skipped");
            return Err(ApiError::bad(message));
        }
    }
    let JobPage { jobs, next } = matching(&app, filter).await?;
    let retries = jobs.iter().map(|view| app.write(Write::Retry { job: view.job }));
    let mut retried = Vec::new();
    for (view, written) in jobs.iter().zip(join_all(retries).await) {
        // A job that somebody else retried or that was pruned since is none of this page.
        if let Written::Moved(Ok(_)) = written? {
            retried.push(view.job);
        }
    }
    Ok(Json(RetriedPage { retried, next }))
}

/// One job with its attempts.
pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    At(job): At<JobId>,
) -> Result<Json<JobView>, ApiError> {
    let view = app.engine().job(job).await?.ok_or_else(|| unknown(job))?;
    Ok(Json(shown_to(caller, *view)))
}

/// What a job of an organization is about, and what came of it, is nobody else's: where it stands is.
fn shown_to(caller: Caller, view: JobView) -> JobView {
    if view.owner.as_ref().is_some_and(|owner| is_closed_to(caller, &owner.object)) {
        let attempts = view.attempts.into_iter().map(|attempt| Attempt { reason: None, ..attempt });
        return JobView {
            payload: JsonText::null(),
            progress: None,
            result: None,
            reason: None,
            attempts: attempts.collect(),
            ..view
        };
    }
    JobView { payload: shown(view.payload, caller), ..view }
}

fn unknown(job: JobId) -> ApiError {
    ApiError::new(ErrorCode::UnknownJob, format!("there is no job {job}"))
}

#[derive(Serialize)]
pub(crate) struct WhyDocument {
    job: JobId,
    causes: Vec<CauseDocument>,
}

#[derive(Serialize)]
struct CauseDocument {
    #[serde(flatten)]
    cause: Cause,
    /// What a job that runs says that it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits: Option<String>,
    sentence: String,
}

/// Progress of a job that waits within its attempt, for its disk or for its host: it runs, and nothing comes of it.
#[derive(Deserialize)]
struct Waits {
    waits: String,
}

/// Why a job is not running: every cause that holds, for programs and for people.
pub(crate) async fn why(
    State(app): State<App>,
    caller: Caller,
    At(job): At<JobId>,
) -> Result<Json<WhyDocument>, ApiError> {
    let causes = app.engine().why(job).await?.ok_or_else(|| unknown(job))?;
    let now = app.engine().now();
    let view = app.engine().job(job).await?.ok_or_else(|| unknown(job))?;
    let is_closed = view.owner.as_ref().is_some_and(|owner| is_closed_to(caller, &owner.object));
    let progress = view.progress.filter(|_| !is_closed);
    let said = progress.and_then(|progress| progress.decode::<Waits>().ok()).map(|said| said.waits);
    let document = |cause| {
        let cause = if is_closed { without_reason(cause) } else { cause };
        let waits = said.clone().filter(|_| matches!(cause, Cause::Running { .. }));
        let waiting = waits.iter().map(|waits| format!(" It waits: {waits}."));
        let sentence = [sentence(&cause, now)].into_iter().chain(waiting).collect();
        CauseDocument { cause, waits, sentence }
    };
    Ok(Json(WhyDocument { job, causes: causes.into_iter().map(document).collect() }))
}

/// The cause as it is told to those who may not know what the job is about.
fn without_reason(cause: Cause) -> Cause {
    match cause {
        Cause::DeadLetter { failures, reason: _ } => Cause::DeadLetter { failures, reason: None },
        Cause::BackingOff { run_at, failures, reason: _ } => {
            Cause::BackingOff { run_at, failures, reason: None }
        }
        cause @ (Cause::Ended { .. }
        | Cause::Running { .. }
        | Cause::Cancelling
        | Cause::Scheduled { .. }
        | Cause::QueuePaused { .. }
        | Cause::Concurrency { .. }
        | Cause::RateLimited { .. }
        | Cause::CoolingDown { .. }
        | Cause::NoWorker { .. }
        | Cause::Waiting { .. }) => cause,
    }
}

#[derive(Serialize)]
pub(crate) struct MovedDocument {
    job: JobId,
    state: JobState,
}

/// Asks a job not to run.
pub(crate) async fn cancel(
    State(app): State<App>,
    At(job): At<JobId>,
) -> Result<Json<MovedDocument>, ApiError> {
    moved(&app, job, Write::Cancel { job }).await
}

/// Asks a job that is over to run again, with fresh attempts.
pub(crate) async fn retry(
    State(app): State<App>,
    At(job): At<JobId>,
) -> Result<Json<MovedDocument>, ApiError> {
    moved(&app, job, Write::Retry { job }).await
}

async fn moved(app: &App, job: JobId, write: Write) -> Result<Json<MovedDocument>, ApiError> {
    let Written::Moved(moved) = app.write(write).await? else {
        unreachable!("the store answers about a job's move in kind")
    };
    let state = moved.map_err(|refused| ApiError::from(refused).within(&format!("job {job}")))?;
    Ok(Json(MovedDocument { job, state }))
}
