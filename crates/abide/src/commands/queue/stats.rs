//! `abide queue stats`: jobs by state, how fast they end and how long the rest takes.

use abide_core::time::Clock;
use abide_engine::clock::SystemClock;
use serde::Serialize;

use super::counts::{self, Counts};
use crate::config::Config;
use crate::failure::Failure;
use crate::output::Output;
use crate::reach::{self, Client, Missing, Path, ReachError};

/// The rate is that of the last seconds: of so many, or of the last one if too many jobs ended in them to be counted.
const WINDOWS_MS: [i64; 2] = [10_000, 1_000];
/// Jobs of one state that are counted at most.
const COUNTED: usize = 2_000;
const RULE: &str = "========================================";

#[derive(Serialize)]
struct Stats<'a> {
    queue: &'a str,
    paused: bool,
    #[serde(flatten)]
    counts: Counts,
    /// Jobs that ended in a second, lately; null if none is in progress.
    rate: Option<f64>,
    /// Seconds until the rest has ended at that rate; null if it cannot be told.
    eta: Option<f64>,
}

/// Prints the counts of a queue.
pub(super) fn run(config: &Config, queue: &str, output: Output) -> Result<(), Failure> {
    let stats = reach::with(config, Missing::Refuse, async |client| {
        let before = counts::read(client, queue).await?;
        let mut stats = Stats {
            queue,
            paused: before.policy.paused,
            counts: before.counts.into(),
            rate: None,
            eta: None,
        };
        if stats.counts.in_progress > 0 {
            let rate = rate(client, queue).await?;
            stats.rate = Some(rate);
            stats.eta = (rate > 0.0).then(|| stats.counts.left() as f64 / rate);
        }
        Ok(stats)
    })?;
    output.data(&text(&stats), &stats)
}

/// Jobs that ended in a second, lately.
async fn rate(client: &Client, queue: &str) -> Result<f64, ReachError> {
    let now = SystemClock::new().now();
    let mut rate = 0.0;
    for window_ms in WINDOWS_MS {
        let mut ended = 0;
        let mut is_exact = true;
        for state in ["done", "skipped", "failed"] {
            let path = Path::v1(["jobs"])
                .with("queue", Some(queue))
                .with("state", Some(state))
                .with("finished_from", Some(now.plus_ms(-window_ms).0));
            let listed = reach::list(client, &path, "jobs", COUNTED).await?;
            ended += listed.items.len();
            is_exact &= listed.next.is_none();
        }
        rate = ended as f64 * 1_000.0 / window_ms as f64;
        if is_exact {
            break;
        }
    }
    Ok(rate)
}

fn text(stats: &Stats<'_>) -> String {
    let Counts { queued, in_progress, done, skipped, error, cancelled, total } = stats.counts;
    let mut text = format!("Queue Statistics: {}\n{RULE}\n", stats.queue);
    for (name, count) in [
        ("queued", queued),
        ("in_progress", in_progress),
        ("done", done),
        ("skipped", skipped),
        ("error", error),
        ("cancelled", cancelled),
        ("total", total),
    ] {
        text.push_str(&format!("{name:<12} {count:>10}\n"));
    }
    if let Some(rate) = stats.rate {
        text.push_str(&format!("{:<12} {rate:>10.1} a second\n", "rate"));
    }
    if let Some(eta) = stats.eta {
        text.push_str(&format!("{:<12} {eta:>10.0} seconds\n", "eta"));
    }
    if stats.paused {
        text.push_str("The queue is paused: `abide queue resume` lets its jobs start\n");
    }
    text
}
