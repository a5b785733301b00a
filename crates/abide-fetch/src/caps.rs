//! How many requests a host may have at a time, where somebody knows.

use std::future::Future;
use std::pin::Pin;

/// A cap to come.
pub type Cap = Pin<Box<dyn Future<Output = Option<usize>> + Send>>;

/// Knows how many requests a host may have at a time, now. It is asked where a redirect leads.
pub trait Caps: Send + Sync {
    /// The cap of a host, which is named as its limit key has it; none if nobody has set one.
    fn of(&self, host: &str) -> Cap;
}
