//! The one-way switch that says: no new work, finish what is under way.

use tokio::sync::watch;

/// Turns the switch.
#[derive(Debug)]
pub(crate) struct DrainSwitch(watch::Sender<bool>);

/// Sees the switch.
#[derive(Debug, Clone)]
pub(crate) struct Drain(watch::Receiver<bool>);

impl DrainSwitch {
    /// A switch that is off, and its first watcher.
    pub(crate) fn new() -> (DrainSwitch, Drain) {
        let (sender, receiver) = watch::channel(false);
        (DrainSwitch(sender), Drain(receiver))
    }

    /// Begins draining.
    pub(crate) fn begin(&self) {
        self.0.send_replace(true);
    }
}

impl Drain {
    /// Whether draining has begun.
    pub(crate) fn has_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Resolves when draining begins.
    pub(crate) async fn begun(&self) {
        // A switch that is gone belongs to a server that has ended.
        drop(self.0.clone().wait_for(|on| *on).await);
    }
}
