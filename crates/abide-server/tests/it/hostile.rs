//! Clients that misbehave do no harm.

use crate::server::{Server, every_service, preprocess_with};
use abide_blob::{Access, Bucket, Key, Loan, Signer};
use abide_core::time::Time;
use abide_server::{Bounds, Services};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Sends bytes, closes, and gives what came back.
fn throw(server: &Server, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address).expect("as the test made it");
    // The server may hang up before it has taken everything.
    drop(stream.write_all(bytes));
    drop(stream.shutdown(Shutdown::Write));
    let mut back = Vec::new();
    drop(stream.read_to_end(&mut back));
    String::from_utf8_lossy(&back).into_owned()
}

#[test]
fn garbage_is_turned_away() {
    let server = Server::start();
    for bytes in [
        b"\0\x01\x02\xff\xfe".as_slice(),
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
        &[b'x'; 1_000_000],
    ] {
        let back = throw(&server, bytes);
        assert!(back.is_empty() || back.starts_with("HTTP/1.1 4"), "{back}");
    }
    server.ok("GET /ready", "");
}

#[test]
fn a_hundred_megabytes_are_refused_and_not_kept() {
    let server = Server::start();
    let piece = vec![b' '; 1 << 20];
    let mut client = server.client();
    let head = format!("POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", 100 << 20);
    client.send(head.as_bytes()).unwrap();
    for _ in 0..100 {
        client.send(&piece).unwrap();
    }
    let reply = client.read().unwrap();
    assert_eq!(reply.status, 413, "{reply}");
    // As much is refused before it comes, whether it comes or not.
    let mut client = server.client();
    client
        .send(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000000\r\n\r\n")
        .unwrap();
    let reply = client.read().unwrap();
    assert_eq!(reply.status, 413, "{reply}");
    server.ok("GET /ready", "");
}

#[test]
fn connections_that_are_held_open_hold_up_nobody() {
    let mut server = Server::start();
    let silent: Vec<TcpStream> = (0..50).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    let mut half = server.client();
    half.send(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{").unwrap();
    server.ok("POST /v1/objects/toy/a/call", r#"{"add":1}"#);
    server.tell_to_stop()();
    drop(silent);
}

#[test]
fn requests_that_come_byte_by_byte_hold_up_nobody() {
    let mut server = Server::start();
    let job = r#"{"queue":"q","kind":"k"}"#;
    let head = "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\n";
    let whole = format!("{head}Content-Length: {}\r\n\r\n{job}", job.len());
    // Half of them are slow with their head, half with their body.
    let mut slow: Vec<_> = (0..100).map(|_| server.client()).collect();
    for client in &mut slow[50..] {
        client.send(&whole.as_bytes()[..whole.len() - job.len()]).unwrap();
    }
    for at in 0..10 {
        for client in &mut slow[..50] {
            client.send(&whole.as_bytes()[at..=at]).unwrap();
        }
        for client in &mut slow[50..] {
            client.send(&job.as_bytes()[at..=at]).unwrap();
        }
        server.ok("POST /v1/objects/toy/a/call", r#"{"add":1}"#);
    }
    assert_eq!(server.ok("GET /v1/jobs", "")["jobs"], serde_json::json!([]), "none of them has come yet");
    // Slow is not wrong: whoever sends the rest is served.
    slow[0].send(&whole.as_bytes()[10..]).unwrap();
    slow[99].send(&job.as_bytes()[10..]).unwrap();
    for place in [0, 99] {
        let reply = slow[place].read().unwrap();
        assert_eq!(reply.status, 201, "{reply}");
    }
    // The others are not waited for.
    server.tell_to_stop()();
    drop(slow);
}

#[test]
fn a_client_that_hangs_up_loses_no_job() {
    let server = Server::start();
    let body = r#"{"worker":"w","queues":["q"],"kinds":["k"],"wait_ms":30000}"#;
    let head =
        format!("POST /v1/lease HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
    for _ in 0..5 {
        let mut client = server.client();
        client.send((head.clone() + body).as_bytes()).unwrap();
        drop(client);
    }
    // Whoever hangs up just as a job comes may still get it; these have been gone for a while.
    for _ in 0..100 {
        server.ok("GET /health", "");
    }
    server.ok("POST /v1/jobs", r#"{"queue":"q","kind":"k"}"#);
    let leases = server.ok("POST /v1/lease", body);
    assert_eq!(leases["leases"][0]["failures"], 0, "no attempt was lost: {leases}");
}

#[test]
fn a_body_that_ends_early_brings_nothing() {
    let server = Server::start();
    let body = r#"{"queue":"q","kind":"k"}"#;
    let whole =
        format!("POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    for cut in [1, 10, body.len()] {
        throw(&server, &whole.as_bytes()[..whole.len() - cut]);
    }
    assert_eq!(server.ok("GET /v1/jobs", "")["jobs"], serde_json::json!([]));
}

#[test]
fn a_head_or_a_body_that_does_not_arrive_in_time_is_not_waited_for() {
    let server = Server::within(Bounds { arrives: Duration::from_millis(300), ..Bounds::default() });
    let (mut silent, mut head, mut body) = (server.client(), server.client(), server.client());
    head.send(b"POST /v1/jobs HTTP/1.1\r\nHost: local").unwrap();
    body.send(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{").unwrap();
    for client in [&mut silent, &mut head] {
        assert_eq!(client.read().unwrap_err().kind(), ErrorKind::UnexpectedEof, "it is closed");
    }
    let reply = body.read().unwrap();
    assert_eq!((reply.status, reply.json()["error"]["code"].as_str()), (408, Some("request_timeout")));
    assert!(reply.body.contains("did not arrive within 300ms"), "{reply}");
    server.ok("GET /ready", "");
}

#[test]
fn connections_that_are_kept_for_later_make_room_for_those_who_come() {
    // Nobody would be closed for having been idle while this test runs.
    let bounds = Bounds { connections: 6, waits: 2, readers: 2, arrives: Duration::from_secs(3_600) };
    let server = Server::within(bounds);
    let mut waiting = server.client();
    let lease = r#"{"worker":"w","queues":["q"],"kinds":["k"],"wait_ms":30000}"#;
    let head =
        format!("POST /v1/lease HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", lease.len());
    waiting.send((head + lease).as_bytes()).unwrap();
    let mut kept: Vec<_> = (0..5).map(|_| server.client()).collect();
    for client in &mut kept {
        assert_eq!(client.request("GET /ready", &[], "").unwrap().status, 200);
    }
    for _ in 0..20 {
        let mut late = server.client();
        assert_eq!(late.request("GET /ready", &[], "").unwrap().status, 200);
        kept.push(late);
    }
    // Those that never say what they want go first when they have had time to.
    let silent: Vec<_> = (0..50).map(|_| server.client()).collect();
    server.ok("POST /v1/jobs", r#"{"queue":"q","kind":"k"}"#);
    let reply = waiting.read().unwrap();
    assert_eq!(reply.status, 200, "whoever is being served is not sent away: {reply}");
    drop(silent);
}

#[test]
fn bodies_that_do_not_come_make_room_for_those_who_come() {
    // None of them would be given up for its time while this test runs.
    let bounds = Bounds { connections: 4, waits: 1, readers: 1, arrives: Duration::from_secs(3_600) };
    let server = Server::within(bounds);
    let mut half: Vec<_> = (0..4).map(|_| server.client()).collect();
    for client in &mut half {
        client.send(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{").unwrap();
    }
    let (sender, answers) = channel();
    for mut client in half {
        let sender = sender.clone();
        std::thread::spawn(move || client.read().map(|reply| sender.send(reply)));
    }
    let mut late = server.client();
    assert_eq!(late.request("GET /health", &[], "").unwrap().status, 200);
    let reply = answers.recv().unwrap();
    assert_eq!((reply.status, reply.json()["error"]["code"].as_str()), (408, Some("request_timeout")));
    assert!(reply.body.contains("while others waited"), "{reply}");
    assert!(answers.try_recv().is_err(), "one that came costs one");
}

/// What came of it is lost, but nothing is wrong with it.
#[test]
fn an_upload_that_hardly_comes_is_to_be_sent_again() {
    let bounds = Bounds { connections: 1, waits: 1, readers: 1, arrives: Duration::from_secs(3_600) };
    let server = Server::within(bounds);
    let mut slow = server.client();
    slow.send(
        b"POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\
          Content-Type: multipart/form-data; boundary=edge\r\n\r\n\
          --edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nhello",
    )
    .unwrap();
    let mut late = server.client();
    assert_eq!(late.request("GET /health", &[], "").unwrap().status, 200);
    let reply = slow.read().unwrap();
    assert_eq!(reply.status, 503, "{reply}");
    assert!(reply.body.contains("while others waited"), "{reply}");
}

/// What is wrong with it was known before.
#[test]
fn an_output_that_cannot_be_kept_is_not_asked_for_again_because_it_hardly_comes() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("taken"), "").unwrap();
    let preprocess = preprocess_with(Bucket::directory(dir.path()).unwrap());
    let bounds = Bounds { connections: 1, waits: 1, readers: 1, arrives: Duration::from_secs(3_600) };
    let server = Server::with_bounds(Services { preprocess: Some(preprocess), ..every_service() }, bounds);
    let key = Key::new("taken/page.jpg").unwrap();
    let ends_at = Time(i64::MAX);
    let loan = Loan { bucket: "staging", key: &key, access: Access::Put, ends_at, holder: "" };
    let path = Signer::new([7; 32]).url("/preprocess/blob", &loan);
    let mut slow = server.client();
    let head = format!("PUT {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nhello");
    slow.send(head.as_bytes()).unwrap();
    let mut late = server.client();
    assert_eq!(late.request("GET /health", &[], "").unwrap().status, 200);
    let reply = slow.read().unwrap();
    assert!(reply.status >= 500 && reply.body.contains("taken/page.jpg"), "{reply}");
}

#[test]
fn those_who_wait_leave_room_for_those_who_do_not() {
    let bounds = Bounds { connections: 12, waits: 4, readers: 3, ..Bounds::default() };
    let mut server = Server::within(bounds);
    server.ok("POST /v1/jobs", r#"{"queue":"work","kind":"k"}"#);
    let lease =
        &server.ok("POST /v1/lease", r#"{"worker":"w","queues":["work"],"kinds":["k"]}"#)["leases"][0];
    let (job, attempt, token) = (&lease["job"], &lease["attempt"], &lease["token"]);

    let poll = r#"{"worker":"w","queues":["q"],"kinds":["k"],"wait_ms":30000}"#;
    let (sender, answers) = channel();
    for _ in 0..9 {
        let (mut client, sender) = (server.client(), sender.clone());
        std::thread::spawn(move || sender.send(client.request("POST /v1/lease", &[], poll).unwrap()));
    }
    for _ in 0..5 {
        let refused = answers.recv().unwrap();
        assert_eq!(refused.json()["error"]["code"], "overloaded", "{refused}");
        assert!(refused.body.contains("4 requests wait already"), "{refused}");
    }
    let mut readers: Vec<_> = (0..4).map(|_| server.client()).collect();
    let read = |client: &mut crate::client::Client| client.request("GET /v1/events", &[], "").unwrap().status;
    let statuses: Vec<u16> = readers.iter_mut().map(read).collect();
    assert_eq!(statuses, [200, 200, 200, 429]);

    server.ok("GET /health", "");
    let beat = format!(r#"{{"attempt":{attempt},"token":{token},"lease_ms":5000}}"#);
    server.ok(&format!("POST /v1/jobs/{job}/heartbeat"), &beat);
    server.ok("POST /v1/jobs", r#"{"queue":"q","kind":"k"}"#);
    let found = answers.recv().unwrap();
    assert_eq!(
        found.json()["leases"].as_array().map(Vec::len),
        Some(1),
        "one of those who wait has it: {found}"
    );
    server.tell_to_stop()();
}
