//! Coordinators and processors over HTTP.

use crate::events::until;
use crate::server::{LOCAL_TOKEN, Server};
use serde_json::{Value, json};

/// Waits until every item of `main` is finished, and gives them.
fn finished(server: &Server, count: u64) -> Vec<Value> {
    until(server, "", || {
        let stats = server.ok("GET /coordinator/main/stats", "");
        stats["completed"].as_u64().unwrap() + stats["failed"].as_u64().unwrap() == count
    });
    let page = server.ok("GET /coordinator/main/queue?limit=1000", "");
    page["queue"].as_array().unwrap().clone()
}

fn submit(server: &Server, body: &Value) -> String {
    let made = server.ok("POST /coordinator/main/queue", &body.to_string());
    made["workItem"]["id"].as_str().unwrap().to_owned()
}

fn tags(item: &Value) -> Vec<&str> {
    item["timestamps"].as_array().unwrap().iter().map(|stamp| stamp["tag"].as_str().unwrap()).collect()
}

#[test]
fn an_item_goes_through_either_mode() {
    let server = Server::start();
    assert_eq!(server.ok("GET /coordinator/main", ""), json!({ "status": "CoordinatorDo ready" }));
    assert_eq!(server.ok("GET /processor/main", ""), json!({ "status": "ProcessorDo ready" }));
    for line in ["GET /coordinator/main", "GET /processor/main"] {
        // A client puts the spec's `/` behind where the coordinator is.
        assert_eq!(server.ok(&format!("{line}/"), ""), server.ok(line, ""));
    }
    let queued = submit(&server, &json!({ "message": "a", "delay": 20, "priority": 3 }));
    let direct = submit(&server, &json!({ "message": "b", "delay": 30, "mode": "direct" }));
    let items = finished(&server, 2);
    let of = |id: &str| items.iter().find(|item| item["id"] == json!(id)).unwrap();
    let (queued, direct) = (of(&queued), of(&direct));
    assert_eq!((&queued["status"], &direct["status"]), (&json!("completed"), &json!("completed")));
    assert_eq!((&queued["mode"], &queued["priority"]), (&json!("queue"), &json!(3)));
    assert_eq!(
        tags(direct),
        ["1-serverReceived", "2-directSend-rpc", "3-processingStarted", "4-processingCompleted"]
    );
    assert!(tags(queued).contains(&"2-queueEnqueued"), "{queued}");
    assert!(queued["timeTaken"].as_f64().unwrap() >= 20.0 && direct["timeTaken"].as_f64().unwrap() >= 30.0);
    assert_eq!(direct["result"]["input"]["message"], json!("b"));
    assert_eq!(server.ok("GET /processor/main/stats", ""), json!({ "processCount": 2 }));
    let one = server.ok(&format!("GET /coordinator/main/queue/{}", direct["id"].as_str().unwrap()), "");
    assert_eq!(one["workItem"], *direct);
}

#[test]
fn all_results_of_a_batch_of_a_hundred_can_be_read() {
    let server = Server::start();
    let messages: Vec<String> = (0..100).map(|number| format!("m{number}")).collect();
    let body = json!({ "messages": messages, "delay": 0 }).to_string();
    let made = server.ok("POST /coordinator/main/queue/batch", &body);
    assert_eq!((&made["count"], made["workItems"].as_array().unwrap().len()), (&json!(100), 100));
    let items = finished(&server, 100);
    let got: Vec<&Value> = items.iter().map(|item| &item["result"]["input"]["message"]).collect();
    assert_eq!(got, messages.iter().collect::<Vec<_>>());
    let first = server.ok("GET /coordinator/main/queue?limit=60", "");
    let rest = server.ok(&format!("GET /coordinator/main/queue?limit=60&after={}", first["next"]), "");
    assert_eq!((first["queue"].as_array().unwrap().len(), rest["queue"].as_array().unwrap().len()), (60, 40));
    let newest = server.ok("GET /coordinator/main/queue?newest=3", "")["queue"].clone();
    assert_eq!(newest, json!(items[97..]));
    for (query, is_last) in [("limit=100", true), ("limit=99", false), ("newest=3&limit=3", true)] {
        let page = server.ok(&format!("GET /coordinator/main/queue?{query}"), "");
        assert_eq!(page.get("next").is_none(), is_last, "{query}");
    }
    for query in ["limit=0", "limit=1001", "newest=0", "newest=5000000"] {
        let refused = server.ask(&format!("GET /coordinator/main/queue?{query}"), "");
        let (name, given) = query.split_once('=').unwrap();
        assert!(refused.status == 400 && refused.body.contains(&format!("{name} is {given}: ")), "{refused}");
    }
}

