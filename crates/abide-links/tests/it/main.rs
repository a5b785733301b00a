//! Tests of the link service.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod metadata;
mod prose;
mod shapes;
