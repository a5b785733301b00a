//! Collections over HTTP: looked into, searched, changed by hand, deleted.

use crate::entities::upload;
use crate::server::{LOCAL_TOKEN, Server};
use serde_json::{Value, json};

/// A collection `papers` with a group `letters` that has two files.
fn papers(server: &Server) -> (String, String) {
    let kept = upload(server, &[("a.txt", "The steamer Calabar"), ("b.txt", "The orchids")]).json();
    let about = upload(server, &[("description.md", "# letters\n\nAbout ships.\n")]).json();
    let create = |body: Value| server.ok("POST /entities", &body.to_string())["id"].clone();
    let root = create(json!({ "label": "papers" }));
    let components =
        json!({ "a.txt": kept[0]["cid"], "b.txt": kept[1]["cid"], "description.md": about[0]["cid"] });
    let group = create(json!({ "label": "letters", "parent_pi": root, "components": components }));
    create(json!({ "label": "diary", "parent_pi": root }));
    let collection =
        json!({ "name": "papers", "root_pi": root, "folder": "/scans", "files": 2, "bytes": 30 });
    server.ok("PUT /collections/papers", &collection.to_string());
    let file = |name: &str| json!({ "bytes": 1, "modified_ms": 1, "digest": "d", "made": [name] });
    let files = json!({ "put": { "letters/a.txt": file("a.txt"), "letters/b.txt": file("b.txt") } });
    server.ok("POST /collections/papers/files", &files.to_string());
    let text = |id: Value| id.as_str().unwrap().to_owned();
    (text(root), text(group))
}

fn labels(parts: &Value) -> Vec<&str> {
    parts.as_array().unwrap().iter().map(|part| part["label"].as_str().unwrap()).collect()
}

#[test]
fn a_collection_is_looked_into_part_by_part() {
    let server = Server::start();
    let (root, group) = papers(&server);
    let all = server.ok("GET /collections", "");
    assert_eq!((&all["collections"][0]["name"], &all["next"]), (&json!("papers"), &Value::Null));
    assert_eq!(server.ok("GET /collections/papers", "")["root_pi"], json!(root));
    let tree = server.ok("GET /collections/papers/tree", "");
    assert_eq!(labels(&tree["children"]), ["diary", "letters"]);
    let top = server.ok("GET /collections/papers/part", "");
    assert_eq!((labels(&top["children"]), &top["files_count"]), (vec!["diary", "letters"], &json!(0)));
    for path in ["letters", group.as_str()] {
        let part = server.ok(&format!("GET /collections/papers/part?path={path}"), "");
        assert_eq!((&part["path"], &part["label"]), (&json!("letters"), &json!("letters")));
        assert_eq!(part["above"], json!([{ "id": root, "label": "papers" }]));
        assert_eq!(part["description"], json!("# letters\n\nAbout ships.\n"));
        assert_eq!((&part["files_count"], &part["files"][1]["name"]), (&json!(2), &json!("b.txt")));
    }
    let found = server.ok("GET /collections/papers/search?q=calabar%20steamer", "");
    assert_eq!((&found["hits"][0]["file"], &found["more"]), (&json!("a.txt"), &json!(false)));
    let files = server.ok("GET /collections/papers/files", "");
    assert_eq!(files["files"].as_array().unwrap().len(), 2);
}

