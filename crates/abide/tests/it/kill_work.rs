//! `kill -9` of the real server amid coordinator items and jobs: all of them finish, once.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::client::Client;
use crate::place::Place;
use crate::served::Served;

const SERVE: &str = "serve --listen 127.0.0.1:0 --data-dir data";
/// Messages in one request.
const BATCH: usize = 100;
/// Jobs that a worker leases at a time.
const LEASED: usize = 20;
const WORKERS: usize = 4;
/// Jobs in one request of whoever enqueues.
const ENTERED: usize = 5;
/// Each has a coordinator of its name.
const MODES: [&str; 2] = ["queue", "direct"];

#[test]
fn items_of_a_killed_server_all_finish_once() {
    items_finish_once(600);
}

#[test]
#[ignore = "takes most of a minute"]
fn ten_thousand_items_of_a_killed_server_all_finish_once() {
    items_finish_once(10_000);
}

#[test]
fn jobs_of_a_killed_server_all_finish_once() {
    jobs_finish_once(600);
}

#[test]
#[ignore = "takes most of a minute"]
fn ten_thousand_jobs_of_a_killed_server_all_finish_once() {
    jobs_finish_once(10_000);
}

/// The server is killed twice while items of both modes come in, and once when all are in and many are under way.
fn items_finish_once(items: usize) {
    let place = Place::new();
    let batches = items / BATCH;
    let mut submitted = Submitted::default();
    for answers in [batches / 3, batches / 3, usize::MAX] {
        let served = Served::start(&place, SERVE);
        let address = served.address;
        let (answered, answered_to) = channel();
        let submitting = std::thread::spawn(move || submitted.go_on(address, batches, &answered));
        // Ends early when there is nothing left to submit.
        answered_to.iter().take(answers).for_each(drop);
        served.kill();
        submitted = submitting.join().expect("a client");
    }
    assert_eq!(submitted.batches, batches);
    let served = Served::start(&place, SERVE);
    for mode in MODES {
        check_items(&served, mode, &submitted);
    }
    assert_eq!(served.terminate().0, Some(0));
}

/// What a client knows of the items that it submitted.
#[derive(Default)]
struct Submitted {
    /// Batches that were sent.
    batches: usize,
    /// Every message that was sent.
    sent: BTreeSet<String>,
    /// Of those that were acknowledged: the item's id and its message.
    acknowledged: BTreeMap<String, String>,
}

impl Submitted {
    /// Submits batches, in turn to both modes, until they are through or the server is gone. A batch without an answer
    /// may have entered or not; it is not sent again.
    fn go_on(mut self, address: SocketAddr, batches: usize, answered: &Sender<()>) -> Submitted {
        let mut client = Client::connect(address).expect("it listens");
        while self.batches < batches {
            let mode = MODES[self.batches % MODES.len()];
            let messages: Vec<String> = (0..BATCH).map(|n| format!("{mode} {}.{n}", self.batches)).collect();
            self.batches += 1;
            self.sent.extend(messages.iter().cloned());
            let body = json!({ "messages": messages, "delay": 0, "mode": mode }).to_string();
            let reply = client.request(&format!("POST /coordinator/{mode}/queue/batch"), &[], &body);
            let Ok(reply) = reply else { break };
            assert_eq!(reply.status, 200, "{reply}");
            for item in reply.json()["workItems"].as_array().expect("items") {
                self.acknowledged.insert(text(&item["id"]), text(&item["payload"]["message"]));
            }
            // Nobody listens any more when the server is being killed.
            let _heard = answered.send(());
        }
        self
    }
}

