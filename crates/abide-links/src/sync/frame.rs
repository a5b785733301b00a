//! What clients send: frames of a socket, and the one request of an HTTP body.

use super::calls::{Push, Pushed};
use abide_core::json::Json;
use serde::Deserialize;

/// The id of a request, echoed to the letter. The published clients count in text, newer ones in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestId(Json);

/// How a client wants failures to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The cause is an object.
    Object,
    /// The cause is an array: clients whose ids are numbers.
    Array,
}

impl RequestId {
    /// In which form this client is answered.
    #[must_use]
    pub fn form(&self) -> Form {
        if self.0.as_str().starts_with('"') { Form::Object } else { Form::Array }
    }

    /// As JSON.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// One frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// Are you there?
    Ping,
    /// Do this.
    Request {
        /// Which request.
        id: RequestId,
        /// What.
        ask: Result<Ask, BadRequest>,
    },
    /// Stop that.
    Interrupt(RequestId),
    /// Nothing that asks for an answer.
    Silent,
}

/// What is asked.
#[derive(Debug, PartialEq, Eq)]
pub enum Ask {
    /// Events past a cursor.
    Pull(Pull),
    /// Events to append, of this store.
    Push {
        /// Which store the client means.
        store_id: String,
        /// What it sends.
        push: Push,
    },
    /// Over HTTP: are you there?
    Ping,
}

/// Events past a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pull {
    /// Which store the client means.
    pub store_id: String,
    /// Whether it goes on as events come.
    pub live: bool,
    /// What the client has.
    pub cursor: Option<Cursor>,
}

/// What a client has.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cursor {
    /// Of which log.
    pub backend_id: String,
    /// Up to which number.
    pub event_sequence_number: i64,
}

/// A frame that is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is not a frame of the sync protocol: {0}")]
pub struct BadFrame(String);

