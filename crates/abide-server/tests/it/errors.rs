//! Every failure has the same shape, and every code is documented.

use crate::server::{BODY_BYTES, Server};
use abide_server::ErrorCode;

#[test]
fn every_failure_has_the_same_shape() {
    let server = Server::start();
    insta::assert_snapshot!(server.ask("GET /v2/jobs", ""), @r#"
    404
    {"error":{"code":"unknown_route","message":"there is no GET /v2/jobs: docs/http.md lists every route","retryable":false}}
    "#);
    insta::assert_snapshot!(server.ask("DELETE /v1/jobs", ""), @r#"
    405
    allow: GET,HEAD,POST
    {"error":{"code":"method_not_allowed","message":"/v1/jobs does not take DELETE: the Allow header says what it takes","retryable":false}}
    "#);
    insta::assert_snapshot!(server.ask("POST /v1/jobs", r#"{"queue":"#), @r#"
    400
    {"error":{"code":"bad_request","message":"the body cannot be read as the JSON that is expected here: EOF while parsing a value at line 1 column 9","retryable":false}}
    "#);
    insta::assert_snapshot!(server.ask("POST /v1/lease", ""), @r#"
    400
    {"error":{"code":"bad_request","message":"the body is empty: send JSON","retryable":false}}
    "#);
    insta::assert_snapshot!(server.ask("GET /v1/jobs?sate=ready", ""), @r#"
    400
    {"error":{"code":"bad_request","message":"the query \"sate=ready\": sate: unknown field `sate`, expected one of `state`, `queue`, `kind`, `owner`, `limit_key`, `unique_prefix`, `created_from`, `created_until`, `finished_from`, `finished_until`, `after`, `limit`","retryable":false}}
    "#);
    insta::assert_snapshot!(server.ask("GET /v1/jobs?limit=5000", ""), @r#"
    400
    {"error":{"code":"bad_request","message":"limit is 5000: ask for 1 to 1000 items at a time","retryable":false}}
    "#);
    insta::assert_snapshot!(server.ask("GET /v1/jobs?state=lost", ""), @r#"
    400
    {"error":{"code":"bad_request","message":"the query \"state=lost\": state: unknown variant `lost`, expected one of `scheduled`, `ready`, `running`, `done`, `skipped`, `failed`, `cancelled`","retryable":false}}
    "#);
    insta::assert_snapshot!(server.ask("GET /v1/jobs/first", ""), @r#"
    400
    {"error":{"code":"bad_request","message":"a job's id is a whole number, and \"first\" is not","retryable":false}}
    "#);
    insta::assert_snapshot!(server.ask("GET /v1/objects/toy/%FF", ""), @r#"
    400
    {"error":{"code":"bad_request","message":"the path \"/v1/objects/toy/%FF\": Invalid URL: Invalid UTF-8 in `name`","retryable":false}}
    "#);
    insta::assert_snapshot!(server.ask("GET /v1/objects/Toy/a", ""), @r#"
    400
    {"error":{"code":"bad_request","message":"an object's kind \"Toy\" may have only a-z, 0-9, '-', '_' and '.', and starts with a letter or digit","retryable":false}}
    "#);
    insta::assert_snapshot!(server.ask("GET /v1/tickets/none", ""), @r#"
    400
    {"error":{"code":"bad_request","message":"a ticket \"none\" is not 32 hexadecimal digits","retryable":false}}
    "#);
    insta::assert_snapshot!(server.ask("GET /v1/tickets/00000000000000000000000000000000", ""), @r#"
    404
    {"error":{"code":"unknown_ticket","message":"there is no ticket 00000000000000000000000000000000, or its answer is older than a day","retryable":false}}
    "#);
}

#[test]
fn what_is_too_large_names_its_bound() {
    let server = Server::start();
    let body = " ".repeat(BODY_BYTES + 1);
    insta::assert_snapshot!(server.ask("POST /v1/jobs", &body), @r#"
    413
    {"error":{"code":"too_large","message":"the body is larger than 65536 bytes: send less at a time, or raise server.max_body_bytes","retryable":false}}
    "#);
    let note = "x".repeat(5_000);
    let progress = format!(r#"{{"attempt":1,"token":"0123456789abcdef","progress":"{note}"}}"#);
    insta::assert_snapshot!(server.ask("POST /v1/jobs/1/progress", &progress), @r#"
    413
    {"error":{"code":"too_large","message":"bytes in a note of progress may be at most 4096, and this has 5002","retryable":false}}
    "#);
}

#[test]
fn pages_of_other_sites_are_kept_out() {
    let server = Server::start();
    let headers = [("Origin", "https://example.org")];
    let reply = server.client().request("POST /v1/queues/q/pause", &headers, "").unwrap();
    insta::assert_snapshot!(reply, @r#"
    403
    {"error":{"code":"foreign_origin","message":"the request comes from a page of \"https://example.org\": only pages of this server may ask","retryable":false}}
    "#);
    let mut client = server.client();
    client.send(b"GET /v1/jobs HTTP/1.1\r\nHost: rebound.example.org:8787\r\n\r\n").unwrap();
    insta::assert_snapshot!(client.read().unwrap(), @r#"
    403
    {"error":{"code":"foreign_host","message":"the request is for the host \"rebound.example.org:8787\": use localhost or a loopback address, or send a token","retryable":false}}
    "#);
    assert_eq!(server.ask("GET /v1/queues/q", "").status, 404, "nothing was paused");
}

#[test]
fn every_code_is_documented_with_its_status() {
    let page = include_str!("../../../../docs/errors.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    for code in ErrorCode::ALL {
        let begins =
            format!("| `{}` | {} | {} |", code.as_str(), code.status().as_u16(), yes_no(code.is_retryable()));
        assert!(rows.iter().any(|row| row.starts_with(&begins)), "docs/errors.md lacks a row {begins}");
    }
    assert_eq!(rows.len(), ErrorCode::ALL.len(), "docs/errors.md has a row for a code that does not exist");
}

fn yes_no(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}