fn check_items(served: &Served, mode: &str, submitted: &Submitted) {
    let mut client = served.client();
    let mut get = |path: String| client.request(&format!("GET {path}"), &[], "").expect("an answer").json();
    let total = loop {
        let stats = get(format!("/coordinator/{mode}/stats"));
        assert_eq!(stats["failed"], 0, "{stats}");
        if stats["completed"] == stats["total"] {
            break stats["total"].as_u64().expect("a number");
        }
    };
    let mut items = Vec::new();
    let mut after = String::new();
    loop {
        let page = get(format!("/coordinator/{mode}/queue?limit=1000{after}"));
        items.extend(page["queue"].as_array().expect("items").clone());
        match &page["next"] {
            Value::Null => break,
            next => {
                after = format!("&after={}", next.as_str().map_or_else(|| next.to_string(), str::to_owned))
            }
        }
    }
    let found: BTreeMap<String, String> =
        items.iter().map(|item| (text(&item["id"]), text(&item["payload"]["message"]))).collect();
    for (id, message) in submitted.acknowledged.iter().filter(|(_, message)| message.starts_with(mode)) {
        assert_eq!(found.get(id), Some(message), "acknowledged and lost");
    }
    let messages: BTreeSet<&String> = found.values().collect();
    assert_eq!((messages.len(), items.len() as u64), (items.len(), total), "each message became one item");
    assert!(messages.iter().all(|message| submitted.sent.contains(*message)), "a message that nobody sent");
    for item in &items {
        let stamps = item["timestamps"].as_array().expect("stamps");
        let is_result = |stamp: &&Value| text(&stamp["tag"]).ends_with("-processingCompleted");
        let results = stamps.iter().filter(is_result).count();
        assert_eq!(results, 1, "one result: {item}");
    }
    // Each processing has a number of its own.
    let count = get(format!("/processor/{mode}/stats"))["processCount"].as_u64();
    let numbers: BTreeSet<_> =
        items.iter().filter_map(|item| item["result"]["processCount"].as_u64()).collect();
    assert_eq!((count, numbers.len() as u64, numbers.last()), (Some(total), total, Some(&total)));
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

/// The server is killed twice while jobs come in and workers finish them over HTTP, and once when all are in.
fn jobs_finish_once(count: usize) {
    // As long as the leases of the workers, who end with their server: a new one holds them so long again.
    let place = Place::new().env("ABIDE_JOBS_LEASE_MS", "1000");
    let requests = count.div_ceil(ENTERED);
    let mut entering = Entering { count, ..Entering::default() };
    let mut finishes = BTreeMap::new();
    for kill in
        [Kill::AfterRequests(requests / 3), Kill::AfterRequests(requests / 3), Kill::AfterFinishes(count / 5)]
    {
        let served = Served::start(&place, SERVE);
        let address = served.address;
        let ((entered, entered_to), (finished, finished_to)) = (channel(), channel());
        let client = std::thread::spawn(move || entering.go_on(address, &entered));
        let workers = start_workers(address, &finished);
        drop(finished);
        match kill {
            Kill::AfterRequests(requests) => entered_to.iter().take(requests).for_each(drop),
            Kill::AfterFinishes(jobs) => {
                entered_to.iter().for_each(drop);
                // Ends early when nothing is left to finish.
                finished_to.iter().take(jobs).for_each(drop);
            }
        }
        served.kill();
        entering = client.join().expect("a client");
        join_workers(workers, &mut finishes);
    }
    assert_eq!(entering.entered.len(), count, "all of them were acknowledged");
    assert!(entering.unanswered > 0, "a server was killed amid an enqueue");
    let served = Served::start(&place, SERVE);
    let (finished, _finished_to) = channel();
    join_workers(start_workers(served.address, &finished), &mut finishes);
    check_results(&served, &entering, &finishes);
    assert_eq!(served.terminate().0, Some(0));
}

/// When a server is killed.
enum Kill {
    /// After so many answers to whoever enqueues.
    AfterRequests(usize),
    /// When all are in and so many were finished.
    AfterFinishes(usize),
}

/// What a client knows of the jobs that it enqueues, each under the key that is its number.
#[derive(Default)]
struct Entering {
    /// Jobs in all.
    count: usize,
    /// By number: the job that it is.
    entered: BTreeMap<usize, i64>,
    /// Requests that nobody answered.
    unanswered: usize,
}

impl Entering {
    /// Enqueues what was not acknowledged yet, until it is through or the server is gone. A request without an answer is
    /// sent again to the next: its keys keep its jobs from entering twice.
    fn go_on(mut self, address: SocketAddr, answered: &Sender<()>) -> Entering {
        let mut client = Client::connect(address).expect("it listens");
        while self.entered.len() < self.count {
            let first = self.entered.len();
            let numbers = first..self.count.min(first + ENTERED);
            // On a busy machine a worker may be silent for longer than its lease, more than once.
            let job = |n| json!({ "queue": "q", "kind": "k", "unique_key": format!("{n}"), "payload": n, "max_attempts": 100 });
            let jobs: Vec<Value> = numbers.clone().map(job).collect();
            let reply = client.request("POST /v1/jobs", &[], &json!({ "jobs": jobs }).to_string());
            let Ok(reply) = reply else {
                self.unanswered += 1;
                return self;
            };
            assert!(matches!(reply.status, 200 | 201), "{reply}");
            let reply = reply.json();
            let ids =
                reply["jobs"].as_array().expect("jobs").iter().map(|job| job["job"].as_i64().expect("an id"));
            self.entered.extend(numbers.zip(ids));
            // Nobody listens any more when the server is being killed.
            let _heard = answered.send(());
        }
        self
    }
}

fn start_workers(address: SocketAddr, finished: &Sender<()>) -> Vec<JoinHandle<Finishes>> {
    let start = |worker| {
        let finished = finished.clone();
        std::thread::spawn(move || work(address, worker, &finished))
    };
    (0..WORKERS).map(start).collect()
}

fn join_workers(workers: Vec<JoinHandle<Finishes>>, finishes: &mut BTreeMap<i64, Vec<(Value, bool)>>) {
    for worker in workers {
        for (job, finish) in worker.join().expect("a worker") {
            finishes.entry(job).or_default().push(finish);
        }
    }
}

/// By job: the result that was sent, and whether it was acknowledged.
type Finishes = BTreeMap<i64, (Value, bool)>;

/// Leases and finishes, each attempt with a result of its own, until nothing is left or the server is gone.
fn work(address: SocketAddr, worker: usize, answered: &Sender<()>) -> Finishes {
    let mut finishes = Finishes::new();
    let mut client = Client::connect(address).expect("it listens");
    let ask = json!({
        "worker": format!("w{worker}"), "queues": ["q"], "kinds": ["k"], "max": LEASED, "lease_ms": 1_000, "wait_ms": 3_000
    });
    loop {
        let Ok(reply) = client.request("POST /v1/lease", &[], &ask.to_string()) else { return finishes };
        assert_eq!(reply.status, 200, "{reply}");
        let leases = reply.json()["leases"].as_array().expect("leases").clone();
        if leases.is_empty() {
            return finishes;
        }
        for lease in leases {
            let job = lease["job"].as_i64().expect("a number");
            let result = json!({ "token": lease["token"], "attempt": lease["attempt"] });
            finishes.insert(job, (result.clone(), false));
            let finish = json!({ "attempt": lease["attempt"], "token": lease["token"], "end": "done", "result": result });
            let line = format!("POST /v1/jobs/{job}/finish");
            let Ok(reply) = client.request(&line, &[], &finish.to_string()) else { return finishes };
            // A lease of a process that is gone is lost once it has expired.
            assert!(matches!(reply.status, 200 | 409), "{reply}");
            finishes.insert(job, (result, reply.status == 200));
            // Nobody listens any more when the server is being killed.
            let _heard = answered.send(());
        }
    }
}

/// Every job that was acknowledged is there once, with the result of the one finish that was acknowledged.
fn check_results(served: &Served, entering: &Entering, finishes: &BTreeMap<i64, Vec<(Value, bool)>>) {
    let count = entering.count;
    let mut client = served.client();
    let mut get = |path: String| client.request(&format!("GET {path}"), &[], "").expect("an answer").json();
    let counts = get("/v1/queues/q".to_owned())["counts"].clone();
    assert_eq!(counts["done"], count, "{counts}");
    let mut after = String::new();
    let mut seen = 0;
    loop {
        let page = get(format!("/v1/jobs?queue=q&limit=1000{after}"));
        for job in page["jobs"].as_array().expect("jobs") {
            seen += 1;
            let number =
                job["payload"].as_u64().and_then(|number| usize::try_from(number).ok()).expect("a number");
            assert_eq!(entering.entered.get(&number).copied(), job["job"].as_i64(), "{job}");
            let sent = &finishes[&job["job"].as_i64().expect("a number")];
            let acknowledged: Vec<&Value> =
                sent.iter().filter(|(_, acknowledged)| *acknowledged).map(|(result, _)| result).collect();
            match acknowledged[..] {
                [] => assert!(sent.iter().any(|(result, _)| *result == job["result"]), "{job}"),
                [result] => assert_eq!(*result, job["result"], "{job}"),
                [..] => panic!("acknowledged twice: {job}"),
            }
        }
        match page["next"].as_i64() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(seen, count);
}
