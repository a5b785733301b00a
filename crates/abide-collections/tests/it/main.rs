//! Tests of collections on a real engine, with files in a bucket.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod by_hand;
mod catalog;
mod changing;
mod delete;
mod rig;
mod search;
mod snapshot;
mod stops;
