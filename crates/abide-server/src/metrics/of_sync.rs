//! Sync clients: how many there are, and what is kept in memory for them.

use super::family::{Family, Sort};
use crate::app::App;

/// Families of the service.
pub(super) fn families(app: &App) -> [Family; 2] {
    let gauge = |name, help, value: u64| Family::single(name, Sort::Gauge, help, value);
    [
        gauge("abide_sync_sockets", "Sockets and tails that are open.", app.sockets().count() as u64),
        gauge(
            "abide_sync_kept_bytes",
            "Ends of logs that are kept in memory for live readers.",
            app.feeds().kept_bytes(),
        ),
    ]
}
