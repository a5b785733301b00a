//! Tests of the link service: the log of a store, who may see it, its processor, and pages.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod answers;
mod duplicates;
mod hostile_pages;
mod lane;
mod metadata;
mod odd_events;
mod processor;
mod prose;
mod requests;
mod shapes;
mod stopping;
mod sync_log;
mod waking;
mod world;
