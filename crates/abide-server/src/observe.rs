//! Notes each request: in the log, in the counts, and as a span in the trace that it came with.

use crate::app::App;
use crate::code::ErrorCode;
use crate::metrics::{UNKNOWN, known};
use crate::routes::jobs::TRACE_BYTES;
use abide_engine::telemetry::in_trace;
use axum::extract::{MatchedPath, Request};
use axum::response::Response;
use tokio::time::Instant;
use tracing::Instrument;

/// The header of W3C trace context.
const TRACEPARENT: &str = "traceparent";

/// Passes a request on and notes how it went.
pub(crate) async fn observe<A: Future<Output = Response>>(
    app: &App,
    request: Request,
    answer: impl FnOnce(Request) -> A,
) -> Response {
    let method = known(request.method().as_str());
    let uri = request.uri().clone();
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let route = matched.as_ref().map_or(UNKNOWN, MatchedPath::as_str);
    let came_with = request.headers().get(TRACEPARENT).and_then(|value| value.to_str().ok());
    // Whoever sends something else is in no trace, and is served as well.
    let came_with = came_with.filter(|context| context.len() <= TRACE_BYTES);
    let (span, goes_on_with) = app.services().watch.telemetry.request(method, route, came_with);
    let began = Instant::now();
    let response = in_trace(goes_on_with, answer(request)).instrument(span.clone()).await;
    let (status, took) = (response.status().as_u16(), began.elapsed());
    span.record("http.status_code", status);
    // For those who ask whether the server is ready.
    if response.status() == ErrorCode::StoreFull.status() && route != "/ready" {
        app.note_full();
    }
    app.http().note(method, route, status, took);
    let took_ms = took.as_millis();
    tracing::debug!(target: "http", method, path = uri.path(), status, took_ms, "request");
    response
}
