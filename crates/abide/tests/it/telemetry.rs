//! Traces and metrics, as a collector gets them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use abide_fetch::testing::{Server, redirect, reply};
use serde_json::json;

use crate::feed::Feed;
use crate::place::Place;
use crate::served::Served;

/// What came in one request.
struct Sent {
    path: String,
    headers: String,
    body: Vec<u8>,
}

/// A collector that takes everything.
struct Collector {
    address: SocketAddr,
    sent: Receiver<Sent>,
}

impl Collector {
    fn start() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (sender, sent) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let sender = sender.clone();
                std::thread::spawn(move || take(stream, &sender));
            }
        });
        Collector { address, sent }
    }

    /// The spans and metrics that came, when whoever sends it has ended.
    fn messages(&self) -> (Vec<Message>, Vec<Message>) {
        let (mut spans, mut metrics) = (Vec::new(), Vec::new());
        for Sent { path, headers, body } in self.sent.try_iter() {
            assert!(headers.contains("x-key: secret"), "{headers}");
            // Both are resources, with scopes, with what was measured in them.
            let scopes = Message(body).inner(1).into_iter().flat_map(|resource| resource.inner(2));
            let found = scopes.flat_map(|scope| scope.inner(2));
            match path.as_str() {
                "/v1/traces" => spans.extend(found),
                "/v1/metrics" => metrics.extend(found),
                other => panic!("the collector was sent something to {other}"),
            }
        }
        (spans, metrics)
    }
}

/// Answers the requests of one connection.
fn take(stream: TcpStream, sender: &Sender<Sent>) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let path = head.split(' ').nth(1)?.to_owned();
        let headers = head.to_ascii_lowercase();
        let length = headers.lines().find_map(|line| line.strip_prefix("content-length: "))?;
        let mut body = vec![0; length.trim().parse().ok()?];
        stream.read_exact(&mut body).ok()?;
        sender.send(Sent { path, headers, body }).ok()?;
        stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").ok()?;
    }
}

/// A message of Protocol Buffers: as much of the format as is needed here.
struct Message(Vec<u8>);

impl Message {
    /// The fields that are bytes, text or messages, with their numbers.
    fn fields(&self) -> Vec<(u64, &[u8])> {
        let (mut rest, mut fields) = (self.0.as_slice(), Vec::new());
        while !rest.is_empty() {
            let key = varint(&mut rest);
            let length = match key & 7 {
                0 => {
                    varint(&mut rest);
                    continue;
                }
                1 => 8,
                5 => 4,
                _ => usize::try_from(varint(&mut rest)).expect("a length"),
            };
            let (field, after) = rest.split_at(length);
            fields.push((key >> 3, field));
            rest = after;
        }
        fields
    }

    fn field(&self, number: u64) -> &[u8] {
        self.fields().into_iter().find(|(found, _)| *found == number).map_or(&[], |(_, field)| field)
    }

    fn inner(&self, number: u64) -> Vec<Message> {
        let fields = self.fields().into_iter().filter(|(found, _)| *found == number);
        fields.map(|(_, field)| Message(field.to_vec())).collect()
    }

    fn text(&self, number: u64) -> String {
        String::from_utf8_lossy(self.field(number)).into_owned()
    }

    /// A number of eight bytes.
    fn number(&self, number: u64) -> u64 {
        self.field(number).try_into().map_or(0, u64::from_le_bytes)
    }

    /// Attributes, as `name=value`, in the order of their names. Numbers are left out.
    fn labels(&self, number: u64) -> String {
        let labels = self.inner(number).into_iter();
        let labels: BTreeSet<String> = labels
            .map(|label| format!("{}={}", label.text(1), Message(label.field(2).to_vec()).text(1)))
            .collect();
        labels.into_iter().collect::<Vec<_>>().join(",")
    }

