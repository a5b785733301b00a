//! The kinds of objects of the simulated world. Each keeps rows from which can be told whether a promise was broken.

pub(crate) mod account;
pub(crate) mod boss;
pub(crate) mod counter;
pub(crate) mod courier;
pub(crate) mod follower;
pub(crate) mod relay;
pub(crate) mod scribe;
pub(crate) mod sleeper;

use abide_engine::registry::RegisterError;
use abide_engine::worker::skipped;
use abide_engine::{JobContext, Registry, Turn, TurnError};

/// Queues of the world.
pub(crate) const QUEUES: [&str; 2] = ["red", "blue"];
/// Kinds of jobs that workers in the engines run.
pub(crate) const KINDS: [&str; 2] = ["work", "toil"];
/// A kind of jobs that only workers outside run.
pub(crate) const OUTSIDE_KIND: &str = "errand";
/// Limit keys of the world.
pub(crate) const LIMIT_KEYS: [&str; 3] = ["host:a", "host:b", "model:m"];

/// Everything an engine of the world runs.
pub(crate) fn registry() -> Result<Registry, RegisterError> {
    let mut registry = Registry::new();
    registry.object(counter::Counter)?;
    registry.object(relay::Relay)?;
    registry.object(account::Account)?;
    registry.object(courier::Courier)?;
    registry.object(sleeper::Sleeper)?;
    registry.object(boss::Boss)?;
    registry.object(scribe::Scribe)?;
    registry.object(follower::Follower)?;
    let not_run = |_: JobContext| async { skipped("the world runs jobs by itself") };
    registry.worker(QUEUES[0], KINDS[0], 3, not_run)?;
    registry.worker(QUEUES[0], KINDS[1], 1, not_run)?;
    registry.worker(QUEUES[1], KINDS[0], 2, not_run)?;
    registry.worker(QUEUES[1], KINDS[1], 2, not_run)?;
    Ok(registry)
}

/// Fails this run of a handler in so many of a hundred cases, half of them by a panic.
pub(crate) fn strike(turn: &mut Turn<'_>, percent: u8) -> Result<(), TurnError> {
    let roll = turn.seed().below(200);
    if roll >= 2 * u64::from(percent) {
        return Ok(());
    }
    if roll % 2 == 0 {
        // Unwinds like a panic, without the noise of one.
        std::panic::resume_unwind(Box::new("the world wants a panic"));
    }
    Err(TurnError::Contradiction("the world wants this turn to fail"))
}
