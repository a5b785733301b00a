//! The engine of Abide: objects take turns, jobs run, alarms wake.
//!
//! What it is for: whoever writes a service implements [`Object`] and [`Worker`], registers them and starts an
//! [`Engine`] on a store; whoever tests one uses a [`testing::World`] with virtual time.
//! What it knows: the words and decisions of `abide-core`, the contract of `abide-store`.
//! What it does not know: which store, which services, HTTP.
//! Where to enter: [`object::Object`] for writing a service, [`machine::Machine`] for how it works (a state machine without
//! I/O), [`driver`] for the threads around it.

pub mod cache;
pub mod call;
pub mod clock;
pub mod driver;
pub mod halt;
pub mod machine;
pub mod meter;
pub mod object;
pub mod record;
pub mod registry;
pub mod telemetry;
pub mod testing;
pub mod turn;
pub mod worker;

pub use abide_core as core;
pub use abide_store as store;
pub use call::{Call, CallError};
pub use driver::{Change, Changes, Engine, EngineError, EngineOptions, StartError};
pub use halt::{Halt, Refusal, RefusalClass, TurnError};
pub use object::{Answer, Entries, Exposure, NoRefusal, Nothing, Object};
pub use record::Record;
pub use registry::Registry;
pub use telemetry::Telemetry;
pub use turn::Turn;
pub use worker::{JobContext, Worker};
