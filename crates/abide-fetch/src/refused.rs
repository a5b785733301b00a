//! Why the guard does not let a URL through.

use std::net::IpAddr;
use url::Url;

/// A URL that data may not reach. Final: the same URL is refused again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Longer than any URL needs to be.
    #[error("the URL has {bytes} bytes, and at most {} are followed", crate::limits::URL_BYTES)]
    TooLong {
        /// How long.
        bytes: usize,
    },
    /// Cannot be read as an absolute URL.
    #[error("{given:?} is not a URL ({why}): give an absolute http or https URL")]
    NotAUrl {
        /// What was given, shortened.
        given: String,
        /// What the parser said.
        why: String,
    },
    /// Neither http nor https.
    #[error("{scheme}: is not followed: only http and https are")]
    Scheme {
        /// Which.
        scheme: String,
    },
    /// Carries a user name or a password. They are not repeated here.
    #[error("the URL for {host} carries credentials: remove what stands before the @")]
    Credentials {
        /// For which host.
        host: String,
    },
    /// A port on which no web server is expected.
    #[error("port {port} of {host} is not followed: it belongs to another kind of service")]
    Port {
        /// Of which host.
        host: String,
        /// Which.
        port: u16,
    },
    /// A name that means this machine or its network.
    #[error(
        "{host:?} names this machine or its network, which URLs from data may not reach (fetch.allow_private)"
    )]
    LocalName {
        /// Which.
        host: String,
    },
    /// An address that is not public.
    #[error("{host} is {address} ({range}), which URLs from data may not reach (fetch.allow_private)")]
    Address {
        /// The host as the URL has it.
        host: String,
        /// Its address.
        address: IpAddr,
        /// The range it lies in.
        range: &'static str,
    },
    /// A redirect that would leave TLS.
    #[error("{from} redirects from https to http on {to}, which would leave TLS")]
    Downgrade {
        /// The host that redirects.
        from: String,
        /// The host it points to.
        to: String,
    },
}

impl Refused {
    /// Whether it is the host of `url` itself that may not be reached.
    pub(crate) fn is_about(&self, url: &Url) -> bool {
        match self {
            Refused::LocalName { host } | Refused::Address { host, .. } => url.host_str() == Some(host),
            Refused::TooLong { .. }
            | Refused::NotAUrl { .. }
            | Refused::Scheme { .. }
            | Refused::Credentials { .. }
            | Refused::Port { .. }
            | Refused::Downgrade { .. } => false,
        }
    }
}
