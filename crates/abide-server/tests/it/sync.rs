//! The sync protocol over a socket, as its clients depend on it.

use crate::server::{SOCKETS, Server};
use crate::wire::{Wire, event};
use abide_core::time::Time;
use abide_store::memory::MemoryStore;
use abide_store::{Answer, Batch, Read, Reader, Store, StoreError, Write};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_tungstenite::tungstenite::Message;

fn no_more() -> Value {
    json!({"_tag": "NoMore"})
}

fn acked(id: &Value) -> Value {
    json!({"_tag": "Exit", "requestId": id, "exit": {"_tag": "Success", "value": {}}})
}

/// Pushes events `from..=to` and waits for each push.
fn fill(wire: &mut Wire, store: &str, from: i64, to: i64) {
    let events: Vec<Value> = (from..=to).map(|n| event(n, "n")).collect();
    for batch in events.chunks(100) {
        wire.push(json!("fill"), store, batch, None);
        assert_eq!(wire.next(), acked(&json!("fill")));
    }
}

#[test]
fn a_ping_is_answered_and_acks_are_not() {
    let server = Server::start();
    let mut wire = Wire::open(&server, "s");
    wire.send(&json!({"_tag": "Ack", "requestId": "0"}));
    wire.send(&json!({"_tag": "Eof"}));
    wire.send(&json!({"_tag": "SomethingNew"}));
    wire.send(&json!({"_tag": "Ping"}));
    assert_eq!(wire.next(), json!({"_tag": "Pong"}));
}

#[test]
fn a_pull_of_an_empty_log_gets_an_empty_page_and_ends() {
    let server = Server::start();
    let mut wire = Wire::open(&server, "s");
    wire.pull(json!("7"), "s", false, None);
    let page = wire.next();
    let backend = page["values"][0]["backendId"].as_str().unwrap().to_owned();
    assert_eq!(
        page,
        json!({"_tag": "Chunk", "requestId": "7",
            "values": [{"batch": [], "pageInfo": {"_tag": "NoMore"}, "backendId": backend}]})
    );
    assert_eq!(wire.next(), json!({"_tag": "Exit", "requestId": "7", "exit": {"_tag": "Success"}}));
}

#[test]
fn a_live_pull_stays_open_and_gets_each_event_once_also_its_own() {
    let server = Server::start();
    let (mut a, mut b) = (Wire::open(&server, "s"), Wire::open(&server, "s"));
    a.pull(json!("0"), "s", true, None);
    b.pull(json!("0"), "s", true, None);
    assert_eq!((a.page(), b.page()), ((vec![], no_more()), (vec![], no_more())));
    assert!(a.is_quiet(), "a live pull that is up to date says nothing");
    for n in 1..=3 {
        b.push(json!("p"), "s", &[event(n, "n")], None);
        let mut frames = [b.next(), b.next()];
        frames.sort_by_key(|frame| frame["_tag"].as_str().map(str::to_owned));
        assert_eq!(frames[0]["values"][0]["batch"][0]["eventEncoded"], event(n, "n"));
        assert_eq!(frames[1], acked(&json!("p")));
        assert_eq!(a.page(), (vec![n], no_more()));
    }
    assert!(a.is_quiet() && b.is_quiet());
}

#[test]
fn pages_have_at_most_a_hundred_events_and_say_how_many_remain() {
    let server = Server::start();
    let mut wire = Wire::open(&server, "s");
    fill(&mut wire, "s", 1, 250);
    wire.pull(json!("1"), "s", true, None);
    let more = |n: i64| json!({"_tag": "MoreKnown", "remaining": n});
    assert_eq!(wire.page(), ((1..=100).collect(), more(150)));
    assert_eq!(wire.page(), ((101..=200).collect(), more(50)));
    assert_eq!(wire.page(), ((201..=250).collect(), no_more()));
}

#[test]
fn a_cursor_gets_what_is_past_it() {
    let server = Server::start();
    let mut wire = Wire::open(&server, "s");
    fill(&mut wire, "s", 1, 12_345);
    let backend = server.ok("GET /sync/s", "")["backendId"].as_str().unwrap().to_owned();
    wire.pull(json!("1"), "s", true, Some((&backend, 12_343)));
    assert_eq!(wire.page(), (vec![12_344, 12_345], no_more()));
    wire.pull(json!("2"), "s", true, Some((&backend, 12_345)));
    assert_eq!(wire.page(), (vec![], no_more()));
    wire.pull(json!("3"), "s", true, Some((&backend, 12_346)));
    let refused = wire.next();
    let another = json!({"_tag": "BackendIdMismatchError", "expected": backend, "received": backend});
    assert_eq!(refused["exit"]["cause"]["error"], another, "what it has is of a log that went another way");
}

