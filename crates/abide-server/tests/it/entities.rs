//! Entities and files over HTTP.

use crate::client::Reply;
use crate::server::{Server, UPLOAD_BYTES};
use abide_entities::limits::COLLECT_USUAL_MS;
use abide_entities::request::{Append, Create, Selector};
use abide_entities::{Collecting, Detail, EntityError, EntityStore, Part, Pieces, RemoteEntities, update};
use futures_util::{TryStreamExt, stream};
use serde_json::{Value, json};

const HELLO: &str = "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e";

pub(crate) fn upload(server: &Server, files: &[(&str, &str)]) -> Reply {
    let part = |(name, text): &(&str, &str)| {
        format!(
            "--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
             Content-Type: text/plain\r\n\r\n{text}\r\n"
        )
    };
    let body: String = files.iter().map(part).chain(["--edge--\r\n".to_owned()]).collect();
    let headers = [("Content-Type", "multipart/form-data; boundary=edge")];
    server.client().request("POST /upload", &headers, &body).unwrap()
}

fn check(reply: &Reply, status: u16, code: &str) {
    assert_eq!((reply.status, reply.json()["error"].as_str()), (status, Some(code)), "{reply}");
    assert!(reply.json()["message"].as_str().is_some_and(|message| !message.is_empty()));
}

#[test]
fn a_file_is_kept_named_and_read_again() {
    let server = Server::start();
    let kept = upload(&server, &[("a.txt", "hello world"), ("b.txt", "")]);
    assert_eq!(kept.status, 200, "{kept}");
    assert_eq!(kept.json()[0], json!({ "name": "a.txt", "cid": HELLO, "size": 11 }));
    assert_eq!(kept.json()[1]["size"], 0);
    let made = server.ask("POST /entities", &json!({ "components": { "a.txt": HELLO } }).to_string());
    assert_eq!(made.status, 201, "{made}");
    let made = made.json();
    assert_eq!((&made["pi"], &made["manifest_cid"], &made["ver"]), (&made["id"], &made["tip"], &json!(1)));
    let id = made["id"].as_str().unwrap();
    let shown = server.ok(&format!("GET /entities/{id}"), "");
    assert_eq!(shown["components"], json!({ "a.txt": HELLO }));
    assert_eq!((&shown["tip"], &shown["pi"]), (&made["tip"], &made["id"]));
    assert_eq!(server.ok(&format!("GET /resolve/{id}"), ""), json!({ "id": id, "tip": made["tip"] }));
    let node = server.ok(&format!("GET /dag/{}", made["tip"].as_str().unwrap()), "");
    assert_eq!(node["components"]["a.txt"], json!({ "/": HELLO }));
    assert_eq!((&node["schema"], &node["prev"]), (&json!("arke/eidos@v1"), &Value::Null));
    assert_eq!(server.ok("GET /entities", "")["entities"][0], json!({ "id": id, "tip": made["tip"] }));
}

#[test]
fn bytes_come_whole_or_in_part() {
    let server = Server::start();
    upload(&server, &[("a.txt", "hello world")]);
    let line = format!("GET /cat/{HELLO}");
    let whole = server.ask(&line, "");
    assert_eq!((whole.status, whole.body.as_str()), (200, "hello world"));
    assert_eq!(whole.header("x-ipfs-cid"), Some(HELLO));
    assert_eq!(whole.header("cache-control"), Some("public, max-age=31536000, immutable"));
    assert_eq!(whole.header("content-type"), Some("application/octet-stream"));
    let cases = [
        ("bytes=6-", "world", "bytes 6-10/11"),
        ("bytes=0-4", "hello", "bytes 0-4/11"),
        ("bytes=-2", "ld", "bytes 9-10/11"),
    ];
    for (range, text, said) in cases {
        let part = server.client().request(&line, &[("Range", range)], "").unwrap();
        assert_eq!((part.status, part.body.as_str(), part.header("content-range")), (206, text, Some(said)));
    }
    let beyond = server.client().request(&line, &[("Range", "bytes=11-")], "").unwrap();
    assert_eq!((beyond.status, beyond.header("content-range")), (416, Some("bytes */11")));
}

