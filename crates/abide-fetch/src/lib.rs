//! Guarded, polite HTTP out: the one door to URLs that come from data.
//!
//! What it is for: links, downloads, robots files and redirects name addresses that nobody here chose. Whatever follows
//! one goes through [`fetcher::Fetcher`], which refuses what the [`guard::Guard`] refuses, dials only addresses the guard
//! has seen, checks every redirect by hand, and bounds hops, bytes and time.
//! What it knows: URLs, addresses, robots.txt, `Retry-After`, breakers, files that arrive in pieces.
//! What it does not know: stores, engines, jobs, services, config. Rates and concurrency per host are the engine's limits:
//! [`limit_key::limit_keys`] names them; only where redirects lead does the fetcher count for itself. Endpoints that the operator configured do not come this way.
//! Where to enter: [`fetcher::Fetcher::open`] for a reply, [`fetcher::Fetcher::page`] for a small body,
//! [`download::Download`] for a file.

pub mod address;
pub mod ask;
pub mod breaker;
pub mod caps;
pub mod certificates;
pub mod client;
mod content_range;
pub mod download;
pub mod error;
pub mod fetcher;
pub mod guard;
mod hosts;
pub mod limit_key;
pub mod limits;
pub mod names;
pub mod options;
mod places;
pub mod port;
pub mod reason;
pub mod refused;
pub mod reply;
pub mod retry_after;
pub mod robots;
pub mod testing;

pub use ask::Ask;
pub use download::{Download, DownloadError, Downloaded};
pub use error::FetchError;
pub use fetcher::Fetcher;
pub use guard::{Guard, Reach};
pub use options::FetchOptions;
pub use reason::Reason;
