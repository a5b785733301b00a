//! Traces and metrics for a collector that speaks OTLP over HTTP, if the configuration names one.

mod depths;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use abide_core::job::{AttemptWord, JobState, Lease};
use abide_downloads::Meter;
use abide_downloads::meter::{Counts as Downloaded, Outcome};
use abide_engine::meter::{Counts, Histogram, JobCounts, TurnEnd};
use abide_engine::{Engine, Telemetry as Spans};
use abide_fetch::Reason;
use opentelemetry::metrics::{AsyncInstrument, MeterProvider};
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::TracerProvider;
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{
    ExporterBuildError, MetricExporter, Protocol, SpanExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tracing::{Metadata, Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use self::depths::Depths;
use crate::config::Telemetry;

/// Who measures.
const SCOPE: &str = "abide";
/// How long the collector may take for a request.
const PATIENCE: Duration = Duration::from_secs(5);
const TRACEPARENT: &str = "traceparent";
/// What those events are called that are told within their span.
const WAITED: &str = "_concurrency_wait_ms";

/// Nothing can be sent to the collector.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExportError {
    /// The headers cannot be read. They are secret, so they are not shown.
    #[error(
        "telemetry.otlp_headers has a part that is not NAME=VALUE; separate headers with commas, such as api-key=abc,tenant=7"
    )]
    Headers,
    /// The endpoint or the HTTP client is wrong.
    #[error("telemetry.otlp_endpoint is {endpoint:?} and cannot be used: {error}")]
    Endpoint {
        /// What is configured.
        endpoint: String,
        /// What is wrong with it.
        error: ExporterBuildError,
    },
}

/// What goes to a collector. Ended by [`Export::end`] only, so that nothing is lost.
#[derive(Debug, Clone)]
pub(crate) struct Export {
    traces: SdkTracerProvider,
    metrics: SdkMeterProvider,
    depths: Depths,
}

impl Export {
    /// Starts sending if there is an endpoint. Not within a runtime: the client makes one of its own.
    pub(crate) fn start(config: &Telemetry) -> Result<Option<Export>, ExportError> {
        if config.otlp_endpoint.is_empty() {
            return Ok(None);
        }
        let headers = headers(&config.otlp_headers)?;
        let at = |path: &str| format!("{}/v1/{path}", config.otlp_endpoint.trim_end_matches('/'));
        let failed = |error| ExportError::Endpoint { endpoint: config.otlp_endpoint.clone(), error };
        let spans = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(at("traces"))
            .with_timeout(PATIENCE)
            .with_headers(headers.clone())
            .build()
            .map_err(failed)?;
        let metrics = MetricExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(at("metrics"))
            .with_timeout(PATIENCE)
            .with_headers(headers)
            .build()
            .map_err(failed)?;
        let resource = Resource::builder().with_service_name(config.service_name.clone()).build();
        Ok(Some(Export {
            traces: SdkTracerProvider::builder()
                .with_batch_exporter(spans)
                .with_resource(resource.clone())
                .build(),
            metrics: SdkMeterProvider::builder()
                .with_periodic_exporter(metrics)
                .with_resource(resource)
                .build(),
            depths: Depths::default(),
        }))
    }

