//! `/links/api` over real HTTP, with real pages of a site of this machine.

use crate::server::Server;
use crate::site::site;
use crate::wire::Wire;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Waits until the log of `local` says that so many links are done.
fn wait_until_done(server: &Server, mut count: usize) {
    let mut wire = Wire::open(server, "local");
    wire.pull(json!("0"), "local", true, None);
    while count > 0 {
        let chunk = wire.next();
        let batch = chunk["values"][0]["batch"].as_array().expect("a batch");
        let ends = batch.iter().filter(|item| {
            let name = item["eventEncoded"]["name"].as_str().expect("a name");
            ["v1.LinkProcessingCompleted", "v1.LinkProcessingFailed"].contains(&name)
        });
        count -= ends.count();
    }
}

fn save(server: &Server, url: &str) -> Value {
    server.ok("POST /links/api/links", &json!({ "url": url }).to_string())
}

fn ids(listed: &Value) -> Vec<&str> {
    listed["links"]
        .as_array()
        .expect("links")
        .iter()
        .map(|link| link["id"].as_str().expect("an id"))
        .collect()
}

#[test]
fn a_link_is_saved_processed_shown_changed_and_found() {
    let (server, site) = (Server::start(), site());
    let body = json!({ "url": site.url("/rust"), "tags": ["To Read"] });
    let saved = server.ok("POST /links/api/links", &body.to_string());
    assert_eq!((&saved["created"], &saved["link"]["source"]), (&json!(true), &json!("api")));
    let id = saved["link"]["id"].as_str().expect("an id").to_owned();
    let gone = save(&server, &site.url("/gone"))["link"]["id"].as_str().expect("an id").to_owned();
    wait_until_done(&server, 2);
    // Answered when it has come back by the log, and so has all that was before it.
    let change = json!({ "state": "completed", "tags": { "add": ["rust"], "remove": ["to-read"] } });
    let changed = server.ok(&format!("PATCH /links/api/links/{id}"), &change.to_string());
    assert_eq!((&changed["state"], &changed["tags"]), (&json!("completed"), &json!(["rust"])));
    let link = server.ok(&format!("GET /links/api/links/{id}"), "");
    let expected = json!({
        "title": "Page /rust", "description": "About /rust", "image": site.url("/cover.png"),
        "favicon": site.url("/favicon.ico"), "tags": ["rust"], "state": "completed", "processing": "done",
        "error": null, "url": site.url("/rust"),
    });
    for (name, value) in expected.as_object().expect("an object") {
        assert_eq!(&link[name], value, "{name}: {link}");
    }
    assert!(link["summary"].as_str().is_some_and(|text| text.contains("memory safe")), "{link}");
    let failed = server.ok(&format!("GET /links/api/links/{gone}"), "");
    assert_eq!((&failed["processing"], &failed["error"]), (&json!("failed"), &json!("fetch:404")));

    let listed = server.ok("GET /links/api/links?state=completed", "");
    assert_eq!((ids(&listed), &listed["total"]), (vec![id.as_str()], &json!(1)));
    let found = server.ok("GET /links/api/links?q=memory+nothing", "");
    assert_eq!(
        (ids(&found), found["links"][0]["matchedFields"].clone()),
        (vec![id.as_str()], json!(["summary"]))
    );
    assert_eq!(server.ok("GET /links/api/links?q=memory+nothing&match=all", "")["total"], 0);
    let again = server.ok(&format!("POST /links/api/links/{gone}/reprocess"), "");
    assert_ne!(again["processing"], "failed");
}

#[test]
fn many_links_are_changed_by_id_or_as_a_list_gives_them() {
    let (server, site) = (Server::start(), site());
    let urls: Vec<String> = (0..5).map(|n| site.url(&format!("/{n}"))).collect();
    let imported = server.ok("POST /links/api/import", &json!({ "urls": urls }).to_string());
    let all: Vec<&str> = imported["links"]
        .as_array()
        .expect("links")
        .iter()
        .map(|added| added["link"]["id"].as_str().expect("an id"))
        .collect();
    let batch = |body: Value| server.ok("POST /links/api/links/batch-update", &body.to_string());
    let done = batch(json!({ "ids": &all[..2], "changes": { "state": "completed" } }));
    assert_eq!((&done["updated"], ids(&done)), (&json!(2), all[..2].to_vec()));
    let archived =
        batch(json!({ "where": { "state": "inbox" }, "changes": { "state": "archive" }, "limit": 2 }));
    assert_eq!(archived["updated"], 2);
    assert_eq!(server.ok("GET /links/api/links?state=archive", "")["total"], 2);
    assert_eq!(server.ok("GET /links/api/links?state=inbox", "")["total"], 1);
    let nothing = batch(json!({ "where": { "q": "no such words" }, "changes": { "state": "inbox" } }));
    assert_eq!(nothing, json!({ "updated": 0, "links": [] }));
}

