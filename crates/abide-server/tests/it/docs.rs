//! docs/http.md lists every route, and nothing else.

use crate::server::{Server, every_service};
use abide_server::routes;
use std::collections::BTreeSet;

/// `(method, path)` of each row of the table.
fn documented() -> BTreeSet<(String, String)> {
    let page = include_str!("../../../../docs/http.md");
    let cells = |line: &str| {
        let mut parts = line.strip_prefix("| `")?.split("` | `");
        Some((parts.next()?.to_owned(), parts.next()?.split('`').next()?.to_owned()))
    };
    page.lines().filter_map(cells).collect()
}

#[test]
fn every_documented_route_is_there() {
    let server = Server::start();
    for (method, path) in documented() {
        let place = path.replace(['{', '}'], "");
        let reply = server.ask(&format!("{method} {place}"), "");
        let missing = ["unknown_route", "method_not_allowed"].iter().any(|code| reply.body.contains(code));
        assert!(!missing, "{method} {path}: {reply}");
    }
}

#[test]
fn every_route_is_documented() {
    let table = routes(&every_service());
    let routes: BTreeSet<_> =
        table.iter().map(|route| (route.method.to_owned(), route.path.to_owned())).collect();
    assert_eq!(routes, documented());
}
