//! What does the jobs of batches, beside running workers.

mod finalize;
mod manifest;
mod start;
mod sweep;

pub(crate) use finalize::Finalize;
pub(crate) use manifest::Manifest;
pub(crate) use start::Start;
pub(crate) use sweep::Sweep;

use crate::jobs;
use crate::site::Site;
use abide_core::job::NewJob;
use abide_core::json::Json;
use abide_core::name::UniqueKey;

/// Puts a message that could not start a batch where people look for such: once for each job that gave up on it.
async fn to_dead_messages(site: &Site, job: i64, payload: Json, reason: &str) {
    let dead = NewJob::of(jobs::DEAD_MESSAGES, jobs::START, &payload)
        .and_then(|dead| Ok(NewJob { unique_key: Some(UniqueKey::new(format!("message/{job}"))?), ..dead }));
    let kept = match dead {
        Ok(dead) => site.engine.enqueue(vec![dead]).await.map(drop).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match kept {
        Ok(()) => {
            tracing::warn!(target: "preprocess", job, reason, "a queue message went to {}", jobs::DEAD_MESSAGES)
        }
        Err(error) => {
            tracing::error!(target: "preprocess", job, reason, error, "a queue message could not be kept")
        }
    }
}
