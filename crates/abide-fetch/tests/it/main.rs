//! Fetching from servers that misbehave, on this machine only.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

mod bounds;
mod case;
mod connections;
mod download;
mod guard;
mod places;
mod politeness;
mod redirects;
mod resume;
mod world;
