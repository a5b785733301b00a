//! What objects hold, for people.

use crate::events::until;
use crate::server::Server;
use abide_engine::machine::MachineOptions;
use abide_store::memory::MemoryStore;
use serde_json::{Value, json};

#[test]
fn objects_are_listed_by_kind_and_name() {
    let server = Server::start();
    for name in ["c", "a", "b%2Fb"] {
        server.ok(&format!("POST /v1/objects/toy/{name}/call"), r#"{"add":1}"#);
    }
    let mut names = Vec::new();
    let mut line = "GET /v1/objects?kind=toy&limit=1".to_owned();
    loop {
        let page = server.ok(&line, "");
        names.extend(page["objects"].as_array().unwrap().iter().map(|object| object["name"].clone()));
        let Value::String(next) = &page["next"] else { break };
        line = format!("GET /v1/objects?kind=toy&limit=1&after={next}");
    }
    assert_eq!(names, [json!("a"), json!("b/b"), json!("c")]);
    assert_eq!(server.ok("GET /v1/objects?kind=other", ""), json!({ "objects": [], "next": null }));
}

#[test]
fn objects_that_changed_or_began_last_are_listed_first() {
    let store = MemoryStore::new();
    let names = |server: &Server, limit: u32| -> Vec<Value> {
        let page = server.ok(&format!("GET /v1/objects?recent=true&limit={limit}"), "");
        page["objects"].as_array().unwrap().iter().map(|object| object["name"].clone()).collect()
    };
    let server = Server::on(store.clone(), MachineOptions::default());
    for name in ["a", "b", "c"] {
        server.ok(&format!("POST /v1/objects/toy/{name}/call"), r#"{"add":1}"#);
    }
    // The feed, which hears of it, is a little behind the reply, and both may be within a millisecond.
    until(&server, "", || {
        server.ok("POST /v1/objects/toy/a/call", r#"{"add":1}"#);
        names(&server, 1) == [json!("a")]
    });
    assert_eq!(server.ask("GET /v1/objects?recent=true&kind=toy", "").status, 400);
    drop(server);
    let again = Server::on(store, MachineOptions::default());
    let mut began_last = names(&again, 2);
    began_last.sort_by_key(Value::to_string);
    assert_eq!(began_last, [json!("b"), json!("c")], "what changed before is not known any more");
}

#[test]
fn an_object_shows_its_alarms() {
    let server = Server::start();
    server.ok("POST /v1/objects/toy/a/call", r#"{"alarm":["ring",99999999999999]}"#);
    let shown = server.ok("GET /v1/objects/toy/a", "");
    assert_eq!(shown["alarms"], json!([{ "alarm": "ring", "at": 99_999_999_999_999_i64 }]));
    assert_eq!(
        (&shown["kind"], &shown["version"], &shown["log_head"]),
        (&json!("toy"), &json!(1), &json!(0))
    );
    insta::assert_snapshot!(server.ask("GET /v1/objects/toy/nobody", ""), @r#"
    404
    {"error":{"code":"unknown_object","message":"there is no object toy/nobody","retryable":false}}
    "#);
}

#[test]
fn rows_are_paged_by_prefix() {
    let server = Server::start();
    server.ok("POST /v1/objects/toy/a/call", r#"{"put":["x","item/1","item/2","item/3"]}"#);
    let page = server.ok("GET /v1/objects/toy/a/rows?prefix=item/&limit=2", "");
    let row = |key: &str| json!({ "key": key, "schema": 1, "value": key });
    assert_eq!(page, json!({ "version": 1, "rows": [row("item/1"), row("item/2")], "next": "item/2" }));
    let page = server.ok("GET /v1/objects/toy/a/rows?prefix=item/&limit=2&after=item/2", "");
    assert_eq!(page, json!({ "version": 1, "rows": [row("item/3")], "next": null }));
    let page = server.ok("GET /v1/objects/toy/a/rows", "");
    assert_eq!(page["rows"].as_array().unwrap().len(), 4);
    assert_eq!(server.ask("GET /v1/objects/toy/nobody/rows", "").status, 404);
}

#[test]
fn large_rows_make_short_pages() {
    let server = Server::start();
    let fill = |prefix: &str, count: usize, bytes: usize| {
        let call = json!({ "fill": [prefix, count, bytes] }).to_string();
        server.ok("POST /v1/objects/toy/a/call", &call);
    };
    // Each is a sixteenth of a page; a call may bring fifteen of them.
    for prefix in ["a/", "b/", "c/"] {
        fill(prefix, 15, 256 * 1024);
    }
    fill("d/", 200, 9);
    let (mut pages, mut keys, mut after) = (Vec::new(), Vec::new(), String::new());
    loop {
        let page = server.ok(&format!("GET /v1/objects/toy/a/rows?limit=1000{after}"), "");
        let rows = page["rows"].as_array().unwrap();
        pages.push(rows.len());
        keys.extend(rows.iter().map(|row| row["key"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(pages, [16, 16, 213]);
    assert!(keys.is_sorted() && keys.len() == 245);
}

#[test]
fn a_log_is_read_past_a_cursor() {
    let server = Server::start();
    for entry in ["one", "two", "three"] {
        server.ok("POST /v1/objects/toy/a/call", &format!(r#"{{"append":"{entry}"}}"#));
    }
    let values = |page: &Value| {
        let entries = page["entries"].as_array().unwrap().iter();
        entries.map(|entry| entry["value"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let page = server.ok("GET /v1/objects/toy/a/log?limit=2", "");
    assert_eq!(
        (values(&page), &page["head"], &page["next"]),
        (vec!["one".into(), "two".into()], &json!(3), &json!(2))
    );
    let page = server.ok("GET /v1/objects/toy/a/log?limit=2&after=2", "");
    assert_eq!((values(&page), &page["next"]), (vec!["three".to_owned()], &Value::Null));
    let page = server.ok("GET /v1/objects/toy/a/log?after=3", "");
    assert!(values(&page).is_empty());
    assert_eq!(server.ask("GET /v1/objects/toy/nobody/log", "").status, 404);
}
