//! Workers outside of the process: lease, heartbeat, progress, finish.

use crate::server::Server;
use serde_json::{Value, json};

fn ask(wait_ms: u32) -> String {
    json!({ "worker": "w1", "queues": ["q"], "kinds": ["k"], "max": 10, "lease_ms": 60_000, "wait_ms": wait_ms })
        .to_string()
}

fn enqueue(server: &Server, more: &Value) -> i64 {
    let mut job = json!({ "queue": "q", "kind": "k", "payload": { "n": 1 } });
    for (name, value) in more.as_object().expect("as the test made it") {
        job[name] = value.clone();
    }
    server.ok("POST /v1/jobs", &job.to_string())["job"].as_i64().expect("as the test made it")
}

fn lease(server: &Server) -> Value {
    let leases = server.ok("POST /v1/lease", &ask(30_000));
    assert_eq!(leases["leases"].as_array().expect("as the test made it").len(), 1, "{leases}");
    leases["leases"][0].clone()
}

/// Says something about an attempt.
fn say(server: &Server, lease: &Value, verb: &str, mut more: Value) -> crate::client::Reply {
    more["attempt"] = lease["attempt"].clone();
    more["token"] = lease["token"].clone();
    server.ask(&format!("POST /v1/jobs/{}/{verb}", lease["job"]), &more.to_string())
}

#[test]
fn a_job_is_leased_with_all_that_its_worker_needs() {
    let server = Server::start();
    let job = enqueue(&server, &json!({ "unique_key": "a" }));
    let mut lease = lease(&server);
    let token = lease["token"].take();
    assert_eq!(token.as_str().unwrap().len(), 16);
    assert!(lease["lease_expires_at"].take().as_i64().unwrap() > 0);
    assert_eq!(
        lease,
        json!({
            "job": job, "attempt": 1, "token": null, "queue": "q", "kind": "k", "payload": { "n": 1 },
            "unique_key": "a", "failures": 0, "max_attempts": 3, "lease_expires_at": null, "trace": null,
        })
    );
    let why = server.ok(&format!("GET /v1/jobs/{job}/why"), "");
    assert_eq!((&why["causes"][0]["cause"], &why["causes"][0]["worker"]), (&json!("running"), &json!("w1")));
}

#[test]
fn a_poll_waits_for_a_job() {
    let server = Server::start();
    assert_eq!(server.ok("POST /v1/lease", &ask(0)), json!({ "leases": [] }));
    std::thread::scope(|scope| {
        let poll = scope.spawn(|| lease(&server));
        let job = enqueue(&server, &json!({}));
        assert_eq!(poll.join().unwrap()["job"], json!(job));
    });
}

#[test]
fn a_poll_sees_a_job_become_due() {
    let server = Server::start();
    std::thread::scope(|scope| {
        let poll = scope.spawn(|| lease(&server));
        let job = enqueue(&server, &json!({ "delay_ms": 300 }));
        assert_eq!(poll.join().unwrap()["job"], json!(job));
    });
}

