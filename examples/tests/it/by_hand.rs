//! What a person does with a running engine: policies, limits, why, dead letters.

use abide_core::host_key::host_key;
use abide_core::job::{JobState, NewJob};
use abide_core::json::Json;
use abide_core::limit::LimitPolicy;
use abide_core::name::{JobKind, LimitKey, QueueName};
use abide_core::queue::QueuePolicy;
use abide_core::why::Cause;
use abide_engine::{Engine, EngineOptions, Registry};
use abide_sqlite::{DataDir, SqliteStore};
use abide_store::{Answer, Read, Write, Written};

#[tokio::test]
async fn queues_and_limits_are_set_and_why_tells_what_holds_a_job() -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let home = DataDir::open(dir.path())?;
    let store = SqliteStore::open(home.path())?;
    let engine = Engine::start(Box::new(store), Registry::new(), EngineOptions::default())?;

    let queue = QueueName::new("texts")?;
    let policy = QueuePolicy { max_attempts: 5, ..QueuePolicy::default() };
    engine.write(Write::SetQueue { queue: queue.clone(), policy }).await?;
    engine.write(Write::SetPaused { queue: queue.clone(), paused: true }).await?;

    let key = LimitKey::new("host:*")?;
    let policy =
        LimitPolicy { concurrency: Some(2), rates: vec!["5/s".parse()?, "300/h".parse()?], burst: 0 };
    engine.write(Write::SetLimit { key, policy: Some(policy) }).await?;

    let url = "https://Example.org./page";
    let mut job = NewJob::new(queue.clone(), JobKind::new("fetch")?, Json::encode(url)?);
    job.limit_keys = vec![LimitKey::new(format!("host:{}", host_key(url)?))?];
    let id = engine.enqueue(vec![job]).await?[0].job();

    let view = engine.job(id).await?.expect("it was enqueued");
    assert_eq!(
        (view.state, view.max_attempts, view.limit_keys[0].as_str()),
        (JobState::Ready, 5, "host:example.org")
    );
    let kind = JobKind::new("fetch")?;
    let held = vec![Cause::QueuePaused { queue: queue.clone() }, Cause::NoWorker { queue, kind }];
    assert_eq!(engine.why(id).await?, Some(held));

    assert_eq!(engine.cancel(id).await?, Ok(JobState::Cancelled));
    assert_eq!(engine.write(Write::Retry { job: id }).await?, Written::Moved(Ok(JobState::Ready)));
    assert_eq!(engine.read(Read::Dead { after: None, limit: 100 }).await?, Answer::Dead(Vec::new()));

    engine.stop().await;
    Ok(())
}
