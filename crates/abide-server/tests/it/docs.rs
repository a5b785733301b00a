//! docs/http.md lists every route, and nothing else.

use crate::server::Server;
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
    let router = include_str!("../../src/router.rs");
    let methods = ["get(", "post(", "put(", "delete("];
    let mut routes = BTreeSet::new();
    for line in router.lines().filter_map(|line| line.trim().strip_prefix(".route(\"")) {
        let (path, handlers) = line.split_once('"').unwrap();
        for method in methods.iter().filter(|method| handlers.contains(*method)) {
            routes.insert((method.trim_end_matches('(').to_uppercase(), path.to_owned()));
        }
    }
    assert_eq!(routes, documented());
}
