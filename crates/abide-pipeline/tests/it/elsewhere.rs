//! An organizer of somebody else: asked over HTTP, it calls back.

use crate::real::rig_elsewhere;
use abide_entities::request::Create;
use abide_entities::{EntityId, EntityStore};
use abide_organize::contract::{CallbackPayload, ProcessRequest};
use abide_pipeline::contract::Status;
use abide_pipeline::{Options, ids};
use serde_json::json;
use std::sync::mpsc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Answers each request with this status, and passes on what was asked.
async fn listen(status: &'static str) -> (String, mpsc::Receiver<(String, ProcessRequest)>) {
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
                    break (head.lines().next().unwrap().to_owned(), body.to_owned());
                }
            };
            sender.send((head, serde_json::from_str(&body).unwrap())).unwrap();
            let reply = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
            stream.write_all(reply.as_bytes()).await.unwrap();
        }
    });
    (url, asked)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_asked_and_calls_back() {
    let (url, asked) = listen("200 OK").await;
    let rig = rig_elsewhere(Options::default(), url);
    rig.stage("b1", &[("/d/a1.txt", "1"), ("/d/a2.txt", "2"), ("/d/u.txt", "3")]).await;
    rig.start(json!({"batch_id": "b1", "manifest_r2_key": "staging/b1/_manifest.json"})).await;
    let (head, request) = tokio::task::spawn_blocking(move || asked.recv().unwrap()).await.unwrap();
    assert_eq!(head, "POST /process HTTP/1.1");
    let names: Vec<&str> = request.pis[0].files.iter().flatten().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["a1.txt", "a2.txt", "u.txt"]);
    let directory = rig.entities.get(&request.pis[0].pi).await.unwrap();
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
    let payload = json!({"batch_id": "b1", "chunk_id": request.chunk_id, "status": "success",
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