    /// Hands the spans of this process over, with what they waited for.
    pub(crate) fn layer<S: Subscriber + for<'a> LookupSpan<'a>>(&self) -> impl Layer<S> + use<S> {
        let is_ours = |metadata: &Metadata<'_>| {
            (metadata.is_span() || metadata.name().ends_with(WAITED))
                && ["http", "queue", "object", "fetch"].contains(&metadata.target())
        };
        tracing_opentelemetry::layer()
            .with_tracer(self.traces.tracer(SCOPE))
            .with_location(false)
            .with_threads(false)
            .with_filter(filter_fn(is_ours))
    }

    /// Whoever makes spans in the traces that go there.
    pub(crate) fn spans(&self) -> Arc<dyn Spans> {
        Arc::new(self.clone())
    }

    /// Sends what this engine counts. Within a runtime.
    pub(crate) fn count(&self, engine: &Engine) {
        self.count_waiting(engine);
        let meter = self.metrics.meter(SCOPE);
        for (name, description, count) in OF_QUEUES {
            let engine = engine.clone();
            let observe = move |observer: &dyn AsyncInstrument<u64>| {
                for (queue, jobs) in engine.counts().queues {
                    observer.observe(count(&jobs), &[KeyValue::new("queue", queue)]);
                }
            };
            meter.u64_observable_counter(*name).with_description(*description).with_callback(observe).build();
        }
        for (name, description, count) in OF_ALL {
            let engine = engine.clone();
            let observe =
                move |observer: &dyn AsyncInstrument<u64>| observer.observe(count(&engine.counts()), &[]);
            meter.u64_observable_counter(*name).with_description(*description).with_callback(observe).build();
        }
        let counted = engine.clone();
        let inflight = move |observer: &dyn AsyncInstrument<i64>| {
            for (queue, jobs) in counted.counts().queues {
                observer.observe(running(&jobs), &[KeyValue::new("queue", queue)]);
            }
        };
        meter
            .i64_observable_up_down_counter("contentdownload_jobs_inflight")
            .with_description("Attempts that began and have not ended.")
            .with_callback(inflight)
            .build();
        let counted = engine.clone();
        let turns = move |observer: &dyn AsyncInstrument<u64>| {
            for (kind, turns) in counted.counts().kinds {
                for (end, count) in TurnEnd::ALL.iter().zip(turns.ended) {
                    let labels = [KeyValue::new("kind", kind.clone()), KeyValue::new("result", end.as_str())];
                    observer.observe(count, &labels);
                }
            }
        };
        meter
            .u64_observable_counter("abide_turns_total")
            .with_description("Turns of objects.")
            .with_callback(turns)
            .build();
    }

    /// Sends how many jobs wait.
    fn count_waiting(&self, engine: &Engine) {
        let (depths, engine, runtime) = (self.depths.clone(), engine.clone(), Handle::current());
        let observe = move |observer: &dyn AsyncInstrument<i64>| {
            // Called in the thread that sends. With the runtime the looking ends, too.
            let (tell, told) = oneshot::channel::<()>();
            let (looking, engine) = (depths.clone(), engine.clone());
            runtime.spawn(async move {
                looking.look(&engine).await;
                drop(tell);
            });
            drop(told.blocking_recv());
            for (queue, jobs) in depths.seen() {
                observer.observe(i64::try_from(jobs).unwrap_or(i64::MAX), &[KeyValue::new("queue", queue)]);
            }
        };
        let meter = self.metrics.meter(SCOPE);
        let depth = meter.i64_observable_up_down_counter(depths::NAME).with_description("Jobs that wait.");
        depth.with_callback(observe).build();
    }

    /// Sees for the last time what an engine knows that is about to stop.
    pub(crate) async fn look(&self, engine: &Engine) {
        self.depths.look(engine).await;
    }

    /// Sends what these downloads come to.
    pub(crate) fn count_downloads(&self, downloads: &Meter) {
        let meter = self.metrics.meter(SCOPE);
        for (name, description, samples) in OF_DOWNLOADS {
            let downloads = downloads.clone();
            let observe = move |observer: &dyn AsyncInstrument<u64>| {
                for (resolver, counts) in downloads.counts() {
                    for (mut labels, count) in samples(&counts) {
                        labels.push(KeyValue::new("resolver", resolver.clone()));
                        observer.observe(count, &labels);
                    }
                }
            };
            meter.u64_observable_counter(*name).with_description(*description).with_callback(observe).build();
        }
        let latency = meter
            .f64_histogram("contentdownload_http_latency_ms")
            .with_description("From a request to the head of its reply, for files that came.")
            .with_boundaries(Histogram::of_times().cumulative().map(|(us, _)| us as f64 / 1e3).collect())
            .build();
        downloads.listen(move |resolver, took| {
            let labels = [KeyValue::new("resolver", resolver.to_owned()), KeyValue::new("verb", "GET")];
            latency.record(took.as_secs_f64() * 1e3, &labels);
        });
    }

    /// Sends what is left and stops. Not within a runtime.
    pub(crate) fn end(self) {
        for (what, ended) in [("traces", self.traces.shutdown()), ("metrics", self.metrics.shutdown())] {
            if let Err(error) = ended {
                tracing::warn!(target: "telemetry", what, %error, "the collector did not get everything");
            }
        }
    }
}

type Named<T> = (&'static str, &'static str, fn(&T) -> u64);

const OF_QUEUES: &[Named<JobCounts>] = &[
    ("abide_jobs_enqueued_total", "Jobs that were new.", |jobs| jobs.enqueued),
    ("abide_jobs_started_total", "Attempts that began.", |jobs| jobs.started),
    ("abide_jobs_retried_total", "Attempts that failed and are followed by another.", |jobs| jobs.retried),
    ("abide_lease_expiries_total", "Leases that ran out.", |jobs| jobs.ended_as(AttemptWord::Expired)),
    ("contentdownload_jobs_completed_total", "Jobs that were done or skipped.", |jobs| {
        jobs.finished_as(JobState::Done) + jobs.finished_as(JobState::Skipped)
    }),
    ("contentdownload_jobs_failed_total", "Jobs that used up their attempts.", |jobs| {
        jobs.finished_as(JobState::Failed)
    }),
];

