//! The engine with its threads, on a store in memory.

use crate::objects::{Do, Puppet};
use abide_core::commit::Reply;
use abide_core::job::{AttemptEnd, JobState, NewJob};
use abide_core::json::Json;
use abide_core::limit::LimitPolicy;
use abide_core::log::Seq;
use abide_core::name::{JobKind, LimitKey, QueueName};
use abide_core::why::Cause;
use abide_engine::worker::{JobContext, done};
use abide_engine::{Call, CallError, Engine, EngineOptions, Registry};
use abide_store::memory::MemoryStore;
use abide_store::view::TicketView;
use serde_json::{Value, json};
use std::time::Duration;

fn start(store: &MemoryStore, registry: Registry) -> Engine {
    Engine::start(Box::new(store.clone()), registry, EngineOptions::default()).unwrap()
}

fn puppets() -> Registry {
    let mut registry = Registry::new();
    registry.object(Puppet).unwrap();
    registry
}

async fn call(engine: &Engine, object: &str, what: Do) -> Result<Reply, CallError> {
    let body = Json::encode(&what).unwrap();
    engine.call(Call { object: object.parse().unwrap(), body, key: None }).await
}

async fn value(engine: &Engine, object: &str, what: Do) -> Value {
    match call(engine, object, what).await.unwrap() {
        Reply::Now(json) => json.decode().unwrap(),
        Reply::Later(ticket) => panic!("{ticket}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_from_many_tasks_each_count_once_and_outlive_the_engine() {
    let store = MemoryStore::new();
    let engine = start(&store, puppets());
    let tasks: Vec<_> = (0..32)
        .map(|task| {
            let engine = engine.clone();
            tokio::spawn(async move {
                for _ in 0..50 {
                    value(&engine, &format!("puppet/{}", task % 4), Do::Add("n".into(), 1)).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    engine.stop().await;
    assert_eq!(call(&engine, "puppet/0", Do::Now).await, Err(CallError::Stopping));
    let engine = start(&store, puppets());
    for object in 0..4 {
        assert_eq!(value(&engine, &format!("puppet/{object}"), Do::Get("n".into())).await, json!(400));
    }
    engine.stop().await;
}

#[tokio::test]
async fn a_log_is_followed_live() {
    let engine = start(&MemoryStore::new(), puppets());
    let mut reader = engine.follow("puppet/a".parse().unwrap(), Seq(0));
    let writer = engine.clone();
    let writing = tokio::spawn(async move {
        for n in 0..100 {
            value(&writer, "puppet/a", Do::Append(json!(n))).await;
        }
    });
    let mut read = Vec::new();
    while read.len() < 100 {
        read.extend(reader.next().await.unwrap().into_iter().map(|entry| entry.seq.0));
    }
    writing.await.unwrap();
    assert_eq!(read, (1..=100).collect::<Vec<i64>>());
    engine.stop().await;
}

#[tokio::test]
async fn whoever_waits_for_a_ticket_gets_its_answer() {
    let engine = start(&MemoryStore::new(), puppets());
    let Reply::Later(ticket) = call(&engine, "puppet/a", Do::Later).await.unwrap() else { panic!() };
    let waiting = {
        let (engine, ticket) = (engine.clone(), ticket.clone());
        tokio::spawn(async move { engine.ticket(&ticket, Duration::from_secs(30)).await.unwrap() })
    };
    assert_eq!(engine.ticket(&ticket, Duration::ZERO).await.unwrap(), Some(TicketView::Open));
    value(&engine, "puppet/a", Do::Resolve(json!(7))).await;
    assert_eq!(format!("{:?}", waiting.await.unwrap()), "Some(Resolved(Reply(7)))");
    engine.stop().await;
}

fn job(kind: &str) -> NewJob {
    NewJob::new(QueueName::new("q").unwrap(), JobKind::new(kind).unwrap(), Json::null())
}

#[tokio::test]
async fn jobs_run_and_those_without_a_worker_say_why() {
    let mut registry = puppets();
    registry.worker("q", "work", 4, |job: JobContext| async move { done(&job.attempt()) }).unwrap();
    let engine = start(&MemoryStore::new(), registry);
    let jobs = (0..100).map(|_| job("work")).chain([job("other")]).collect();
    let enqueued = engine.enqueue(jobs).await.unwrap();
    let last = enqueued[99].job();
    for job in &enqueued[..100] {
        loop {
            let view = engine.job(job.job()).await.unwrap().unwrap();
            if view.state == JobState::Done {
                assert_eq!(view.attempts.len(), 1);
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(engine.why(last).await.unwrap(), Some(vec![Cause::Ended { state: JobState::Done }]));
    let why = engine.why(enqueued[100].job()).await.unwrap().unwrap();
    assert!(matches!(why.as_slice(), [Cause::NoWorker { .. }]), "{why:?}");
    engine.stop().await;
}

#[tokio::test]
async fn a_worker_for_a_few_jobs_takes_no_more() {
    let mut registry = Registry::new();
    let worker = |job: JobContext| async move {
        if job.job().0 == 1 && job.attempt() == 1 {
            return AttemptEnd::HandedBack.into();
        }
        done(&())
    };
    registry.worker_for(3, "q", "work", 2, worker).unwrap();
    let engine = start(&MemoryStore::new(), registry);
    let enqueued = engine.enqueue((0..9).map(|_| job("work")).collect()).await.unwrap();
    loop {
        let mut views = Vec::new();
        for job in &enqueued {
            views.push(engine.job(job.job()).await.unwrap().unwrap());
        }
        let done = views.iter().filter(|view| view.state == JobState::Done).count();
        let attempts: u32 = views.iter().map(|view| view.attempt).sum();
        assert!(done <= 3 && attempts <= 4, "{done} done by {attempts}");
        if done == 3 {
            assert_eq!(attempts, 4);
            break;
        }
        tokio::task::yield_now().await;
    }
    engine.stop().await;
}

#[tokio::test]
async fn stopping_hands_back_a_job_that_does_not_end() {
    let store = MemoryStore::new();
    let mut registry = puppets();
    registry
        .worker("q", "work", 1, |_: JobContext| async move {
            std::future::pending::<()>().await;
            done(&())
        })
        .unwrap();
    let options = EngineOptions { drain_ms: 100, ..EngineOptions::default() };
    let engine = Engine::start(Box::new(store.clone()), registry, options).unwrap();
    let id = engine.enqueue(vec![job("work")]).await.unwrap()[0].job();
    while engine.job(id).await.unwrap().unwrap().state != JobState::Running {
        tokio::task::yield_now().await;
    }
    engine.stop().await;
    let engine = start(&store, puppets());
    let view = engine.job(id).await.unwrap().unwrap();
    assert_eq!((view.state, view.failures, view.restarts), (JobState::Ready, 0, 0));
    engine.stop().await;
}

#[tokio::test]
async fn a_job_that_vacates_lets_the_next_of_its_key_start() {
    let key = LimitKey::new("host:a").unwrap();
    let (second_runs, mut runs) = tokio::sync::watch::channel(false);
    let mut registry = Registry::new();
    let worker = move |job: JobContext| {
        let (second_runs, mut runs) = (second_runs.clone(), second_runs.subscribe());
        async move {
            if job.job().0 == 2 {
                second_runs.send_replace(true);
            } else {
                job.vacate();
                drop(runs.wait_for(|runs| *runs).await);
            }
            done(&())
        }
    };
    registry.worker("q", "work", 4, worker).unwrap();
    let engine = start(&MemoryStore::new(), registry);
    let one = LimitPolicy { concurrency: Some(1), ..LimitPolicy::default() };
    engine.set_limit(key.clone(), Some(one)).await.unwrap();
    let jobs = (0..2).map(|_| NewJob { limit_keys: vec![key.clone()], ..job("work") }).collect();
    let enqueued = engine.enqueue(jobs).await.unwrap();
    tokio::time::timeout(Duration::from_secs(60), runs.wait_for(|runs| *runs)).await.unwrap().unwrap();
    for job in enqueued {
        while engine.job(job.job()).await.unwrap().unwrap().state != JobState::Done {
            tokio::task::yield_now().await;
        }
    }
    engine.stop().await;
}
