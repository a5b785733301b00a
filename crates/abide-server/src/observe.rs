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
    let came_with = came_with.filter(|context| context.len() <= TRACE_BYTES && is_trace_context(context));
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

/// Whether it has the fields of a trace context: version, trace, parent, flags.
fn is_trace_context(text: &str) -> bool {
    let is_hex = |part: &str, len| {
        part.len() == len && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_id = |part: &str, len| is_hex(part, len) && part.bytes().any(|byte| byte != b'0');
    let mut parts = text.split('-');
    let mut next = || parts.next().unwrap_or_default();
    let (version, trace, parent, flags) = (next(), next(), next(), next());
    // Later versions may have more fields; this one has not, and ff is none.
    let is_version = is_hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
    is_version && is_id(trace, 32) && is_id(parent, 16) && is_hex(flags, 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_context_is_known_by_its_fields() {
        let (trace, parent) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        assert!(is_trace_context(&format!("00-{trace}-{parent}-01")));
        assert!(is_trace_context(&format!("cc-{trace}-{parent}-01-more")));
        let zeros = (&"0".repeat(32), &"0".repeat(16));
        for bad in [
            "garbage".to_owned(),
            String::new(),
            format!("00-{trace}-{parent}"),
            format!("00-{trace}-{parent}-01-more"),
            format!("ff-{trace}-{parent}-01"),
            format!("00-{}-{parent}-01", zeros.0),
            format!("00-{trace}-{}-01", zeros.1),
            format!("00-{}-{parent}-01", trace.to_uppercase()),
        ] {
            assert!(!is_trace_context(&bad), "{bad}");
        }
    }
}
