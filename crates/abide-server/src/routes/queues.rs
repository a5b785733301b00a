//! `/v1/queues`: what waits, and by which policy.

use crate::app::App;
use crate::body::JsonBody;
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::path::At;
use crate::routes::jobs::BACKOFF_MS;
use abide_core::name::QueueName;
use abide_core::queue::QueuePolicy;
use abide_core::retry::Backoff;
use abide_store::view::QueueView;
use abide_store::{Answer, Read, Write};
use axum::Json;
use axum::extract::State;
use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct QueueList {
    queues: Vec<QueueDocument>,
}

#[derive(Serialize)]
pub(crate) struct QueueDocument {
    #[serde(flatten)]
    view: QueueView,
    /// As this process counted them.
    finished_last_minute: u64,
    /// In a second of that minute, or of what has passed since the first of them.
    rate: f64,
}

/// Every queue.
pub(crate) async fn list(State(app): State<App>) -> Result<Json<QueueList>, ApiError> {
    Ok(Json(QueueList { queues: queues(&app).await? }))
}

/// One queue.
pub(crate) async fn show(
    State(app): State<App>,
    At(queue): At<QueueName>,
) -> Result<Json<QueueDocument>, ApiError> {
    let found = queues(&app).await?.into_iter().find(|document| document.view.queue == queue);
    found.map(Json).ok_or_else(|| {
        let message = format!("there is no queue {queue}: it begins with its first job or policy");
        ApiError::new(ErrorCode::UnknownQueue, message)
    })
}

async fn queues(app: &App) -> Result<Vec<QueueDocument>, ApiError> {
    let Answer::Queues(queues) = app.read(Read::Queues).await? else {
        unreachable!("the store answers about queues in kind")
    };
    let (counts, now) = (app.engine().counts(), app.engine().now());
    let document = |view: QueueView| {
        let counted = counts.queues.get(view.queue.as_str());
        let finished_last_minute = counted.map_or(0, |jobs| jobs.lately.last_minute(now));
        let rate = counted.map_or(0.0, |jobs| jobs.lately.rate(now));
        QueueDocument { view, finished_last_minute, rate }
    };
    Ok(queues.into_iter().map(document).collect())
}

/// Sets a queue's whole policy; what the body leaves out gets its default.
pub(crate) async fn set(
    state: State<App>,
    At(queue): At<QueueName>,
    JsonBody(policy): JsonBody<QueuePolicy>,
) -> Result<Json<QueueDocument>, ApiError> {
    check(&policy)?;
    state.0.write(Write::SetQueue { queue: queue.clone(), policy }).await?;
    show(state, At(queue)).await
}

fn check(policy: &QueuePolicy) -> Result<(), ApiError> {
    if policy.max_attempts == 0 {
        return Err(ApiError::bad("max_attempts is 0: a job has at least 1 attempt"));
    }
    let Backoff { base_ms, cap_ms } = policy.backoff;
    if base_ms.max(cap_ms) > BACKOFF_MS {
        return Err(ApiError::bad(format!(
            "backoff is {base_ms} ms up to {cap_ms} ms: give at most {BACKOFF_MS}"
        )));
    }
    let times = [
        ("backoff.base_ms", Some(policy.backoff.base_ms)),
        ("backoff.cap_ms", Some(policy.backoff.cap_ms)),
        ("retain_ms", policy.retain_ms),
        ("retain_failed_ms", policy.retain_failed_ms),
        ("forget_keys_after_ms", policy.forget_keys_after_ms),
    ];
    match times.into_iter().find(|(_, ms)| ms.is_some_and(|ms| ms < 0)) {
        Some((name, _)) => Err(ApiError::bad(format!("{name} cannot be negative"))),
        None => Ok(()),
    }
}

/// Lets no more jobs of the queue start.
pub(crate) async fn pause(
    state: State<App>,
    At(queue): At<QueueName>,
) -> Result<Json<QueueDocument>, ApiError> {
    state.0.write(Write::SetPaused { queue: queue.clone(), paused: true }).await?;
    show(state, At(queue)).await
}

/// Lets jobs of the queue start again.
pub(crate) async fn resume(
    state: State<App>,
    At(queue): At<QueueName>,
) -> Result<Json<QueueDocument>, ApiError> {
    state.0.write(Write::SetPaused { queue: queue.clone(), paused: false }).await?;
    show(state, At(queue)).await
}
