//! How directories are grouped.

section! {
    /// How directories are grouped.
    organizer: Organizer {
        /// URL of whoever is told what came of a request over HTTP; empty for this server's own orchestrator.
        orchestrator_url: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["ORCHESTRATOR"],
        }
        /// Token that it wants; empty for none.
        orchestrator_token: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            secret: true,
        }
        /// Tokens that the model can take in all.
        max_tokens: usize = {
            kind: Kind::Integer { min: 1_024, max: 100_000_000 },
            default: DefaultValue::Integer(163_839),
            aliases: &["MAX_TOKENS"],
        }
        /// Share of them that one question may take, such as 0.3.
        token_budget_percentage: String = {
            kind: Kind::Text,
            default: DefaultValue::Text("0.3"),
            aliases: &["TOKEN_BUDGET_PERCENTAGE"],
        }
        /// How long one request to the model may take.
        timeout_ms: u64 = {
            kind: Kind::Integer { min: 100, max: 3_600_000 },
            default: DefaultValue::Integer(180_000),
        }
        /// Attempts at one directory.
        max_retries_per_pi: u32 = {
            kind: Kind::Integer { min: 1, max: 100 },
            default: DefaultValue::Integer(3),
            aliases: &["MAX_RETRIES_PER_PI"],
        }
        /// Attempts at one callback over HTTP, after which it is a dead letter.
        max_callback_retries: u32 = {
            kind: Kind::Integer { min: 1, max: 1_000 },
            default: DefaultValue::Integer(3),
            aliases: &["MAX_CALLBACK_RETRIES"],
        }
        /// Accepted, and without effect: nothing here polls.
        alarm_interval_ms: i64 = {
            kind: Kind::Integer { min: 0, max: 86_400_000 },
            default: DefaultValue::Integer(100),
            aliases: &["ALARM_INTERVAL_MS"],
        }
        /// How long a finished request can be looked at.
        retain_for_ms: i64 = {
            kind: Kind::Integer { min: 0, max: 31_536_000_000 },
            default: DefaultValue::Integer(2_592_000_000),
        }
        /// What the questions of one batch may cost, in millionths of a currency; 0 for no bound.
        batch_budget_micros: u64 = {
            kind: Kind::Integer { min: 0, max: 1_000_000_000_000 },
            default: DefaultValue::Integer(0),
        }
    }
}
