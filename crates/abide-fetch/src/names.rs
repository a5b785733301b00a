//! Where the addresses of a name come from.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;

/// Addresses to come.
pub type Lookup = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Turns a host name into addresses. The guard filters what it answers, and what is left is dialled: nothing looks the
/// name up a second time in between.
pub trait Names: Send + Sync + 'static {
    /// Every address of `host`.
    fn lookup(&self, host: &str) -> Lookup;
}

/// The operating system's resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemNames;

impl Names for SystemNames {
    fn lookup(&self, host: &str) -> Lookup {
        let host = host.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}
