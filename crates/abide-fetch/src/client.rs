//! The HTTP client: it dials only what the guard lets through, follows nothing by itself and knows no proxy.

use crate::guard::Guard;
use crate::limits::HEADERS;
use crate::options::FetchOptions;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, ClientBuilder};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// The HTTP client could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client could not be made: {0}")]
pub struct BuildError(#[from] reqwest::Error);

/// Dials only what the guard lets through. Hosts that are literal addresses never come here: the guard has checked them
/// when it checked the URL.
struct GuardedNames(Guard);

impl Resolve for GuardedNames {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.0.clone();
        Box::pin(async move {
            let addresses = guard.addresses(name.as_str()).await?;
            let sockets = addresses.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(sockets) as Addrs)
        })
    }
}

/// A client behind `guard`; `form` says what it does with compressed bodies.
pub(crate) fn client(
    guard: &Guard,
    options: &FetchOptions,
    form: impl Fn(ClientBuilder) -> ClientBuilder,
) -> Result<Client, BuildError> {
    let builder = || {
        form(Client::builder())
            .user_agent(options.user_agent.clone())
            .dns_resolver(Arc::new(GuardedNames(guard.clone())))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .connect_timeout(Duration::from_millis(options.connect_ms))
            .http1_max_headers(HEADERS)
            .pool_idle_timeout(Duration::from_secs(15))
            .pool_max_idle_per_host(4)
    };
    match builder().build() {
        Ok(client) => Ok(client),
        Err(error) => {
            tracing::warn!(%error, "no certificates of this system: https URLs will fail until they are installed");
            Ok(builder().tls_certs_only([]).build()?)
        }
    }
}
