//! Links as people use them: saved with and without a server, fetched and summarized by one, through `kill -9`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_fetch::testing::{Server, reply};
use serde_json::{Value, json};

use crate::place::{Place, Run};
use crate::served::Served;

fn place() -> Place {
    Place::new().env("ABIDE_FETCH_ALLOW_PRIVATE", "true")
}

fn site(latency: Duration) -> Server {
    Server::start(move |request| {
        if request.path == "/robots.txt" {
            return reply(404, &[], b"");
        }
        // Nothing is ever sent: the page takes as long as this waits.
        let (_sender, never) = channel::<()>();
        assert!(never.recv_timeout(latency).is_err());
        let words = "Durable objects keep what they were told, also when the power goes. ".repeat(6);
        let page = format!("<title>About {}</title><article><p>{words}</p></article>", request.path);
        reply(200, &[("Content-Type", "text/html")], page.as_bytes())
    })
}

/// A model that answers every question with a note about its first line, and what it was asked.
fn model() -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("as the test made it");
    let base_url = format!("http://{}/v1", listener.local_addr().expect("as the test made it"));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if let Ok(question) = answer(stream) {
                seen.lock().expect("as the test made it").push(question);
            }
        }
    });
    (base_url, asked)
}

fn answer(mut stream: TcpStream) -> std::io::Result<Value> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().expect("as the test made it")
            }
            Some(_) => {}
            None if line.trim_end().is_empty() => break,
            None => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let note =
        json!({ "summary": "A note that the model wrote.", "existingTags": [], "newTags": ["durable"] });
    let message = json!({ "role": "assistant", "content": note.to_string() });
    let reply = json!({
        "model": "stand-in", "choices": [{ "message": message, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 5 },
    })
    .to_string();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{reply}",
        reply.len()
    )?;
    Ok(serde_json::from_slice(&body).expect("as the test made it"))
}

/// The events of the store `local` past `after`, as they come.
struct Tail {
    lines: std::io::Lines<BufReader<TcpStream>>,
    last: i64,
}

