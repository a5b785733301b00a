//! A socket of a sync client, frame by frame.

use crate::server::Server;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Message, WebSocket, client};

/// Longer than any wait of a test.
const PATIENCE: Duration = Duration::from_secs(30);
/// Long enough for a frame that should not come.
const QUIET: Duration = Duration::from_millis(150);

/// A socket. Whatever test it is used in, a frame that would do harm to a client fails it.
pub(crate) struct Wire {
    socket: WebSocket<TcpStream>,
    /// The last event of each pull, and whether it is live.
    pulls: BTreeMap<String, (i64, bool)>,
}

/// An event as clients push it.
pub(crate) fn event(seq: i64, name: &str) -> Value {
    json!({"name": name, "args": {"n": seq}, "seqNum": seq, "parentSeqNum": seq - 1, "clientId": "c", "sessionId": "s"})
}

impl Wire {
    pub(crate) fn open(server: &Server, store: &str) -> Wire {
        Wire::with(server, &format!("storeId={store}&transport=ws")).expect("it is let in")
    }

    /// Opens a socket with this query; the status and body of the refusal otherwise.
    pub(crate) fn with(server: &Server, query: &str) -> Result<Wire, (u16, String)> {
        let stream = TcpStream::connect(server.address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let url = format!("ws://{}/sync?{query}", server.address);
        match client(url, stream) {
            Ok((socket, _)) => Ok(Wire { socket, pulls: BTreeMap::new() }),
            Err(error) => match error {
                tokio_tungstenite::tungstenite::HandshakeError::Failure(Error::Http(response)) => {
                    let body = response.body().clone().unwrap_or_default();
                    Err((response.status().as_u16(), String::from_utf8_lossy(&body).into_owned()))
                }
                other => panic!("{other}"),
            },
        }
    }

    pub(crate) fn send(&mut self, frame: &Value) {
        self.socket.send(Message::text(frame.to_string())).expect("it is open");
    }

    pub(crate) fn send_raw(&mut self, message: Message) {
        // The server may close before it has read it all.
        drop(self.socket.send(message));
    }

    pub(crate) fn pull(&mut self, id: Value, store: &str, live: bool, cursor: Option<(&str, i64)>) {
        self.pulls.insert(id.to_string(), (cursor.map_or(0, |(_, n)| n), live));
        let cursor = match cursor {
            None => json!({"_tag": "None"}),
            Some((backend, n)) => {
                json!({"_tag": "Some", "value": {"backendId": backend, "eventSequenceNumber": n}})
            }
        };
        self.send(&json!({"_tag": "Request", "id": id, "tag": "SyncWsRpc.Pull", "headers": [],
            "payload": {"storeId": store, "live": live, "cursor": cursor}}));
    }

    pub(crate) fn push(&mut self, id: Value, store: &str, batch: &[Value], backend: Option<&str>) {
        let backend = match backend {
            None => json!({"_tag": "None"}),
            Some(id) => json!({"_tag": "Some", "value": id}),
        };
        self.send(&json!({"_tag": "Request", "id": id, "tag": "SyncWsRpc.Push", "headers": [],
            "payload": {"storeId": store, "batch": batch, "backendId": backend}}));
    }

    /// Begins a text frame of so many bytes, and sends none of them.
    pub(crate) fn announce(&mut self, bytes: u64) {
        let mut head = vec![0x81, 0xff];
        head.extend_from_slice(&bytes.to_be_bytes());
        head.extend_from_slice(&[0; 4]);
        self.socket.get_mut().write_all(&head).expect("it is open");
    }

    /// Sends these bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.socket.get_mut().write_all(bytes).expect("it is open");
    }

