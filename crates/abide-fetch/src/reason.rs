//! The closed set of reason codes with which a fetch ends.

use std::fmt;

/// Why a fetch or a download ended as it did, as one word for machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// It worked.
    Ok,
    /// The server says that nothing has changed since the file was saved.
    NotModified,
    /// The host's robots.txt does not allow it.
    Robots,
    /// The server said when to come back (429 or 503 with `Retry-After`).
    RetryAfter,
    /// The server cannot serve now (429, 500, 502, 503, 504; a robots.txt that fails so), or the host's pace is full, or its places.
    Backoff,
    /// The host failed too often of late.
    BreakerOpen,
    /// Connecting, the headers, the next piece or the whole took too long.
    Timeout,
    /// The name has no address, or the connection failed.
    ConnError,
    /// TLS could not be agreed on: a bad certificate, say.
    TlsError,
    /// The body ended before its announced length.
    SizeMismatch,
    /// The disk failed, or another attempt is writing the same file.
    DownloadError,
    /// A status that trying again does not change, or too many redirects.
    HttpError,
    /// The guard refused the URL, a redirect or an address.
    SecurityPolicy,
    /// The directory or the name leads out of where files may be written.
    PathPolicy,
    /// The announced length is over the bound.
    PolicySize,
    /// The body went over the bound.
    TooLarge,
    /// The content type is not the expected one.
    UnexpectedCt,
}

/// What an end means for whoever asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// There is a result.
    Done,
    /// There is none, and that is no error.
    Skipped,
    /// Trying again may help.
    Retryable,
    /// Trying again cannot help.
    Final,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Reason; 17] = [
        Reason::Ok,
        Reason::NotModified,
        Reason::Robots,
        Reason::RetryAfter,
        Reason::Backoff,
        Reason::BreakerOpen,
        Reason::Timeout,
        Reason::ConnError,
        Reason::TlsError,
        Reason::SizeMismatch,
        Reason::DownloadError,
        Reason::HttpError,
        Reason::SecurityPolicy,
        Reason::PathPolicy,
        Reason::PolicySize,
        Reason::TooLarge,
        Reason::UnexpectedCt,
    ];

    /// The code.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::Ok => "ok",
            Reason::NotModified => "not-modified",
            Reason::Robots => "robots",
            Reason::RetryAfter => "retry-after",
            Reason::Backoff => "backoff",
            Reason::BreakerOpen => "breaker-open",
            Reason::Timeout => "timeout",
            Reason::ConnError => "conn-error",
            Reason::TlsError => "tls-error",
            Reason::SizeMismatch => "size-mismatch",
            Reason::DownloadError => "download-error",
            Reason::HttpError => "http-error",
            Reason::SecurityPolicy => "security-policy",
            Reason::PathPolicy => "path-policy",
            Reason::PolicySize => "policy-size",
            Reason::TooLarge => "too-large",
            Reason::UnexpectedCt => "unexpected-ct",
        }
    }

    /// What it means.
    #[must_use]
    pub const fn class(self) -> Class {
        match self {
            Reason::Ok => Class::Done,
            Reason::NotModified | Reason::Robots => Class::Skipped,
            Reason::RetryAfter
            | Reason::Backoff
            | Reason::BreakerOpen
            | Reason::Timeout
            | Reason::ConnError
            | Reason::SizeMismatch
            | Reason::DownloadError => Class::Retryable,
            Reason::TlsError
            | Reason::HttpError
            | Reason::SecurityPolicy
            | Reason::PathPolicy
            | Reason::PolicySize
            | Reason::TooLarge
            | Reason::UnexpectedCt => Class::Final,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
