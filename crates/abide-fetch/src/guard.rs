//! The guard: which URLs that come from data may be followed, and to which addresses.
//!
//! A URL passes four checks: its text (scheme, credentials, port, length), its host (a literal must be public, in whatever
//! notation; a name must not mean this machine), each address its name resolves to at the moment of dialling, and, for a
//! redirect, the step itself (no https to http unless [`Downgrade::Allow`]).

use crate::address::forbidden_range;
use crate::limits::{ADDRESSES, URL_BYTES};
use crate::names::{Names, SystemNames};
use crate::port;
use crate::refused::Refused;
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use url::{Host, Url};

/// Decides about URLs and addresses. Cheap to clone.
#[derive(Clone)]
pub struct Guard {
    reach: Arc<Reach>,
    downgrade: Downgrade,
    names: Arc<dyn Names>,
}

/// Which addresses URLs from data may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Public ones.
    Public,
    /// Public ones and these.
    PublicAnd(BTreeSet<IpAddr>),
    /// All: the operator wants that.
    Anywhere,
}

/// What happens to a redirect from https to http.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Downgrade {
    /// It is refused: what TLS protected would travel in the open.
    Refuse,
    /// It is followed.
    Allow,
}

/// A name that leads nowhere.
#[derive(Debug, thiserror::Error)]
pub enum NameError {
    /// None of its addresses may be reached.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It has no address.
    #[error("{host} has no address")]
    NoAddress {
        /// Which.
        host: String,
    },
    /// The resolver failed.
    #[error("the addresses of {host} could not be found: {source}")]
    Lookup {
        /// Which.
        host: String,
        /// What it said.
        source: io::Error,
    },
}

impl Guard {
    /// A guard that asks the operating system for addresses.
    #[must_use]
    pub fn new(reach: Reach) -> Guard {
        Guard::with_names(reach, Arc::new(SystemNames))
    }

    /// A guard that asks `names`.
    #[must_use]
    pub fn with_names(reach: Reach, names: Arc<dyn Names>) -> Guard {
        Guard { reach: Arc::new(reach), downgrade: Downgrade::Refuse, names }
    }

    /// The same guard with another rule for redirects that leave TLS.
    #[must_use]
    pub fn with_downgrade(self, downgrade: Downgrade) -> Guard {
        Guard { downgrade, ..self }
    }

    /// Checks a URL as data gives it. The fragment is dropped.
    pub fn url(&self, text: &str) -> Result<Url, Refused> {
        let url = parse(text, None)?;
        self.check(url)
    }

    /// Checks where `from` redirects to.
    pub fn redirect(&self, from: &Url, location: &str) -> Result<Url, Refused> {
        let url = self.check(parse(location, Some(from))?)?;
        if self.downgrade == Downgrade::Refuse && from.scheme() == "https" && url.scheme() == "http" {
            return Err(Refused::Downgrade { from: host_of(from), to: host_of(&url) });
        }
        Ok(url)
    }

    /// Checks an address that `host` stands for.
    pub fn address(&self, host: &str, address: IpAddr) -> Result<(), Refused> {
        let range = match &*self.reach {
            Reach::Anywhere => None,
            Reach::PublicAnd(others) if others.contains(&address) => None,
            Reach::Public | Reach::PublicAnd(_) => forbidden_range(address),
        };
        match range {
            Some(range) => Err(Refused::Address { host: host.to_owned(), address, range }),
            None => Ok(()),
        }
    }

    /// The addresses of `host` that may be dialled: those of the resolver's answer that pass. If none does, the first
    /// that did not is named.
    pub async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, NameError> {
        self.check_name(host)?;
        let found = self.names.lookup(host).await;
        let found = found.map_err(|source| NameError::Lookup { host: host.to_owned(), source })?;
        let mut passed = Vec::new();
        let mut refused = None;
        for address in found {
            match self.address(host, address) {
                Ok(()) if passed.len() < ADDRESSES => passed.push(address),
                Ok(()) => break,
                Err(why) => refused = refused.or(Some(why)),
            }
        }
        match refused {
            _ if !passed.is_empty() => Ok(passed),
            Some(why) => Err(why.into()),
            None => Err(NameError::NoAddress { host: host.to_owned() }),
        }
    }

    fn check(&self, mut url: Url) -> Result<Url, Refused> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refused::Scheme { scheme: url.scheme().chars().take(40).collect() });
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused::Credentials { host: host_of(&url) });
        }
        match url.port_or_known_default() {
            Some(port) if port::is_allowed(port) => {}
            port => return Err(Refused::Port { host: host_of(&url), port: port.unwrap_or(0) }),
        }
        match url.host() {
            Some(Host::Ipv4(address)) => self.address(&host_of(&url), address.into())?,
            Some(Host::Ipv6(address)) => self.address(&host_of(&url), address.into())?,
            Some(Host::Domain(name)) => self.check_name(name)?,
            None => return Err(not_a_url(url.as_str(), "it has no host")),
        }
        url.set_fragment(None);
        Ok(url)
    }

    fn check_name(&self, host: &str) -> Result<(), Refused> {
        let local = match &*self.reach {
            Reach::Anywhere => false,
            Reach::Public | Reach::PublicAnd(_) => is_local_name(host),
        };
        if local { Err(Refused::LocalName { host: host.to_owned() }) } else { Ok(()) }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("reach", &self.reach)
            .field("downgrade", &self.downgrade)
            .finish_non_exhaustive()
    }
}

fn parse(text: &str, base: Option<&Url>) -> Result<Url, Refused> {
    if text.len() > URL_BYTES {
        return Err(Refused::TooLong { bytes: text.len() });
    }
    let parsed = Url::options().base_url(base).parse(text);
    let url = parsed.map_err(|why| not_a_url(text, &why.to_string()))?;
    if url.as_str().len() > URL_BYTES {
        return Err(Refused::TooLong { bytes: url.as_str().len() });
    }
    Ok(url)
}

fn not_a_url(text: &str, why: &str) -> Refused {
    // What stands before an @ may be a password.
    let given = if text.contains('@') { "…".to_owned() } else { text.chars().take(200).collect() };
    Refused::NotAUrl { given, why: why.to_owned() }
}

fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

/// Names without a dot, and the suffixes that are reserved for this machine, its network or no DNS at all.
fn is_local_name(host: &str) -> bool {
    const SUFFIXES: [&str; 8] =
        ["localhost", "local", "localdomain", "internal", "intranet", "home.arpa", "lan", "onion"];
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let is_under =
        |suffix: &&str| host.strip_suffix(*suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    !host.contains('.') || SUFFIXES.iter().any(is_under)
}
