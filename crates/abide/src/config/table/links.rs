//! How links are processed.

section! {
    /// How links are processed.
    links: Links {
        /// Pages fetched at the same time.
        metadata_lane: usize = {
            kind: Kind::Integer { min: 1, max: 256 },
            default: DefaultValue::Integer(8),
        }
        /// Summaries made at the same time.
        ai_lane: usize = {
            kind: Kind::Integer { min: 1, max: 256 },
            default: DefaultValue::Integer(3),
        }
    }
}
