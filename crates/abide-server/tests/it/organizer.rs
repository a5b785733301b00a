//! The organizer over HTTP, without a model.

use crate::client::Reply;
use crate::server::Server;
use abide_organize::limits::REQUEST_BYTES;
use serde_json::{Value, json};

const PI: &str = "01J8ME3H6FZ3KQ5W1P2XY8K7E5";

/// A failure in the shape of these routes.
fn check(reply: &Reply, status: u16, error: &str, message: &str) {
    let body = reply.json();
    assert_eq!((reply.status, body["error"].as_str()), (status, Some(error)), "{reply}");
    assert!(body["message"].as_str().is_some_and(|text| text.contains(message)), "{reply}");
    assert!(body["timestamp"].as_str().is_some_and(|text| text.ends_with('Z')), "{reply}");
}

fn post(server: &Server, route: &str, body: &Value) -> Reply {
    server.ask(&format!("POST /organizer/{route}"), &body.to_string())
}

fn pages() -> Vec<String> {
    (1..=4).flat_map(|n| [format!("Ledger A p{n:03}.txt"), format!("Minute book p{n:03}.txt")]).collect()
}

#[test]
fn it_says_who_decides() {
    let server = Server::start();
    let health = server.ok("GET /organizer/health", "");
    let expected = json!({ "status": "ok", "service": "arke-organizer-service", "organizer": "builtin" });
    assert_eq!(health, expected);
}

#[test]
fn a_directory_becomes_groups() {
    let server = Server::start();
    let text = "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e";
    let components: Value = pages().iter().map(|name| (name.clone(), json!(text))).collect();
    let made = server.ok("POST /entities", &json!({ "components": components }).to_string());
    let request = json!({ "batch_id": "b", "chunk_id": "0", "pis": [made["id"]] });
    let accepted = post(&server, "process", &request).json();
    let expected = json!({ "status": "accepted", "chunk_id": "0", "total_pis": 1, "operation": "organize" });
    assert_eq!(accepted, expected);
    let is_published = |status: &Value| status["progress"]["done"] == 1;
    let status = (0..10_000).map(|_| server.ok("GET /organizer/status/b/0", "")).find(is_published);
    let status = status.unwrap();
    assert_eq!((&status["organizer"], &status["operation"]), (&json!("builtin"), &json!("organize")));
    let parent = server.ok(&format!("GET /entities/{}", made["id"].as_str().unwrap()), "");
    let children = parent["children_pi"].as_array().unwrap();
    assert_eq!(children.len(), 2);
    let group = server.ok(&format!("GET /entities/{}", children[0].as_str().unwrap()), "");
    assert_eq!(group["label"], "Ledger A");
    assert_eq!(group["components"].as_object().unwrap().len(), 4);
    // Nobody takes the callback here: the request is still under way, and says so.
    let again = post(&server, "process", &request).json();
    assert_eq!(again["status"], "already_processing");
}

#[test]
fn what_is_not_there_is_not_found() {
    let server = Server::start();
    assert_eq!(server.ok("GET /organizer/status/none/0", ""), json!({ "status": "not_found" }));
}

#[test]
fn files_are_grouped_at_once() {
    let server = Server::start();
    let files: Vec<Value> =
        pages().iter().map(|name| json!({ "name": name, "type": "text", "content": "" })).collect();
    let sorted = post(&server, "organize", &json!({ "directory_path": "/d", "files": files }));
    let answer = sorted.json();
    assert_eq!(answer["groups"].as_array().map(Vec::len), Some(2), "{sorted}");
    assert_eq!((&answer["model"], &answer["cost_usd"]), (&json!("builtin"), &json!(0.0)));
    let sample =
        json!({ "directory_path": "/d", "files": files, "total_file_count": 500, "chunk_count": 10 });
    let strategy = post(&server, "strategize", &sample).json();
    assert_eq!(strategy["should_coordinate"], true);
    let part = json!({
        "directory_path": "/d", "files": &files[..6], "strategy_guidance": strategy["guidance"],
    });
    let part = post(&server, "organize", &part).json();
    assert_eq!(part["groups"][0]["group_name"], "Ledger A");
}

#[test]
fn the_callers_faults_are_theirs() {
    let server = Server::start();
    let organize =
        json!({ "directory_path": "/d", "files": [{ "name": "a", "type": "text", "content": "" }] });
    let with = |field: &str, value: Value| {
        let mut body = organize.clone();
        body[field] = value;
        body
    };
    for (route, body, message) in [
        ("process", json!({}), "Missing required fields: batch_id, chunk_id"),
        ("process", json!({ "batch_id": "b", "chunk_id": "c" }), "pis"),
        ("process", json!({ "batch_id": "b:1", "chunk_id": "c", "pis": [PI] }), "has a colon"),
        ("process", json!({ "batch_id": "b", "chunk_id": "c", "pis": ["x"] }), "is not an entity's id"),
        ("process", json!({ "batch_id": "b", "chunk_id": "c", "operation": "guess" }), "guess"),
        ("process", json!({ "batch_id": "b", "chunk_id": "c", "operation": "strategize" }), "strategize"),
        ("organize", with("directory_path", json!("")), "directory_path is empty"),
        ("organize", with("files", json!([])), "files is empty"),
        ("organize", with("files", json!([{ "name": "a" }])), "needs a type"),
        ("strategize", organize.clone(), "total_file_count"),
    ] {
        check(&post(&server, route, &body), 400, "bad_request", message);
    }
    check(&server.ask("POST /organizer/process", "no JSON"), 400, "bad_request", "JSON");
    check(&server.ask("GET /organizer/status/%FF/0", ""), 400, "bad_request", "the path");
    let large = with("custom_prompt", json!("x".repeat(REQUEST_BYTES)));
    check(&post(&server, "organize", &large), 413, "too_large", "larger than");
}
