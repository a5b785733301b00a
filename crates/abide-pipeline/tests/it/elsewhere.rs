//! An organizer of somebody else: asked over HTTP, it calls back.

use crate::real::{reference, rig_elsewhere};
use abide_entities::request::Create;
use abide_entities::{EntityId, EntityStore};
use abide_organize::contract::CallbackPayload;
use abide_pipeline::contract::{NodesAnswer, Status};
use abide_pipeline::{Call, Options, ids};
use serde_json::{Value, json};
use std::sync::mpsc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Answers each request with this status, and passes on its head and what was asked, as somebody else reads it.
async fn listen(status: &'static str) -> (String, mpsc::Receiver<(String, Value)>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, asked) = mpsc::channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut bytes = Vec::new();
            let (head, body) = loop {
                let mut piece = [0; 8192];
                let read = stream.read(&mut piece).await.unwrap();
                bytes.extend_from_slice(&piece[..read]);
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                let length = head.to_lowercase();
                let length = length.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
                if body.len() == length.parse::<usize>().unwrap() {
                    break (head.to_owned(), body.to_owned());
                }
            };
            drop(sender.send((head, serde_json::from_str(&body).unwrap())));
            let reply = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
            stream.write_all(reply.as_bytes()).await.unwrap();
        }
    });
    (url, asked)
}

fn pi(value: &Value) -> EntityId {
    EntityId::parse(value.as_str().unwrap()).unwrap()
}

/// Somebody else has no access to entities: everything that it needs is in the request, in the words that are agreed on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_sent_what_is_in_the_files() {
    let (url, asked) = listen("200 OK").await;
    let rig = rig_elsewhere(Options { max_files: 4, ..Options::default() }, url);
    // What is written with six bytes for one is cut until it fits.
    let noise = "\u{1}".repeat(300_000);
    let scan = reference("s.jpg");
    let names: Vec<String> = (1..=5).map(|n| format!("/e/{n}.txt")).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "a page")).collect();
    files.extend([("/d/a1.txt", "apples"), ("/d/noise.txt", &noise), ("/d/s.jpg.ref.json", &scan)]);
    rig.stage("b1", &files).await;
    rig.start(json!({"batch_id": "b1", "manifest_r2_key": "staging/b1/_manifest.json"})).await;
    let received = tokio::task::spawn_blocking(move || [asked.recv().unwrap(), asked.recv().unwrap()]);
    let received = received.await.unwrap();
    assert!(received.iter().all(|(head, _)| head.to_lowercase().contains("authorization: bearer secret")));
    let of = |operation: &str| {
        received.iter().map(|(_, request)| request).find(|request| request["operation"] == operation).unwrap()
    };
    let organize = of("organize");
    let directory = rig.entities.get(&pi(&organize["pis"][0]["pi"])).await.unwrap();
    let mut asked = organize["pis"][0].clone();
    let noise = asked["files"][1]["content"].take();
    assert!(noise.as_str().unwrap().len() > 10_000 && noise.to_string().len() <= 256 * 1024);
    let files = json!([
        {"name": "a1.txt", "type": "text", "content": "apples"},
        {"name": "noise.txt", "type": "text", "content": null},
        {"name": "s.jpg.ref.json", "type": "ref", "content": "Dear Anna, this is http://127.0.0.1:1/asset/s.jpg",
            "original_filename": "s.jpg", "metadata": {"mime_type": "image/jpeg"}},
    ]);
    assert_eq!(asked["files"], files);
    assert_eq!(asked["current_tip"], json!(directory.tip));
    assert_eq!(asked["parent_components"], json!(directory.components));
    assert_eq!((&asked["directory_path"], &organize["batch_id"]), (&json!("/d"), &json!("b1")));
    assert!(organize["r2_prefix"].is_string() && organize["chunk_id"].is_string(), "{organize}");
    let strategize = &of("strategize")["strategize"];
    assert_eq!((&strategize["total_file_count"], &strategize["chunk_count"]), (&json!(5), &json!(2)));
    assert_eq!(strategize["files"][0], json!({"name": "1.txt", "type": "text", "content": "a page"}));
    rig.engine.stop().await;
}