#[test]
fn a_stale_tip_is_told_the_true_one() {
    let server = Server::start();
    let made = server.ok("POST /entities", "{}");
    let versions = format!("POST /entities/{}/versions", made["id"].as_str().unwrap());
    let body = json!({ "expect_tip": made["tip"], "label": "letters" }).to_string();
    let second = server.ask(&versions, &body);
    assert_eq!((second.status, &second.json()["ver"]), (201, &json!(2)));
    let stale = server.ask(&versions, &body);
    check(&stale, 409, "CAS_FAILURE");
    assert_eq!(stale.json()["details"], json!({ "actual": second.json()["tip"], "expect": made["tip"] }));
}

#[test]
fn both_sides_of_a_hierarchy_know() {
    let server = Server::start();
    let parent = server.ok("POST /entities", "{}");
    let child = server.ok("POST /entities", "{}");
    let missing = "0".repeat(26);
    let body = json!({
        "parent_pi": parent["id"], "expect_tip": parent["tip"], "add_children": [child["id"], missing],
    });
    let made = server.ok("POST /hierarchy", &body.to_string());
    assert_eq!((&made["children_updated"], &made["children_failed"]), (&json!(1), &json!(1)));
    let shown = server.ok(&format!("GET /entities/{}", child["id"].as_str().unwrap()), "");
    assert_eq!((&shown["parent_pi"], &shown["ver"]), (&parent["id"], &json!(2)));
    let shown = server.ok(&format!("GET /entities/{}", parent["id"].as_str().unwrap()), "");
    assert_eq!((&shown["children_pi"], &shown["tip"]), (&json!([child["id"]]), &made["parent_tip"]));
}

/// Fifty clients that each read the tip and add a component, again when somebody was faster.
#[test]
fn fifty_writers_of_one_entity_all_succeed() {
    let server = Server::start();
    let made = server.ok("POST /entities", "{}");
    let id = made["id"].as_str().unwrap();
    let begun = tokio::time::Instant::now();
    std::thread::scope(|scope| {
        for writer in 0..50 {
            let server = &server;
            scope.spawn(move || {
                let mut client = server.client();
                loop {
                    let tip = client.request(&format!("GET /resolve/{id}"), &[], "").unwrap().json();
                    let body =
                        json!({ "expect_tip": tip["tip"], "components": { writer.to_string(): HELLO } });
                    let line = format!("POST /entities/{id}/versions");
                    let reply = client.request(&line, &[], &body.to_string()).unwrap();
                    match reply.status {
                        201 => return,
                        409 => assert_eq!(reply.json()["error"], "CAS_FAILURE"),
                        _ => panic!("{reply}"),
                    }
                }
            });
        }
    });
    println!("50 writers over HTTP took {:?}", begun.elapsed());
    let shown = server.ok(&format!("GET /entities/{id}"), "");
    assert_eq!((&shown["ver"], shown["components"].as_object().unwrap().len()), (&json!(51), 50));
}

