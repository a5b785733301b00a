//! `examples/worker.py`: a worker in another language, against the real server.

use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::feed::Feed;
use crate::place::Place;
use crate::served::Served;

const WORKER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/worker.py");

/// A worker that runs. Killed when dropped.
struct Worker(Child);

impl Worker {
    /// None if there is no Python.
    fn start(served: &Served) -> Option<Worker> {
        let base = format!("http://{}", served.address);
        let mut command = Command::new("python3");
        command.args([WORKER, &base, "q", "k"]).stdin(Stdio::null());
        command.spawn().ok().map(Worker)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn enqueue(served: &Served, steps: u32, seconds: f64) -> Value {
    let payload = json!({ "steps": steps, "seconds": seconds });
    served.ok("POST /v1/jobs", &json!({ "queue": "q", "kind": "k", "payload": payload }).to_string())["job"]
        .clone()
}

/// A job as soon as it is in this state.
fn ended(served: &Served, feed: &mut Feed, job: &Value, state: &str) -> Value {
    feed.until_job(job, state);
    served.ok(&format!("GET /v1/jobs/{job}"), "")
}

#[test]
fn a_worker_in_python_is_killed_and_another_takes_its_job_over() {
    let place = Place::new();
    let served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir data");
    let Some(first) = Worker::start(&served) else {
        eprintln!("skipped: there is no python3 to run examples/worker.py with");
        return;
    };
    let mut feed = Feed::of(&served);
    let quick = enqueue(&served, 2, 0.0);
    let done = ended(&served, &mut feed, &quick, "done");
    assert_eq!((&done["result"], &done["progress"]), (&json!({ "steps": 2 }), &json!({ "step": 1 })));
    let broken =
        served.ok("POST /v1/jobs", r#"{"queue":"q","kind":"k","max_attempts":1,"payload":{}}"#)["job"]
            .clone();
    let failed = ended(&served, &mut feed, &broken, "failed");
    assert_eq!(failed["reason"], json!("KeyError('steps')"));

    let slow = enqueue(&served, 3, 0.4);
    feed.until_job(&slow, "running");
    drop(first);
    let _second = Worker::start(&served).expect("it was there just now");
    let done = ended(&served, &mut feed, &slow, "done");
    assert_eq!(
        (&done["attempts"][0]["end"], &done["attempts"][1]["end"]),
        (&json!("expired"), &json!("done")),
        "{done}"
    );
}

#[test]
fn a_worker_in_python_outlives_its_server() {
    let place = Place::new();
    let served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir data");
    let Some(mut worker) = Worker::start(&served) else {
        eprintln!("skipped: there is no python3 to run examples/worker.py with");
        return;
    };
    let mut feed = Feed::of(&served);
    let job = enqueue(&served, 3, 0.4);
    feed.until_job(&job, "running");
    let again = format!("serve --listen {} --data-dir data", served.address);
    served.kill();
    // As long as nobody listens, it ends its work and has nobody to tell.
    let served = Served::start(&place, &again);
    let mut feed = Feed::of(&served);
    let done = match served.ok(&format!("GET /v1/jobs/{job}"), "") {
        done if done["state"] == "done" => done,
        _ => ended(&served, &mut feed, &job, "done"),
    };
    assert_eq!(done["result"], json!({ "steps": 3 }), "{done}");
    let next = enqueue(&served, 1, 0.0);
    ended(&served, &mut feed, &next, "done");
    assert!(worker.0.try_wait().expect("a child").is_none(), "it still runs");
}
