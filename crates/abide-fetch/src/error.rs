//! How a fetch fails.

use crate::guard::NameError;
use crate::limits::REDIRECTS;
use crate::reason::{Class, Reason};
use crate::refused::Refused;
use abide_core::job::RetryWish;
use std::error::Error;
use std::fmt;
use std::io;

/// A fetch that gave no usable reply. Hosts are named as their limit keys have them.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The guard does not let it through.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The host's name leads nowhere.
    #[error("{why}")]
    Unresolved {
        /// What the resolver said.
        why: String,
    },
    /// The connection could not be made.
    #[error("{host} could not be reached: {why}")]
    Connect {
        /// Which host.
        host: String,
        /// What went wrong.
        why: String,
    },
    /// TLS could not be agreed on.
    #[error("no secure connection to {host}: {why}")]
    Tls {
        /// Which host.
        host: String,
        /// What went wrong.
        why: String,
    },
    /// Something took too long.
    #[error("{host} took too long: {phase}")]
    Timeout {
        /// Which host.
        host: String,
        /// What did.
        phase: Phase,
    },
    /// The exchange broke.
    #[error("the exchange with {host} broke: {why}")]
    Broken {
        /// Which host.
        host: String,
        /// What went wrong.
        why: String,
    },
    /// The body ended early.
    #[error("{host} sent {received} of {announced} bytes")]
    Cut {
        /// Which host.
        host: String,
        /// What it announced.
        announced: u64,
        /// What came.
        received: u64,
    },
    /// The body is larger than asked for.
    #[error("{host} sent more than {bound} bytes")]
    TooLarge {
        /// Which host.
        host: String,
        /// How much was allowed.
        bound: u64,
    },
    /// The body is announced to be larger than asked for.
    #[error("{host} announces {announced} bytes, and at most {bound} are fetched")]
    Announced {
        /// Which host.
        host: String,
        /// How large it would be.
        announced: u64,
        /// How much was allowed.
        bound: u64,
    },
    /// Redirect after redirect.
    #[error("{host} redirects again after {REDIRECTS} redirects")]
    Redirects {
        /// The last host.
        host: String,
    },
    /// A status that is no success.
    #[error("{host} answered {status}")]
    Status {
        /// Which host.
        host: String,
        /// What it said.
        status: u16,
        /// How long it wants to be left alone.
        retry_after_ms: Option<i64>,
    },
    /// The host's robots.txt says no.
    #[error("robots.txt of {host} does not allow {path}")]
    Robots {
        /// Which host.
        host: String,
        /// What it does not allow.
        path: String,
    },
    /// The host's robots.txt cannot be read for now, so everything counts as not allowed.
    #[error("robots.txt of {host} answered {status}, which shuts the host for now")]
    RobotsUnreachable {
        /// Which host.
        host: String,
        /// What it said.
        status: u16,
        /// Until it is read again.
        wait_ms: i64,
    },
    /// The host failed too often of late, or asked to be left alone.
    #[error("{host} failed too often of late and is left alone")]
    BreakerOpen {
        /// Which host.
        host: String,
        /// For how much longer.
        wait_ms: i64,
    },
    /// The host wants its requests further apart.
    #[error("{host} wants its requests further apart")]
    Paced {
        /// Which host.
        host: String,
        /// Until this one's turn.
        wait_ms: i64,
    },
    /// A redirect leads to a host that has as many requests as it may.
    #[error("{host} is being asked as often at a time as it may be")]
    Crowded {
        /// Which host.
        host: String,
        /// Until it is worth another try.
        wait_ms: i64,
    },
}

/// A host that wants to be left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest<'a> {
    /// Which, as its limit key has it: `example.org`, `example.org:8080`.
    pub host: &'a str,
    /// For how long.
    pub wait_ms: i64,
}

/// What took too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Finding an address, connecting and agreeing on TLS.
    Connect,
    /// From the request to the end of the reply's headers.
    Headers,
    /// The next piece of the body.
    Idle,
    /// All of it.
    Total,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Connect => "connecting",
            Phase::Headers => "the reply's headers",
            Phase::Idle => "the next piece of the body",
            Phase::Total => "the whole exchange",
        })
    }
}

