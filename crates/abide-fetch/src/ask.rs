//! What to fetch.

use crate::limits::{DOWNLOAD_BYTES, DOWNLOAD_MS, PAGE_BYTES, PAGE_MS};
use reqwest::header::HeaderMap;

/// One thing to fetch.
#[derive(Debug, Clone)]
pub struct Ask {
    /// From where.
    pub url: String,
    /// Headers to send. Credentials, cookies and values marked sensitive do not follow a redirect to another origin.
    pub headers: HeaderMap,
    /// At most so many bytes, with those that were there before if only the rest comes.
    pub bytes_max: u64,
    /// Bytes that are there already, when `headers` ask for the rest.
    pub bytes_before: u64,
    /// At most so long, redirects and all.
    pub total_ms: u64,
    /// Which body.
    pub body: BodyForm,
    /// Who found the URL, for whoever follows traces.
    pub resolver: Option<String>,
}

/// In which form a body is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyForm {
    /// As it is sent. The server is asked not to compress it.
    AsSent,
    /// Decompressed.
    Decoded,
}

impl Ask {
    /// A page or a small document, decompressed.
    #[must_use]
    pub fn page(url: impl Into<String>) -> Ask {
        let (bytes_max, total_ms) = (PAGE_BYTES, PAGE_MS);
        let (headers, body) = (HeaderMap::new(), BodyForm::Decoded);
        Ask { url: url.into(), headers, bytes_max, bytes_before: 0, total_ms, body, resolver: None }
    }

    /// A file, as it is sent.
    #[must_use]
    pub fn file(url: impl Into<String>) -> Ask {
        let (bytes_max, total_ms) = (DOWNLOAD_BYTES, DOWNLOAD_MS);
        let (headers, body) = (HeaderMap::new(), BodyForm::AsSent);
        Ask { url: url.into(), headers, bytes_max, bytes_before: 0, total_ms, body, resolver: None }
    }
}
