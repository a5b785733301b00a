//! Which addresses the server may listen on.

use std::net::SocketAddr;

use abide_core::time::Time;
use abide_server::{WithoutToken, tokens};
use abide_store::Store;

use crate::failure::Failure;

/// Who comes without a token at this address. One that other machines can reach is refused as long as the store has no
/// token: nobody could use it, and whoever made it open to everybody would not have meant that.
pub(crate) fn check(listen: SocketAddr, store: &dyn Store) -> Result<WithoutToken, Failure> {
    if listen.ip().to_canonical().is_loopback() {
        return Ok(WithoutToken::MayDoEverything);
    }
    // Nothing that this reads depends on the time.
    let exist = store.reader().and_then(|mut reader| tokens::exist(&mut *reader, Time(0)));
    if exist.map_err(Failure::Store)? {
        Ok(WithoutToken::MayDoNothing)
    } else {
        Err(Failure::ListenRefused { listen })
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use abide_engine::{Engine, EngineOptions, Registry};
    use abide_server::{Grant, WithoutToken, tokens};
    use abide_store::memory::MemoryStore;

    #[test]
    fn only_loopback_is_listened_on_without_a_token() {
        let store = MemoryStore::new();
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
            let expected = allowed.then_some(WithoutToken::MayDoEverything);
            assert_eq!(check(listen.parse().unwrap(), &store).ok(), expected, "{listen}");
        }
    }

    #[tokio::test]
    async fn with_a_token_any_address_is_listened_on_and_wants_tokens() {
        let store = MemoryStore::new();
        let mut registry = Registry::new();
        tokens::register(&mut registry).unwrap();
        let engine = Engine::start(Box::new(store.clone()), registry, EngineOptions::default()).unwrap();
        let anywhere = "0.0.0.0:8787".parse().unwrap();
        let made = tokens::create(&engine, Grant::Read, "").await.unwrap();
        assert_eq!(check(anywhere, &store).ok(), Some(WithoutToken::MayDoNothing));
        tokens::revoke(&engine, &made.info.id).await.unwrap();
        assert_eq!(check(anywhere, &store).ok(), None);
        engine.stop().await;
    }
}
