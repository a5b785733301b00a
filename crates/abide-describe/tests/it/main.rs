//! Tests of reading and describing.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod describer;
mod ocr;
mod stand_in;
