//! How the server is reached and how it stops.

use std::net::SocketAddr;

section! {
    /// How the server is reached and how it stops.
    server: Server {
        /// Address and port to listen on; other than loopback only once there is a token.
        listen: SocketAddr = {
            kind: Kind::Address,
            default: DefaultValue::Text("127.0.0.1:8787"),
            flag: Some("--listen"),
        }
        /// How long running requests may go on after the server was told to stop.
        drain_ms: u64 = {
            kind: Kind::Integer { min: 0, max: 3_600_000 },
            default: DefaultValue::Integer(10_000),
        }
        /// Largest request body that is accepted.
        max_body_bytes: usize = {
            kind: Kind::Integer { min: 1_024, max: 1 << 30 },
            default: DefaultValue::Integer(4 << 20),
        }
    }
}
