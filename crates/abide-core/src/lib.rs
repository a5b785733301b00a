//! The words of Abide and its pure decisions.
//!
//! What it is for: every noun that the store, the engine and the services share, and every decision about them that
//! needs no I/O: what a commit is, how a job moves from state to state, when a retry is due, whether a limit admits
//! one more, why a job is not running.
//! What it knows: nothing but its arguments. Time and seeds are passed in.
//! What it does not know: stores, clocks, threads, HTTP, services. It names no other crate of ours.
//! Where to enter: [`commit::Commit`] for objects, [`job`] for jobs, [`limit`] for limits, [`limits`] for every bound.

pub mod commit;
pub mod dead;
pub mod event;
pub mod host_key;
pub mod job;
pub mod json;
pub mod lane;
pub mod limit;
pub mod limits;
pub mod log;
pub mod name;
pub mod object;
pub mod queue;
pub mod retry;
pub mod row;
pub mod seed;
pub mod ticket;
pub mod time;
pub mod why;
