//! docs/http.md lists every route, docs/security.md each with its role, and neither anything else.

use crate::server::Server;
use abide_server::routes;
use std::collections::BTreeSet;

/// `(method, path)` of each row of the table.
fn documented() -> BTreeSet<(String, String)> {
    cells(include_str!("../../../../docs/http.md")).map(|[method, path, _]| (method, path)).collect()
}

/// The first three cells of each row that begins with two words of code.
fn cells(page: &str) -> impl Iterator<Item = [String; 3]> {
    let row = |line: &str| {
        let mut parts = line.strip_prefix("| `")?.split("` | `");
        let (method, rest) = (parts.next()?, parts.next()?);
        let (path, rest) = rest.split_once("` | ")?;
        Some([method, path, rest.split(" |").next()?].map(str::to_owned))
    };
    page.lines().filter_map(row)
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
    let table = routes(&Server::start().services);
    let routes: BTreeSet<_> =
        table.iter().map(|route| (route.method.to_owned(), route.path.to_owned())).collect();
    assert_eq!(routes, documented());
}

#[test]
fn every_role_is_documented() {
    let table = routes(&Server::start().services);
    let roles: BTreeSet<[String; 3]> = table
        .iter()
        .map(|route| [route.method, route.path, route.role.as_str()].map(str::to_owned))
        .collect();
    let documented: BTreeSet<[String; 3]> = cells(include_str!("../../../../docs/security.md")).collect();
    assert_eq!(roles, documented);
}
