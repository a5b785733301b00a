//! How long a request may wait for an answer.

use crate::error::ApiError;
use serde::Deserialize;
use std::time::Duration;

/// The longest wait.
const WAIT_MS: u64 = 30_000;

/// The parameter `wait_ms`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wait {
    wait_ms: Option<u64>,
}

impl Wait {
    /// The wait, checked.
    pub(crate) fn duration(&self) -> Result<Duration, ApiError> {
        duration(self.wait_ms)
    }
}

/// A wait of so many milliseconds, checked; none if not given.
pub(crate) fn duration(wait_ms: Option<u64>) -> Result<Duration, ApiError> {
    match wait_ms.unwrap_or(0) {
        ms if ms <= WAIT_MS => Ok(Duration::from_millis(ms)),
        ms => Err(ApiError::bad(format!("wait_ms is {ms}: wait at most {WAIT_MS} ms and ask again"))),
    }
}
