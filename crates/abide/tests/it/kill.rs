//! `kill -9` of the real binary under load: nothing acknowledged is lost, nothing is applied twice.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{Sender, channel};

use serde_json::{Value, json};

use crate::client::{Client, Reply};
use crate::place::Place;
use crate::served::Served;

const BENCH: &str = "bench --serve 127.0.0.1:0 --data-dir data";
const ROUNDS: usize = 3;
const CLIENTS: usize = 4;
/// Answers after which the server is killed.
const ANSWERS: usize = 400;

/// What clients know: the increments and jobs they named, with their answers if there were any.
#[derive(Default)]
struct Known {
    /// Name of an increment, and whether it was acknowledged.
    increments: BTreeMap<String, bool>,
    /// Unique key of a job, and its id if it was acknowledged.
    jobs: BTreeMap<String, Option<i64>>,
}

#[test]
fn a_killed_server_keeps_what_it_acknowledged() {
    let place = Place::new();
    let mut known = Known::default();
    let mut served = Served::start(&place, BENCH);
    for round in 0..ROUNDS {
        let (answered, answers) = channel();
        let address = served.address;
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let answered = answered.clone();
                std::thread::spawn(move || load(address, &format!("{round}.{client}"), &answered))
            })
            .collect();
        drop(answered);
        assert_eq!(answers.iter().take(ANSWERS).count(), ANSWERS, "the clients went on");
        served.kill();
        let clients: Vec<Known> =
            clients.into_iter().map(|client| client.join().expect("a client")).collect();
        for client in &clients {
            known.increments.extend(client.increments.clone());
            known.jobs.extend(client.jobs.clone());
        }
        served = Served::start(&place, BENCH);
        check_increments(&served, &mut known.increments, &clients);
        check_jobs(&served, &mut known.jobs);
    }
    let (code, stderr) = served.terminate();
    assert_eq!(code, Some(0), "{stderr}");
}

/// Increments and enqueues, one after the other, until the server is gone.
fn load(address: SocketAddr, name: &str, answered: &Sender<()>) -> Known {
    let mut known = Known::default();
    let mut client = Client::connect(address).expect("it listens");
    for turn in 0.. {
        let id = format!("{name}.{turn}");
        known.increments.insert(id.clone(), false);
        let Ok(reply) = increment(&mut client, &id) else { break };
        assert_eq!(reply.status, 200, "{reply}");
        known.increments.insert(id.clone(), true);
        known.jobs.insert(id.clone(), None);
        let Ok(reply) = enqueue(&mut client, &id) else { break };
        assert_eq!(reply.status, 201, "{reply}");
        known.jobs.insert(id, reply.json()["job"].as_i64());
        if answered.send(()).is_err() {
            break;
        }
    }
    known
}

fn increment(client: &mut Client, id: &str) -> io::Result<Reply> {
    let body = json!({ "add": 1, "id": id }).to_string();
    client.request("POST /v1/objects/counter/c/call", &[("Idempotency-Key", id)], &body)
}

/// Half of the jobs are run by the server, the others wait for a worker that never comes.
fn is_run(key: &str) -> bool {
    key.ends_with(['0', '2', '4', '6', '8'])
}

fn job(key: &str) -> Value {
    json!({ "queue": if is_run(key) { "bench" } else { "kept" }, "kind": "noop", "unique_key": key })
}

fn enqueue(client: &mut Client, key: &str) -> io::Result<Reply> {
    client.request("POST /v1/jobs", &[], &job(key).to_string())
}

fn check_increments(served: &Served, increments: &mut BTreeMap<String, bool>, clients: &[Known]) {
    let applied = applied(served);
    for (id, acknowledged) in &*increments {
        let times = applied.get(id).copied().unwrap_or(0);
        assert!(times == 1 || times == 0 && !acknowledged, "{id} was applied {times} times");
    }
    assert!(applied.keys().all(|id| increments.contains_key(id)), "an increment that nobody sent");
    assert_eq!(value(served), applied.len() as u64, "the sum is the number of increments");

    std::thread::scope(|scope| {
        for Known { increments, .. } in clients {
            scope.spawn(|| {
                let mut client = served.client();
                for id in increments.keys() {
                    let reply = increment(&mut client, id).expect("an answer");
                    assert_eq!(reply.status, 200, "{reply}");
                }
            });
        }
    });
    assert_eq!(value(served), increments.len() as u64, "repeating every call applied only what was missing");
    increments.values_mut().for_each(|acknowledged| *acknowledged = true);
}

fn value(served: &Served) -> u64 {
    served.ok("POST /v1/objects/counter/c/call", r#"{"get":true}"#)["value"].as_u64().expect("a number")
}

/// How often each increment was applied.
fn applied(served: &Served) -> BTreeMap<String, u64> {
    let mut applied = BTreeMap::new();
    let mut after = String::new();
    loop {
        let page = served.ok(&format!("GET /v1/objects/counter/c/rows?prefix=id/&limit=1000{after}"), "");
        for row in page["rows"].as_array().expect("rows") {
            let id = row["key"].as_str().expect("a key").trim_start_matches("id/").to_owned();
            applied.insert(id, row["value"].as_u64().expect("a count"));
        }
        match &page["next"] {
            Value::String(next) => after = format!("&after={next}"),
            _ => return applied,
        }
    }
}

fn check_jobs(served: &Served, jobs: &mut BTreeMap<String, Option<i64>>) {
    let all: Vec<Value> = jobs.keys().map(|key| job(key)).collect();
    let enqueued = served.ok("POST /v1/jobs", &json!({ "jobs": all }).to_string());
    let enqueued = enqueued["jobs"].as_array().expect("answers");
    for ((key, acknowledged), answer) in jobs.iter_mut().zip(enqueued) {
        let job = answer["job"].as_i64();
        if acknowledged.is_some() {
            assert_eq!((job, &answer["duplicate"]), (*acknowledged, &json!(true)), "{key} was lost");
        }
        *acknowledged = job;
    }
    let ids: BTreeSet<_> = jobs.values().collect();
    assert_eq!((ids.len(), enqueued.len()), (jobs.len(), jobs.len()), "one job for each key");

    let mut client = served.client();
    let mut counts = |queue: &str| {
        client.request(&format!("GET /v1/queues/{queue}"), &[], "").expect("an answer").json()["counts"]
            .clone()
    };
    let run = jobs.keys().filter(|key| is_run(key)).count();
    loop {
        let counts = counts("bench");
        assert_eq!((&counts["failed"], &counts["cancelled"]), (&json!(0), &json!(0)), "{counts}");
        if counts["done"] == json!(run) {
            break;
        }
    }
    assert_eq!(counts("kept")["ready"], json!(jobs.len() - run));
}
