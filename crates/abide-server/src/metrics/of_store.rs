//! What the store holds now.

use super::family::{Family, Sort};
use crate::error::ApiError;
use abide_core::job::JobState;
use abide_core::queue::QueueCounts;
use abide_engine::Engine;
use abide_engine::meter::{NAMES, OTHER};
use abide_store::view::{LimitView, QueueView};
use abide_store::{Answer, Read};
use std::collections::BTreeMap;

/// Limits and dead letters that are looked at.
const LOOKS: usize = 1_000;
/// Dead letters that are read at a time.
const LETTERS_AT_A_TIME: usize = 32;

/// Families of what is in the store.
pub(super) async fn families(engine: &Engine) -> Result<Vec<Family>, ApiError> {
    let Answer::Queues(queues) = engine.read(Read::Queues).await? else {
        unreachable!("the store answers about queues in kind")
    };
    let Answer::Limits(limits) = engine.read(Read::Limits { after: None, limit: LOOKS }).await? else {
        unreachable!("the store answers about limits in kind")
    };
    let mut families = of_queues(&queues).to_vec();
    families.extend(of_limits(&limits));
    let help = "Dead letters of objects that are kept; counted up to 1,000.";
    families.push(Family::single("abide_dead_letters", Sort::Gauge, help, dead_letters(engine).await?));
    Ok(families)
}

/// How many dead letters there are, up to so many. A few are read at a time, since they may be large.
async fn dead_letters(engine: &Engine) -> Result<u64, ApiError> {
    let (mut count, mut after) = (0, None);
    while count < LOOKS {
        let limit = LETTERS_AT_A_TIME.min(LOOKS - count);
        let Answer::Dead(letters) = engine.read(Read::Dead { after, limit }).await? else {
            unreachable!("the store answers about dead letters in kind")
        };
        count += letters.len();
        match letters.last() {
            Some(last) if letters.len() == limit => after = Some(last.id),
            Some(_) | None => break,
        }
    }
    Ok(count as u64)
}

fn of_queues(queues: &[QueueView]) -> [Family; 4] {
    let mut by_name: BTreeMap<&str, (QueueCounts, u64)> = BTreeMap::new();
    for queue in queues {
        let name = if by_name.len() < NAMES { queue.queue.as_str() } else { OTHER };
        let (counts, paused) = by_name.entry(name).or_default();
        for state in JobState::ALL {
            *counts.of_mut(state) += queue.counts.of(state);
        }
        *paused += u64::from(queue.policy.paused);
    }
    let mut jobs = Family::new("abide_jobs", Sort::Gauge, "Jobs in the store, by queue and state.");
    let mut paused = Family::new("abide_queue_paused", Sort::Gauge, "Whether a queue is paused.");
    let mut depth = Family::new("contentdownload_queue_depth", Sort::Gauge, "Jobs that wait.");
    let mut inflight = Family::new("contentdownload_jobs_inflight", Sort::Gauge, "Jobs that run.");
    for (name, (counts, is_paused)) in by_name {
        let queue = [("queue", name)];
        for state in JobState::ALL {
            jobs.add(&[("queue", name), ("state", state.as_str())], counts.of(state));
        }
        paused.add(&queue, is_paused);
        depth.add(&queue, counts.scheduled + counts.ready);
        inflight.add(&queue, counts.running);
    }
    [jobs, paused, depth, inflight]
}

/// Limits by the class of their keys (`host`, `queue`, …).
fn of_limits(limits: &[LimitView]) -> [Family; 2] {
    let mut by_class: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for limit in limits {
        let class = limit.key.as_str().split(':').next().unwrap_or_default();
        let class = if by_class.contains_key(class) || by_class.len() < NAMES { class } else { OTHER };
        let (full, waiting) = by_class.entry(class).or_default();
        let concurrency = limit.policy.as_ref().and_then(|policy| policy.concurrency);
        let is_full = limit.until.is_some() || concurrency.is_some_and(|bound| limit.in_use >= bound);
        *full += u64::from(is_full && (limit.in_use > 0 || limit.waiting > 0 || limit.until.is_some()));
        *waiting += limit.waiting;
    }
    let help = "Limits that let nothing more start now, by class of key, among the first 1,000.";
    let mut full = Family::new("abide_limits_at_capacity", Sort::Gauge, help);
    let mut parked = Family::new("abide_limit_waiting_jobs", Sort::Gauge, "Jobs that wait at a limit.");
    for (class, (at_capacity, waiting)) in by_class {
        full.add(&[("class", class)], at_capacity);
        parked.add(&[("class", class)], waiting);
    }
    [full, parked]
}
