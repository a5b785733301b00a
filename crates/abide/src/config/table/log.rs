//! What is logged and how.

use tracing_subscriber::filter::LevelFilter;

use crate::logging::LogFormat;

section! {
    /// What is logged and how.
    log: Log {
        /// Least severe level that is logged.
        level: LevelFilter = {
            kind: Kind::Choice(&["off", "error", "warn", "info", "debug", "trace"]),
            default: DefaultValue::Text("info"),
            aliases: &["ABIDE_LOG"],
        }
        /// Lines for people (human), JSON, or human at a terminal and JSON otherwise (auto).
        format: LogFormat = {
            kind: Kind::Choice(LogFormat::NAMES),
            default: DefaultValue::Text("auto"),
        }
    }
}
