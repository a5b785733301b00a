//! `abide queue`: a list of things to get in, files out.

mod batches;
mod counts;
mod ends;
mod enqueue;
mod lines;
mod puller;
mod retry_failed;
mod run;
mod stats;
mod tally;

use abide_downloads::QUEUE;
use serde_json::Value;

use self::counts::Counts;

use crate::cli::QueueCommand;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::Output;
use crate::reach::{self, Missing, Path};

/// Does what was asked.
pub(crate) fn run(config: &Config, command: &QueueCommand, output: Output) -> Result<(), Failure> {
    match command {
        QueueCommand::Enqueue(args) => enqueue::enqueue(config, args, output),
        QueueCommand::Import(args) => enqueue::import(config, args, output),
        QueueCommand::Run(args) => run::run(config, args, output),
        QueueCommand::Stats { queue } => stats::run(config, queue, output),
        QueueCommand::RetryFailed { dry_run, queue } => {
            let mode = if *dry_run { retry_failed::Mode::DryRun } else { retry_failed::Mode::Retry };
            retry_failed::run(config, queue, mode, output)
        }
        QueueCommand::Pause { queue } => steer(config, queue, "pause", "paused", output),
        QueueCommand::Resume { queue } => steer(config, queue, "resume", "running", output),
    }
}

fn steer(config: &Config, queue: &str, verb: &str, became: &str, output: Output) -> Result<(), Failure> {
    let (document, counts): (Value, Counts) = reach::with(config, Missing::Refuse, async |client| {
        let document = client.act(&Path::v1(["queues", queue, verb])).await?;
        Ok((document, counts::read(client, queue).await?.counts.into()))
    })?;
    let jobs = match counts {
        Counts { total: 0, .. } => ", and has no jobs yet".to_owned(),
        Counts { queued, in_progress, .. } => format!(": {queued} queued, {in_progress} in progress"),
    };
    output.data(&format!("\u{2713} Queue {queue} is {became}{jobs}\n"), &document)
}

/// What to say of a queue that is paused.
fn paused(queue: &str) -> String {
    let named = if queue == QUEUE { String::new() } else { format!(" {queue}") };
    format!("The queue {queue} is paused: `abide queue resume{named}` lets its jobs start")
}
