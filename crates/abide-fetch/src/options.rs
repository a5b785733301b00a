//! How to fetch.

use crate::limits::{CONNECT_MS, HEADERS_MS, IDLE_MS, PER_HOST};

/// Who asks, and how patiently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchOptions {
    /// Who asks. Robots files know it by the letters it begins with.
    pub user_agent: String,
    /// Whether robots files are obeyed.
    pub robots: RobotsRule,
    /// Time to resolve, connect and agree on TLS.
    pub connect_ms: u64,
    /// Time from the request to the end of the reply's headers.
    pub headers_ms: u64,
    /// Time without a byte of the body.
    pub idle_ms: u64,
    /// Requests at the same time with a host to which a redirect leads, where nobody knows better.
    pub per_host: usize,
}

/// Whether robots files are obeyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RobotsRule {
    /// They are.
    Obey,
    /// The operator decided otherwise.
    Ignore,
}

impl Default for FetchOptions {
    fn default() -> FetchOptions {
        FetchOptions {
            user_agent: concat!("abide/", env!("CARGO_PKG_VERSION")).to_owned(),
            robots: RobotsRule::Obey,
            connect_ms: CONNECT_MS,
            headers_ms: HEADERS_MS,
            idle_ms: IDLE_MS,
            per_host: PER_HOST,
        }
    }
}
