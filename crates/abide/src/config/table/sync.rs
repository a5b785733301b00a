//! Who may sync a store's log.

section! {
    /// Who may sync a store's log.
    sync: Sync {
        /// Whether everybody who reaches the server may sync, while no key for tokens is set; on loopback only.
        open: bool = {
            kind: Kind::Switch,
            default: DefaultValue::Text("true"),
        }
        /// Sockets and tails at the same time; fewer if the system does not allow as many open files.
        max_sockets: u32 = {
            kind: Kind::Integer { min: 1, max: 1_000_000 },
            default: DefaultValue::Integer(16_384),
        }
        /// How often access of open sockets, tails and exports is asked for again, in milliseconds; at least every 30 s.
        recheck_ms: u64 = {
            kind: Kind::Integer { min: 100, max: 30_000 },
            default: DefaultValue::Integer(30_000),
        }
        /// Shared secret of tokens that are signed with HS256, at least 32 bytes.
        jwt_secret: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            secret: true,
        }
        /// File with the public key, in PEM, of tokens that are signed with EdDSA.
        jwt_public_key_file: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
        }
        /// File with the private key, in PEM, by which `abide links token` signs; the server does not read it.
        jwt_private_key_file: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
        }
        /// Issuer that tokens must name; any if empty.
        jwt_issuer: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
        }
        /// Audience that tokens must name; any if empty.
        jwt_audience: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
        }
    }
}
