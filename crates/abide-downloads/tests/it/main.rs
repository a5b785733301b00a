//! The download worker on an engine with its threads, a store in memory and servers on this machine.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

use abide_core::job::{AttemptEnd, AttemptWord, JobId, JobState, Lease, LeaseRef, LeaseToken};
use abide_core::json::Json;
use abide_core::limit::LimitPolicy;
use abide_core::name::{JobKind, LimitKey, QueueName};
use abide_core::time::Time;
use abide_core::why::Cause;
use abide_downloads::{Artifact, Downloads, register};
use abide_engine::clock::SystemClock;
use abide_engine::{Engine, EngineOptions, JobContext, Registry, Worker};
use abide_fetch::reason::{Class, Reason};
use abide_fetch::testing::{Act, Request, Server, head, redirect, reply};
use abide_fetch::{FetchOptions, Fetcher, Guard, Reach};
use abide_store::memory::MemoryStore;
use abide_store::view::JobView;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};

#[test]
fn every_reason_is_documented_with_what_becomes_of_the_job() {
    let docs = include_str!("../../../../docs/queue.md");
    for reason in Reason::ALL {
        let becomes = match reason.class() {
            Class::Done => "done",
            Class::Skipped => "skipped",
            Class::Retryable => "is tried again",
            Class::Final => "failed",
        };
        let row = format!("| `{reason}` | {becomes} | ");
        assert!(docs.contains(&row), "docs/queue.md has no row {row}");
    }
}

fn start(store: &MemoryStore, dir: &Path) -> Engine {
    start_with(store, |fetcher| Downloads::new(fetcher, dir, 0))
}

fn fetcher() -> Fetcher {
    let options = FetchOptions { headers_ms: 5_000, idle_ms: 60_000, per_host: 1, ..FetchOptions::default() };
    Fetcher::new(Guard::new(Reach::Anywhere), options, Arc::new(SystemClock::new())).unwrap()
}

fn start_with(store: &MemoryStore, downloads: impl FnOnce(Fetcher) -> Downloads) -> Engine {
    let mut registry = Registry::new();
    register(&mut registry, downloads(fetcher()), 8).unwrap();
    Engine::start(
        Box::new(store.clone()),
        registry,
        EngineOptions { drain_ms: 1_000, ..EngineOptions::default() },
    )
    .unwrap()
}

async fn enqueue(engine: &Engine, line: Value) -> JobId {
    let job = Artifact::parse(&line.to_string()).unwrap();
    engine.enqueue(vec![job]).await.unwrap()[0].job()
}

