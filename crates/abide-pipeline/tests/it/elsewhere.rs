//! An organizer of somebody else: asked over HTTP, it calls back.

use crate::real::rig_elsewhere;
use crate::rig::answer;
use abide_organize::contract::ProcessRequest;
use abide_pipeline::contract::Status;
use abide_pipeline::{Call, Options};
use serde_json::{Value, json};
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
    // The group that it tells of has no entity here, so what follows fails for the group alone.
    let payload = Box::new(answer(&request));
    let call = Call::Callback { service: "organizer".to_owned(), payload };
    let taken: Value = rig.site.ask("b1", &call).await.unwrap();
    assert_eq!(taken, json!({"success": true, "processed": 1}));
    let status = rig.end("b1").await;
    assert_eq!((status.status, status.progress.directories_total), (Status::Done, 3));
    assert_eq!(status.directories_failed, 2, "{:?}", status.notes);
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