impl Tail {
    fn open(served: &Served, after: i64) -> Tail {
        let mut stream = TcpStream::connect(served.address).expect("as the test made it");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("as the test made it");
        write!(stream, "GET /sync/local/tail?after={after} HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .expect("as the test made it");
        Tail { lines: BufReader::new(stream).lines(), last: after }
    }

    fn next(&mut self) -> Value {
        loop {
            let line = self.lines.next().expect("the tail goes on").expect("text");
            if let Some(data) = line.strip_prefix("data: ") {
                let event: Value = serde_json::from_str(data).expect("as the test made it");
                assert_eq!(event["seqNum"], self.last + 1);
                self.last += 1;
                return event;
            }
        }
    }

    /// Reads on until so many links have come to their end.
    fn until_ended(&mut self, mut count: usize) {
        while count > 0 {
            let event = self.next();
            let name = event["name"].as_str().expect("as the test made it");
            assert_ne!(name, "v1.LinkProcessingFailed", "{event}");
            count -= usize::from(name == "v1.LinkProcessingCompleted");
        }
    }
}

fn ok(run: &Run) -> Value {
    assert_eq!(run.code, Some(0), "{run}");
    serde_json::from_str(&run.stdout).expect("JSON")
}

#[test]
fn bookmarks_are_saved_without_a_server_and_processed_by_the_next() {
    let site = site(Duration::ZERO);
    let bookmarks = format!(
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><DT><A HREF=\"{}\" ADD_DATE=\"1577934245\" TAGS=\"Rust,日本\">One</A><DT><A HREF=\"{}\">Again</A>\
         <DT><A HREF=\"javascript:0\">No page</A></DL>",
        site.url("/one"),
        site.url("/one?utm_source=x"),
    );
    let (base_url, asked) = model();
    let place = place()
        .env("ABIDE_LLM_BASE_URL", &base_url)
        .env("ABIDE_LLM_MODEL", "stand-in")
        .env("ABIDE_LLM_API_KEY", "secret")
        .file("work/bookmarks.html", &bookmarks)
        .file("work/list.txt", "# mine\nnowhere\n");
    insta::assert_snapshot!(place.run("links import bookmarks.html --tag later"), @"
    exit 0
    ✓ Import complete: 1 new, 1 duplicate, 1 skipped, 0 errors
    link 1: tags that it cannot have are left out: 日本
    link 3: skipped: javascript: URLs lead to no page
    ");
    let bad = place.run("links import list.txt");
    assert_eq!(bad.code, Some(4), "{bad}");
    assert!(bad.stderr.starts_with("link 2: ") && bad.stderr.contains("nowhere"), "{bad}");
    let listed = ok(&place.run("links list --json"));
    assert_eq!(listed["total"], 1);
    assert_ne!(listed["links"][0]["processing"], "done");
    let id = listed["links"][0]["id"].as_str().expect("as the test made it").to_owned();

    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    Tail::open(&served, 0).until_ended(1);
    // Answered when it has come back by the log, and so has all that was before it.
    served.ok(&format!("PATCH /links/api/links/{id}"), r#"{"state": "completed"}"#);
    let added = ok(&place.run(&format!("links add --json {}", site.url("/one#part"))));
    assert_eq!((&added[0]["created"], &added[0]["link"]["id"]), (&json!(false), &json!(id)));
    let shown = ok(&place.run(&format!("links show {id} --json")));
    assert_eq!((&shown["title"], &shown["tags"]), (&json!("About /one"), &json!(["later", "rust"])));
    assert_eq!(shown["createdAt"], json!("2020-01-02T03:04:05.000Z"));
    assert_eq!(
        (&shown["summary"], &shown["processing"]),
        (&json!("A note that the model wrote."), &json!("done"))
    );
    assert_eq!(shown["summaryModel"], json!("stand-in"));
    let spent = json!({ "requests": 1, "inputTokens": 10, "outputTokens": 5, "costMicros": 0 });
    assert_eq!(shown["spent"], spent);
    let metrics = served.ask("GET /metrics", "").body;
    for line in [
        r#"abide_model_requests_total{model="stand-in"} 1"#,
        r#"abide_model_tokens_total{model="stand-in",direction="read"} 10"#,
        r#"abide_model_tokens_total{model="stand-in",direction="written"} 5"#,
        r#"abide_model_cost_micros_total{model="stand-in"} 0"#,
    ] {
        assert!(metrics.lines().any(|other| other == line), "{line}: {metrics}");
    }
    let text = place.run(&format!("links show {id}"));
    assert!(
        text.stdout.contains("\nspent       10 tokens read, 5 written, 1 requests, 0 millionths\n"),
        "{text}"
    );
    assert_eq!(ok(&place.run("links search --json model wrote --all"))["links"][0]["id"], json!(id));
    assert_eq!(place.run("links show none").code, Some(1));
    let asked = asked.lock().expect("as the test made it");
    assert_eq!(asked.len(), 1);
    assert!(asked[0].to_string().contains("Durable objects keep"), "{}", asked[0]);
}

#[test]
fn what_cannot_be_done_is_said_in_words_that_help() {
    let place = place().file("work/list.jsonl", "https://example.org/\n\n{\"title\": 1}\n");
    insta::assert_snapshot!(place.run("links add example.org"), @r#"
    exit 4
    link 1: "example.org" is not a URL: it does not begin with http:// or https://
    error: 1 link was not saved
    "#);
    insta::assert_snapshot!(place.run("links import list.jsonl"), @"
    exit 4
    ⚠ Import complete: 1 new, 0 duplicate, 1 error
    link 3: not a link: missing field `url`
    error: 1 link was not saved
    ");
    let unknown = place.run("links show -kv");
    assert!(unknown.code == Some(1) && unknown.stderr.contains("-kv"), "{unknown}");
    let nobody = place.run("links key create --org=");
    assert!(nobody.code == Some(2) && nobody.stderr.contains("--org"), "{nobody}");
    let short = place.env("ABIDE_SYNC_JWT_SECRET", "short");
    let token = short.run("links token --org acme");
    assert!(token.code != Some(0) && token.stderr.contains("at least 32 bytes"), "{token}");
    let nobody = short.run("links token --org acme --subject=");
    assert!(nobody.code == Some(2) && nobody.stderr.contains("--subject"), "{nobody}");
}

#[test]
fn keys_are_made_and_revoked_beside_a_server_and_without_one() {
    let place = place().env("ABIDE_SYNC_OPEN", "false");
    let early = ok(&place.run("links key create --org acme --json"));
    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    let late = ok(&place.run("links key create --org acme --source extension --json"));
    let status = |key: &Value| {
        let bearer = format!("Bearer {}", key["key"].as_str().expect("as the test made it"));
        let headers = [("Authorization", bearer.as_str())];
        served.client().request("GET /links/api/links", &headers, "").expect("as the test made it").status
    };
    assert_eq!((status(&early), status(&late)), (200, 200));
    assert_eq!(
        ok(&place.run("links key list --json"))["keys"].as_array().expect("as the test made it").len(),
        2
    );
    assert_eq!(
        place.run(&format!("links key revoke {}", early["id"].as_str().expect("as the test made it"))).code,
        Some(0)
    );
    assert_eq!((status(&early), status(&late)), (401, 200));
    assert_eq!(served.ask("GET /links/api/links", "").status, 401);
}

#[test]
fn a_log_that_was_restored_is_another_one_to_clients_that_have_more() {
    let place = Place::new();
    let served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir one");
    let append = |key: &str, events: usize| {
        let events: Vec<Value> = (0..events).map(|n| json!({ "name": "n", "args": n })).collect();
        let body = json!({ "events": events, "clientId": "c", "sessionId": "s", "key": key });
        served.ok("POST /sync/s/events", &body.to_string());
    };
    append("before", 3);
    assert_eq!(place.run("backup copy.db --data-dir one").code, Some(0));
    append("after", 2);
    let before = served.ok("GET /sync/s", "");
    drop(served);
    assert_eq!(place.run("restore copy.db --data-dir two").code, Some(0));
    let served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir two");
    let after = served.ok("GET /sync/s", "");
    assert_eq!((&before["head"], &after["head"]), (&json!(5), &json!(3)));
    assert_ne!(before["backendId"], after["backendId"]);
    let cursor = json!({ "backendId": before["backendId"], "eventSequenceNumber": 2 });
    let payload = json!({ "storeId": "s", "cursor": { "_tag": "Some", "value": cursor } });
    let pull = json!({ "_tag": "Request", "id": "0", "tag": "SyncHttpRpc.Pull", "payload": payload });
    let refused = served.ok("POST /sync?storeId=s&transport=http", &pull.to_string());
    let error = &refused[0]["exit"]["cause"]["error"];
    assert_eq!(
        (&error["_tag"], &error["expected"], &error["received"]),
        (&json!("BackendIdMismatchError"), &after["backendId"], &before["backendId"])
    );
    let export = served.ask("GET /sync/s/events", "");
    assert_eq!(export.body.lines().count(), 3, "its events are those of the backup: {export}");
}

#[test]
fn a_model_that_is_half_configured_is_refused_by_name() {
    let run = place().env("ABIDE_LLM_BASE_URL", "http://localhost:1").run("serve --listen 127.0.0.1:0");
    assert!(run.code == Some(2) && run.stderr.contains("llm.model"), "{run}");
}

#[test]
fn commands_at_once_without_a_server_all_save() {
    let place = place();
    let add = |n: usize| {
        let mut command = place.command(&format!("links add https://example.org/{n}"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts")
    };
    let running: Vec<_> = (0..4).map(add).collect();
    for child in running {
        let ended = child.wait_with_output().expect("it ends");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    assert_eq!(ok(&place.run("links list --json"))["total"], 4);
}

#[test]
fn what_models_may_cost_holds_over_a_kill() {
    let (site, (base_url, asked)) = (site(Duration::ZERO), model());
    // A question may cost 512, for which the model is given room, and costs 5.
    let place = place()
        .env("ABIDE_LLM_BASE_URL", &base_url)
        .env("ABIDE_LLM_MODEL", "stand-in")
        .env("ABIDE_LLM_OUTPUT_PRICE_MICROS", "1000000")
        .env("ABIDE_LLM_BUDGET_MICROS", "516");
    let save = |served: &Served, path: &str| {
        served.ok("POST /links/api/links", &json!({ "url": site.url(path) }).to_string());
    };
    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    save(&served, "/one");
    let mut tail = Tail::open(&served, 0);
    tail.until_ended(1);
    served.kill();
    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    let mut tail = Tail::open(&served, tail.last);
    save(&served, "/two");
    let failed = loop {
        let event = tail.next();
        assert_ne!(event["name"], "v1.LinkProcessingCompleted");
        if event["name"] == "v1.LinkProcessingFailed" {
            break event;
        }
    };
    assert_eq!(failed["args"]["error"], "AiCallError");
    let reason = failed["args"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("llm.budget_micros"), "{reason}");
    assert_eq!(asked.lock().expect("as the test made it").len(), 1);
    let shown = ok(&place.run("object show model-spending/all --json"));
    assert_eq!(shown["rows"]["rows"][0]["value"], 5, "{shown}");
}

#[test]
fn a_link_that_was_answered_for_outlasts_a_kill() {
    let (site, place) = (site(Duration::ZERO), place());
    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    let saved = served.ok("POST /links/api/ingest", &json!({ "url": site.url("/one") }).to_string());
    served.kill();
    assert_eq!((&saved["status"], &saved["result"]), (&json!("queued"), &json!("ingested")));
    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    Tail::open(&served, 0).until_ended(1);
    let id = saved["id"].as_str().expect("an id");
    assert_eq!(served.ok(&format!("GET /links/api/links/{id}"), "")["url"], json!(site.url("/one")));
}

/// Imports links, kills the server at so many places of the log, and looks at what the log says in the end. Gives how long
/// servers worked, from when they listened to when they were killed or had done everything.
fn survives(links: usize, kills: &[usize], latency: Duration) -> Duration {
    let site = site(latency);
    let list: String = (0..links).map(|n| format!("{}\n", site.url(&format!("/{n}")))).collect();
    let place = place().env("ABIDE_DOWNLOADS_MAX_PER_HOST", "100").file("work/list.txt", &list);
    assert_eq!(place.run("links import list.txt").code, Some(0));
    let (mut ended, mut last, mut took) = (0, 0, Duration::ZERO);
    for until in kills.iter().copied().chain([links]) {
        let served = Served::start(&place, "serve --listen 127.0.0.1:0");
        let began = tokio::time::Instant::now();
        let mut tail = Tail::open(&served, last);
        tail.until_ended(until - ended);
        took += began.elapsed();
        (ended, last) = (until, tail.last);
        served.kill();
    }
    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    let mut counts: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    let mut all = Tail::open(&served, 0);
    while all.last < served.ok("GET /sync/local", "")["head"].as_i64().expect("as the test made it") {
        let event = all.next();
        let args = &event["args"];
        let link = args["linkId"].as_str().or(args["id"].as_str()).expect("as the test made it").to_owned();
        *counts
            .entry(event["name"].as_str().expect("as the test made it").to_owned())
            .or_default()
            .entry(link)
            .or_default() += 1;
    }
    for name in
        ["v2.LinkCreated", "v1.LinkProcessingStarted", "v1.LinkProcessingCompleted", "v1.LinkSummarized"]
    {
        let of = &counts[name];
        assert_eq!((of.len(), of.values().max()), (links, Some(&1)), "{name}");
    }
    took
}

#[test]
fn no_link_is_lost_or_processed_twice_over_three_kills() {
    survives(24, &[4, 9, 15], Duration::from_millis(5));
}

#[test]
#[ignore = "a minute: cargo test -p abide --test it -- --ignored --nocapture a_thousand_links"]
fn a_thousand_links_survive_three_kills() {
    let latency = Duration::from_millis(50);
    let ideal = latency * (1_000 / 8);
    for kills in [&[][..], &[200, 450, 700]] {
        let took = survives(1_000, kills, latency);
        let times = took.as_secs_f64() / ideal.as_secs_f64();
        println!("1,000 links with {} kills: {took:?}, {times:.2} times the ideal of {ideal:?}", kills.len());
    }
}

#[test]
fn a_server_that_others_reach_says_that_its_stores_are_not_open() {
    let place = Place::new();
    assert_eq!(place.run("token create --role admin --data-dir data").code, Some(0));
    for (address, is_said) in [("0.0.0.0:0", true), ("127.0.0.1:0", false)] {
        let served = Served::start(&place, &format!("serve --listen {address} --data-dir data"));
        let (_, said) = served.terminate();
        assert_eq!(said.contains("sync.open counts on loopback only"), is_said, "{address}: {said}");
    }
}
