//! The document of the routes is true to the routes, and the answers are true to the document.

use crate::client::Reply;
use crate::server::Server;
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[test]
fn every_route_is_there_and_nothing_else() {
    let server = Server::start();
    let document = server.ok("GET /openapi.json", "");
    assert_eq!(document["openapi"], json!("3.1.0"));
    let paths = document["paths"].as_object().unwrap();
    let said: BTreeSet<(String, String)> = paths
        .iter()
        .flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().keys();
            methods.map(|method| (method.to_ascii_uppercase(), path.clone()))
        })
        .collect();
    let routes = abide_server::routes(&Server::start().services);
    let there = routes.iter().map(|route| (route.method.to_owned(), route.path.to_owned())).collect();
    assert_eq!(said, there);
}

#[test]
fn every_route_says_what_it_answers() {
    let server = Server::start();
    let document = server.ok("GET /openapi.json", "");
    for route in abide_server::routes(&Server::start().services) {
        let operation = &document["paths"][route.path][route.method.to_ascii_lowercase()];
        assert_eq!(operation["summary"], json!(route.does));
        let answers = operation["responses"].as_object().unwrap();
        let line = format!("{} {}", route.method, route.path);
        assert!(answers.len() > 1, "operations.json has no answers of {line}");
    }
    let mut ids = BTreeSet::new();
    for item in document["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            assert!(ids.insert(operation["operationId"].as_str().unwrap()), "twice: {operation}");
        }
    }
}

#[test]
fn every_parameter_is_known_to_its_route() {
    let server = Server::start();
    let document = server.ok("GET /openapi.json", "");
    let mut seen = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        let Some(operation) = item.get("get") else { continue };
        let parameters = operation["parameters"].as_array().unwrap().iter();
        for parameter in parameters.filter(|parameter| parameter["in"] == json!("query")) {
            let name = parameter["name"].as_str().unwrap();
            let path = path.replace("{kind}", "toy").replace("{name}", "a").replace("{ticket}", "t");
            let reply = server.ask(&format!("GET {path}?{name}=%20%20"), "");
            assert!(!reply.body.contains("unknown field"), "{path} does not know {name}: {reply}");
            seen += 1;
        }
    }
    assert!(seen > 15, "only {seen} parameters");
}

/// Holds answers against the document.
struct Judge {
    server: Server,
    document: Value,
}

impl Judge {
    /// Asks, and checks the answer against the schema of the route with this template and of the status that came.
    fn ask(&self, method: &str, template: &str, path: &str, body: &str) -> Reply {
        let reply = self.server.ask(&format!("{method} {path}"), body);
        let operation = &self.document["paths"][template][method.to_ascii_lowercase()];
        if reply.status < 300
            && let Some(schema) = operation.pointer("/requestBody/content/application~1json/schema")
        {
            self.check(schema, &serde_json::from_str(body).unwrap(), &format!("the body of {path}"));
        }
        let answers = &operation["responses"];
        let answer = answers.get(reply.status.to_string()).unwrap_or_else(|| {
            assert!(reply.status >= 400, "{method} {path} is not said to answer {}", reply.status);
            &answers["default"]
        });
        let schema = &answer["content"]["application/json"]["schema"];
        self.check(schema, &reply.json(), &format!("{method} {path}"));
        reply
    }