#[test]
fn what_is_wrong_is_refused_by_name() {
    let server = Server::start();
    let id = "0".repeat(26);
    let made = server.ok("POST /entities", &json!({ "id": id }).to_string());
    let cases = [
        ("POST /entities", json!({ "components": { "a": "no cid" } }), 400, "VALIDATION_ERROR"),
        ("POST /entities", json!({ "components": { "": HELLO } }), 400, "VALIDATION_ERROR"),
        ("POST /entities", json!({ "id": "short" }), 400, "VALIDATION_ERROR"),
        ("POST /entities", json!({ "id": id, "label": "another" }), 409, "CONFLICT"),
        ("POST /entities", json!({ "parent_pi": "1".repeat(26) }), 400, "VALIDATION_ERROR"),
        ("POST /entities", json!({ "properties": { "/": HELLO } }), 400, "VALIDATION_ERROR"),
        ("POST /entities", json!({ "colour": "red" }), 400, "VALIDATION_ERROR"),
        ("POST /entities", json!({ "note": "x".repeat(70_000) }), 413, "PAYLOAD_TOO_LARGE"),
        ("GET /entities/nobody", json!({}), 400, "VALIDATION_ERROR"),
        ("GET /entities/%FF", json!({}), 400, "VALIDATION_ERROR"),
        ("GET /entities/11111111111111111111111111", json!({}), 404, "NOT_FOUND"),
        ("GET /entities/00000000000000000000000000/versions/ver:9", json!({}), 400, "VALIDATION_ERROR"),
        ("GET /entities/00000000000000000000000000/versions/last", json!({}), 400, "VALIDATION_ERROR"),
        ("GET /entities?limit=0", json!({}), 400, "INVALID_PARAMS"),
        ("GET /entities?cursor=x", json!({}), 400, "INVALID_CURSOR"),
        ("GET /cat/x", json!({}), 400, "VALIDATION_ERROR"),
        (&format!("GET /cat/{HELLO}"), json!({}), 404, "NOT_FOUND"),
        (&format!("GET /dag/{HELLO}"), json!({}), 404, "NOT_FOUND"),
        ("POST /upload", json!({}), 400, "VALIDATION_ERROR"),
        ("POST /entities/collect", json!({ "older_than_ms": 1 }), 400, "INVALID_PARAMS"),
        ("POST /entities/collect", json!({ "dryrun": true }), 400, "VALIDATION_ERROR"),
    ];
    for (line, body, status, code) in cases {
        check(&server.ask(line, &body.to_string()), status, code);
    }
    let bad = json!({ "expect_tip": made["tip"], "components": { "a": "no cid" } }).to_string();
    check(&server.ask(&format!("POST /entities/{id}/versions"), &bad), 400, "VALIDATION_ERROR");
    check(&upload(&server, &[]), 400, "VALIDATION_ERROR");
    let large = "x".repeat(UPLOAD_BYTES as usize + 1);
    check(&upload(&server, &[("large", &large)]), 413, "PAYLOAD_TOO_LARGE");
    // Nor is it waited for one that does not end.
    let mut endless = server.client();
    let head = "POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000000\r\n\
                Content-Type: multipart/form-data; boundary=edge\r\n\r\n\
                --edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n";
    endless.send(head.as_bytes()).unwrap();
    endless.send(large.as_bytes()).unwrap();
    check(&endless.read().unwrap(), 413, "PAYLOAD_TOO_LARGE");
}

/// The same store through a client of these routes: what it is told and what it tells survive the way.
#[test]
fn a_client_of_another_server_is_a_store_as_well() {
    let server = Server::start();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let remote = RemoteEntities::new(&format!("http://{}/", server.address), None).unwrap();
        let pieces: Pieces = Box::pin(stream::iter([Ok("hello ".into()), Ok("world".into())]));
        let kept = remote.upload("a\".txt".to_owned(), pieces).await.unwrap();
        assert_eq!((kept.name.as_str(), kept.cid.to_string().as_str(), kept.size), ("a.txt", HELLO, 11));
        let part = remote.cat(kept.cid, Some(Part::From(6, None))).await.unwrap();
        assert_eq!((part.size, part.part), (11, (6, 11)));
        let text: Vec<_> = part.pieces.try_collect().await.unwrap();
        assert_eq!(text.concat(), b"world");
        let made = remote.create(Create::default()).await.unwrap();
        let changed = update(&remote, &made.id, |shown| Append {
            components: [("a.txt".to_owned(), kept.cid)].into(),
            ..Append::onto(shown.tip)
        });
        assert_eq!(changed.await.unwrap().ver, 2);
        let stale = remote.append(&made.id, Append::onto(made.tip)).await.unwrap_err();
        assert!(matches!(stale, EntityError::Cas(tips) if tips.expect == made.tip));
        let first = remote.version(&made.id, Selector::Ver(1)).await.unwrap();
        assert_eq!((first.manifest_cid, first.components.len()), (made.tip, 0));
        let listed = remote.list(1, None, Detail::Metadata).await.unwrap();
        assert_eq!(listed.entities[0].metadata.as_ref().unwrap().component_count, 1);
        assert_eq!(remote.dag(made.tip).await.unwrap().get("pi"), None);
        // Whatever was uploaded just now may still be named.
        let none = remote.collect(Collecting::ForGood, COLLECT_USUAL_MS).await.unwrap();
        assert_eq!((none.blobs, none.bytes), (0, 0));
        let young = remote.collect(Collecting::DryRun, 1_000).await.unwrap_err();
        assert!(matches!(young, EntityError::InvalidParams(_)), "{young:?}");
    });
}