    fn hex(&self, number: u64) -> String {
        self.field(number).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The last value of each metric with its labels; of a histogram, how many there were.
fn values(metrics: &[Message]) -> BTreeMap<String, u64> {
    let mut values = BTreeMap::new();
    for metric in metrics {
        let name = metric.text(1);
        for point in metric.inner(7).iter().flat_map(|sum| sum.inner(1)) {
            values.insert(format!("{name} {}", point.labels(7)), point.number(6));
        }
        for point in metric.inner(9).iter().flat_map(|histogram| histogram.inner(1)) {
            values.insert(format!("{name} {}", point.labels(9)), point.number(4));
        }
    }
    values
}

/// Those of the values that are meant.
#[track_caller]
fn check_values(metrics: &[Message], expected: &[(&str, u64)]) {
    let found = values(metrics);
    for (name, value) in expected {
        assert_eq!(found.get(*name), Some(value), "{name} in {found:#?}");
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for place in 0..10 {
        let (byte, rest) = bytes.split_first().expect("a whole number");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

#[test]
fn a_trace_goes_from_the_request_through_the_job_to_each_attempt() {
    let collector = Collector::start();
    let place = Place::new()
        .env("ABIDE_TELEMETRY_OTLP_ENDPOINT", &format!("http://{}/", collector.address))
        .env("ABIDE_TELEMETRY_OTLP_HEADERS", "x-key=secret")
        .env("ABIDE_FETCH_ALLOW_PRIVATE", "true");
    let served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir data");
    let mut feed = Feed::of(&served);
    // Nobody listens there any more.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let job = json!({
        "queue": "download", "kind": "download", "unique_key": "artifact-1", "max_attempts": 2,
        "backoff": { "base_ms": 1, "cap_ms": 1 }, "payload": { "artifact_id": "artifact-1", "url": format!("http://{closed}/a") },
    });
    let (trace, caller) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    let came_with = format!("00-{trace}-{caller}-01");
    let made = served.client().request("POST /v1/jobs", &[("traceparent", &came_with)], &job.to_string());
    let job = made.unwrap().json()["job"].clone();
    // Nobody finds its URL.
    let waits = json!({ "queue": "download", "kind": "resolve", "payload": { "artifact_id": "b" } });
    assert_eq!(served.ask("POST /v1/jobs", &waits.to_string()).status, 201);
    feed.until_job(&job, "failed");
    let shown = served.ok(&format!("GET /v1/jobs/{job}"), "");
    assert_eq!(shown["attempts"].as_array().unwrap().len(), 2, "{shown}");
    let (code, stderr) = served.terminate();
    assert_eq!(code, Some(0), "{stderr}");

    let (spans, metrics) = collector.messages();
    let named = |name: &str| spans.iter().filter(|span| span.text(5) == name).collect::<Vec<_>>();
    let enqueued = named("POST /v1/jobs").into_iter().filter(|span| span.hex(1) == trace).collect::<Vec<_>>();
    let [request] = enqueued[..] else { panic!("one request of the trace enqueued it") };
    assert_eq!(request.hex(4), caller);
    let goes_on_with = format!("00-{trace}-{}-01", request.hex(2));
    assert_eq!(shown["trace"], json!(goes_on_with));
    let attempts: Vec<_> = named("job").iter().map(|span| (span.hex(1), span.hex(4))).collect();
    assert_eq!(attempts, vec![(trace.to_owned(), request.hex(2)); 2]);

    check_values(
        &metrics,
        &[
            ("abide_jobs_enqueued_total queue=download", 2),
            ("abide_jobs_started_total queue=download", 2),
            ("abide_jobs_retried_total queue=download", 1),
            ("abide_lease_expiries_total queue=download", 0),
            ("contentdownload_queue_depth queue=download", 1),
            ("contentdownload_jobs_inflight queue=download", 0),
            ("contentdownload_jobs_completed_total queue=download", 0),
            ("contentdownload_jobs_failed_total queue=download", 1),
            ("contentdownload_attempts_total reason=conn-error,resolver=,status=,verb=GET", 2),
            ("contentdownload_retries_total reason=conn-error,resolver=", 1),
            ("contentdownload_outcomes_total outcome=error,reason=conn-error,resolver=", 1),
            ("contentdownload_bytes_total resolver=", 0),
        ],
    );
}

/// The names of spans below the one with this id, each with those below it.
fn below(spans: &[Message], id: &str) -> BTreeSet<String> {
    let children = spans.iter().filter(|span| span.hex(4) == id);
    children
        .flat_map(|child| {
            let inner = below(spans, &child.hex(2));
            let name = child.text(5);
            let deeper = inner.into_iter().map({
                let name = name.clone();
                move |inner| format!("{name} > {inner}")
            });
            [name].into_iter().chain(deeper).collect::<Vec<_>>()
        })
        .collect()
}

/// A place whose commands send to a collector.
fn with(collector: &Collector) -> Place {
    Place::new()
        .env("ABIDE_TELEMETRY_OTLP_ENDPOINT", &format!("http://{}/", collector.address))
        .env("ABIDE_TELEMETRY_OTLP_HEADERS", "x-key=secret")
        .env("ABIDE_FETCH_ALLOW_PRIVATE", "true")
}

#[test]
fn a_download_is_told_step_by_step() {
    let collector = Collector::start();
    let files = Server::start(|request| match request.path.as_str() {
        "/a" => reply(200, &[], b"content"),
        _ => reply(404, &[], b""),
    });
    let place = with(&collector);
    let mut enter = place.command("queue enqueue a");
    let entered = enter.arg(json!({ "url": files.url("/a"), "resolver_hint": "arxiv" }).to_string()).output();
    assert!(entered.unwrap().status.success());
    assert_eq!(place.run("queue enqueue without-a-url").code, Some(0));
    let run = place.run("queue run --drain --out files");
    assert_eq!(run.code, Some(0), "{run}");

    let (spans, metrics) = collector.messages();
    let one = |name: &str| {
        let found: Vec<_> = spans.iter().filter(|span| span.text(5) == name).collect();
        let [span] = found[..] else { panic!("{} spans have the name {name}", found.len()) };
        span
    };
    let steps: Vec<String> = below(&spans, &one("job").hex(2)).into_iter().collect();
    assert_eq!(
        steps,
        [
            "artifact",
            "artifact > finalize",
            "artifact > http.request",
            "artifact > prepare",
            "artifact > stream"
        ]
    );
    let says = |span: &Message, text: &str| String::from_utf8_lossy(&span.0).contains(text);
    let dispatch = one("orchestrator.dispatch");
    assert!(says(dispatch, "leased") && dispatch.hex(1) != one("job").hex(1));
    assert!(says(one("artifact"), "artifact.id") && says(one("artifact"), "arxiv"));
    let asked = spans.iter().filter(|span| span.text(5) == "http.request");
    for request in asked {
        let host = format!("host={}", files.address);
        assert!(says(request, "http.status_code") && request.labels(9).contains("resolver=arxiv"));
        assert!(request.labels(9).contains(&host), "{}", request.labels(9));
    }
    let of_files = |span: &&Message| says(span, &files.url("/a"));
    assert_eq!(spans.iter().filter(of_files).count(), 0, "no span has a URL");
    check_values(
        &metrics,
        &[
            ("contentdownload_queue_depth queue=download", 1),
            ("contentdownload_jobs_inflight queue=download", 0),
            ("contentdownload_jobs_completed_total queue=download", 1),
            ("contentdownload_jobs_failed_total queue=download", 0),
            ("contentdownload_attempts_total reason=ok,resolver=arxiv,status=200,verb=GET", 1),
            ("contentdownload_outcomes_total outcome=success,reason=ok,resolver=arxiv", 1),
            ("contentdownload_bytes_total resolver=arxiv", 7),
            ("contentdownload_http_latency_ms resolver=arxiv,verb=GET", 1),
        ],
    );
    assert!(!values(&metrics).keys().any(|name| name.starts_with("contentdownload_retries_total")));
}

#[test]
fn a_download_tells_how_long_it_waited_where_redirects_led_it() {
    let collector = Collector::start();
    let files = Server::start(|request| {
        if request.path == "/robots.txt" {
            return reply(404, &[], b"");
        }
        // Nothing is ever sent: the file takes as long as this waits.
        let (_sender, never) = channel::<()>();
        assert!(never.recv_timeout(Duration::from_millis(50)).is_err());
        reply(200, &[], b"content")
    });
    let lines = (0..8).map(|n| {
        let to = files.url(&format!("/{n}"));
        let lead = Server::start(move |request| match request.path.as_str() {
            "/robots.txt" => reply(404, &[], b""),
            _ => redirect(&to),
        });
        format!("{}\n", json!({ "id": format!("w{n}"), "url": lead.url("/") }))
    });
    let list: String = lines.collect();
    let place = with(&collector).file("work/list.jsonl", &list);
    assert_eq!(place.run("queue import list.jsonl").code, Some(0));
    let run = place.run("queue run --drain --out files --max-per-host 1");
    assert_eq!(run.code, Some(0), "{run}");

    let (spans, _) = collector.messages();
    let waits: Vec<Message> = spans
        .iter()
        .filter(|span| span.text(5) == "artifact")
        .flat_map(|span| span.inner(11))
        .filter(|event| event.text(2) == "host_concurrency_wait_ms")
        .collect();
    assert!(!waits.is_empty(), "somebody waited");
    for wait in waits {
        let labels = wait.labels(3);
        assert!(labels.contains(&format!("host={}", files.address)), "{labels}");
        assert!(labels.contains("host_concurrency_wait_ms="), "{labels}");
    }
}

#[test]
fn a_trace_goes_on_in_a_worker_beside_the_server() {
    let collector = Collector::start();
    let files = Server::start(|request| match request.path.as_str() {
        "/a" => reply(200, &[], b"content"),
        _ => reply(404, &[], b""),
    });
    let place = with(&collector).env("ABIDE_DOWNLOADS_WORKERS", "0");
    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    let job =
        json!({ "queue": "download", "kind": "download", "payload": { "id": "a", "url": files.url("/a") } });
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let came_with = format!("00-{trace}-b7ad6b7169203331-01");
    let made = served.client().request("POST /v1/jobs", &[("traceparent", &came_with)], &job.to_string());
    assert_eq!(made.unwrap().status, 201);
    let run = place.run("queue run --drain --out files");
    assert!(run.code == Some(0) && run.stderr.contains("for the running server"), "{run}");
    assert_eq!(served.terminate().0, Some(0));

    let (spans, _) = collector.messages();
    let named = |name: &str| spans.iter().find(|span| span.text(5) == name).unwrap();
    let (request, attempt) = (named("POST /v1/jobs"), named("job"));
    assert_eq!((attempt.hex(1), attempt.hex(4)), (trace.to_owned(), request.hex(2)));
    assert!(below(&spans, &attempt.hex(2)).contains("artifact > http.request"));
}

#[test]
fn a_trace_goes_on_through_objects_and_their_messages() {
    let collector = Collector::start();
    let place = with(&collector);
    let served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir data");
    let mut feed = Feed::of(&served);
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let came_with = format!("00-{trace}-b7ad6b7169203331-01");
    let item = json!({ "message": "hello", "delay": 0, "mode": "queue" }).to_string();
    let headers = [("traceparent", came_with.as_str())];
    let made = served.client().request("POST /coordinator/demo/queue", &headers, &item).unwrap();
    assert_eq!(made.status, 200, "{}", made.body);
    feed.until(|data| data["to"] == "done");
    let job = served.ok("GET /v1/jobs", "")["jobs"][0].clone();
    let (code, stderr) = served.terminate();
    assert_eq!(code, Some(0), "{stderr}");

    let (spans, _) = collector.messages();
    let request = spans.iter().find(|span| span.text(5) == "POST /coordinator/{name}/queue").unwrap();
    assert_eq!(job["trace"], json!(format!("00-{trace}-{}-01", request.hex(2))));
    let attempt = spans.iter().find(|span| span.text(5) == "job").unwrap();
    assert_eq!((attempt.hex(1), attempt.hex(4)), (trace.to_owned(), request.hex(2)));
}

#[test]
fn headers_that_cannot_be_read_are_refused_and_not_shown() {
    let place = Place::new()
        .env("ABIDE_TELEMETRY_OTLP_ENDPOINT", "http://127.0.0.1:9")
        .env("ABIDE_TELEMETRY_OTLP_HEADERS", "hush");
    let run = place.run("serve --listen 127.0.0.1:0 --data-dir data");
    assert_eq!(run.code, Some(2), "{run}");
    assert!(run.stderr.contains("telemetry.otlp_headers") && !run.stderr.contains("hush"), "{run}");
}