#[test]
fn pages_go_on_where_they_ended_in_both_orders_and_within_a_time() {
    let server = Server::start();
    let event = |n: usize| {
        let args = json!({ "id": format!("l{n}"), "url": format!("http://localhost:1/{n}"), "domain": "localhost",
            "createdAt": format!("2026-01-0{}T00:00:00.000Z", n + 1) });
        json!({ "name": "v1.LinkCreated", "args": args })
    };
    let append = json!({ "events": (0..5).map(event).collect::<Vec<_>>(), "clientId": "c", "sessionId": "s", "key": "k" });
    server.ok("POST /sync/local/events", &append.to_string());
    wait_until_done(&server, 5);
    for (sort, expected) in
        [("newest", ["l4", "l3", "l2", "l1", "l0"]), ("oldest", ["l0", "l1", "l2", "l3", "l4"])]
    {
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = server.ok(&format!("GET /links/api/links?limit=2&sort={sort}{cursor}"), "");
            assert_eq!(page["total"], 5);
            seen.extend(ids(&page).into_iter().map(str::to_owned));
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(seen, expected, "{sort}");
        let query = format!(
            "GET /links/api/links?sort={sort}&createdAfter=2026-01-01T00:00:00Z&createdBefore=2026-01-04T00:00:00.000Z"
        );
        let within = server.ok(&query, "");
        let expected: Vec<&str> = expected.into_iter().filter(|id| ["l1", "l2"].contains(id)).collect();
        assert_eq!((ids(&within), &within["total"]), (expected, &json!(2)), "{sort}");
    }
}

#[test]
fn one_url_saved_by_many_at_once_is_one_link_that_all_get() {
    let (server, site) = (Server::start(), site());
    let answers: Vec<Value> = std::thread::scope(|scope| {
        let save = |n: usize| save(&server, &site.url(&format!("/same?utm_source={n}")));
        let threads: Vec<_> = (0..16).map(|n| scope.spawn(move || save(n))).collect();
        threads.into_iter().map(|thread| thread.join().expect("it was answered")).collect()
    });
    let created = answers.iter().filter(|answer| answer["created"] == true).count();
    let ids: BTreeSet<&str> =
        answers.iter().map(|answer| answer["link"]["id"].as_str().expect("an id")).collect();
    assert_eq!((created, ids.len()), (1, 1), "{answers:?}");
    assert_eq!(server.ok("GET /links/api/links?state=all", "")["total"], 1);
    let again = server.ok("POST /links/api/ingest", &json!({ "url": site.url("/same") }).to_string());
    assert_eq!((&again["status"], &again["result"]), (&json!("queued"), &json!("duplicate")));
}

#[test]
fn a_preview_shows_what_a_link_would_and_says_why_it_cannot() {
    let (server, site) = (Server::start(), site());
    let line =
        |url: &str| format!("GET /links/api/metadata?url={}", url.replace(':', "%3A").replace('/', "%2F"));
    let reply = server.ask(&line(&site.url("/a")), "");
    assert_eq!((reply.status, reply.header("cache-control")), (200, Some("private, no-store")), "{reply}");
    assert_eq!(reply.json()["title"], "Page /a");
    let cases = [
        (site.url("/gone"), 502, "upstream_failed"),
        ("ftp://localhost/".to_owned(), 400, "bad_request"),
        ("http://user:word@localhost/".to_owned(), 400, "bad_request"),
    ];
    for (url, status, code) in cases {
        let reply = server.ask(&line(&url), "");
        assert_eq!(
            (reply.status, reply.json()["error"]["code"].as_str()),
            (status, Some(code)),
            "{url}: {reply}"
        );
    }
    assert_eq!(server.ask("GET /links/api/metadata", "").status, 400);
}

