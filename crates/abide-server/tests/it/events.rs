//! The live feed.

use crate::server::Server;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

/// A stream of events.
pub(crate) struct Events(BufReader<TcpStream>);

/// One event.
#[derive(Debug)]
pub(crate) struct Event {
    word: String,
    id: String,
    pub(crate) data: Value,
}

impl Events {
    pub(crate) fn open(server: &Server, path: &str, headers: &str) -> Events {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n").unwrap();
        let mut events = Events(BufReader::new(stream));
        let mut head = String::new();
        while events.line(&mut head) && !head.ends_with("\r\n\r\n") {}
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        events
    }

    fn line(&mut self, text: &mut String) -> bool {
        self.0.read_line(text).unwrap() > 0
    }

    /// The next event; none at the end of the stream. Comments and the lengths of chunks are passed over.
    pub(crate) fn next(&mut self) -> Option<Event> {
        let mut event = Event { word: String::new(), id: String::new(), data: Value::Null };
        loop {
            let mut line = String::new();
            if !self.line(&mut line) {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("event", word)) => event.word = word.to_owned(),
                Some(("id", id)) => event.id = id.to_owned(),
                Some(("data", data)) => event.data = serde_json::from_str(data).unwrap(),
                Some(_) => {}
                None if line == "0\r\n" => return None,
                None if line == "\n" && !event.word.is_empty() => return Some(event),
                None => {}
            }
        }
    }

    /// The next `count` events without their times.
    fn take(&mut self, count: usize) -> Vec<(String, Value)> {
        let one = |_| {
            let mut event = self.next().expect("the stream goes on");
            event.data.as_object_mut().unwrap().remove("at");
            (event.word, event.data)
        };
        (0..count).map(one).collect()
    }
}

fn word(word: &str, data: Value) -> (String, Value) {
    (word.to_owned(), data)
}

fn job(job: i64, from: Value, to: &str, attempt: u32, ended: Value) -> (String, Value) {
    word(
        "job",
        json!({ "job": job, "queue": "q", "kind": "k", "from": from, "to": to, "attempt": attempt, "ended": ended }),
    )
}

/// Waits until something holds, looking whenever something changes on the server.
pub(crate) fn until(server: &Server, headers: &str, holds: impl Fn() -> bool) {
    let mut events = Events::open(server, "/v1/events", headers);
    while !holds() {
        events.next().expect("the stream goes on");
    }
}

#[test]
fn everything_that_changes_is_told_in_order() {
    let server = Server::start();
    let mut events = Events::open(&server, "/v1/events", "");
    let begin = events.next().unwrap();
    assert!(begin.word == "begin" && begin.data["at"].as_i64() > Some(0), "{begin:?}");
    server.ok("POST /v1/jobs", r#"{"queue":"q","kind":"k"}"#);
    let ask = r#"{"worker":"w","queues":["q"],"kinds":["k"]}"#;
    let lease = server.ok("POST /v1/lease", ask)["leases"][0].clone();
    let end = json!({ "attempt": 1, "token": lease["token"], "end": "done", "result": 1 });
    server.ok("POST /v1/jobs/1/finish", &end.to_string());
    server.ok("POST /v1/queues/q/pause", "");
    server.ok("POST /v1/objects/toy/a/call", r#"{"add":1}"#);
    server.ok("POST /v1/objects/toy/a/call", r#""delete""#);
    let expected = [
        job(1, json!(null), "ready", 0, json!(null)),
        job(1, json!("ready"), "running", 1, json!(null)),
        job(1, json!("running"), "done", 1, json!("done")),
        word("queue", json!({ "queue": "q", "paused": true })),
        word("object", json!({ "kind": "toy", "name": "a", "version": 1 })),
        word("object", json!({ "kind": "toy", "name": "a", "version": null })),
    ];
    assert_eq!(events.take(6), expected);
}

#[test]
fn a_reader_sees_what_it_asked_for() {
    let server = Server::start();
    let mut of_queue = Events::open(&server, "/v1/events?queue=q", "");
    let mut of_kind = Events::open(&server, "/v1/events?kind=toy", "");
    let mut of_object = Events::open(&server, "/v1/events?object=toy%2Fb", "");
    for events in [&mut of_queue, &mut of_kind, &mut of_object] {
        events.next().unwrap();
    }
    for (line, body) in [
        ("POST /v1/jobs", r#"{"queue":"other","kind":"toy"}"#),
        ("POST /v1/objects/toy/a/call", r#"{"add":1}"#),
        ("POST /v1/objects/toy/b/call", r#"{"add":1}"#),
        ("POST /v1/jobs", r#"{"queue":"q","kind":"k"}"#),
    ] {
        server.ok(line, body);
    }
    assert_eq!(of_queue.take(1)[0].1["job"], json!(2));
    assert_eq!(of_object.take(1)[0].1["name"], json!("b"));
    let kinds: Vec<String> = of_kind.take(3).into_iter().map(|(word, _)| word).collect();
    assert_eq!(kinds, ["job", "object", "object"]);
    for (query, said) in [
        ("object=nameless", r#"object is \"nameless\": name an object by kind and name"#),
        ("object=toy%2F", "object: an object's name"),
        ("queu=q", "queu"),
        ("queue=%00", "a queue's name"),
        ("queue=No%20queue", "a queue's name"),
        ("kind=%00", "kind"),
    ] {
        let refused = server.ask(&format!("GET /v1/events?{query}"), "");
        assert!(refused.status == 400 && refused.body.contains(said), "{query}: {refused}");
    }
}

#[test]
fn a_reader_that_comes_back_misses_nothing_or_is_told() {
    let server = Server::start();
    let mut events = Events::open(&server, "/v1/events", "");
    server.ok("POST /v1/objects/toy/a/call", r#"{"add":1}"#);
    let begin = events.next().unwrap();
    assert_eq!(begin.word, "begin");
    let first = events.next().unwrap();
    drop(events);
    server.ok("POST /v1/objects/toy/a/call", r#"{"add":1}"#);
    let again = |id: &str| Events::open(&server, "/v1/events", &format!("Last-Event-ID: {id}\r\n"));
    assert_eq!(again(&first.id).take(1)[0].1["version"], json!(2));
    assert_eq!(again(&begin.id).take(2)[1].1["version"], json!(2));
    for unknown in ["1-1", "", "nothing", "caf\u{e9}"] {
        let reset = again(unknown).next().unwrap();
        assert!(reset.word == "reset" && reset.data["at"].as_i64() > Some(0), "{unknown:?}: {reset:?}");
    }
    let jobs: Vec<Value> = (0..5_000).map(|_| json!({ "queue": "q", "kind": "k" })).collect();
    for many in jobs.chunks(1_000) {
        server.ok("POST /v1/jobs", &json!({ "jobs": many }).to_string());
    }
    let reset = again(&first.id).next().unwrap();
    assert_eq!(reset.word, "reset");
    server.ok("POST /v1/objects/toy/a/call", r#"{"add":1}"#);
    assert_eq!(again(&reset.id).take(1)[0].1["version"], json!(3));
}

#[test]
fn the_stream_ends_when_the_server_stops() {
    let mut server = Server::start();
    let mut events = Events::open(&server, "/v1/events", "");
    assert_eq!(events.next().unwrap().word, "begin");
    let stopped = server.tell_to_stop();
    assert!(events.next().is_none());
    stopped();
}
