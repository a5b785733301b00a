//! Notes each request: in the log, in the counts, and as a span in the trace that it came with.

use crate::app::App;
use crate::code::ErrorCode;
use crate::metrics::{UNKNOWN, known};
use axum::extract::{MatchedPath, Request, State};
use axum::http::HeaderValue;
use axum::middleware::Next;
use axum::response::Response;
use tokio::time::Instant;
use tracing::Instrument;

/// The header of W3C trace context.
pub(crate) const TRACEPARENT: &str = "traceparent";

/// Passes a request on and notes how it went.
pub(crate) async fn observe(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let method = known(request.method().as_str());
    let path = request.uri().path().to_owned();
    let route = request.extensions().get::<MatchedPath>().map_or(UNKNOWN, MatchedPath::as_str).to_owned();
    let came_with =
        request.headers().get(TRACEPARENT).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (span, goes_on_with) = app.services().watch.telemetry.request(method, &route, came_with.as_deref());
    if let Some(Ok(context)) = goes_on_with.as_deref().map(HeaderValue::from_str) {
        request.headers_mut().insert(TRACEPARENT, context);
    }
    let began = Instant::now();
    let response = next.run(request).instrument(span.clone()).await;
    let (status, took) = (response.status().as_u16(), began.elapsed());
    span.record("http.status_code", status);
    // For those who ask whether the server is ready.
    if response.status() == ErrorCode::StoreFull.status() && path != "/ready" {
        app.note_full();
    }
    app.http().note(method, &route, status, took);
    let took_ms = took.as_millis();
    tracing::debug!(target: "http", method, path, status, took_ms, "request");
    response
}
