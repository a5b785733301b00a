//! The organizer: budgets, checks of answers, groups without a model, and what goes over the wire.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod budget;
mod builtin;
mod cancel;
mod check;
mod chunks;
mod collections;
mod contract;
mod deaths;
mod flaky;
mod load;
mod object;
mod prompt;
mod rig;
mod stand_in;
mod tree;
mod whole;
