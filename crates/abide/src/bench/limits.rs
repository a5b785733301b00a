//! Limits: throughput with many keys, and beside a backlog at one that is full.

use std::path::Path;

use abide_core::job::NewJob;
use abide_core::json::Json;
use abide_core::limit::LimitPolicy;
use abide_core::name::{JobKind, LimitKey, QueueName};
use abide_store::Write;

use super::jobs::lives_of;
use super::{BenchError, Figures};

/// Jobs whose lives are timed in each run.
const LIVES: u64 = 40_000;
/// Keys of the many.
const KEYS: u64 = 100_000;
/// Jobs that wait at the full key.
const BACKLOG: usize = 1_000_000;
/// Jobs in one write.
const BULK: usize = 10_000;

fn key(n: u64) -> LimitKey {
    LimitKey::new(format!("host:h{n}")).expect("a plain name")
}

fn policy(key: LimitKey, concurrency: u32) -> Write {
    Write::SetLimit {
        key,
        policy: Some(LimitPolicy { concurrency: Some(concurrency), ..LimitPolicy::default() }),
    }
}

fn hosts() -> Write {
    policy(LimitKey::new("host:*").expect("a plain name"), 100)
}

/// The ratios.
pub(super) async fn measure(dir: &Path, figures: &mut Figures) -> Result<(), BenchError> {
    let few = lives_of(&dir.join("few"), |n| vec![key(n % 100)], LIVES, &[hosts()]).await?;
    let others: Vec<Write> = (0..KEYS / BULK as u64)
        .map(|chunk| {
            let keys = (0..BULK as u64).map(|n| LimitKey::new(format!("host:x{}", chunk * BULK as u64 + n)));
            enqueue(keys.map(|key| waiting(key.expect("a plain name"), 0)).collect())
        })
        .collect();
    let many: Vec<Write> = std::iter::once(hosts()).chain(others).collect();
    let many = lives_of(&dir.join("many"), |n| vec![key(n % 100)], LIVES, &many).await?;
    figures.limit_keys_100k_ratio = Some(many / few);

    let full = LimitKey::new("host:full").expect("a plain name");
    let mut beside = vec![hosts(), policy(full.clone(), 0)];
    for _ in 0..BACKLOG / BULK {
        beside.push(enqueue((0..BULK).map(|_| noop(full.clone(), 100)).collect()));
    }
    let beside = lives_of(&dir.join("beside"), |n| vec![key(n % 100)], LIVES, &beside).await?;
    figures.saturated_key_ratio = Some(beside / few);
    Ok(())
}

fn enqueue(jobs: Vec<NewJob>) -> Write {
    Write::Enqueue { jobs }
}

/// A job that nobody takes, so that its key stays in use.
fn waiting(key: LimitKey, priority: i32) -> NewJob {
    job("nobody", key, priority)
}

fn noop(key: LimitKey, priority: i32) -> NewJob {
    job("noop", key, priority)
}

fn job(kind: &str, key: LimitKey, priority: i32) -> NewJob {
    let queue = QueueName::new("bench").expect("a plain name");
    let kind = JobKind::new(kind).expect("a plain name");
    NewJob { priority, limit_keys: vec![key], ..NewJob::new(queue, kind, Json::null()) }
}
