//! Messages that start batches: they go the way of a queue, whoever brings them.

use crate::app::App;
use crate::error::ApiError;
use abide_core::job::{JobId, NewJob};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// A message is in its queue.
#[derive(Serialize)]
struct Queued<'a> {
    ok: bool,
    batch_id: &'a str,
    job: JobId,
}

/// Puts the message of a batch into a queue, as a job of a kind.
pub(super) async fn enqueue(
    app: &App,
    (queue, kind): (&str, &str),
    batch_id: &str,
    message: &impl Serialize,
) -> Result<Response, ApiError> {
    let job = NewJob::of(queue, kind, message).map_err(|error| ApiError::bad(error.to_string()))?;
    let enqueued = app.engine().enqueue(vec![job]).await?;
    let job = enqueued.first().map(|enqueued| enqueued.job());
    let job = job.ok_or_else(|| ApiError::bad("the queue took nothing"))?;
    Ok((StatusCode::ACCEPTED, Json(Queued { ok: true, batch_id, job })).into_response())
}
