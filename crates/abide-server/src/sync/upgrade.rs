//! A request that becomes a socket.

use super::wire::Wire;
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::upgrade::OnUpgrade;
use std::future::Future;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// A request for a socket.
pub(crate) struct Upgrade {
    accept: String,
    upgraded: OnUpgrade,
}

/// The request is for something else.
pub(crate) struct NoUpgrade;

impl IntoResponse for NoUpgrade {
    fn into_response(self) -> Response {
        StatusCode::UPGRADE_REQUIRED.into_response()
    }
}

impl<S: Sync> FromRequestParts<S> for Upgrade {
    type Rejection = NoUpgrade;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Upgrade, NoUpgrade> {
        let headers = &parts.headers;
        let is_asked = says(headers, &header::CONNECTION, "upgrade")
            && says(headers, &header::UPGRADE, "websocket")
            && says(headers, &header::SEC_WEBSOCKET_VERSION, "13");
        let key = headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| is_asked).ok_or(NoUpgrade)?;
        let accept = derive_accept_key(key.as_bytes());
        let upgraded = parts.extensions.remove::<OnUpgrade>().ok_or(NoUpgrade)?;
        Ok(Upgrade { accept, upgraded })
    }
}

impl Upgrade {
    /// The answer that makes it a socket, which `serve` gets as soon as it is one.
    pub(crate) fn answer<S: Future<Output = ()> + Send>(
        self,
        serve: impl FnOnce(Wire) -> S + Send + 'static,
    ) -> Response {
        let Upgrade { accept, upgraded } = self;
        tokio::spawn(async move {
            match upgraded.await {
                Ok(upgraded) => serve(Wire::new(upgraded).await).await,
                Err(error) => tracing::debug!(target: "sync", %error, "a request did not become a socket"),
            }
        });
        let headers = [
            (header::CONNECTION, "upgrade"),
            (header::UPGRADE, "websocket"),
            (header::SEC_WEBSOCKET_ACCEPT, &accept),
        ];
        (StatusCode::SWITCHING_PROTOCOLS, headers, Body::empty()).into_response()
    }
}

/// Whether a header has `word` among its words.
fn says(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(word))
}
