//! How logs are printed: on standard error, for a person at a terminal, as JSON lines for anything else.

use std::io::{self, IsTerminal};

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{Layer, fmt, registry};

use crate::config::Log;
use crate::export::Export;

/// The `log.format` option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// Human at a terminal, JSON otherwise.
    Auto,
    /// Lines for a person.
    Human,
    /// One JSON object per line.
    Json,
}

impl LogFormat {
    /// Every format by the name that the configuration uses.
    pub(crate) const NAMES: &[&str] = &["auto", "human", "json"];

    /// The format with this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "human" => Some(Self::Human),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    fn is_human(self, at_terminal: bool) -> bool {
        match self {
            Self::Auto => at_terminal,
            Self::Human => true,
            Self::Json => false,
        }
    }
}

/// Installs the subscriber of this process.
pub(crate) fn start(log: &Log, export: Option<&Export>) -> Result<(), TryInitError> {
    let at_terminal = io::stderr().is_terminal();
    let lines = fmt::layer().with_writer(io::stderr);
    let lines = if log.format.is_human(at_terminal) {
        // An explicit `with_ansi(true)` would override NO_COLOR, so colour is only ever turned off here.
        if at_terminal { lines.boxed() } else { lines.with_ansi(false).boxed() }
    } else {
        lines.json().flatten_event(true).boxed()
    };
    registry().with(lines.with_filter(log.level)).with(export.map(Export::layer)).try_init()
}

/// Installs a subscriber that prints nothing, for commands that show by themselves how far they are.
pub(crate) fn start_export(export: &Export) -> Result<(), TryInitError> {
    registry().with(export.layer()).try_init()
}

#[cfg(test)]
mod tests {
    use super::LogFormat;

    #[test]
    fn auto_is_human_only_at_a_terminal() {
        let table: Vec<_> = LogFormat::NAMES
            .iter()
            .map(|name| {
                let format = LogFormat::from_name(name).unwrap();
                (*name, format.is_human(true), format.is_human(false))
            })
            .collect();
        assert_eq!(table, [("auto", true, false), ("human", true, true), ("json", false, false)]);
    }
}
