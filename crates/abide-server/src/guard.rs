//! Keeps web pages of other sites out.
//!
//! A server on loopback without tokens is open to every program of this machine, which is meant; but a browser carries
//! requests of any page to it. Such requests name a foreign host (a name that was pointed at this machine) or a foreign
//! origin, and both are refused.

use crate::code::ErrorCode;
use crate::error::ApiError;
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;

/// Sync clients are pages of other sites, and show who they are; where they need not, this route checks by itself.
const PROVES_ITSELF: &str = "/sync";

/// Passes on what a program of this machine, or a page that this server gave out, may have sent.
pub(crate) async fn guard(request: Request, next: Next) -> Response {
    if request.uri().path() == PROVES_ITSELF {
        return next.run(request).await;
    }
    match check(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

pub(crate) fn check(headers: &HeaderMap) -> Result<(), ApiError> {
    let text = |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let host = text(header::HOST);
    if let Some(host) = host.as_deref().filter(|host| !is_this_machine(host)) {
        let message = format!("the request is for the host {host:?}: use localhost or a loopback address");
        return Err(ApiError::new(ErrorCode::ForeignHost, message));
    }
    if let Some(origin) = text(header::ORIGIN) {
        let authority = origin.split_once("://").map(|(_, authority)| authority);
        if authority.is_none() || authority != host.as_deref() {
            let message =
                format!("the request comes from a page of {origin:?}: only pages of this server may ask");
            return Err(ApiError::new(ErrorCode::ForeignOrigin, message));
        }
    }
    Ok(())
}

fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None => host.split(':').next().unwrap_or(host),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::check;
    use axum::http::{HeaderMap, HeaderValue, header};

    fn passes(host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        check(&headers).is_ok()
    }

    #[test]
    fn only_this_machine_and_its_own_pages_pass() {
        let cases = [
            ("127.0.0.1:8787", None, true),
            ("localhost:8787", None, true),
            ("LocalHost", None, true),
            ("[::1]:8787", None, true),
            ("[::ffff:127.0.0.1]:8787", None, true),
            ("localhost:8787", Some("http://localhost:8787"), true),
            ("localhost:8787", Some("http://localhost:9999"), false),
            ("localhost:8787", Some("https://example.org"), false),
            ("localhost:8787", Some("null"), false),
            ("rebound.example.org:8787", None, false),
            ("rebound.example.org:8787", Some("http://rebound.example.org:8787"), false),
            ("127.0.0.1.example.org", None, false),
            ("localhost.example.org", None, false),
            ("192.168.1.4:8787", None, false),
            ("", None, false),
        ];
        for (host, origin, expected) in cases {
            assert_eq!(passes(host, origin), expected, "{host} {origin:?}");
        }
        assert!(check(&HeaderMap::new()).is_ok());
    }
}