#[test]
fn what_is_done_by_hand_is_a_version_and_older_ones_can_be_seen() {
    let server = Server::start();
    let (_, group) = papers(&server);
    let moved = server.ok("POST /collections/papers/move", r#"{"what":"letters/a.txt","into":"diary"}"#);
    assert_eq!(moved["moved"], json!(["a.txt"]));
    let files = server.ok("GET /collections/papers/files", "");
    assert_eq!(files["files"][0][1]["at"], moved["into"], "later runs look for it there");
    server.ok("POST /collections/papers/rename", r#"{"what":"letters","to":"Ships"}"#);
    let now = server.ok("GET /collections/papers/part?path=Ships", "");
    assert_eq!((&now["files_count"], &now["entity"]["id"]), (&json!(1), &json!(group)));
    let before = server.ok("GET /collections/papers/part?path=Ships&ver=1", "");
    assert_eq!((&before["files_count"], &before["label"]), (&json!(2), &json!("letters")));
    let page = server.ok("GET /collections/papers/versions?path=Ships&limit=2", "");
    assert_eq!(page["items"][0]["note"], json!("renamed by hand"));
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest = server.ok(&format!("GET /collections/papers/versions?path=Ships&cursor={cursor}"), "");
    assert_eq!(page["items"].as_array().unwrap().len() + rest["items"].as_array().unwrap().len(), 3);
}

#[test]
fn a_deleted_collection_leaves_nothing_that_only_it_had() {
    let server = Server::start();
    let (root, group) = papers(&server);
    let shared = upload(&server, &[("a.txt", "The steamer Calabar")]).json()[0]["cid"].clone();
    server.ok("POST /entities", &json!({ "components": { "mine": shared } }).to_string());
    let deleted = server.ok("DELETE /collections/papers", "");
    assert_eq!(
        deleted,
        json!({ "name": "papers", "entities": 3, "files": 2, "images": 0, "bytes": 11 + 24 }),
    );
    for id in [root, group] {
        assert_eq!(server.ask(&format!("GET /entities/{id}"), "").status, 404);
    }
    assert_eq!(server.ok("GET /entities", "")["entities"].as_array().unwrap().len(), 1);
    assert_eq!(server.ask(&format!("GET /cat/{}", shared.as_str().unwrap()), "").status, 200);
    assert_eq!(server.ok("GET /collections", "")["collections"], json!([]));
    // The next one of that name is another one.
    papers(&server);
    assert_eq!(server.ok("GET /collections/papers", "")["life"], json!(1));
}

#[test]
fn what_is_wrong_is_named() {
    let server = Server::start();
    papers(&server);
    let other = json!({ "name": "b", "root_pi": "0".repeat(26), "folder": "", "files": 0, "bytes": 0 });
    for (line, body, status, words) in [
        ("GET /collections/none", "", 404, "there is no collection \"none\""),
        ("GET /collections/papers/part?path=x/y", "", 404, "there is no \"x/y\" in \"papers\""),
        ("GET /collections/papers/part?path=letters&ver=9", "", 400, "no version"),
        ("GET /collections/papers/search?q=", "", 400, "at least a word"),
        ("GET /collections/papers/versions?cursor=x", "", 400, "not a cursor"),
        ("PUT /collections/a", &other.to_string(), 400, "the path names \"a\""),
        ("POST /collections/papers/rename", r#"{"what":"letters","to":"a/b"}"#, 400, "cannot be a name"),
        ("POST /collections/papers/move", r#"{"what":"nothing","into":"diary"}"#, 404, "nothing"),
        ("POST /collections/papers/move", r#"{"what":"letters","to":"diary"}"#, 400, "unknown field"),
        ("DELETE /collections/none", "", 404, "there is no collection"),
    ] {
        let reply = server.ask(line, body);
        let message = reply.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(reply.status == status && message.contains(words), "{line}: {reply}");
    }
}

#[test]
fn who_only_reads_changes_nothing() {
    let server = Server::with_tokens();
    let token = server.ask_as(LOCAL_TOKEN, "POST /v1/tokens", r#"{"role":"read"}"#).json()["token"].clone();
    let token = token.as_str().unwrap();
    assert_eq!(server.ask_as(token, "GET /collections", "").status, 200);
    for line in ["DELETE /collections/papers", "POST /collections/papers/move", "PUT /collections/papers"] {
        assert_eq!(server.ask_as(token, line, "{}").status, 403, "{line}");
    }
    assert_eq!(server.ask("GET /collections", "").status, 401);
}
