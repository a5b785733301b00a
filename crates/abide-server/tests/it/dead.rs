//! Dead letters of objects.

use crate::server::{LOCAL_TOKEN, Server, every_service};
use abide_core::event::EventRef;
use abide_core::json::Json;
use abide_core::object::ObjectKey;
use abide_core::time::Time;
use abide_engine::machine::MachineOptions;
use abide_server::{Admission, WithoutToken};
use abide_store::memory::MemoryStore;
use abide_store::write::{AfterFailure, FailEvent};
use abide_store::{Store, Write, Written};
use serde_json::json;

/// A store in which `count` messages to `nobody/a` are dead letters.
pub(crate) fn with_dead_letters(count: usize) -> MemoryStore {
    let mut store = MemoryStore::new();
    for _ in 0..count {
        bury(&mut store, "nobody", r#"{"hello":1.50}"#, "nobody was there");
    }
    store
}

/// A message to `kind/a` that failed for good.
fn bury(store: &mut MemoryStore, kind: &str, body: &str, error: &str) {
    let to = ObjectKey::new(kind, "a").expect("as the test made it");
    let send = Write::Send { to, body: Json::parse(body).expect("as the test made it") };
    let batch = store.write(Time(1_000), &[send]).expect("as the test made it");
    let Written::Sent(id) = batch.written[0] else { panic!("{batch:?}") };
    let fail = FailEvent { event: EventRef::Message(id), error: error.to_owned(), then: AfterFailure::Dead };
    store.write(Time(1_000), &[Write::FailEvent(fail)]).expect("as the test made it");
}

#[test]
fn dead_letters_are_listed_replayed_and_dropped() {
    let server = Server::on(with_dead_letters(3), MachineOptions::default());
    let page = server.ok("GET /v1/dead?limit=2", "");
    assert_eq!(page["dead"].as_array().unwrap().len(), 2);
    let first = &page["dead"][0];
    assert_eq!(
        *first,
        json!({
            "id": 1, "kind": "nobody", "name": "a", "incarnation": null, "event": "message", "from": null,
            "body": { "hello": 1.50 }, "error": "nobody was there", "failures": 1, "crashes": 0, "died_at": 1_000,
        })
    );
    let page = server.ok(&format!("GET /v1/dead?limit=2&after={}", page["next"]), "");
    assert_eq!((page["dead"].as_array().unwrap().len(), &page["next"]), (1, &json!(null)));

    let id = first["id"].as_i64().unwrap();
    assert_eq!(
        server.ok(&format!("POST /v1/dead/{id}/replay"), ""),
        json!({ "id": id, "became": "replayed" })
    );
    let reply = server.ask(&format!("POST /v1/dead/{id}/replay"), "");
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (404, &json!("unknown_dead_letter")));
    let id = page["dead"][0]["id"].as_i64().unwrap();
    assert_eq!(server.ok(&format!("DELETE /v1/dead/{id}"), ""), json!({ "id": id, "became": "dropped" }));
    assert_eq!(server.ask(&format!("DELETE /v1/dead/{id}"), "").status, 404);
    assert_eq!(server.ok("GET /v1/dead", "")["dead"].as_array().unwrap().len(), 1);
}

#[test]
fn large_dead_letters_make_short_pages() {
    let mut store = MemoryStore::new();
    let large = json!("x".repeat(256 * 1024 - 2)).to_string();
    for number in 0..70 {
        bury(&mut store, if number % 2 == 0 { "even" } else { "odd" }, &large, "too large");
    }
    let server = Server::on(store, MachineOptions::default());
    for (filter, expected) in [("", vec![16, 16, 16, 16, 6]), ("&kind=odd", vec![16, 16, 3])] {
        let (mut pages, mut after) = (Vec::new(), String::new());
        loop {
            let page = server.ok(&format!("GET /v1/dead?limit=1000{filter}{after}"), "");
            pages.push(page["dead"].as_array().unwrap().len());
            match page["next"].as_i64() {
                Some(next) => after = format!("&after={next}"),
                None => break,
            }
        }
        assert_eq!(pages, expected, "{filter}");
    }
    let metrics = server.ask("GET /metrics", "").body;
    assert!(metrics.contains("\nabide_dead_letters 70\n"), "{metrics}");
}

#[test]
fn what_dead_letters_of_an_organization_are_about_is_for_admins_alone() {
    let mut store = MemoryStore::new();
    for kind in ["sync", "links", "apikey"] {
        bury(&mut store, kind, r#"{"page":"the text of a private page"}"#, "a private reason");
    }
    bury(&mut store, "nobody", r#"{"page":"a public page"}"#, "a public reason");
    let admission =
        Admission { without_token: WithoutToken::MayDoNothing, local_token: Some(LOCAL_TOKEN.to_owned()) };
    let server = Server::admitting(store, MachineOptions::default(), every_service(), admission);
    let whole = server.ask_as(LOCAL_TOKEN, "GET /v1/dead", "");
    assert_eq!(whole.body.matches("private page").count(), 3, "{whole}");
    for role in ["read", "operate"] {
        let wanted = format!(r#"{{"role":"{role}","label":"t"}}"#);
        let made = server.ask_as(LOCAL_TOKEN, "POST /v1/tokens", &wanted);
        let token = made.json()["token"].as_str().unwrap().to_owned();
        let listed = server.ask_as(&token, "GET /v1/dead", "");
        assert_eq!(listed.json()["dead"].as_array().map(Vec::len), Some(4), "that there are any is seen");
        assert!(!listed.body.contains("private"), "{role}: {listed}");
        assert!(listed.body.contains("a public page") && listed.body.contains("a public reason"), "{listed}");
    }
}
