//! Keeps web pages of other sites out.
//!
//! A server on loopback is open to every program of this machine, which is meant; but a browser carries requests of any
//! page to it. Such requests name a foreign host (a name that was pointed at this machine) or a foreign origin, and both
//! are refused. Who shows a token is no page of another site, and a server for other machines has other names.

use crate::access::{Caller, Shown};
use crate::app::App;
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::role::Role;
use axum::http::{HeaderMap, Uri, header};
use std::net::IpAddr;

/// Who a request is from, if a program that may, or a page that this server gave out, may have sent it.
pub(crate) async fn guard(app: &App, uri: &Uri, headers: &HeaderMap) -> Result<Caller, ApiError> {
    let access = app.access();
    let door = Door::of(app, uri.path());
    let (caller, shown) = match (access.caller(app.engine(), headers).await, door) {
        (Ok(found), Door::Token) | (Ok(found @ (_, Shown::Token)), _) => found,
        (Err(error), Door::Token) => return Err(error),
        // What else was shown is for the route to judge, and nothing shown is nobody.
        (Ok((_, Shown::Nothing)) | Err(_), Door::AnyPage | Door::Members | Door::Open) => {
            (Caller(Role::Anyone), Shown::Nothing)
        }
    };
    let is_known = shown == Shown::Token || access.is_for_other_machines() || door == Door::Members;
    let hosts = if is_known { Hosts::Any } else { Hosts::ThisMachine };
    if door != Door::AnyPage {
        check(headers, hosts)?;
    }
    Ok(caller)
}

/// Whom a route lets in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    /// Who has a token of the server.
    Token,
    /// Who proves to the route to be of the store's organization. Sync clients are pages of other sites.
    AnyPage,
    /// Who proves to the route to be of the store's organization.
    Members,
    /// Everybody who reaches it, while stores are open.
    Open,
}

impl Door {
    fn of(app: &App, path: &str) -> Door {
        let Some(sync) = &app.services().sync else { return Door::Token };
        match path {
            _ if path != "/sync" && !path.starts_with("/sync/") && !path.starts_with("/links/api/") => {
                Door::Token
            }
            _ if sync.authority.is_open() => Door::Open,
            "/sync" => Door::AnyPage,
            _ => Door::Members,
        }
    }
}

/// Under which names the server may be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hosts {
    ThisMachine,
    Any,
}

fn check(headers: &HeaderMap, hosts: Hosts) -> Result<(), ApiError> {
    let text = |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let host = text(header::HOST);
    let is_foreign = |host: &&str| hosts == Hosts::ThisMachine && !is_this_machine(host);
    if let Some(host) = host.as_deref().filter(is_foreign) {
        let message = format!(
            "the request is for the host {host:?}: use localhost or a loopback address, or send a token"
        );
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
    use super::{Hosts, check};
    use axum::http::{HeaderMap, HeaderValue, header};

    fn passes(host: &str, origin: Option<&str>, hosts: Hosts) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        check(&headers, hosts).is_ok()
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
            assert_eq!(passes(host, origin, Hosts::ThisMachine), expected, "{host} {origin:?}");
        }
        assert!(check(&HeaderMap::new(), Hosts::ThisMachine).is_ok());
    }

    #[test]
    fn with_a_token_any_host_passes_and_still_no_foreign_page() {
        let cases = [
            ("abide.example.org", None, true),
            ("abide.example.org:8787", Some("https://abide.example.org:8787"), true),
            ("abide.example.org", Some("https://example.org"), false),
            ("abide.example.org", Some("null"), false),
        ];
        for (host, origin, expected) in cases {
            assert_eq!(passes(host, origin, Hosts::Any), expected, "{host} {origin:?}");
        }
    }
}
