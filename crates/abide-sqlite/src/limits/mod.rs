//! Limits: concurrency and rate for keys, across all queues.

mod held;
mod keys;
mod policy;

pub(crate) use held::{Limits, decode};
