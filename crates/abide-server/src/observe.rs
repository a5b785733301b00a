//! Notes each request: in the log, in the counts, and as a span in the trace that it came with.

use crate::app::App;
use crate::code::ErrorCode;
use crate::metrics::{UNKNOWN, known};
use axum::extract::{MatchedPath, Request};
use axum::http::HeaderValue;
use axum::response::Response;
use tokio::time::Instant;
use tracing::Instrument;

/// The header of W3C trace context.
pub(crate) const TRACEPARENT: &str = "traceparent";

/// Passes a request on and notes how it went.
pub(crate) async fn observe<A: Future<Output = Response>>(
    app: &App,
    mut request: Request,
    answer: impl FnOnce(Request) -> A,
) -> Response {
    let method = known(request.method().as_str());
    let uri = request.uri().clone();
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let route = matched.as_ref().map_or(UNKNOWN, MatchedPath::as_str);
    let came_with =
        request.headers().get(TRACEPARENT).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (span, goes_on_with) = app.services().watch.telemetry.request(method, route, came_with.as_deref());
    if let Some(Ok(context)) = goes_on_with.as_deref().map(HeaderValue::from_str) {
        request.headers_mut().insert(TRACEPARENT, context);
    }
    let began = Instant::now();
    let response = answer(request).instrument(span.clone()).await;
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
