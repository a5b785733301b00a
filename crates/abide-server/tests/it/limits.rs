//! Limits.

use crate::server::Server;
use serde_json::json;

#[test]
fn a_limit_is_set_listed_and_removed() {
    let server = Server::start();
    let set = server.ok("PUT /v1/limits/host:*", r#"{"concurrency":2,"rates":["5/s","300/h"],"burst":1}"#);
    let policy = json!({ "concurrency": 2, "rates": ["5/s", "300/h"], "burst": 1 });
    assert_eq!(set, json!({ "key": "host:*", "policy": policy }));
    server.ok("PUT /v1/limits/url:http:%2F%2Fa", r#"{"concurrency":1}"#);
    let page = server.ok("GET /v1/limits?limit=1", "");
    assert_eq!((&page["limits"][0]["key"], &page["next"]), (&json!("host:*"), &json!("host:*")));
    let page = server.ok("GET /v1/limits?limit=1&after=host:*", "");
    assert_eq!(page["limits"][0]["key"], json!("url:http://a"));
    assert_eq!(server.ok("DELETE /v1/limits/host:*", ""), json!({ "key": "host:*", "policy": null }));
    let page = server.ok("GET /v1/limits", "");
    assert_eq!((page["limits"].as_array().unwrap().len(), &page["next"]), (1, &json!(null)));
}

#[test]
fn a_bad_policy_is_refused() {
    let server = Server::start();
    insta::assert_snapshot!(server.ask("PUT /v1/limits/a", r#"{"rates":["5 per second"]}"#), @r#"
    400
    {"error":{"code":"bad_request","message":"the body cannot be read as the JSON that is expected here: \"5 per second\" is not a rate: write starts per window, as 5/s, 300/h, 1/3s or 1000/day at line 1 column 25","retryable":false}}
    "#);
    assert_eq!(server.ask("PUT /v1/limits/a", r#"{"concurrency":-1}"#).status, 400);
    insta::assert_snapshot!(server.ask("PUT /v1/limits/a", r#"{"concurrency":0}"#), @r#"
    400
    {"error":{"code":"bad_request","message":"concurrency is 0, which would let nothing start: give at least 1, or pause the queue","retryable":false}}
    "#);
    for key in ["*", "host:", ":a"] {
        let refused = server.ask(&format!("PUT /v1/limits/{key}"), r#"{"concurrency":1}"#);
        assert!(refused.status == 400 && refused.body.contains("lacks a class or a name"), "{refused}");
    }
    assert_eq!(server.ok("GET /v1/limits", "")["limits"], json!([]), "nothing was set");
}
