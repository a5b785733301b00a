//! Which addresses the server may listen on.

use std::net::SocketAddr;

use crate::failure::Failure;

/// Refuses an address that other machines can reach: without tokens, everybody there could do everything.
pub(crate) fn check(listen: SocketAddr) -> Result<(), Failure> {
    if listen.ip().to_canonical().is_loopback() { Ok(()) } else { Err(Failure::ListenRefused { listen }) }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn only_loopback_is_listened_on() {
        let cases = [
            ("127.0.0.1:8787", true),
            ("127.9.9.9:0", true),
            ("[::1]:8787", true),
            ("[::ffff:127.0.0.1]:8787", true),
            ("0.0.0.0:8787", false),
            ("[::]:8787", false),
            ("192.168.1.4:8787", false),
            ("[::ffff:10.0.0.1]:8787", false),
            ("[fe80::1]:8787", false),
        ];
        for (listen, allowed) in cases {
            assert_eq!(check(listen.parse().unwrap()).is_ok(), allowed, "{listen}");
        }
    }
}
