//! The organizer: budgets, checks of answers, groups without a model, and what goes over the wire.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod budget;
mod builtin;
mod check;
mod collections;
mod contract;
mod object;
mod prompt;
