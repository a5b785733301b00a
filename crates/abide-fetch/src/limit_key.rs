//! The engine's limit keys of a URL.

use abide_core::host_key::{NoHost, host_key};
use abide_core::name::{BadName, LimitKey};

/// A URL for which no limit key can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoLimitKey {
    /// It has no host.
    #[error(transparent)]
    NoHost(#[from] NoHost),
    /// Its host is no name for a key.
    #[error(transparent)]
    BadName(#[from] BadName),
}

/// The keys a job that fetches `url` must pass: `host:{host_key}`, so that concurrency, rate and `Retry-After` of one host
/// hold over all queues.
pub fn limit_keys(url: &str) -> Result<Vec<LimitKey>, NoLimitKey> {
    Ok(vec![LimitKey::new(format!("host:{}", host_key(url)?))?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_one_key_however_it_is_written() {
        for (url, expected) in [
            ("HTTP://EXAMPLE.COM:80/path", "host:example.com"),
            ("https://example.com.:443/", "host:example.com"),
            ("https://example.com:8443/", "host:example.com:8443"),
            ("https://münchen.example/a", "host:xn--mnchen-3ya.example"),
            ("http://0x7f.1/", "host:127.0.0.1"),
            ("http://[::1]:8080/", "host:[::1]:8080"),
        ] {
            assert_eq!(limit_keys(url).unwrap(), [LimitKey::new(expected).unwrap()], "{url}");
        }
        assert!(matches!(limit_keys("ftp://example.com/"), Err(NoLimitKey::NoHost(_))));
    }
}