impl FetchError {
    /// The code.
    #[must_use]
    pub const fn reason(&self) -> Reason {
        match self {
            FetchError::Refused(_) => Reason::SecurityPolicy,
            FetchError::Unresolved { .. } | FetchError::Connect { .. } | FetchError::Broken { .. } => {
                Reason::ConnError
            }
            FetchError::Tls { .. } => Reason::TlsError,
            FetchError::Timeout { .. } => Reason::Timeout,
            FetchError::Cut { .. } => Reason::SizeMismatch,
            FetchError::TooLarge { .. } => Reason::TooLarge,
            FetchError::Announced { .. } => Reason::PolicySize,
            FetchError::Redirects { .. } => Reason::HttpError,
            FetchError::Status { retry_after_ms: Some(_), .. } => Reason::RetryAfter,
            FetchError::Status { status: 429 | 500 | 502 | 503 | 504, .. } => Reason::Backoff,
            FetchError::Status { .. } => Reason::HttpError,
            FetchError::Robots { .. } => Reason::Robots,
            FetchError::RobotsUnreachable { .. } | FetchError::Paced { .. } | FetchError::Crowded { .. } => {
                Reason::Backoff
            }
            FetchError::BreakerOpen { .. } => Reason::BreakerOpen,
        }
    }

    /// Which host should be left alone, and for how long, if that is known.
    #[must_use]
    pub fn rest(&self) -> Option<Rest<'_>> {
        let (host, wait_ms) = match self {
            FetchError::Status { host, retry_after_ms, .. } => (host, (*retry_after_ms)?),
            FetchError::RobotsUnreachable { host, wait_ms, .. }
            | FetchError::BreakerOpen { host, wait_ms }
            | FetchError::Paced { host, wait_ms } => (host, *wait_ms),
            FetchError::Refused(_)
            | FetchError::Unresolved { .. }
            | FetchError::Connect { .. }
            | FetchError::Tls { .. }
            | FetchError::Timeout { .. }
            | FetchError::Broken { .. }
            | FetchError::Cut { .. }
            | FetchError::TooLarge { .. }
            | FetchError::Announced { .. }
            | FetchError::Redirects { .. }
            | FetchError::Robots { .. }
            | FetchError::Crowded { .. } => return None,
        };
        Some(Rest { host, wait_ms })
    }

    /// Whether and when to try again.
    #[must_use]
    pub fn retry(&self) -> RetryWish {
        match (self.reason().class(), self.rest()) {
            (Class::Retryable, Some(rest)) => RetryWish::AfterMs(rest.wait_ms),
            (Class::Retryable, None) => RetryWish::ByPolicy,
            (Class::Done | Class::Skipped | Class::Final, _) => RetryWish::Never,
        }
    }

    /// Whether nothing was asked of the URL: its host is left alone for now.
    #[must_use]
    pub const fn is_unasked(&self) -> bool {
        matches!(
            self,
            FetchError::RobotsUnreachable { .. }
                | FetchError::BreakerOpen { .. }
                | FetchError::Paced { .. }
                | FetchError::Crowded { .. }
        )
    }

    /// Whether it blames the host, so that its breaker counts it.
    pub(crate) const fn blames_host(&self) -> bool {
        matches!(
            self,
            FetchError::Unresolved { .. }
                | FetchError::Connect { .. }
                | FetchError::Tls { .. }
                | FetchError::Timeout { .. }
                | FetchError::Broken { .. }
                | FetchError::Cut { .. }
        )
    }

    /// What a failed request to `host` was.
    pub(crate) fn of_request(host: &str, error: reqwest::Error) -> FetchError {
        let error = error.without_url();
        let host = host.to_owned();
        match find_cause(&error) {
            Some(Cause::Refused(refused)) => FetchError::Refused(refused),
            Some(Cause::Unresolved(why)) => FetchError::Unresolved { why },
            Some(Cause::Tls(why)) => FetchError::Tls { host, why },
            None if error.is_timeout() => FetchError::Timeout { host, phase: Phase::Connect },
            None if error.is_connect() => FetchError::Connect { host, why: innermost(&error) },
            None => FetchError::Broken { host, why: innermost(&error) },
        }
    }
}

enum Cause {
    Refused(Refused),
    Unresolved(String),
    Tls(String),
}

/// Looks down the chain of causes for one of ours or of TLS.
fn find_cause(error: &(dyn Error + 'static)) -> Option<Cause> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(name) = error.downcast_ref::<NameError>() {
            return Some(match name {
                NameError::Refused(refused) => Cause::Refused(refused.clone()),
                NameError::NoAddress { .. } | NameError::Lookup { .. } => Cause::Unresolved(name.to_string()),
            });
        }
        if let Some(tls) = error.downcast_ref::<rustls::Error>() {
            return Some(Cause::Tls(tls.to_string()));
        }
        // An io::Error does not give what it wraps as its source, only that thing's source.
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(cause) = wrapped.and_then(|wrapped| find_cause(wrapped)) {
            return Some(cause);
        }
        next = error.source();
    }
    None
}

/// What an error comes down to.
#[must_use]
pub fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}
