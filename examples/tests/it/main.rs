//! The examples: each object by itself in a world with virtual time, and each program on a real data directory.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

mod by_hand;
mod chat;
mod counter;
mod fan_out;
mod programs;
mod reminder;
mod transfer;
