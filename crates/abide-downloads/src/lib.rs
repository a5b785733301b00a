//! Downloads: a list of artifacts with URLs in, files out.
//!
//! What it is for: an [`artifact::Artifact`] is one line of a list; it becomes one job, however often the list is entered.
//! The worker of [`register`] fetches its URL into a directory and tells failures that may pass from those that will not.
//! What it knows: artifacts, jobs, the fetcher it is given.
//! What it does not know: stores, HTTP routes, config, how a URL is found for an artifact that has none: such an artifact
//! is a job of the kind [`RESOLVE`], which waits until something brings a worker for it.
//! Where to enter: [`artifact::Artifact::parse`] and [`register`].

pub mod artifact;
pub mod finish;
pub mod meter;
mod patience;
pub mod worker;

pub use artifact::{Artifact, BadArtifact};
pub use meter::Meter;
pub use worker::Downloads;

use abide_engine::Registry;
use abide_engine::registry::RegisterError;

/// The queue.
pub const QUEUE: &str = "download";
/// The kind of a job whose artifact has a URL.
pub const DOWNLOAD: &str = "download";
/// The kind of a job whose artifact has none.
pub const RESOLVE: &str = "resolve";
/// Downloads at once in one process, unless told otherwise.
pub const WORKERS: usize = 8;
/// Downloads at once from one host, unless told otherwise: what the limit class `host:*` should allow.
pub const PER_HOST: u32 = 4;

/// Adds the worker for downloads, `workers` at a time.
pub fn register(registry: &mut Registry, downloads: Downloads, workers: usize) -> Result<(), RegisterError> {
    registry.worker(QUEUE, DOWNLOAD, workers, downloads)
}