#[test]
fn bodies_that_are_not_valid_are_answered_field_by_field() {
    let server = Server::start();
    let cases = [
        ("queue", json!({ "message": "", "delay": 5001 }), vec![json!(["message"]), json!(["delay"])]),
        ("queue", json!({ "message": 1, "delay": "5" }), vec![json!(["message"]), json!(["delay"])]),
        ("queue", json!({ "message": "a", "delay": 0, "mode": "fast" }), vec![json!(["mode"])]),
        ("queue", json!(null), vec![json!([])]),
        ("queue/batch", json!({ "messages": [], "delay": 0 }), vec![json!(["messages"])]),
        ("queue/batch", json!({ "messages": ["a", ""], "delay": 0 }), vec![json!(["messages", 1])]),
        ("process/x", json!({ "mode": 7 }), vec![json!(["mode"])]),
        ("result/x", json!({ "timestamps": [{ "tag": 1 }] }), vec![]),
    ];
    for (route, body, paths) in cases {
        let reply = server.ask(&format!("POST /coordinator/main/{route}"), &body.to_string());
        let answer = reply.json();
        assert_eq!((reply.status, &answer["success"]), (400, &json!(false)), "{route} {body}: {reply}");
        assert_eq!(answer["error"]["code"], json!("invalid"));
        let found: Vec<Value> =
            answer["issues"].as_array().unwrap().iter().map(|issue| issue["path"].clone()).collect();
        assert!(paths.is_empty() || found == paths, "{route} {body}: {reply}");
    }
    let reply = server.ask("POST /coordinator/main/queue", "{not json");
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!("bad_request")));
    assert_eq!(server.ok("GET /coordinator/main/stats", "")["total"], json!(0));
}

#[test]
fn a_submission_that_is_repeated_under_its_key_is_made_once() {
    let server = Server::start();
    let send = |path: &str, key: &str, body: &Value| {
        let line = format!("POST /coordinator/main/queue{path}");
        server.client().request(&line, &[("Idempotency-Key", key)], &body.to_string()).unwrap()
    };
    let one = json!({ "message": "a", "delay": 0 });
    let first = send("", "k1", &one);
    assert_eq!(first.status, 200, "{first}");
    assert_eq!(send("", "k1", &one).json(), first.json());
    let reused = send("", "k1", &json!({ "message": "b", "delay": 0 }));
    assert_eq!((reused.status, &reused.json()["error"]["code"]), (422, &json!("key_reused")), "{reused}");
    let many = json!({ "messages": ["c", "d"], "delay": 0 });
    let batch = send("/batch", "k2", &many);
    assert_eq!(send("/batch", "k2", &many).json(), batch.json(), "{batch}");
    assert_eq!(finished(&server, 3).len(), 3);
}

#[test]
fn clear_forgets_and_cancels() {
    let server = Server::start();
    let job = || server.ok("GET /v1/jobs?queue=work-queue", "")["jobs"][0].clone();
    submit(&server, &json!({ "message": "slow", "delay": 5_000 }));
    submit(&server, &json!({ "message": "slow", "delay": 5_000, "mode": "direct" }));
    until(&server, "", || job()["state"] == json!("running"));
    assert_eq!(server.ok("POST /coordinator/main/clear", ""), json!({ "success": true }));
    assert_eq!(server.ok("GET /coordinator/main/queue", "")["queue"], json!([]));
    until(&server, "", || job()["state"] == json!("cancelled"));
}