    fn check(&self, schema: &Value, value: &Value, what: &str) {
        let mut schema = schema.clone();
        schema["components"] = self.document["components"].clone();
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        let errors: Vec<String> = validator.iter_errors(value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{what}: {errors:#?} in {value:#}");
    }
}

fn judge() -> Judge {
    let server = Server::start();
    let document = server.ok("GET /openapi.json", "");
    Judge { server, document }
}

#[test]
fn answers_about_jobs_are_as_documented() {
    let judge = judge();
    let (jobs, job) = ("/v1/jobs", "/v1/jobs/{job}");
    let full = r#"{"queue":"q","kind":"k","payload":{"a":1},"priority":2,"delay_ms":0,"unique_key":"u",
        "limit_keys":["host:a"],"max_attempts":2,"backoff":{"base_ms":1,"cap_ms":2}}"#;
    assert_eq!(judge.ask("POST", jobs, jobs, full).status, 201);
    assert_eq!(judge.ask("POST", jobs, jobs, full).status, 200);
    let many = r#"{"jobs":[{"queue":"q","kind":"k"},{"queue":"q","kind":"k","delay_ms":60000},{"queue":"p","kind":"k"}]}"#;
    judge.ask("POST", jobs, jobs, many);
    assert_eq!(judge.ask("POST", jobs, jobs, "[]").status, 400);
    judge.ask(
        "PUT",
        "/v1/limits/{key}",
        "/v1/limits/host:a",
        r#"{"concurrency":1,"rates":["10/s"],"burst":1}"#,
    );
    let ask = r#"{"worker":"w","queues":["q"],"kinds":["k"],"max":1}"#;
    let lease = judge.ask("POST", "/v1/lease", "/v1/lease", ask).json()["leases"][0].clone();
    let id = lease["job"].to_string();
    let at = |verb: &str| format!("/v1/jobs/{id}/{verb}");
    let say = |more: Value| {
        let mut body = json!({ "attempt": lease["attempt"], "token": lease["token"] });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body.to_string()
    };
    judge.ask("POST", "/v1/jobs/{job}/heartbeat", &at("heartbeat"), &say(json!({ "lease_ms": 5000 })));
    judge.ask(
        "POST",
        "/v1/jobs/{job}/progress",
        &at("progress"),
        &say(json!({ "progress": { "waits": "for paper" } })),
    );
    judge.ask("POST", "/v1/jobs/{job}/vacate", &at("vacate"), &say(json!({})));
    let limited = r#"{"queue":"q","kind":"k","limit_keys":["host:a"]}"#;
    judge.ask("POST", jobs, jobs, limited);
    for n in 1..=6 {
        judge.ask("GET", "/v1/jobs/{job}/why", &format!("/v1/jobs/{n}/why"), "");
        judge.ask("GET", job, &format!("/v1/jobs/{n}"), "");
    }
    let end = json!({ "end": "error", "reason": "no", "retry": { "after_ms": 1000 }, "refund": ["host:a"],
        "cool_down": [{ "key": "host:a", "for_ms": 60000 }] });
    judge.ask("POST", "/v1/jobs/{job}/finish", &at("finish"), &say(end));
    assert_eq!(
        judge
            .ask("POST", "/v1/jobs/{job}/finish", "/v1/jobs/99/finish", &say(json!({ "end": "done" })))
            .status,
        404
    );
    judge.ask("POST", "/v1/jobs/{job}/cancel", &at("cancel"), "");
    judge.ask("POST", "/v1/jobs/{job}/retry", &at("retry"), "");
    for n in 1..=6 {
        judge.ask("GET", "/v1/jobs/{job}/why", &format!("/v1/jobs/{n}/why"), "");
        judge.ask("GET", job, &format!("/v1/jobs/{n}"), "");
    }
    judge.ask("POST", "/v1/jobs/retry", "/v1/jobs/retry?state=cancelled", "");
    judge.ask("GET", jobs, "/v1/jobs?limit=2", "");
    judge.ask("GET", jobs, "/v1/jobs?state=ready&queue=q", "");
}

#[test]
fn answers_about_queues_limits_and_objects_are_as_documented() {
    let judge = judge();
    judge.server.ok("POST /v1/jobs", r#"{"queue":"q","kind":"k","limit_keys":["host:a"]}"#);
    judge.ask("PUT", "/v1/queues/{queue}", "/v1/queues/q", r#"{"max_attempts":2,"retain_ms":null}"#);
    judge.ask("POST", "/v1/queues/{queue}/pause", "/v1/queues/q/pause", "");
    judge.ask("POST", "/v1/queues/{queue}/resume", "/v1/queues/q/resume", "");
    judge.ask("GET", "/v1/queues", "/v1/queues", "");
    assert_eq!(judge.ask("GET", "/v1/queues/{queue}", "/v1/queues/none", "").status, 404);
    judge.ask("PUT", "/v1/limits/{key}", "/v1/limits/host:*", r#"{"concurrency":1}"#);
    judge.ask("GET", "/v1/limits", "/v1/limits", "");
    judge.ask("DELETE", "/v1/limits/{key}", "/v1/limits/host:*", "");
    let call = "/v1/objects/{kind}/{name}/call";
    for body in [r#"{"add":1}"#, r#"{"append":{"a":1}}"#, r#"{"alarm":["ring",9999999999999]}"#, r#""later""#]
    {
        judge.ask("POST", call, "/v1/objects/toy/a/call", body);
    }
    let ticket = judge.server.ask("POST /v1/objects/toy/a/call", r#""later""#).json()["ticket"].clone();
    judge.ask("GET", "/v1/tickets/{ticket}", &format!("/v1/tickets/{}", ticket.as_str().unwrap()), "");
    assert_eq!(judge.ask("POST", call, "/v1/objects/toy/a/call", r#"{"refuse":"too_many"}"#).status, 429);
    judge.ask("GET", "/v1/objects", "/v1/objects?limit=1", "");
    judge.ask("GET", "/v1/objects/{kind}/{name}", "/v1/objects/toy/a", "");
    judge.ask("GET", "/v1/objects/{kind}/{name}/rows", "/v1/objects/toy/a/rows", "");
    judge.ask("GET", "/v1/objects/{kind}/{name}/log", "/v1/objects/toy/a/log", "");
    judge.ask("GET", "/v1/dead", "/v1/dead", "");
    judge.ask("GET", "/health", "/health", "");
    judge.ask("GET", "/ready", "/ready", "");
}

#[test]
fn answers_about_access_and_copies_are_as_documented() {
    let judge = judge();
    let made = judge.ask("POST", "/v1/tokens", "/v1/tokens", r#"{"role":"read","label":"a"}"#).json();
    judge.ask("GET", "/v1/tokens", "/v1/tokens", "");
    let one = format!("/v1/tokens/{}", made["id"].as_str().unwrap());
    assert_eq!(judge.ask("DELETE", "/v1/tokens/{id}", &one, "").status, 200);
    judge.ask("POST", "/v1/backup", "/v1/backup", r#"{"path":"relative"}"#);
    for verb in ["replay", "drop"] {
        let path = format!("/v1/dead/{verb}");
        judge.ask("POST", &path, &path, "");
    }
}

#[test]
fn answers_of_coordinators_are_as_documented() {
    let judge = judge();
    let (queue, batch) = ("/coordinator/{name}/queue", "/coordinator/{name}/queue/batch");
    judge.server.ok("POST /v1/queues/work-queue/pause", "");
    let full =
        r#"{"message":"m","delay":1.5,"mode":"queue","priority":1,"timestamps":[{"tag":"t","time":1}]}"#;
    let made = judge.ask("POST", queue, "/coordinator/a/queue", full).json();
    assert_eq!(judge.ask("POST", queue, "/coordinator/a/queue", "{}").status, 400);
    assert_eq!(judge.ask("POST", queue, "/coordinator/a/queue", "{").status, 400);
    judge.ask("POST", batch, "/coordinator/a/queue/batch", r#"{"messages":["m","n"],"delay":0}"#);
    let id = made["workItem"]["id"].as_str().unwrap();
    judge.ask("POST", "/coordinator/{name}/process/{work_id}", &format!("/coordinator/a/process/{id}"), "{}");
    let result = format!("/coordinator/a/result/{id}");
    judge.ask("POST", "/coordinator/{name}/result/{work_id}", &result, r#"{"error":"no"}"#);
    judge.ask("GET", "/coordinator/{name}/queue/{work_id}", &format!("/coordinator/a/queue/{id}"), "");
    judge.ask("GET", queue, "/coordinator/a/queue?limit=2", "");
    for (template, path) in [
        ("/coordinator/{name}", "/coordinator/a"),
        ("/coordinator/{name}/stats", "/coordinator/a/stats"),
        ("/processor/{name}", "/processor/a"),
        ("/processor/{name}/stats", "/processor/a/stats"),
    ] {
        judge.ask("GET", template, path, "");
    }
    judge.ask("POST", "/coordinator/{name}/clear", "/coordinator/a/clear", "");
}

#[test]
fn answers_about_stores_and_links_are_as_documented() {
    let judge = judge();
    let save = r#"{"url": "http://localhost:1/", "tags": ["a"]}"#;
    let saved = judge.ask("POST", "/links/api/links", "/links/api/links", save).json();
    let id = saved["link"]["id"].as_str().unwrap();
    let one = format!("/links/api/links/{id}");
    judge.ask("GET", "/links/api/links/{id}", &one, "");
    judge.ask("PATCH", "/links/api/links/{id}", &one, r#"{"state": "completed", "tags": {"set": ["b"]}}"#);
    judge.ask("POST", "/links/api/links/{id}/cancel", &format!("{one}/cancel"), "");
    judge.ask("POST", "/links/api/links/{id}/reprocess", &format!("{one}/reprocess"), "");
    judge.ask("GET", "/links/api/links", "/links/api/links?q=localhost&sort=oldest", "");
    judge.ask("POST", "/links/api/ingest", "/links/api/ingest", r#"{"url": "http://localhost:1/"}"#);
    judge.ask("POST", "/links/api/import", "/links/api/import", r#"{"urls": ["http://localhost:1/2"]}"#);
    let batch = r#"{"where": {"state": "all"}, "changes": {"state": "archive"}}"#;
    judge.ask("POST", "/links/api/links/batch-update", "/links/api/links/batch-update", batch);
    let events = r#"{"events": [{"name": "n", "args": 1}], "clientId": "c", "sessionId": "s", "key": "k"}"#;
    judge.ask("POST", "/sync/{store}/events", "/sync/local/events", events);
    judge.ask("GET", "/sync/{store}", "/sync/local", "");
    let made = judge.ask("POST", "/links/keys", "/links/keys", r#"{"org": "acme"}"#).json();
    judge.ask("GET", "/links/keys", "/links/keys", "");
    let key = format!("/links/keys/{}", made["id"].as_str().unwrap());
    judge.ask("DELETE", "/links/keys/{id}", &key, "");
}
