//! `kill -9` between a push and its echo: what was acknowledged is in the log once, and a client goes on by its cursor.

use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

use crate::place::Place;
use crate::served::Served;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client of the store `acme` that remembers what it was sent.
struct Client {
    socket: WebSocket<TcpStream>,
    backend_id: Option<String>,
    last: i64,
}

impl Client {
    /// Pulls what is past `last` of the log `backend_id`, and what comes.
    fn open(served: &Served, backend_id: Option<String>, last: i64) -> Client {
        let stream = TcpStream::connect(served.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let url = format!("ws://{}/sync?storeId=acme&transport=ws", served.address);
        let (socket, _) = client(url, stream).expect("it is let in");
        let cursor = match &backend_id {
            None => json!({ "_tag": "None" }),
            Some(id) => {
                json!({ "_tag": "Some", "value": { "backendId": id, "eventSequenceNumber": last } })
            }
        };
        let mut client = Client { socket, backend_id, last };
        client.request("0", "SyncWsRpc.Pull", json!({ "storeId": "acme", "live": true, "cursor": cursor }));
        while client.next().is_some_and(|frame| frame["values"][0]["pageInfo"]["_tag"] != "NoMore") {}
        client
    }

    fn request(&mut self, id: &str, tag: &str, payload: Value) {
        let request = json!({ "_tag": "Request", "id": id, "tag": tag, "payload": payload, "headers": [] });
        // It may be dead.
        drop(self.socket.send(Message::text(request.to_string())));
    }

    fn push(&mut self, seq: i64) {
        let event = json!({ "name": "n", "args": { "n": seq }, "seqNum": seq, "parentSeqNum": seq - 1,
            "clientId": "c", "sessionId": "s" });
        let payload = json!({ "storeId": "acme", "batch": [event], "backendId": { "_tag": "None" } });
        self.request("1", "SyncWsRpc.Push", payload);
    }

    /// The next frame, none if the server is gone. Events follow what was there before.
    fn next(&mut self) -> Option<Value> {
        let Ok(Message::Text(text)) = self.socket.read() else { return None };
        let frame: Value = serde_json::from_str(&text).expect("JSON");
        if frame["_tag"] == "Chunk" {
            let page = &frame["values"][0];
            for item in page["batch"].as_array().expect("a batch") {
                assert_eq!(item["eventEncoded"]["seqNum"], self.last + 1, "in order, once, no gap");
                self.last += 1;
            }
            self.backend_id = page["backendId"].as_str().map(str::to_owned);
        }
        Some(frame)
    }

    /// What the push was answered with, past its echo.
    fn answer(&mut self) -> Value {
        loop {
            let frame = self.next().expect("it lives");
            if frame["_tag"] == "Exit" {
                return frame["exit"].clone();
            }
        }
    }
}

#[test]
fn an_acknowledged_push_outlasts_a_kill_and_one_that_was_not_is_there_once_or_not_at_all() {
    let place = Place::new();
    let (mut head, mut backend_id, mut last) = (0, None, 0);
    for round in 1..=4 {
        let served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir data");
        let mut client = Client::open(&served, backend_id, last);
        assert!(client.last >= head, "what was acknowledged is there: {} of {head}", client.last);
        head = client.last;
        for _ in 0..round {
            client.push(head + 1);
            assert_eq!(client.answer()["_tag"], "Success");
            head += 1;
        }
        // This one may or may not get there.
        client.push(head + 1);
        served.kill();
        while client.next().is_some() {}
        (backend_id, last) = (client.backend_id.clone(), client.last);
        assert!(last <= head + 1);
    }
    let served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir data");
    let mut client = Client::open(&served, backend_id, last);
    // The push whose answer was lost is sent again, as clients do.
    client.push(head + 1);
    let answer = client.answer();
    let is_there = client.last == head + 1 && answer["_tag"] == "Failure";
    assert!(is_there || answer["_tag"] == "Success", "{answer}");
    assert_eq!(served.ok("GET /sync/acme", "")["head"], json!(head + 1));
}