/// A request that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    /// Nobody answers to that tag.
    #[error(
        "there is no request {0:?}: SyncWsRpc.Pull and SyncWsRpc.Push over a socket, SyncHttpRpc.Ping, .Pull and .Push over HTTP"
    )]
    UnknownTag(String),
    /// Its payload has another shape.
    #[error("the payload of {tag} cannot be read: {reason}")]
    Payload {
        /// Which request.
        tag: String,
        /// What is wrong.
        reason: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    #[serde(rename = "_tag")]
    kind: String,
    id: Option<Json>,
    request_id: Option<Json>,
    tag: Option<String>,
    payload: Option<Json>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PullPayload {
    store_id: String,
    #[serde(default)]
    live: bool,
    #[serde(default)]
    cursor: Optional<Cursor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PushPayload {
    store_id: String,
    batch: Vec<Pushed>,
    #[serde(default)]
    backend_id: Optional<String>,
}

/// `{"_tag":"None"}` or `{"_tag":"Some","value":…}`.
#[derive(Deserialize)]
struct Optional<T> {
    #[serde(rename = "_tag")]
    tag: OptionalTag,
    #[serde(default = "nothing")]
    value: Option<T>,
}

#[derive(Default, Deserialize)]
enum OptionalTag {
    #[default]
    None,
    Some,
}

fn nothing<T>() -> Option<T> {
    None
}

impl<T> Default for Optional<T> {
    fn default() -> Optional<T> {
        Optional { tag: OptionalTag::None, value: None }
    }
}

impl<T> Optional<T> {
    fn read(self) -> Result<Option<T>, String> {
        match (self.tag, self.value) {
            (OptionalTag::None, _) => Ok(None),
            (OptionalTag::Some, Some(value)) => Ok(Some(value)),
            (OptionalTag::Some, None) => Err("an option that is Some has no value".to_owned()),
        }
    }
}

/// Reads a text frame or a body: one envelope, or an array of them.
pub fn read(text: &str) -> Result<Vec<Frame>, BadFrame> {
    let bad = |error: serde_json::Error| BadFrame(error.to_string());
    if text.trim_start().starts_with('[') {
        let envelopes: Vec<Envelope> = serde_json::from_str(text).map_err(bad)?;
        return envelopes.into_iter().map(Frame::of).collect();
    }
    Ok(vec![Frame::of(serde_json::from_str(text).map_err(bad)?)?])
}

impl Frame {
    fn of(envelope: Envelope) -> Result<Frame, BadFrame> {
        let Envelope { kind, id, request_id, tag, payload } = envelope;
        match kind.as_str() {
            "Ping" => Ok(Frame::Ping),
            "Request" => {
                let id = request_id_of(id, "id")?;
                let tag = tag.ok_or_else(|| BadFrame("a request has no tag".to_owned()))?;
                Ok(Frame::Request { id, ask: Ask::read(tag, payload.as_ref()) })
            }
            "Interrupt" => Ok(Frame::Interrupt(request_id_of(request_id, "requestId")?)),
            // Ack, Eof, and what later clients may add.
            _ => Ok(Frame::Silent),
        }
    }
}

/// Ids are text or whole numbers, of few bytes: each is echoed with every page.
fn request_id_of(id: Option<Json>, field: &str) -> Result<RequestId, BadFrame> {
    let id = id.ok_or_else(|| BadFrame(format!("it has no {field}")))?;
    let text = id.as_str();
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    if text.len() <= 64 && (is_number || text.starts_with('"')) {
        return Ok(RequestId(id));
    }
    Err(BadFrame(format!("its {field} is neither text nor a whole number of at most 64 bytes")))
}

impl Ask {
    fn read(tag: String, payload: Option<&Json>) -> Result<Ask, BadRequest> {
        let bad = |reason: String| BadRequest::Payload { tag: tag.clone(), reason };
        let text = payload.map_or("null", Json::as_str);
        match tag.as_str() {
            "SyncWsRpc.Pull" | "SyncHttpRpc.Pull" => {
                let pull: PullPayload = serde_json::from_str(text).map_err(|e| bad(e.to_string()))?;
                let cursor = pull.cursor.read().map_err(bad)?;
                Ok(Ask::Pull(Pull { store_id: pull.store_id, live: pull.live, cursor }))
            }
            "SyncWsRpc.Push" | "SyncHttpRpc.Push" => {
                let push: PushPayload = serde_json::from_str(text).map_err(|e| bad(e.to_string()))?;
                let backend_id = push.backend_id.read().map_err(bad)?;
                Ok(Ask::Push { store_id: push.store_id, push: Push { batch: push.batch, backend_id } })
            }
            "SyncHttpRpc.Ping" => Ok(Ask::Ping),
            _ => Err(BadRequest::UnknownTag(tag)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Ask, Form, Frame, read};

    fn only(text: &str) -> Frame {
        read(text).unwrap().pop().unwrap()
    }

    #[test]
    fn what_the_published_client_sends_is_understood() {
        assert_eq!(only(r#"{"_tag":"Ping"}"#), Frame::Ping);
        assert_eq!(only(r#"{"_tag":"Ack","requestId":"0"}"#), Frame::Silent);
        assert_eq!(only(r#"{"_tag":"Eof"}"#), Frame::Silent);
        let pull = r#"{"headers":[],"_tag":"Request","id":"17","tag":"SyncWsRpc.Pull","payload":{"storeId":"s1",
            "payload":{"authToken":"t"},"live":true,"cursor":{"_tag":"Some","value":{"backendId":"b",
            "eventSequenceNumber":5}}},"traceId":"noise","spanId":"noise","sampled":false}"#;
        let Frame::Request { id, ask: Ok(Ask::Pull(pull)) } = only(pull) else { panic!("a pull") };
        assert_eq!((id.as_str(), id.form()), (r#""17""#, Form::Object));
        assert_eq!((pull.store_id.as_str(), pull.live), ("s1", true));
        assert_eq!(pull.cursor.map(|cursor| cursor.event_sequence_number), Some(5));
    }

    #[test]
    fn newer_clients_count_in_numbers() {
        let Frame::Interrupt(id) = only(r#"{"_tag":"Interrupt","requestId":6}"#) else { panic!() };
        assert_eq!((id.as_str(), id.form()), ("6", Form::Array));
    }

    #[test]
    fn args_keep_their_letters_and_absent_ones_stay_absent() {
        let push = r#"{"_tag":"Request","id":"1","tag":"SyncWsRpc.Push","payload":{"storeId":"s","batch":[
            {"name":"n","args":{"b": 1.50,"a":null},"seqNum":1,"parentSeqNum":0,"clientId":"c","sessionId":"s"},
            {"name":"n","seqNum":2,"parentSeqNum":1,"clientId":"c","sessionId":"s"},
            {"name":"n","args":null,"seqNum":3,"parentSeqNum":2,"clientId":"c","sessionId":"s"}],
            "backendId":{"_tag":"None"}}}"#;
        let Frame::Request { ask: Ok(Ask::Push { push, .. }), .. } = only(push) else { panic!("a push") };
        let args: Vec<_> =
            push.batch.iter().map(|event| event.args.as_ref().map(|args| args.as_str())).collect();
        assert_eq!(args, [Some(r#"{"b": 1.50,"a":null}"#), None, Some("null")]);
        assert_eq!(push.backend_id, None);
    }

    #[test]
    fn what_is_no_frame_is_told_apart_from_a_request_that_makes_no_sense() {
        for text in ["", "no", "5", "{}", r#"{"_tag":"Request","tag":"x"}"#, r#"{"_tag":"Interrupt"}"#] {
            assert!(read(text).is_err(), "{text}");
        }
        let long = format!(r#"{{"_tag":"Interrupt","requestId":"{}"}}"#, "x".repeat(100));
        assert!(read(&long).is_err());
        for ask in [
            r#"{"_tag":"Request","id":"1","tag":"SyncWsRpc.Steal","payload":{}}"#,
            r#"{"_tag":"Request","id":"1","tag":"SyncWsRpc.Pull","payload":{"storeId":5}}"#,
            r#"{"_tag":"Request","id":"1","tag":"SyncWsRpc.Pull"}"#,
            r#"{"_tag":"Request","id":"1","tag":"SyncWsRpc.Push","payload":{"storeId":"s","batch":[{}]}}"#,
            r#"{"_tag":"Request","id":"1","tag":"SyncWsRpc.Pull","payload":{"storeId":"s","cursor":{"_tag":"Some"}}}"#,
        ] {
            assert!(matches!(only(ask), Frame::Request { ask: Err(_), .. }), "{ask}");
        }
    }
}