#[test]
fn a_batch_changes_as_many_links_as_either_limit_allows() {
    let server = Server::start();
    let urls: Vec<String> = (0..5).map(|n| format!("http://localhost:1/{n}")).collect();
    server.ok("POST /links/api/import", &json!({ "urls": urls }).to_string());
    let archive = |more: Value| {
        let mut body = json!({ "changes": { "state": "archive" } });
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        server.ok("POST /links/api/links/batch-update", &body.to_string())["updated"].clone()
    };
    assert_eq!(archive(json!({ "where": { "state": "inbox", "limit": 1 } })), 1);
    assert_eq!(archive(json!({ "where": { "state": "inbox", "limit": 3 }, "limit": 2 })), 2);
    assert_eq!(archive(json!({ "where": { "state": "inbox" } })), 2);
}

#[test]
fn a_batch_of_links_that_say_much_is_answered_with_all_of_them() {
    let server = Server::start();
    // Done already, so that nobody fetches them.
    let events = |n: usize| {
        let (id, at) = (format!("l{n}"), "2026-01-01T00:00:00.000Z");
        let created =
            json!({ "id": id, "url": format!("http://localhost:1/{n}"), "domain": "d", "createdAt": at });
        let described = json!({ "id": format!("m{n}"), "linkId": id, "description": "word ".repeat(400), "fetchedAt": at });
        let summarized = json!({ "id": format!("s{n}"), "linkId": id, "summary": "much ".repeat(300), "model": "m", "summarizedAt": at });
        let completed = json!({ "linkId": id, "updatedAt": at });
        [
            json!({ "name": "v1.LinkCreated", "args": created }),
            json!({ "name": "v1.LinkMetadataFetched", "args": described }),
            json!({ "name": "v1.LinkSummarized", "args": summarized }),
            json!({ "name": "v1.LinkProcessingCompleted", "args": completed }),
        ]
    };
    for n in (0..100).step_by(10) {
        let events: Vec<Value> = (n..n + 10).flat_map(events).collect();
        let append = json!({ "events": events, "clientId": "c", "sessionId": "s", "key": n.to_string() });
        server.ok("POST /sync/local/events", &append.to_string());
    }
    while server.ok("GET /links/api/links", "")["total"] != 100 {}
    let body = r#"{"where": {"sort": "oldest"}, "changes": {"state": "completed"}}"#;
    let done = server.ok("POST /links/api/links/batch-update", body);
    assert_eq!((&done["updated"], ids(&done).len()), (&json!(100), 100));
    let links = done["links"].as_array().expect("links");
    assert!(links.iter().all(|link| link["state"] == "completed" && link["summary"].is_string()), "{done}");
}

#[test]
fn bad_requests_are_told_what_is_wrong() {
    let server = Server::start();
    let long = format!("{{\"url\": \"http://localhost/{}\"}}", "x".repeat(65_536));
    let cases = [
        ("POST /links/api/links", r#"{"url": "nowhere"}"#, 400, "nowhere"),
        ("POST /links/api/links", r#"{"url": "http://localhost/", "more": 1}"#, 400, "more"),
        ("POST /links/api/links", &long, 413, "65536 bytes: send less at a time"),
        ("POST /links/api/import", r#"{"urls": []}"#, 400, "give 1 to 100 URLs"),
        ("GET /links/api/links?state=lost", "", 400, "lost"),
        ("GET /links/api/links?sort=best", "", 400, "best"),
        ("GET /links/api/links?limit=101", "", 400, "1 to 100"),
        ("GET /links/api/links?cursor=x", "", 400, "nextCursor"),
        ("GET /links/api/links?createdAfter=soon", "", 400, "createdAfter"),
        ("GET /links/api/links/none", "", 404, "none"),
        ("PATCH /links/api/links/none", r#"{"state": "inbox"}"#, 404, "none"),
        ("PATCH /links/api/links/none", r#"{"state": "lost"}"#, 400, "lost"),
        ("POST /links/api/links/batch-update", r#"{"changes": {}}"#, 400, "either ids or where"),
        (
            "POST /links/api/links/batch-update",
            r#"{"ids": ["a", "b"], "changes": {}, "limit": 1}"#,
            400,
            "limit is 1",
        ),
    ];
    for (line, body, status, says) in cases {
        let reply = server.ask(line, body);
        assert!(reply.status == status && reply.body.contains(says), "{line} {says}: {reply}");
    }
}