/// The job once `is_there` says so.
async fn wait(engine: &Engine, job: JobId, is_there: impl Fn(&JobView) -> bool) -> Box<JobView> {
    loop {
        let view = engine.job(job).await.unwrap().unwrap();
        if is_there(&view) {
            return view;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn end(engine: &Engine, job: JobId) -> Box<JobView> {
    wait(engine, job, |view| view.state.is_over()).await
}

fn without_robots(request: &Request, act: impl FnOnce() -> Act) -> Act {
    if request.path == "/robots.txt" { reply(404, &[], b"") } else { act() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_recorded_and_a_second_engine_finds_it_unchanged() {
    let server = Server::start(|request| {
        without_robots(request, || match request.header("if-none-match") {
            Some("\"v1\"") => reply(304, &[], b""),
            _ => reply(200, &[("ETag", "\"v1\""), ("Content-Type", "application/pdf")], b"hello"),
        })
    });
    let dir = TempDir::new().unwrap();
    let line = json!({"artifact_id": "w1", "url": server.url("/x"), "title": "kept"});
    let engine = start(&MemoryStore::new(), dir.path());
    let view = end(&engine, enqueue(&engine, line.clone()).await).await;
    let path = dir.path().canonicalize().unwrap().join("w1.pdf");
    let expected = json!({
        "artifact_id": "w1",
        "reason": "ok",
        "path": path,
        "size": 5,
        "sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        "status": 200,
        "url": server.url("/x"),
        "etag": "\"v1\"",
        "last_modified": null,
        "content_type": "application/pdf",
        "content_encoding": null,
        "resumed_from": 0,
    });
    assert_eq!(view.state, JobState::Done);
    assert_eq!(view.result.unwrap().decode::<Value>().unwrap(), expected);
    assert_eq!(std::fs::read(path).unwrap(), b"hello");
    engine.stop().await;

    let engine = start(&MemoryStore::new(), dir.path());
    let view = end(&engine, enqueue(&engine, line).await).await;
    assert_eq!((view.state, view.reason.as_deref()), (JobState::Skipped, Some("not-modified")));
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_whose_end_was_not_heard_is_the_result_of_the_next_attempt() {
    let server = Server::start(|request| {
        without_robots(request, || match request.header("if-none-match") {
            Some("\"v1\"") => reply(304, &[], b""),
            _ => reply(200, &[("ETag", "\"v1\"")], b"hello"),
        })
    });
    let dir = TempDir::new().unwrap();
    let downloads = Downloads::new(fetcher(), dir.path(), 0);
    let payload = Json::encode(&json!({"artifact_id": "w1", "url": server.url("/x")})).unwrap();
    let mut ends = Vec::new();
    for (job, attempt) in [(JobId(1), 1), (JobId(1), 2), (JobId(2), 1)] {
        let (says, _said) = mpsc::unbounded_channel();
        let (_stop, stopped) = watch::channel(false);
        let lease = Lease {
            lease: LeaseRef { job, attempt, token: LeaseToken::draw(0, job, attempt) },
            queue: QueueName::new("download").unwrap(),
            kind: JobKind::new("download").unwrap(),
            payload: payload.clone(),
            unique_key: None,
            failures: 0,
            max_attempts: 3,
            lease_expires_at: Time::ZERO,
            trace: None,
        };
        ends.push(downloads.run(JobContext::new(lease, says, stopped)).await.end);
    }
    let [AttemptEnd::Done { result: lost }, AttemptEnd::Done { result }, AttemptEnd::Skipped { .. }] =
        &ends[..]
    else {
        panic!("{ends:?}")
    };
    let mut expected: Value = lost.decode().unwrap();
    expected["status"] = json!(304);
    assert_eq!(result.decode::<Value>().unwrap(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_that_will_not_pass_take_one_attempt() {
    let server = Server::start(|request| match request.path.as_str() {
        "/robots.txt" => reply(200, &[], b"User-agent: *\nDisallow: /shut\n"),
        "/page" => reply(200, &[("Content-Type", "text/html")], b"<html>"),
        _ => reply(404, &[], b""),
    });
    let (dir, host) = (TempDir::new().unwrap(), server.address);
    let engine = start(&MemoryStore::new(), dir.path());
    for (number, (line, state, reason)) in [
        (json!({"url": server.url("/gone")}), JobState::Failed, format!("http-error: {host} answered 404")),
        (
            json!({"url": server.url("/shut/a")}),
            JobState::Skipped,
            format!("robots: robots.txt of {host} does not allow /shut/a"),
        ),
        (
            json!({"url": server.url("/page"), "expected_mime": "application/pdf"}),
            JobState::Failed,
            "unexpected-ct: the content type is text/html, and application/pdf was expected".to_owned(),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let mut line = line;
        line["artifact_id"] = json!(format!("w{number}"));
        let view = end(&engine, enqueue(&engine, line).await).await;
        assert_eq!((view.state, view.reason.as_deref()), (state, Some(reason.as_str())));
        assert_eq!(view.attempts.len(), 1);
    }
    let waiting = enqueue(&engine, json!({"artifact_id": "doi:10.1/a"})).await;
    let why = engine.why(waiting).await.unwrap().unwrap();
    assert!(matches!(why.as_slice(), [Cause::NoWorker { .. }]), "{why:?}");
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_after_moves_the_key_and_then_the_job_is_done() {
    let count = AtomicUsize::new(0);
    let server = Server::start(move |request| {
        without_robots(request, || match count.fetch_add(1, Ordering::SeqCst) {
            0 => reply(503, &[("Retry-After", "2")], b""),
            _ => reply(200, &[], b"hello"),
        })
    });
    let dir = TempDir::new().unwrap();
    let engine = start(&MemoryStore::new(), dir.path());
    let first = enqueue(&engine, json!({"artifact_id": "a", "url": server.url("/a")})).await;
    wait(&engine, first, |view| view.attempts.len() == 1).await;
    let second = enqueue(&engine, json!({"artifact_id": "b", "url": server.url("/b")})).await;
    let why = engine.why(second).await.unwrap().unwrap();
    assert!(why.iter().any(|cause| matches!(cause, Cause::CoolingDown { .. })), "{why:?}");
    let (first, second) = (end(&engine, first).await, end(&engine, second).await);
    assert_eq!((first.state, first.attempts.len()), (JobState::Done, 2));
    assert_eq!((second.state, second.attempts.len()), (JobState::Done, 1));
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crawl_delay_keeps_the_other_jobs_of_the_host_waiting() {
    let server = Server::start(|request| match request.path.as_str() {
        "/robots.txt" => reply(200, &[], b"User-agent: *\nCrawl-delay: 30\n"),
        _ => reply(200, &[], b"hello"),
    });
    let dir = TempDir::new().unwrap();
    let engine = start(&MemoryStore::new(), dir.path());
    let first = enqueue(&engine, json!({"artifact_id": "a", "url": server.url("/a")})).await;
    assert_eq!(end(&engine, first).await.state, JobState::Done);
    let second = enqueue(&engine, json!({"artifact_id": "b", "url": server.url("/b")})).await;
    let why = engine.why(second).await.unwrap().unwrap();
    assert!(why.iter().any(|cause| matches!(cause, Cause::CoolingDown { .. })), "{why:?}");
    assert_eq!(engine.job(second).await.unwrap().unwrap().attempt, 0);
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_waits_out_a_crawl_delay_says_so() {
    let (let_go, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let server = Server::start(move |request| match request.path.as_str() {
        "/robots.txt" => reply(200, &[], b"User-agent: *\nCrawl-delay: 30\n"),
        _ => {
            // Served when the other job, which shares the host, has said that it waits.
            held.lock().unwrap().recv().unwrap_err();
            reply(200, &[], b"hello")
        }
    });
    let dir = TempDir::new().unwrap();
    let engine = start(&MemoryStore::new(), dir.path());
    let lines = ["a", "b"].map(|id| json!({"artifact_id": id, "url": server.url("/x")}));
    let new = lines.iter().map(|line| Artifact::parse(&line.to_string()).unwrap()).collect();
    let jobs: Vec<JobId> = engine.enqueue(new).await.unwrap().iter().map(|entered| entered.job()).collect();
    let said = r#"{"waits":"its host wants 30 s between two requests (robots.txt)"}"#;
    for job in jobs {
        wait(&engine, job, |view| view.progress.as_ref().is_some_and(|note| note.as_str() == said)).await;
    }
    drop(let_go);
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_led_to_a_host_with_enough_to_do_says_so_and_uses_up_no_attempt() {
    let target = Server::start(|request| {
        without_robots(request, || match request.path.as_str() {
            "/slow" => Act::RawThenHold(head(200, &[("Content-Length", "10")])),
            path => reply(200, &[], path.as_bytes()),
        })
    });
    let to = target.url("");
    let lead =
        Server::start(move |request| without_robots(request, || redirect(&format!("{to}{}", request.path))));
    let (store, dir) = (MemoryStore::new(), TempDir::new().unwrap());
    let engine = start(&store, dir.path());
    let slow = enqueue(&engine, json!({"artifact_id": "a", "url": lead.url("/slow")})).await;
    while !target.paths().contains(&"/slow".to_owned()) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let job = enqueue(&engine, json!({"artifact_id": "b", "url": lead.url("/b")})).await;
    let host = target.address;
    let said = format!("{host} is being asked as often at a time as its limit allows");
    let said = json!({ "waits": said }).to_string();
    wait(&engine, job, |view| view.progress.as_ref().is_some_and(|note| note.as_str() == said)).await;
    let view = wait(&engine, job, |view| view.attempts.len() == 1).await;
    assert_eq!((view.state, view.failures), (JobState::Scheduled, 0));
    let reason = format!("backoff: {host} is being asked as often at a time as it may be");
    assert_eq!(view.attempts[0].reason.as_deref(), Some(reason.as_str()));
    assert_eq!(engine.job(slow).await.unwrap().unwrap().state, JobState::Running);
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crawl_delay_longer_than_anybody_waits_uses_up_no_attempt() {
    let server = Server::start(|request| match request.path.as_str() {
        "/robots.txt" => reply(200, &[], b"User-agent: *\nCrawl-delay: 31\n"),
        _ => reply(200, &[], b"hello"),
    });
    let dir = TempDir::new().unwrap();
    let engine = start(&MemoryStore::new(), dir.path());
    let lines = ["a", "b", "c", "d"].map(|id| json!({"artifact_id": id, "url": server.url("/x")}));
    let new = lines.iter().map(|line| Artifact::parse(&line.to_string()).unwrap()).collect();
    let jobs: Vec<JobId> = engine.enqueue(new).await.unwrap().iter().map(|entered| entered.job()).collect();
    let mut done = 0;
    for job in jobs {
        let view = wait(&engine, job, |view| view.attempts.len() == 1).await;
        assert_eq!(view.failures, 0, "{view:?}");
        if view.state == JobState::Done {
            done += 1;
            continue;
        }
        let why = engine.why(job).await.unwrap().unwrap();
        assert!(why.iter().any(|cause| matches!(cause, Cause::CoolingDown { .. })), "{why:?}");
    }
    assert_eq!(done, 1);
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_without_room_is_waited_for_and_uses_up_no_attempt() {
    let server = Server::start(|request| without_robots(request, || reply(200, &[], b"hello")));
    let (store, dir) = (MemoryStore::new(), TempDir::new().unwrap());
    let full = |fetcher| Downloads::new(fetcher, dir.path(), u64::MAX);
    let engine = start_with(&store, full);
    let job = enqueue(&engine, json!({"artifact_id": "a", "url": server.url("/a")})).await;
    let view = wait(&engine, job, |view| view.progress.is_some()).await;
    let note: Value = view.progress.unwrap().decode().unwrap();
    assert!(note["waits"].as_str().unwrap().contains("bytes free, too few for 5 more"), "{note}");
    assert_eq!((view.state, view.failures), (JobState::Running, 0));
    engine.stop().await;

    let engine = start(&store, dir.path());
    let view = end(&engine, job).await;
    assert_eq!((view.state, view.failures), (JobState::Done, 0));
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_has_come_and_cannot_be_kept_uses_up_no_attempt() {
    let dir = TempDir::new().unwrap();
    let (notes, count) = (dir.path().join(".abide"), AtomicUsize::new(0));
    let server = Server::start(move |request| {
        without_robots(request, || {
            if count.fetch_add(1, Ordering::SeqCst) == 0 {
                std::fs::remove_dir_all(&notes).unwrap();
            }
            reply(200, &[], b"hello")
        })
    });
    let engine = start(&MemoryStore::new(), dir.path());
    let job = enqueue(&engine, json!({"artifact_id": "a", "url": server.url("/a")})).await;
    let view = end(&engine, job).await;
    assert_eq!((view.state, view.failures, view.restarts), (JobState::Done, 0, 0));
    let ends: Vec<_> = view.attempts.iter().map(|attempt| attempt.end).collect();
    assert_eq!(ends, [AttemptWord::Error, AttemptWord::Done]);
    let reason = view.attempts[0].reason.as_deref().unwrap();
    assert!(reason.starts_with("download-error: writing "), "{reason}");
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_fails_is_left_alone_without_using_up_the_other_jobs() {
    let server = Server::start(|request| without_robots(request, || Act::Raw(vec![])));
    let dir = TempDir::new().unwrap();
    let engine = start(&MemoryStore::new(), dir.path());
    let policy = LimitPolicy { concurrency: Some(1), ..LimitPolicy::default() };
    engine.set_limit(LimitKey::new("host:*").unwrap(), Some(policy)).await.unwrap();
    let mut jobs = Vec::new();
    for number in 0..20 {
        let url = server.url(&format!("/{number}"));
        jobs.push(enqueue(&engine, json!({"artifact_id": format!("w{number}"), "url": url})).await);
    }
    wait(&engine, jobs[4], |view| view.attempts.len() == 1).await;
    for job in &jobs[5..] {
        let why = engine.why(*job).await.unwrap().unwrap();
        assert!(why.iter().any(|cause| matches!(cause, Cause::CoolingDown { .. })), "{why:?}");
        assert_eq!(engine.job(*job).await.unwrap().unwrap().attempt, 0);
    }
    assert_eq!(server.paths().iter().filter(|path| *path != "/robots.txt").count(), 5);
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_hosts_cap_is_never_exceeded() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (here, peak) = (now.clone(), most.clone());
    let server = Server::start(move |request| {
        without_robots(request, || {
            peak.fetch_max(here.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::yield_now();
            here.fetch_sub(1, Ordering::SeqCst);
            reply(200, &[], b"hello")
        })
    });
    let dir = TempDir::new().unwrap();
    let engine = start(&MemoryStore::new(), dir.path());
    let policy = LimitPolicy { concurrency: Some(1), ..LimitPolicy::default() };
    engine.set_limit(LimitKey::new("host:*").unwrap(), Some(policy)).await.unwrap();
    let mut jobs = Vec::new();
    for number in 0..20 {
        let url = server.url(&format!("/{number}"));
        jobs.push(enqueue(&engine, json!({"artifact_id": format!("w{number}"), "url": url})).await);
    }
    for job in jobs {
        assert_eq!(end(&engine, job).await.state, JobState::Done);
    }
    assert_eq!(most.load(Ordering::SeqCst), 1);
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_engine_hands_back_and_the_next_goes_on() {
    let body: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
    let served = body.clone();
    let server = Server::start(move |request| {
        without_robots(request, || match request.header("range") {
            Some(range) => {
                let start: usize = range.trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap();
                let range = format!("bytes {start}-2999999/3000000");
                reply(206, &[("ETag", "\"v1\""), ("Content-Range", &range)], &served[start..])
            }
            None => {
                let start = head(200, &[("ETag", "\"v1\""), ("Content-Length", "3000000")]);
                Act::RawThenHold([start, served[..2_000_000].to_vec()].concat())
            }
        })
    });
    let (store, dir) = (MemoryStore::new(), TempDir::new().unwrap());
    let engine = start(&store, dir.path());
    let job = enqueue(&engine, json!({"artifact_id": "big", "url": server.url("/big")})).await;
    wait(&engine, job, |view| view.progress.is_some()).await;
    engine.stop().await;

    let engine = start(&store, dir.path());
    let view = end(&engine, job).await;
    assert_eq!((view.state, view.failures), (JobState::Done, 0));
    let result: Value = view.result.unwrap().decode().unwrap();
    assert!(result["resumed_from"].as_u64().unwrap() >= 1_048_576, "{result}");
    assert_eq!(std::fs::read(result["path"].as_str().unwrap()).unwrap(), body);
    engine.stop().await;
}

/// The name under which the things of a download are kept.
fn key_of(url: &str, stem: &str) -> String {
    let hash = Sha256::digest([url.as_bytes(), &[0], stem.as_bytes()].concat());
    hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_is_free_for_the_next_file_while_one_is_put_in_its_place() {
    let server = Server::start(|request| without_robots(request, || reply(200, &[], b"hello")));
    let dir = TempDir::new().unwrap();
    let engine = start(&MemoryStore::new(), dir.path());
    let one = LimitPolicy { concurrency: Some(1), ..LimitPolicy::default() };
    engine.set_limit(LimitKey::new("host:*").unwrap(), Some(one)).await.unwrap();
    // Whoever opens this to write waits until somebody reads: what is known of the first file cannot be written.
    std::fs::create_dir(dir.path().join(".abide")).unwrap();
    let pipe = dir.path().join(format!(".abide/{}.part.json.new", key_of(&server.url("/a"), "a")));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());

    let first = enqueue(&engine, json!({"artifact_id": "a", "url": server.url("/a")})).await;
    let second = enqueue(&engine, json!({"artifact_id": "b", "url": server.url("/b")})).await;
    assert_eq!(end(&engine, second).await.state, JobState::Done);
    assert_eq!(engine.job(first).await.unwrap().unwrap().state, JobState::Running);
    assert!(!dir.path().join("a").exists());
    let waits = std::fs::File::open(&pipe).unwrap();
    assert_eq!(end(&engine, first).await.state, JobState::Done);
    assert_eq!(std::fs::read(dir.path().join("a")).unwrap(), b"hello");
    engine.stop().await;
    drop(waits);
}
