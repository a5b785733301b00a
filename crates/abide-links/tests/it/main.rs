//! Tests of the link service.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod metadata;
mod processor;
mod prose;
mod requests;
mod shapes;
mod world;