#[test]
fn late_repeated_and_foreign_results_change_nothing() {
    let server = Server::start();
    server.ok("POST /v1/queues/work-queue/pause", "");
    let id = submit(&server, &json!({ "message": "a", "delay": 0 }));
    let result = |body: Value| server.ask(&format!("POST /coordinator/main/result/{id}"), &body.to_string());
    let item = || server.ok(&format!("GET /coordinator/main/queue/{id}"), "")["workItem"].clone();
    until(&server, "", || item()["status"] == json!("processing"));
    let payload = server.ok("GET /v1/jobs/1", "")["payload"].clone();
    let (attempt, proof) = (&payload["attempt"], &payload["proof"]);
    let wrong = result(json!({ "result": 1, "attempt": attempt, "proof": "0".repeat(32) }));
    assert_eq!((wrong.status, &wrong.json()["error"]["refusal"]), (403, &json!("wrong_proof")), "{wrong}");
    assert_eq!(result(json!({ "result": "first", "attempt": attempt, "proof": proof })).status, 200);
    let first = item();
    assert_eq!((&first["status"], &first["result"]), (&json!("completed"), &json!("first")));
    let late = [
        json!({ "result": "second", "attempt": attempt, "proof": proof }),
        json!({ "error": "late", "attempt": 0, "proof": proof }),
        json!({ "result": "by an operator" }),
    ];
    for late in late {
        assert_eq!(result(late.clone()).status, 200, "{late}");
        assert_eq!(item(), first, "{late}");
    }
    let unknown = server.ok("POST /coordinator/main/result/nobody", r#"{"result":1}"#);
    assert_eq!(unknown, json!({ "success": true }));
    assert_eq!(server.ask("POST /coordinator/main/process/nobody", "").status, 404);
}

#[test]
fn a_result_needs_the_proof_of_its_attempt_or_the_role_operate() {
    let server = Server::with_tokens();
    let ok = |line: &str, body: &str| {
        let reply = server.ask_as(LOCAL_TOKEN, line, body);
        assert!(reply.status < 300, "{line}: {reply}");
        reply.json()
    };
    for line in ["GET /coordinator/main/", "GET /processor/main/"] {
        assert_eq!(server.ask(line, "").status, 401, "{line}");
    }
    ok("POST /v1/queues/work-queue/pause", "");
    let reader = ok("POST /v1/tokens", r#"{"role":"read"}"#)["token"].as_str().unwrap().to_owned();
    let made = ok("POST /coordinator/main/queue", r#"{"message":"a","delay":0}"#);
    let id = made["workItem"]["id"].as_str().unwrap();
    let shown = |token: &str, line: &str| server.ask_as(token, line, "").body;
    let token = format!("Authorization: Bearer {LOCAL_TOKEN}\r\n");
    until(&server, &token, || shown(LOCAL_TOKEN, "GET /v1/jobs/1").contains("proof"));
    for line in ["GET /v1/jobs/1", "GET /v1/jobs", "GET /v1/objects/coordinator/main/rows"] {
        assert!(shown(LOCAL_TOKEN, line).contains("proof"), "{line}");
        assert!(!shown(&reader, line).contains("proof"), "{line}");
    }
    let payload = ok("GET /v1/jobs/1", "")["payload"].clone();
    let line = format!("POST /coordinator/main/result/{id}");
    let (without, with) = (
        json!({ "result": 1 }).to_string(),
        json!({ "result": 1, "attempt": payload["attempt"], "proof": payload["proof"] }).to_string(),
    );
    assert_eq!(server.ask(&line, &without).status, 401);
    assert_eq!(server.ask_as(&reader, &line, &without).status, 403);
    assert_eq!(server.ask(&line, &with).status, 200, "the proof alone is enough");
    let item = ok(&format!("GET /coordinator/main/queue/{id}"), "");
    assert_eq!(item["workItem"]["status"], json!("completed"));
}
