//! How URLs that come from data are fetched.

section! {
    /// How URLs that come from data are fetched.
    fetch: Fetch {
        /// Whether URLs from data may reach this machine and private networks.
        allow_private: bool = {
            kind: Kind::Switch,
            default: DefaultValue::Text("false"),
        }
        /// Who asks, as servers and robots files see it; empty for abide and its version.
        user_agent: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["DTKG_HTTP__USER_AGENT"],
        }
        /// Whether robots.txt is obeyed.
        robots: bool = {
            kind: Kind::Switch,
            default: DefaultValue::Text("true"),
            aliases: &["DTKG_ROBOTS__ENABLED"],
        }
    }
}
