//! `abide serve` and `abide bench --serve`: real HTTP, a real data directory.

use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc::channel;
use std::time::Duration;

use abide_fetch::testing::{Act, Server, head, reply};
use serde_json::json;

use crate::feed::Feed;
use crate::place::Place;
use crate::served::Served;

const SERVE: &str = "serve --listen 127.0.0.1:0 --data-dir data";
const BENCH: &str = "bench --serve 127.0.0.1:0 --data-dir data";

#[test]
fn it_serves_and_says_where() {
    let place = Place::new();
    let served = Served::start(&place, SERVE);
    assert_eq!(served.first_line(), format!("listening on http://{}, data in data", served.address));
    assert_eq!(served.ok("GET /health", ""), json!({ "status": "ok" }));
    assert_eq!(served.ok("GET /ready", ""), json!({ "status": "ready" }));
    let mode = |path: &str| place.path(path).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode("work/data"), mode("work/data/abide.lock"), mode("work/data/abide.db")),
        (0o700, 0o600, 0o600)
    );
    let (code, stderr) = served.terminate();
    assert_eq!(code, Some(0), "{stderr}");

    let served = Served::start(&place, &format!("{SERVE} --json"));
    let line: serde_json::Value = serde_json::from_str(served.first_line()).unwrap();
    assert_eq!(line, json!({ "listening": format!("http://{}", served.address), "data_dir": "data" }));
}