#[test]
fn of_eight_pushes_on_one_parent_one_wins_and_the_others_are_told_where_the_log_ends() {
    let server = Server::start();
    let mut wires: Vec<Wire> = (0..8).map(|_| Wire::open(&server, "s")).collect();
    for wire in &mut wires {
        wire.push(json!("1"), "s", &[event(1, "n")], None);
    }
    let ahead = json!({"_tag": "Exit", "requestId": "1", "exit": {"_tag": "Failure", "cause": {"_tag": "Fail",
        "error": {"_tag": "ServerAheadError", "minimumExpectedNum": 1, "providedNum": 0}}}});
    let answers: Vec<Value> = wires.iter_mut().map(Wire::next).collect();
    assert_eq!(answers.iter().filter(|answer| **answer == acked(&json!("1"))).count(), 1);
    assert_eq!(answers.iter().filter(|answer| **answer == ahead).count(), 7);
    assert_eq!(server.ok("GET /sync/s", "")["head"], 1);
}

#[test]
fn who_was_behind_gets_what_it_missed_and_its_next_push_is_taken() {
    let server = Server::start();
    let (mut a, mut b) = (Wire::open(&server, "s"), Wire::open(&server, "s"));
    fill(&mut a, "s", 1, 1);
    b.pull(json!("0"), "s", true, None);
    assert_eq!(b.page(), (vec![1], no_more()));
    fill(&mut a, "s", 2, 3);
    b.push(json!("1"), "s", &[event(2, "mine")], None);
    let (mut seen, mut refused) = (Vec::new(), false);
    while seen.len() < 2 || !refused {
        let frame = b.next();
        match frame["_tag"].as_str() {
            Some("Chunk") => {
                let batch = frame["values"][0]["batch"].as_array().unwrap();
                seen.extend(batch.iter().map(|item| item["eventEncoded"]["seqNum"].as_i64().unwrap()));
            }
            _ => refused = frame["exit"]["cause"]["error"]["_tag"] == "ServerAheadError",
        }
    }
    assert_eq!(seen, [2, 3]);
    b.push(json!("2"), "s", &[event(4, "mine")], None);
    let tags = [b.next(), b.next()].map(|frame| frame["_tag"].as_str().unwrap().to_owned());
    assert!(tags.contains(&"Chunk".to_owned()) && tags.contains(&"Exit".to_owned()));
}

#[test]
fn another_backend_id_is_refused_on_pull_and_push() {
    let server = Server::start();
    let mut wire = Wire::open(&server, "s");
    let expected = server.ok("GET /sync/s", "")["backendId"].clone();
    let refused = |id: &str| {
        json!({"_tag": "Exit", "requestId": id, "exit": {"_tag": "Failure", "cause": {"_tag": "Fail",
            "error": {"_tag": "BackendIdMismatchError", "expected": expected, "received": "old"}}}})
    };
    wire.pull(json!("1"), "s", true, Some(("old", 5)));
    assert_eq!(wire.next(), refused("1"));
    wire.push(json!("2"), "s", &[event(1, "n")], Some("old"));
    assert_eq!(wire.next(), refused("2"));
    wire.push(json!("3"), "s", &[event(1, "n")], expected.as_str());
    assert_eq!(wire.next(), acked(&json!("3")));
}

#[test]
fn clients_that_count_in_numbers_are_answered_in_their_form() {
    let server = Server::start();
    let mut wire = Wire::open(&server, "s");
    wire.push(json!(4), "s", &[event(1, "n")], None);
    assert_eq!(wire.next(), acked(&json!(4)));
    wire.push(json!(5), "s", &[event(1, "n")], None);
    assert_eq!(
        wire.next(),
        json!({"_tag": "Exit", "requestId": 5, "exit": {"_tag": "Failure", "cause": [{"_tag": "Fail",
            "error": {"_tag": "ServerAheadError", "minimumExpectedNum": 1, "providedNum": 0}}]}})
    );
}

#[test]
fn an_interrupt_ends_a_pull_and_never_undoes_a_push() {
    let server = Server::start();
    let mut wire = Wire::open(&server, "s");
    wire.pull(json!("0"), "s", true, None);
    assert_eq!(wire.page(), (vec![], no_more()));
    wire.send(&json!({"_tag": "Interrupt", "requestId": "0"}));
    wire.push(json!("1"), "s", &[event(1, "n")], None);
    wire.send(&json!({"_tag": "Interrupt", "requestId": "1"}));
    assert_eq!(wire.next(), acked(&json!("1")));
    assert!(wire.is_quiet(), "no more pages after an interrupt");
    assert_eq!(server.ok("GET /sync/s", "")["head"], 1);
}

