//! The lane of pages: so many are asked for at a time, however many jobs there are.

use abide_core::job::{AttemptEnd, JobId, Lease, LeaseRef, LeaseToken};
use abide_core::json::Json;
use abide_core::name::{JobKind, QueueName};
use abide_core::time::Time;
use abide_engine::clock::SystemClock;
use abide_engine::{JobContext, Worker};
use abide_fetch::testing::{Server, reply};
use abide_fetch::{FetchOptions, Fetcher, Guard, Reach};
use abide_links::processor::fetch::{Fetch, FetchPayload};
use abide_links::processor::{FETCH, FETCH_QUEUE};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{mpsc, watch};

fn lease(n: i64, url: String) -> Lease {
    let payload = FetchPayload { link_id: n.to_string(), url, attempt: 1, failures: 0, waits_since: None };
    Lease {
        lease: LeaseRef { job: JobId(n), attempt: 1, token: LeaseToken::draw(1, JobId(n), 1) },
        queue: QueueName::new(FETCH_QUEUE).unwrap(),
        kind: JobKind::new(FETCH).unwrap(),
        payload: Json::encode(&payload).unwrap(),
        unique_key: None,
        failures: 0,
        max_attempts: 3,
        lease_expires_at: Time(0),
        trace: None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_pages_are_asked_for_at_a_time_than_the_lane_has_places() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let peak = Arc::clone(&most);
    let site = Server::start(move |request| {
        if request.path == "/robots.txt" {
            return reply(404, &[], b"");
        }
        peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::yield_now();
        now.fetch_sub(1, Ordering::SeqCst);
        reply(200, &[("Content-Type", "text/html")], b"<title>A page</title>")
    });
    let clock = Arc::new(SystemClock::new());
    let fetcher = Fetcher::new(Guard::new(Reach::Anywhere), FetchOptions::default(), clock).unwrap();
    let worker = Fetch::new(fetcher, 2);
    let (says, _said) = mpsc::unbounded_channel();
    let (_stop, stopped) = watch::channel(false);
    let jobs: Vec<_> = (0..12)
        .map(|n| {
            let lease = lease(n, site.url(&format!("/{n}")));
            tokio::spawn(worker.run(JobContext::new(lease, says.clone(), stopped.clone())))
        })
        .collect();
    for job in jobs {
        let finish = job.await.unwrap();
        assert!(matches!(&finish.end, AttemptEnd::Done { result } if result.as_str().contains("A page")));
    }
    assert!((1..=2).contains(&most.load(Ordering::SeqCst)), "{most:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_waits_for_its_place_is_handed_back_when_it_is_told_to_stop() {
    let clock = Arc::new(SystemClock::new());
    let fetcher = Fetcher::new(Guard::new(Reach::Anywhere), FetchOptions::default(), clock).unwrap();
    let worker = Fetch::new(fetcher, 0);
    let (says, _said) = mpsc::unbounded_channel();
    let (stop, stopped) = watch::channel(false);
    let waiting = worker.run(JobContext::new(lease(1, "http://localhost:1/".to_owned()), says, stopped));
    stop.send_replace(true);
    assert_eq!(waiting.await.end, AttemptEnd::HandedBack);
}