    /// Sends two million pings without a pause; whether the server had enough before the last.
    pub(crate) fn flood(&self) -> JoinHandle<bool> {
        let mut stream = self.socket.get_ref().try_clone().expect("another end");
        let ping = [&[0x81, 0x8f, 0, 0, 0, 0][..], br#"{"_tag":"Ping"}"#].concat();
        let many = ping.repeat(500);
        std::thread::spawn(move || (0..4_000).any(|_| stream.write_all(&many).is_err()))
    }

    /// The next frame.
    pub(crate) fn next(&mut self) -> Value {
        serde_json::from_str(&self.next_text()).expect("JSON")
    }

    /// The next frame to the letter.
    pub(crate) fn next_text(&mut self) -> String {
        loop {
            match self.socket.read().expect("a frame") {
                Message::Text(text) => {
                    self.check(&serde_json::from_str(&text).expect("JSON"));
                    return text.to_string();
                }
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// That a frame is none of those that end a client's pulls or pushes for good, or have it miss events.
    fn check(&mut self, frame: &Value) {
        let id = frame["requestId"].to_string();
        match frame["_tag"].as_str() {
            Some("Pong") => {}
            Some("Chunk") => {
                let (last, _) = self.pulls.get_mut(&id).expect("a page belongs to a pull");
                let pages = frame["values"].as_array().filter(|pages| !pages.is_empty()).expect("pages");
                for item in pages.iter().flat_map(|page| page["batch"].as_array().expect("a batch")) {
                    *last += 1;
                    assert_eq!(item["eventEncoded"]["seqNum"], *last, "in order, once, without a gap");
                }
            }
            Some("Exit") if frame["exit"]["_tag"] == "Success" => {
                // What has a value is the end of a push.
                let is_live = self.pulls.get(&id).is_some_and(|(_, is_live)| *is_live);
                assert!(
                    frame["exit"].get("value").is_some() || !is_live,
                    "a live pull does not end: {frame}"
                );
            }
            Some("Exit") => {
                let cause = &frame["exit"]["cause"];
                let causes = cause.as_array().cloned().unwrap_or_else(|| vec![cause.clone()]);
                let known = ["ServerAheadError", "BackendIdMismatchError", "UnknownError"];
                for cause in causes {
                    assert_eq!(cause["_tag"], "Fail", "{frame}");
                    assert!(known.iter().any(|tag| cause["error"]["_tag"] == *tag), "{frame}");
                }
            }
            _ => panic!("never to be sent: {frame}"),
        }
    }

    /// Waits until it is asked for a sign of life, and gives one.
    pub(crate) fn pinged(&mut self) {
        while !matches!(self.socket.read().expect("a frame"), Message::Ping(_)) {}
        // What is due to be sent goes out with the next read or flush.
        self.socket.flush().expect("it is open");
    }

    /// The code of the close frame for a client that does not say a word any more, not even that it is there.
    pub(crate) fn closed_in_silence(&mut self) -> u16 {
        let stream = self.socket.get_mut();
        loop {
            let mut head = [0; 2];
            stream.read_exact(&mut head).expect("a frame");
            let mut rest = vec![0; usize::from(head[1])];
            stream.read_exact(&mut rest).expect("a short frame");
            match head[0] {
                0x88 => return u16::from_be_bytes([rest[0], rest[1]]),
                0x89 => {}
                other => panic!("a frame {other:x} that nobody asked for"),
            }
        }
    }

    /// The close frame, past whatever comes before it.
    pub(crate) fn closed(&mut self) -> Option<CloseFrame> {
        loop {
            match self.socket.read() {
                Ok(Message::Close(frame)) => return frame,
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    }

    /// Whether nothing comes.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.socket.get_ref().set_read_timeout(Some(QUIET)).expect("a timeout");
        let quiet = match self.socket.read() {
            Err(Error::Io(error)) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
            Err(_) | Ok(_) => false,
        };
        self.socket.get_ref().set_read_timeout(Some(PATIENCE)).expect("a timeout");
        quiet
    }

    /// A page of the pull: the numbers of its events, and what it says about more.
    pub(crate) fn page(&mut self) -> (Vec<i64>, Value) {
        let chunk = self.next();
        assert_eq!(chunk["_tag"], "Chunk", "{chunk}");
        let page = &chunk["values"][0];
        let batch = page["batch"].as_array().expect("a batch");
        let numbers = batch.iter().map(|item| item["eventEncoded"]["seqNum"].as_i64().expect("a number"));
        (numbers.collect(), page["pageInfo"].clone())
    }
}
