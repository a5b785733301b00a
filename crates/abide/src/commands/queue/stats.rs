//! `abide queue stats`: jobs by state, how fast they end and how long the rest takes.

use std::time::Duration;

use indicatif::HumanDuration;
use serde::Serialize;

use super::counts::{Counts, QueueDocument};
use super::paused;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::Output;
use crate::reach::{self, Missing, Path};

const RULE: &str = "========================================";

#[derive(Serialize)]
struct Stats<'a> {
    queue: &'a str,
    paused: bool,
    #[serde(flatten)]
    counts: Counts,
    /// Jobs that ended in a second, lately; null if none is in progress, or none was seen to end.
    rate: Option<f64>,
    /// Seconds until the rest has ended at that rate; null if it cannot be told.
    eta: Option<f64>,
}

/// Prints the counts of a queue.
pub(super) fn run(config: &Config, queue: &str, output: Output) -> Result<(), Failure> {
    let stats = reach::with(config, Missing::Refuse, async |client| {
        let found: QueueDocument = client.get(&Path::v1(["queues", queue])).await?;
        let counts = Counts::from(found.counts);
        // A server that has just started counts from nothing: that it saw none end is no pace.
        let rate = Some(found.rate).filter(|rate| counts.in_progress > 0 && *rate > 0.0);
        let eta = rate.map(|rate| counts.left() as f64 / rate);
        Ok(Stats { queue, paused: found.policy.paused, counts, rate, eta })
    })?;
    output.data(&text(&stats), &stats)
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
        // A rate near zero gives more than a duration holds.
        let left = Duration::try_from_secs_f64(eta.ceil()).unwrap_or(Duration::MAX);
        text.push_str(&format!("{:<12} {:>10}\n", "eta", HumanDuration(left).to_string()));
    }
    if stats.paused {
        text.push_str(&format!("{}\n", paused(stats.queue)));
    }
    text
}
