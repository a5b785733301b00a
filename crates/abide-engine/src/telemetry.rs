//! Spans of what the engine and those around it do, made by whoever knows where traces go, and the trace that a task
//! works in.

use abide_core::job::Lease;
use std::fmt::Debug;
use std::future::Future;
use tracing::Span;

tokio::task_local! {
    // Whatever a request leads to belongs to its trace, and nobody in between has anything to do with it.
    static TRACE: Option<String>;
}

/// Does `work` in the trace of this W3C trace context: objects that it calls and jobs that it enqueues carry it on, and so
/// does what those objects send and enqueue.
pub async fn in_trace<W: Future>(trace: Option<String>, work: W) -> W::Output {
    TRACE.scope(trace, work).await
}

/// The trace context that the current task works in.
pub(crate) fn current_trace() -> Option<String> {
    TRACE.try_with(Clone::clone).unwrap_or(None)
}

/// Makes spans that continue the trace of whoever asked for the work.
pub trait Telemetry: Debug + Send + Sync {
    /// The span of one attempt of a job, in the trace of whoever enqueued it.
    fn attempt(&self, lease: &Lease) -> Span;

    /// The span of a request to this route, in the trace of `traceparent` if there is one, and the trace context that
    /// work which the request enqueues is to carry.
    fn request(&self, method: &str, route: &str, traceparent: Option<&str>) -> (Span, Option<String>);
}

/// Makes spans for logs only: work carries the trace context that it came with.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogsOnly;

impl Telemetry for LogsOnly {
    fn attempt(&self, lease: &Lease) -> Span {
        let (job, attempt) = (lease.lease.job.0, lease.lease.attempt);
        tracing::info_span!(target: "queue", "job", job.id = job, job.attempt = attempt)
    }

    fn request(&self, _: &str, _: &str, traceparent: Option<&str>) -> (Span, Option<String>) {
        (Span::none(), traceparent.map(str::to_owned))
    }
}