#[test]
fn what_was_acknowledged_is_there_after_a_restart() {
    let place = Place::new();
    let served = Served::start(&place, BENCH);
    let call = "POST /v1/objects/counter/c/call";
    assert_eq!(served.ok(call, r#"{"add":2,"id":"a"}"#), json!({ "value": 2 }));
    assert_eq!(served.ok(call, r#"{"add":3}"#), json!({ "value": 5 }));
    assert_eq!(served.ask(call, r#"{"get":true,"add":1}"#).status, 400);
    assert_eq!(served.ask(call, r#"{"add":9223372036854775807}"#).status, 409);
    served.ok("POST /v1/jobs", r#"{"queue":"q","kind":"k","unique_key":"a"}"#);
    let why = served.ok("GET /v1/jobs/1/why", "");
    assert_eq!(why["causes"][0]["cause"], json!("no_worker"), "{why}");
    assert_eq!(served.terminate().0, Some(0));

    let served = Served::start(&place, BENCH);
    assert_eq!(served.ok(call, r#"{"get":true}"#), json!({ "value": 5 }));
    let rows = served.ok("GET /v1/objects/counter/c/rows?prefix=id/", "");
    assert_eq!(rows["rows"], json!([{ "key": "id/a", "schema": 1, "value": 1 }]));
    let again = served.ok("POST /v1/jobs", r#"{"queue":"q","kind":"k","unique_key":"a"}"#);
    assert_eq!(again, json!({ "job": 1, "duplicate": true }));
}

#[test]
fn jobs_of_the_bench_are_run() {
    let served = Served::start(&Place::new(), BENCH);
    let mut feed = Feed::of(&served);
    let jobs: Vec<_> = (0..100).map(|_| json!({ "queue": "bench", "kind": "noop" })).collect();
    served.ok("POST /v1/jobs", &json!({ "jobs": jobs }).to_string());
    for _ in jobs {
        feed.until(|data| data["to"] == "done");
    }
    assert_eq!(served.ok("GET /v1/queues/bench", "")["counts"]["done"], json!(100));
}

#[test]
fn a_second_process_is_told_who_is_there() {
    let place = Place::new();
    let served = Served::start(&place, SERVE);
    let run = place.run(SERVE);
    let says = format!(
        "exit 3\nerror: the data directory cannot be used: data is in use by process {}, which listens on {}. \
         Stop that process, or give another data directory\n",
        served.pid(),
        served.address
    );
    assert_eq!(run.to_string(), says);
    assert!(place.run(&format!("{SERVE} --json")).stderr.contains(r#""code":"data_dir_in_use""#));
    served.ok("GET /ready", "");
}

#[test]
fn clients_that_misbehave_do_no_harm() {
    let place = Place::new();
    let served = Served::start(&place, BENCH);
    let silent: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(served.address).unwrap()).collect();
    let mut slow = served.client();
    slow.send(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{").unwrap();
    let mut garbage = served.client();
    garbage.send(&[0xff; 4_096]).unwrap();
    let mut large = served.client();
    let head = format!("POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", 100 << 20);
    large.send(head.as_bytes()).unwrap();
    let piece = vec![b' '; 1 << 20];
    for _ in 0..100 {
        large.send(&piece).unwrap();
    }
    let reply = large.read().unwrap();
    assert!(reply.status == 413 && reply.body.contains("4194304 bytes"), "{reply}");
    assert_eq!(served.ok("POST /v1/objects/counter/c/call", r#"{"add":1}"#), json!({ "value": 1 }));
    served.ok("GET /ready", "");
    let (code, stderr) = served.terminate();
    assert_eq!(code, Some(0), "{stderr}");
    drop((silent, slow));
}

#[test]
fn workers_that_wait_keep_nobody_out() {
    let place = Place::new();
    let served = Served::start(&place, BENCH);
    let body = r#"{"worker":"w","queues":["none"],"kinds":["none"],"wait_ms":30000}"#;
    let (sender, answers) = channel();
    for mut client in (0..800).map(|_| served.client()).collect::<Vec<_>>() {
        let sender = sender.clone();
        // Those who are still answered when the test is over tell nobody.
        std::thread::spawn(move || drop(sender.send(client.request("POST /v1/lease", &[], body))));
    }
    // Some are sent away at once, so that their connections are free for others.
    let turned_away = answers.iter().find_map(Result::ok).unwrap();
    assert_eq!((turned_away.status, &turned_away.json()["error"]["code"]), (429, &json!("overloaded")));
    assert_eq!(turned_away.header("retry-after"), Some("1"));
    served.ok("GET /health", "");
    served.ok("POST /v1/jobs", r#"{"queue":"q","kind":"k"}"#);
    let lease =
        served.ok("POST /v1/lease", r#"{"worker":"w","queues":["q"],"kinds":["k"]}"#)["leases"][0].clone();
    let beat = json!({ "attempt": lease["attempt"], "token": lease["token"] }).to_string();
    served.ok("POST /v1/jobs/1/heartbeat", &beat);
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn the_second_signal_ends_it_at_once() {
    let files = Server::start(|request| match request.path.as_str() {
        "/robots.txt" => reply(404, &[], b""),
        _ => Act::RawThenHold(head(200, &[("Content-Length", "10")])),
    });
    let place = Place::new().env("ABIDE_SERVER_DRAIN_MS", "3600000").env("ABIDE_FETCH_ALLOW_PRIVATE", "true");
    let served = Served::start(&place, SERVE);
    let mut feed = Feed::of(&served);
    let payload = json!({ "artifact_id": "slow", "url": files.url("/slow") });
    let job = json!({ "queue": "download", "kind": "download", "payload": payload });
    served.ok("POST /v1/jobs", &job.to_string());
    feed.until(|data| data["to"] == "running");
    served.signal();
    // It drains: who follows it is let go.
    feed.until_end();
    // Within a second it would be the same word.
    let (_sender, never) = channel::<()>();
    assert!(never.recv_timeout(Duration::from_millis(1_100)).is_err());
    let (code, stderr) = served.terminate();
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("told to stop again: ending at once"), "{stderr}");

    let served = Served::start(&place, SERVE);
    assert_eq!(served.ok("GET /v1/jobs/1", "")["payload"], payload);
    served.kill();
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let place = Place::new().file("work/data/abide.db", "this is not a database, whatever its name says");
    let run = place.run(SERVE);
    assert_eq!(run.code, Some(3), "{run}");
    assert!(run.stderr.contains("data/abide.db is damaged or no database"), "{run}");
}