#[test]
fn a_worker_that_asks_is_known() {
    let server = Server::start();
    let job = enqueue(&server, &json!({ "delay_ms": 9_999_999_999_i64 }));
    let causes = || {
        let why = server.ok(&format!("GET /v1/jobs/{job}/why"), "");
        let causes = why["causes"].as_array().unwrap().iter();
        causes.map(|cause| cause["cause"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(causes(), ["scheduled", "no_worker"]);
    server.ok("POST /v1/lease", &ask(0));
    assert_eq!(causes(), ["scheduled"]);
}

#[test]
fn an_attempt_beats_notes_and_finishes_once() {
    let server = Server::start();
    let job = enqueue(&server, &json!({}));
    let lease = lease(&server);
    let held = say(&server, &lease, "heartbeat", json!({ "lease_ms": 120_000 })).json();
    assert!(held["lease_expires_at"].as_i64() > lease["lease_expires_at"].as_i64(), "{held} {lease}");
    assert_eq!(held["cancel_asked"], json!(false));
    assert_eq!(say(&server, &lease, "progress", json!({ "progress": { "pages": 3 } })).status, 200);
    assert_eq!(server.ok(&format!("GET /v1/jobs/{job}"), "")["progress"], json!({ "pages": 3 }));
    let done = json!({ "end": "done", "result": { "size": 12 } });
    let finished = say(&server, &lease, "finish", done.clone()).json();
    assert_eq!(finished, json!({ "job": job, "state": "done", "run_at": null, "repeated": false }));
    let again = say(&server, &lease, "finish", done).json();
    assert_eq!(again["repeated"], json!(true));
    let shown = server.ok(&format!("GET /v1/jobs/{job}"), "");
    assert_eq!((&shown["result"], &shown["attempts"][0]["end"]), (&json!({ "size": 12 }), &json!("done")));
    let beat = say(&server, &lease, "heartbeat", json!({}));
    assert_eq!((beat.status, &beat.json()["error"]["code"]), (409, &json!("lease_lost")));
}

#[test]
fn every_end_leads_where_it_should() {
    let server = Server::start();
    let cases = [
        (json!({ "end": "done" }), "done"),
        (json!({ "end": "skipped", "reason": "nothing new" }), "skipped"),
        (json!({ "end": "error", "reason": "no route" }), "scheduled"),
        (json!({ "end": "error", "reason": "busy", "retry": { "after_ms": 9_000_000 } }), "scheduled"),
        (json!({ "end": "error", "reason": "404", "retry": "never" }), "failed"),
        (
            json!({ "end": "error", "reason": "not now", "retry": { "uncounted_after_ms": 9_000_000 } }),
            "scheduled",
        ),
        (json!({ "end": "handed_back" }), "ready"),
    ];
    for (end, state) in cases {
        let job = enqueue(&server, &json!({}));
        let lease = lease(&server);
        let finished = say(&server, &lease, "finish", end.clone());
        assert_eq!((finished.status, &finished.json()["state"]), (200, &json!(state)), "{end}");
        let counts = end["end"] == "error" && end["retry"].get("uncounted_after_ms").is_none();
        let failures = server.ok(&format!("GET /v1/jobs/{job}"), "")["failures"].clone();
        assert_eq!(failures, json!(u32::from(counts)), "{end}");
        if state == "ready" {
            assert_eq!(server.ok(&format!("POST /v1/jobs/{job}/cancel"), "")["state"], json!("cancelled"));
        }
    }
}

#[test]
fn an_end_that_makes_no_sense_is_refused() {
    let server = Server::start();
    enqueue(&server, &json!({}));
    let lease = lease(&server);
    for bad in [
        json!({ "end": "done", "reason": "?" }),
        json!({ "end": "skipped" }),
        json!({ "end": "error", "result": 1, "reason": "?" }),
        json!({ "end": "handed_back", "reason": "?" }),
        json!({ "end": "finished" }),
        json!({ "end": "done", "cool_down": [{ "key": "a", "for_ms": -1 }] }),
        json!({ "end": "done", "cool_down": [{ "key": "host:a", "for_ms": 1 }] }),
        json!({ "end": "done", "cool_down": [{ "key": "queue:mail", "for_ms": 1 }] }),
        json!({ "end": "error", "reason": "?", "retry": { "after_ms": -5 } }),
        json!({ "end": "error", "reason": "?", "retry": { "after_ms": i64::MAX } }),
        json!({ "end": "error", "reason": "?", "retry": { "uncounted_after_ms": -5 } }),
        json!({ "end": "error", "reason": "?", "retry": { "uncounted_after_ms": i64::MAX } }),
        json!({ "end": "done", "token": "nonsense" }),
    ] {
        assert_eq!(
            say(&server, &lease, "finish", bad.clone()).status,
            if bad.get("token").is_some() { 200 } else { 400 },
            "{bad}"
        );
    }
}

#[test]
fn a_wrong_token_changes_nothing() {
    let server = Server::start();
    let job = enqueue(&server, &json!({}));
    let mut lease = lease(&server);
    lease["token"] = json!("0123456789abcdef");
    for (verb, more) in [
        ("heartbeat", json!({})),
        ("progress", json!({ "progress": 1 })),
        ("vacate", json!({})),
        ("finish", json!({ "end": "done" })),
    ] {
        let reply = say(&server, &lease, verb, more);
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (409, &json!("lease_lost")), "{verb}");
    }
    assert_eq!(server.ok(&format!("GET /v1/jobs/{job}"), "")["state"], json!("running"));
    lease["job"] = json!(99);
    let reply = say(&server, &lease, "finish", json!({ "end": "done" }));
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (404, &json!("unknown_job")));
}

#[test]
fn a_cancelled_job_hears_of_it_at_its_heartbeat() {
    let server = Server::start();
    let job = enqueue(&server, &json!({}));
    let lease = lease(&server);
    assert_eq!(server.ok(&format!("POST /v1/jobs/{job}/cancel"), "")["state"], json!("running"));
    assert_eq!(say(&server, &lease, "heartbeat", json!({})).json()["cancel_asked"], json!(true));
    assert_eq!(say(&server, &lease, "finish", json!({ "end": "done" })).json()["state"], json!("cancelled"));
}

#[test]
fn a_worker_that_is_through_with_a_host_lets_the_next_have_it() {
    let server = Server::start();
    server.ok("PUT /v1/limits/host:a", r#"{"concurrency":1}"#);
    let limited = json!({ "limit_keys": ["host:a"] });
    let [first, second] = [(); 2].map(|()| enqueue(&server, &limited));
    let held = lease(&server);
    assert_eq!(server.ok("POST /v1/lease", &ask(0)), json!({ "leases": [] }));
    let vacated = say(&server, &held, "vacate", json!({}));
    assert_eq!((vacated.status, vacated.json()), (200, json!({ "job": first, "attempt": 1 })));
    assert_eq!(lease(&server)["job"], json!(second));
    assert_eq!(say(&server, &held, "finish", json!({ "end": "done" })).json()["state"], json!("done"));
}

#[test]
fn retry_after_moves_the_key() {
    let server = Server::start();
    let limited = json!({ "limit_keys": ["host:a"] });
    enqueue(&server, &limited);
    let lease = lease(&server);
    let other = enqueue(&server, &limited);
    let end = json!({
        "end": "error", "reason": "429", "retry": "never", "refund": ["host:a"],
        "cool_down": [{ "key": "host:a", "for_ms": 3_600_000 }],
    });
    assert_eq!(say(&server, &lease, "finish", end).status, 200);
    let why = server.ok(&format!("GET /v1/jobs/{other}/why"), "");
    assert_eq!(why["causes"][0]["cause"], json!("cooling_down"), "{why}");
    assert_eq!(server.ok("POST /v1/lease", &ask(0)), json!({ "leases": [] }));
    server.ok("DELETE /v1/limits/host:a", "");
    assert_eq!(server.ok("POST /v1/lease", &ask(0))["leases"][0]["job"], json!(other), "the rest is over");
}

#[test]
fn a_redirect_may_rest_another_key_of_the_class() {
    let server = Server::start();
    enqueue(&server, &json!({ "limit_keys": ["host:a"] }));
    let lease = lease(&server);
    let rests = json!([{ "key": "host:b", "for_ms": 9 }, { "key": "queue:q", "for_ms": 9 }]);
    assert_eq!(say(&server, &lease, "finish", json!({ "end": "done", "cool_down": rests })).status, 200);
}

#[test]
fn a_bad_ask_is_refused() {
    let server = Server::start();
    for (bad, sentence) in [
        (json!({ "max": 0 }), "max is 0: give 1 to 1000"),
        (json!({ "max": 1_001 }), "max is 1001: give 1 to 1000"),
        (json!({ "lease_ms": 1 }), "lease_ms is 1: give 1000 to 600000 and send heartbeats"),
        (json!({ "wait_ms": 60_000 }), "wait_ms is 60000: wait at most 30000 ms and ask again"),
        (json!({ "queues": [] }), "the number of queues is 0: give 1 to 100"),
    ] {
        let mut ask = json!({ "worker": "w", "queues": ["q"], "kinds": ["k"] });
        for (name, value) in bad.as_object().unwrap() {
            ask[name] = value.clone();
        }
        let reply = server.ask("POST /v1/lease", &ask.to_string());
        assert_eq!((reply.status, reply.json()["error"]["message"].as_str()), (400, Some(sentence)));
    }
}

#[test]
fn draining_hands_out_nothing() {
    let mut server = Server::start();
    let job = enqueue(&server, &json!({ "delay_ms": 9_999_999_999_i64 }));
    let mut poll = server.client();
    let body = ask(30_000);
    let head =
        format!("POST /v1/lease HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
    poll.send((head + &body).as_bytes()).unwrap();
    while server.ask(&format!("GET /v1/jobs/{job}/why"), "").body.contains("no_worker") {}
    let wait_for_end = server.tell_to_stop();
    let reply = poll.read().unwrap();
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (503, &json!("stopping")));
    wait_for_end();
}

fn ask_under(server: &Server, key: &str) -> Value {
    let reply = server.client().request("POST /v1/lease", &[("Idempotency-Key", key)], &ask(0)).unwrap();
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.json()["leases"].clone()
}

#[test]
fn a_worker_that_got_no_answer_asks_again_under_its_key() {
    let server = Server::start();
    let job = enqueue(&server, &json!({ "max_attempts": 1 }));
    let first = ask_under(&server, "one");
    let again = ask_under(&server, "one");
    for part in ["job", "attempt", "token", "payload"] {
        assert_eq!(again[0][part], first[0][part], "{part}");
    }
    assert_eq!((&again[0]["job"], again.as_array().unwrap().len()), (&json!(job), 1));
    assert!(again[0]["lease_expires_at"].as_i64() >= first[0]["lease_expires_at"].as_i64());
    assert_eq!(
        (ask_under(&server, "two"), server.ok("POST /v1/lease", &ask(0))["leases"].clone()),
        (json!([]), json!([]))
    );
    assert_eq!(say(&server, &again[0], "finish", json!({ "end": "done" })).status, 200);
    assert_eq!(server.ok(&format!("GET /v1/jobs/{job}"), "")["attempts"].as_array().unwrap().len(), 1);
    assert_eq!(ask_under(&server, "one"), json!([]));
}

#[test]
fn a_worker_that_hung_up_finds_its_job_under_its_key() {
    let server = Server::start();
    let other = enqueue(&server, &json!({ "run_at": 99_999_999_999_999_i64 }));
    let (mut poll, body) = (server.client(), ask(30_000));
    let head = format!(
        "POST /v1/lease HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: k\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    poll.send((head + &body).as_bytes()).unwrap();
    while server.ask(&format!("GET /v1/jobs/{other}/why"), "").body.contains("no_worker") {}
    let job = enqueue(&server, &json!({ "max_attempts": 1 }));
    drop(poll);
    // Whether or not the poll took it before it ended: nothing was handed back, and nobody lost an attempt.
    let found = ask_under(&server, "k");
    assert_eq!((&found[0]["job"], &found[0]["attempt"]), (&json!(job), &json!(1)));
}