#[test]
fn a_push_with_a_gap_or_too_many_events_changes_nothing() {
    let server = Server::start();
    let mut wire = Wire::open(&server, "s");
    let many: Vec<Value> = (1..=101).map(|n| event(n, "n")).collect();
    for batch in [vec![event(1, "n"), event(3, "n")], many] {
        wire.push(json!("1"), "s", &batch, None);
        let refused = wire.next();
        let error = &refused["exit"]["cause"]["error"];
        assert_eq!(
            (&refused["exit"]["cause"]["_tag"], &error["_tag"]),
            (&json!("Fail"), &json!("UnknownError"))
        );
        assert!(error["cause"]["message"].as_str().unwrap().contains("push"), "{error}");
    }
    wire.push(json!("2"), "s", &[], None);
    assert_eq!(wire.next(), acked(&json!("2")));
    assert_eq!(server.ok("GET /sync/s", "")["head"], 0);
}

#[test]
fn args_come_back_to_the_letter() {
    let server = Server::start();
    let mut wire = Wire::open(&server, "s");
    let push = r#"{"_tag":"Request","id":"1","tag":"SyncWsRpc.Push","payload":{"storeId":"s","batch":[{"name":"n","args":{"b": 1.50,"a":"\u00e9"},"seqNum":1,"parentSeqNum":0,"clientId":"c","sessionId":"s"}],"backendId":{"_tag":"None"}}}"#;
    wire.send_raw(Message::text(push));
    assert_eq!(wire.next(), acked(&json!("1")));
    let args = r#""args":{"b": 1.50,"a":"\u00e9"}"#;
    wire.pull(json!("2"), "s", false, None);
    let page = wire.next_text();
    assert!(page.contains(args), "{page}");
    let lines = server.ask("GET /sync/s/events", "");
    assert!(lines.body.contains(args), "{lines}");
}

#[test]
fn what_is_no_frame_closes_the_socket_and_a_request_that_makes_no_sense_fails_alone() {
    let server = Server::start();
    let mut wire = Wire::open(&server, "s");
    wire.send(&json!({"_tag": "Request", "id": "1", "tag": "SyncWsRpc.Steal", "payload": {}}));
    assert_eq!(wire.next()["exit"]["cause"]["_tag"], "Fail");
    wire.send(&json!({"_tag": "Ping"}));
    assert_eq!(wire.next(), json!({"_tag": "Pong"}));
    wire.send_raw(Message::text("no"));
    assert_eq!(wire.closed().map(|frame| u16::from(frame.code)), Some(1007));
    let mut wire = Wire::open(&server, "s");
    wire.send_raw(Message::binary(vec![0]));
    assert_eq!(wire.closed().map(|frame| u16::from(frame.code)), Some(1003));
    let mut wire = Wire::open(&server, "s");
    wire.announce(2 * 1024 * 1024);
    assert_eq!(wire.closed().map(|frame| u16::from(frame.code)), Some(1009));
    let mut wire = Wire::open(&server, "s");
    wire.send_raw(Message::text("x".repeat(8 * 1024 * 1024)));
    let closed = wire.closed().map(|frame| u16::from(frame.code));
    assert_eq!(closed, Some(1009), "also whoever sends all of it hears why");
    let mut wire = Wire::open(&server, "s");
    wire.bytes(&[0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28]);
    assert_eq!(wire.closed().map(|frame| u16::from(frame.code)), Some(1007), "a text that is not UTF-8");
    let mut wire = Wire::open(&server, "s");
    wire.bytes(&[&[0x89, 0xfe, 0, 200, 0, 0, 0, 0][..], &[b'x'; 200]].concat());
    let closed = wire.closed().expect("a close frame");
    assert_eq!(u16::from(closed.code), 1002, "a ping that is too long");
    assert!(!closed.reason.contains("1048576"), "{}", closed.reason);
    assert_eq!(server.ok("GET /sync/s", "")["head"], 0);
}

#[test]
fn large_batches_pass_and_come_back_in_pages_of_bounded_size() {
    let server = Server::start();
    let mut wire = Wire::open(&server, "s");
    for n in 1..=3 {
        let mut large = event(n, "n");
        large["args"] = json!("x".repeat(800_000));
        wire.push(json!("1"), "s", &[large], None);
        assert_eq!(wire.next(), acked(&json!("1")));
    }
    wire.pull(json!("2"), "s", false, None);
    for n in 1..=3 {
        assert_eq!(wire.page().0, [n]);
    }
    assert_eq!(wire.next()["exit"]["_tag"], "Success");
}

