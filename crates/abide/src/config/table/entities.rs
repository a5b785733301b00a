//! How entities and their files are kept.

section! {
    /// How entities and their files are kept.
    entities: Entities {
        /// Another server with the same routes that keeps the entities; empty for this one.
        url: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["IPFS_WRAPPER"],
        }
        /// The token that the other server wants, if any.
        token: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            secret: true,
        }
        /// Largest request to `/upload`, all its files together.
        max_upload_bytes: u64 = {
            kind: Kind::Integer { min: 1_024, max: 1 << 40 },
            default: DefaultValue::Integer(abide_entities::limits::UPLOAD_BYTES as i64),
        }
    }
}
