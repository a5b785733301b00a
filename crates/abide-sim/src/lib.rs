//! Engines in a seeded world: one to three of them on one store, with faults, and checkers that watch.
//!
//! What it is for: finding what tests do not think of. A seed gives a history: clients, workers and people do their work
//! while engines die, stand still and come back, answers are lost, clocks jump and workers lie. Every batch that the
//! store applies is held to what was promised; then the faults stop and everything must finish.
//! What it knows: the engine as a machine without I/O, the contract of the store, the memory store, SQLite on a disk that fails.
//! What it does not know: threads, real time, files, services.
//! Where to enter: [`run`] for one seed, [`many::run`] for many, `world` for how it works.

mod check;
mod client;
mod clock;
mod counts;
mod dice;
mod happening;
mod history;
mod inside;
mod kinds;
pub mod many;
mod node;
mod outcome;
mod outside;
mod plan;
mod porter;
mod probe;
mod shrink;
mod storm;
mod text;
mod twin;
mod workload;
mod world;

pub use counts::{Counts, EXPECTED};
pub use outcome::{Failure, Report, Violation};
pub use plan::{Fault, Plan, Work};
pub use shrink::shrink;

use abide_store::Store;
use abide_store::memory::MemoryStore;
use std::panic::{AssertUnwindSafe, catch_unwind};
use twin::Twin;
use world::World;

/// One seed of so many runs on real SQLite, on a disk that fails and loses power.
pub const SQLITE_SEEDS: u64 = 20;

/// Runs one seed: on SQLite if it is its turn, otherwise on a store in memory.
pub fn run(seed: u64, plan: &Plan) -> Result<Report, Failure> {
    if seed.is_multiple_of(SQLITE_SEEDS) {
        let opened = Twin::new(seed).map_err(|error| Failure {
            seed,
            plan: Box::new(plan.clone()),
            violation: Violation { promise: "the world can begin", what: error.to_string() },
            events: 0,
            lines: Vec::new(),
        })?;
        let invariants = || opened.invariants();
        return run_world(seed, plan, &mut opened.clone(), &invariants, Some(opened.clone()));
    }
    let store = MemoryStore::new();
    let invariants = || store.check_invariants().map_err(|broken| broken.to_string());
    run_on(seed, plan, &mut store.clone(), &invariants)
}

/// Runs one seed on a store of the caller's. `invariants` is asked after every write.
pub fn run_on(
    seed: u64,
    plan: &Plan,
    store: &mut dyn Store,
    invariants: &dyn Fn() -> Result<(), String>,
) -> Result<Report, Failure> {
    run_world(seed, plan, store, invariants, None)
}

fn run_world(
    seed: u64,
    plan: &Plan,
    store: &mut dyn Store,
    invariants: &dyn Fn() -> Result<(), String>,
    twin: Option<Twin>,
) -> Result<Report, Failure> {
    let failure =
        |violation, events, lines| Failure { seed, plan: Box::new(plan.clone()), violation, events, lines };
    let mut world = World::new(seed, plan, store, invariants).map_err(|v| failure(v, 0, Vec::new()))?;
    world.twin = twin;
    let ran = catch_unwind(AssertUnwindSafe(|| world.run())).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(Violation { promise: "the engine does not panic", what: text.unwrap_or_default() })
    });
    let (events, lines) = (world.history.events(), world.history.take_lines());
    ran.map_err(|violation| failure(violation, events, lines.clone()))?;
    Ok(Report {
        seed,
        events,
        crashes: world.crashes,
        virtual_ms: world.virtual_ms(),
        digest: world.history.digest(),
        counts: world.counts,
        lines,
    })
}
