//! Tests of talking to models and of doing without.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod client;
mod extract;
mod stand_in;