const OF_ALL: &[Named<Counts>] = &[
    ("abide_commits_total", "Commits of turns that are durable.", |counts| counts.commits),
    ("abide_commits_refused_total", "Commits that the store refused.", |counts| counts.refused_commits),
    ("abide_dead_letters_total", "Events that became dead letters.", |counts| counts.dead_letters),
];

/// Values with their labels.
type Samples = Vec<(Vec<KeyValue>, u64)>;
type NamedSamples = (&'static str, &'static str, fn(&Downloaded) -> Samples);

const OF_DOWNLOADS: &[NamedSamples] = &[
    ("contentdownload_attempts_total", "Attempts at downloads that ended.", |counts| {
        let sample = |((status, reason), count): (&(Option<u16>, Reason), &u64)| {
            let status = status.map_or_else(String::new, |status| status.to_string());
            let labels = vec![
                KeyValue::new("status", status),
                KeyValue::new("reason", reason.as_str()),
                KeyValue::new("verb", "GET"),
            ];
            (labels, *count)
        };
        counts.attempts.iter().map(sample).collect()
    }),
    ("contentdownload_retries_total", "Attempts at downloads that are followed by another.", |counts| {
        let sample =
            |(reason, count): (&Reason, &u64)| (vec![KeyValue::new("reason", reason.as_str())], *count);
        counts.retries.iter().map(sample).collect()
    }),
    ("contentdownload_outcomes_total", "Downloads that are over.", |counts| {
        let sample = |((outcome, reason), count): (&(Outcome, Reason), &u64)| {
            let labels =
                vec![KeyValue::new("outcome", outcome.as_str()), KeyValue::new("reason", reason.as_str())];
            (labels, *count)
        };
        counts.outcomes.iter().map(sample).collect()
    }),
    ("contentdownload_bytes_total", "Bytes that came and were kept.", |counts| {
        vec![(Vec::new(), counts.bytes)]
    }),
];

fn running(jobs: &JobCounts) -> i64 {
    let ended: u64 = jobs.attempts.iter().sum();
    i64::try_from(jobs.started.saturating_sub(ended)).unwrap_or(i64::MAX)
}

impl Spans for Export {
    fn attempt(&self, lease: &Lease) -> Span {
        let span = tracing::info_span!(
            target: "queue",
            "job",
            otel.kind = "consumer",
            job.id = lease.lease.job.0,
            job.attempt = lease.lease.attempt,
            job.queue = lease.queue.as_str(),
            job.kind = lease.kind.as_str(),
            artifact.id = lease.unique_key.as_ref().map(|key| key.as_str()),
        );
        continue_trace(&span, lease.trace.as_deref());
        span
    }

    fn request(&self, method: &str, route: &str, traceparent: Option<&str>) -> (Span, Option<String>) {
        let span = tracing::info_span!(
            target: "http",
            "request",
            otel.name = format!("{method} {route}"),
            otel.kind = "server",
            http.request.method = method,
            http.route = route,
            http.status_code = tracing::field::Empty,
        );
        continue_trace(&span, traceparent);
        let mut carrier = HashMap::new();
        TraceContextPropagator::new().inject_context(&span.context(), &mut carrier);
        (span, carrier.remove(TRACEPARENT))
    }
}

/// Makes a span part of the trace that this context is of. One that cannot be read begins a trace of its own.
fn continue_trace(span: &Span, traceparent: Option<&str>) {
    let carrier: HashMap<String, String> =
        traceparent.map(|context| (TRACEPARENT.to_owned(), context.to_owned())).into_iter().collect();
    let parent = TraceContextPropagator::new().extract_with_context(&Context::new(), &carrier);
    if let Err(error) = span.set_parent(parent) {
        tracing::debug!(target: "telemetry", %error, "a span is in no trace");
    }
}

fn headers(text: &str) -> Result<HashMap<String, String>, ExportError> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let header = |part: &str| {
        let (name, value) = part.split_once('=').filter(|(name, _)| !name.trim().is_empty())?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
    };
    parts.map(|part| header(part).ok_or(ExportError::Headers)).collect()
}
