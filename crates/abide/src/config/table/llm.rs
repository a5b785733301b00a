//! The model that is asked, if one is.

section! {
    /// The model that is asked, if one is.
    llm: Llm {
        /// Where it is, up to and without /chat/completions; empty if there is none.
        base_url: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["DEEPINFRA_BASE_URL"],
        }
        /// Key that it wants.
        api_key: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["DEEPINFRA_API_KEY"],
            secret: true,
        }
        /// Which model of those that are there.
        model: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["MODEL_NAME"],
        }
        /// How long one request may take.
        timeout_ms: u64 = {
            kind: Kind::Integer { min: 100, max: 600_000 },
            default: DefaultValue::Integer(30_000),
        }
        /// Questions at the same time.
        concurrency: usize = {
            kind: Kind::Integer { min: 1, max: 256 },
            default: DefaultValue::Integer(3),
        }
        /// Price of a million tokens that it reads, in millionths of a currency.
        input_price_micros: u64 = {
            kind: Kind::Integer { min: 0, max: 1_000_000_000_000 },
            default: DefaultValue::Integer(0),
        }
        /// Price of a million tokens that it writes, in millionths of a currency.
        output_price_micros: u64 = {
            kind: Kind::Integer { min: 0, max: 1_000_000_000_000 },
            default: DefaultValue::Integer(0),
        }
        /// What may be spent in all, over every start, in millionths of a currency; 0 for no bound.
        budget_micros: u64 = {
            kind: Kind::Integer { min: 0, max: 1_000_000_000_000 },
            default: DefaultValue::Integer(0),
        }
    }
}