#[test]
fn a_client_that_takes_nothing_is_read_nothing_for_and_misses_nothing() {
    const EVENTS: i64 = 40;
    let server = Server::start();
    let (mut slow, mut quick) = (Wire::open(&server, "s"), Wire::open(&server, "s"));
    slow.pull(json!("0"), "s", true, None);
    assert_eq!(slow.page(), (vec![], no_more()));
    // More than the buffers of two sockets hold.
    for n in 1..=EVENTS {
        let mut large = event(n, "n");
        large["args"] = json!("x".repeat(800_000));
        quick.push(json!("1"), "s", &[large], None);
        assert_eq!(quick.next(), acked(&json!("1")));
    }
    let shown = server.ok("GET /sync/s", "");
    assert_eq!((&shown["head"], &shown["livePulls"]), (&json!(EVENTS), &json!(1)));
    assert!(shown["lag"].as_i64().is_some_and(|lag| lag > 10), "what is not taken is not read: {shown}");
    for n in 1..=EVENTS {
        assert_eq!(slow.page().0, [n]);
    }
    assert!(slow.is_quiet());
}

#[test]
fn one_socket_too_many_is_told_to_come_back_and_the_others_stay() {
    let server = Server::start();
    let mut wires: Vec<Wire> = (0..SOCKETS).map(|_| Wire::open(&server, "s")).collect();
    let (status, text) = Wire::with(&server, "storeId=s&transport=ws").err().expect("there is no place");
    assert!(status == 429 && text.contains("no more sockets"), "{status} {text}");
    for wire in &mut wires {
        wire.send(&json!({"_tag": "Ping"}));
        assert_eq!(wire.next(), json!({"_tag": "Pong"}));
    }
}

#[test]
fn a_stopping_server_closes_sockets_with_1012() {
    let mut server = Server::start();
    let mut wire = Wire::open(&server, "s");
    wire.pull(json!("0"), "s", true, None);
    wire.page();
    let stopped = server.tell_to_stop();
    assert_eq!(wire.closed().map(|frame| u16::from(frame.code)), Some(1012));
    stopped();
}

/// A store that cannot read some things while it is blind.
pub(crate) struct Blind {
    pub(crate) store: MemoryStore,
    pub(crate) is_blind: Arc<AtomicBool>,
    /// To what.
    pub(crate) to: fn(&Read) -> bool,
}

struct BlindReader {
    reader: Box<dyn Reader>,
    is_blind: Arc<AtomicBool>,
    to: fn(&Read) -> bool,
}

impl Store for Blind {
    fn write(&mut self, now: Time, batch: &[Write]) -> Result<Batch, StoreError> {
        self.store.write(now, batch)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        let (reader, is_blind) = (self.store.reader()?, Arc::clone(&self.is_blind));
        Ok(Box::new(BlindReader { reader, is_blind, to: self.to }))
    }

    fn reopen(&mut self) -> Result<(), StoreError> {
        self.store.reopen()
    }
}

impl Reader for BlindReader {
    fn read(&mut self, now: Time, read: &Read) -> Result<Answer, StoreError> {
        if (self.to)(read) && self.is_blind.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("for a while".to_owned()));
        }
        self.reader.read(now, read)
    }
}

#[test]
fn a_pull_that_cannot_begin_closes_the_socket_so_that_its_client_comes_back() {
    let is_blind = Arc::new(AtomicBool::new(false));
    let to = |read: &Read| matches!(read, Read::Object(_));
    let server = Server::over(Blind { store: MemoryStore::new(), is_blind: Arc::clone(&is_blind), to });
    let mut wire = Wire::open(&server, "s");
    fill(&mut wire, "s", 1, 3);
    let mut other = Wire::open(&server, "s");
    other.pull(json!("1"), "s", true, None);
    assert_eq!(other.page().0, [1, 2, 3]);

    is_blind.store(true, Ordering::SeqCst);
    wire.pull(json!("0"), "s", true, None);
    // Told that it failed, a client would never pull again.
    let frame = wire.closed().expect("it is closed with a reason");
    assert_eq!((u16::from(frame.code), frame.reason.as_str()), (1012, "the log cannot be read now"));
    other.push(json!("2"), "s", &[event(4, "n")], None);
    let (mut heard, mut is_acked) = (Vec::new(), false);
    while heard.is_empty() || !is_acked {
        let frame = other.next();
        match frame["_tag"].as_str() {
            Some("Exit") => is_acked = frame == acked(&json!("2")),
            Some(_) | None => heard.push(frame["values"][0]["batch"][0]["eventEncoded"]["seqNum"].clone()),
        }
    }
    assert_eq!(heard, [4], "who pulls already goes on");

    is_blind.store(false, Ordering::SeqCst);
    let mut wire = Wire::open(&server, "s");
    wire.pull(json!("0"), "s", true, None);
    assert_eq!(wire.page().0, [1, 2, 3, 4]);
}
