//! How reading a link ended: closed sets, and the codes that go into the log.

use super::Page;
use abide_core::time::Time;
use abide_fetch::FetchError;
use serde::{Deserialize, Serialize};

/// What came of a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A page with something to read.
    Ok(Page),
    /// A page with next to nothing to read.
    Empty(Page),
    /// No page.
    Failed(Failure),
    /// The host is left alone for now, so it was not asked.
    NotAsked {
        /// For how much longer.
        wait_ms: i64,
        /// How often it was asked and failed, over all jobs.
        failures: u32,
        /// Since when it has been left alone, if an earlier job could not ask it either.
        since: Option<Time>,
        /// Why it is left alone.
        why: String,
    },
}

/// Why there is no page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What it means for the link.
    pub verdict: Verdict,
    /// The code in the log: `fetch:404`, `fetch:timeout`, `fetch:unreadable`.
    pub code: String,
    /// What was the matter, for a person.
    #[serde(default)]
    pub why: String,
}

/// What a failure means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The host keeps programs out.
    Blocked,
    /// There is no such page, or no longer.
    Gone,
    /// Later it may work.
    Transient,
    /// It will not work.
    Permanent,
}

impl Failure {
    /// The host answered with a status that is no success.
    #[must_use]
    pub fn status(status: u16) -> Failure {
        let verdict = match status {
            401 | 402 | 403 | 407 | 451 => Verdict::Blocked,
            404 | 410 => Verdict::Gone,
            408 | 425 | 429 | 500..=599 => Verdict::Transient,
            _ => Verdict::Permanent,
        };
        Failure { verdict, code: format!("fetch:{status}"), why: format!("the host answered {status}") }
    }

    /// Something came, or nothing did, and it cannot be read.
    #[must_use]
    pub fn unreadable(verdict: Verdict, why: impl Into<String>) -> Failure {
        Failure { verdict, code: "fetch:unreadable".to_owned(), why: why.into() }
    }

    /// It took too long.
    #[must_use]
    pub fn timeout(verdict: Verdict, why: impl Into<String>) -> Failure {
        Failure { verdict, code: "fetch:timeout".to_owned(), why: why.into() }
    }
}

impl From<&FetchError> for Failure {
    fn from(error: &FetchError) -> Failure {
        let why = error.to_string();
        match error {
            FetchError::Status { status, .. } => Failure { why, ..Failure::status(*status) },
            FetchError::Timeout { .. } => Failure::timeout(Verdict::Transient, why),
            FetchError::Robots { .. } => Failure::unreadable(Verdict::Blocked, why),
            FetchError::RobotsUnreachable { status, .. } => {
                Failure { verdict: Verdict::Transient, why, ..Failure::status(*status) }
            }
            FetchError::Unresolved { .. }
            | FetchError::Connect { .. }
            | FetchError::Broken { .. }
            | FetchError::Cut { .. }
            | FetchError::BreakerOpen { .. }
            | FetchError::Paced { .. }
            | FetchError::Crowded { .. } => Failure::unreadable(Verdict::Transient, why),
            FetchError::Refused(_)
            | FetchError::Tls { .. }
            | FetchError::TooLarge { .. }
            | FetchError::Announced { .. }
            | FetchError::Redirects { .. } => Failure::unreadable(Verdict::Permanent, why),
        }
    }
}