/// The second generation sends ids of groups alone: what is in them is looked up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_of_which_only_the_id_is_said_count() {
    let (url, asked) = listen("200 OK").await;
    let rig = rig_elsewhere(Options::default(), url);
    rig.stage("b1", &[("/d/a1.txt", "1"), ("/d/a2.txt", "2"), ("/d/u.txt", "3")]).await;
    rig.start(json!({"batch_id": "b1", "manifest_r2_key": "staging/b1/_manifest.json"})).await;
    let (_, request) = tokio::task::spawn_blocking(move || asked.recv().unwrap()).await.unwrap();
    let directory = rig.entities.get(&pi(&request["pis"][0]["pi"])).await.unwrap();
    let named = ["a1.txt", "a2.txt"].map(|name| (name.to_owned(), directory.components[name]));
    let group = Create {
        label: Some("A".to_owned()),
        parent_pi: Some(directory.id.clone()),
        components: named.into(),
        ..Create::default()
    };
    let group = rig.entities.create(group).await.unwrap();
    let nobody = ids::of_directory("nobody", "/");
    let new = |pi: &EntityId, parent: &EntityId| json!({"pi": pi, "parent_pi": parent, "children_pi": []});
    let new_pis = [new(&group.id, &directory.id), new(&nobody, &directory.id), new(&group.id, &nobody)];
    let payload = json!({"batch_id": "b1", "chunk_id": request["chunk_id"], "status": "success",
        "results": [{"pi": directory.id, "status": "success"}], "new_pis": new_pis});
    let payload: CallbackPayload = serde_json::from_value(payload).unwrap();
    let taken = rig.service.take_answer("b1", payload).await.unwrap();
    let ignored = [
        format!("new_pis: there is no entity {nobody}"),
        format!("new_pis: there is no result for their parent {nobody}"),
    ];
    assert_eq!((taken.processed, taken.ignored.as_slice()), (1, &ignored[..]));
    let status = rig.end("b1").await;
    assert_eq!((status.status, status.progress.directories_total), (Status::Done, 3), "{:?}", status.notes);
    // The group is described, and its files are not the directory's any more.
    assert!(rig.entities.get(&group.id).await.unwrap().components.contains_key("pinax.json"));
    let nodes: NodesAnswer = rig.site.ask("b1", &Call::Nodes { after: None, limit: None }).await.unwrap();
    let counts = nodes.nodes.iter().map(|node| (node.path.as_str(), node.text_count));
    assert_eq!(counts.collect::<Vec<_>>(), [("/", 0), ("/d", 1), ("/d/A", 2)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_asked_and_calls_back() {
    let (url, asked) = listen("200 OK").await;
    let rig = rig_elsewhere(Options::default(), url);
    rig.stage("b1", &[("/d/a1.txt", "1"), ("/d/a2.txt", "2"), ("/d/u.txt", "3")]).await;
    rig.start(json!({"batch_id": "b1", "manifest_r2_key": "staging/b1/_manifest.json"})).await;
    let (head, request) = tokio::task::spawn_blocking(move || asked.recv().unwrap()).await.unwrap();
    assert_eq!(head.lines().next(), Some("POST /process HTTP/1.1"));
    let names: Vec<&Value> =
        request["pis"][0]["files"].as_array().unwrap().iter().map(|f| &f["name"]).collect();
    assert_eq!(names, ["a1.txt", "a2.txt", "u.txt"]);
    let directory = rig.entities.get(&pi(&request["pis"][0]["pi"])).await.unwrap();
    let make = |label: &str, parent_pi: Option<EntityId>, names: &[&str]| {
        let named = names.iter().map(|name| ((*name).to_owned(), directory.components[*name]));
        let create = Create {
            label: Some(label.to_owned()),
            parent_pi,
            components: named.collect(),
            ..Create::default()
        };
        rig.entities.create(create)
    };
    let group = make("A", Some(directory.id.clone()), &["a1.txt"]).await.unwrap();
    let victim = make("V", None, &[]).await.unwrap();
    let said =
        |pi: &EntityId, name: &str, files: &[&str]| json!({"pi": pi, "group_name": name, "files": files});
    let nobody = ids::of_directory("nobody", "/");
    let groups = json!([
        said(&group.id, "A", &["a1.txt", "a2.txt"]),
        said(&victim.id, "V", &["u.txt"]),
        said(&nobody, "N", &["u.txt"]),
    ]);
    // Whoever writes an organizer need not say more than this.
    let payload = json!({"batch_id": "b1", "chunk_id": request["chunk_id"], "status": "success",
        "results": [{"pi": directory.id, "status": "success", "group_entities": groups}]});
    let payload: CallbackPayload = serde_json::from_value(payload).unwrap();
    let taken = rig.service.take_answer("b1", payload.clone()).await.unwrap();
    let ignored = [
        format!("group \"A\": 1 of its files are not in {}", group.id),
        format!("group \"V\": {} is no child of {}", victim.id, directory.id),
        format!("group \"N\": there is no entity {nobody}"),
    ];
    assert_eq!((taken.processed, taken.ignored.as_slice()), (1, &ignored[..]));
    assert_eq!(rig.service.take_answer("b1", payload).await.unwrap().processed, 0);
    let status = rig.end("b1").await;
    assert_eq!((status.status, status.progress.directories_total), (Status::Done, 3));
    assert_eq!(status.directories_failed, 0, "{:?}", status.notes);
    assert!(ignored.iter().all(|ignored| status.notes.contains(ignored)), "{:?}", status.notes);
    assert_eq!(rig.entities.get(&victim.id).await.unwrap().ver, 1);
    assert!(rig.entities.get(&group.id).await.unwrap().components.contains_key("pinax.json"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_refuses_is_passed_over_with_the_reason() {
    let (url, _asked) = listen("400 Bad Request").await;
    let rig = rig_elsewhere(Options::default(), url);
    rig.stage("b1", &[("/d/a1.txt", "1"), ("/d/a2.txt", "2"), ("/d/u.txt", "3")]).await;
    rig.start(json!({"batch_id": "b1", "manifest_r2_key": "staging/b1/_manifest.json"})).await;
    let status = rig.end("b1").await;
    assert_eq!((status.status, status.directories_failed), (Status::Done, 1));
    assert!(status.notes.iter().any(|note| note.contains("answered 400 Bad Request")), "{:?}", status.notes);
}
