//! What clients get: frames of a socket, and the elements of an HTTP answer.
//!
//! A failure is always `Fail`. `Die` would end a client's pushes for good and `Defect` everything it has open, so there is
//! no way to write either.

use super::calls::{Ahead, OtherBackend};
use super::frame::{Form, RequestId};
use super::page::Page;
use serde::Serialize;
use serde_json::{Value, json};

/// `Pong`.
pub const PONG: &str = r#"{"_tag":"Pong"}"#;

/// Why a request failed, as clients know it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The client's log is another one.
    #[error("the log is {}, and the client has {}", .0.expected, .0.received)]
    BackendIdMismatch(OtherBackend),
    /// The client has to pull first.
    #[error("the log ends at {}, and the push begins after {}", .0.minimum_expected_num, .0.provided_num)]
    ServerAhead(Ahead),
    /// Anything else. A client repeats such a push for ever and ends such a pull for good.
    #[error("{0}")]
    Unknown(String),
}

#[derive(Serialize)]
#[serde(tag = "_tag")]
enum ErrorDocument<'a> {
    #[serde(rename = "BackendIdMismatchError")]
    BackendIdMismatch(&'a OtherBackend),
    #[serde(rename = "ServerAheadError")]
    ServerAhead(&'a Ahead),
    #[serde(rename = "UnknownError")]
    Unknown { cause: Cause<'a> },
}

#[derive(Serialize)]
struct Cause<'a> {
    name: &'static str,
    message: &'a str,
}

/// A page of the pull `id`.
#[must_use]
pub fn chunk(id: &RequestId, page: &Page) -> String {
    let (before, after) = around_page(id);
    [&before, &*page.text, after].concat()
}

/// What stands before and after a page of the pull `id`.
#[must_use]
pub fn around_page(id: &RequestId) -> (String, &'static str) {
    (format!(r#"{{"_tag":"Chunk","requestId":{},"values":["#, id.as_str()), "]}")
}

/// The push `id` is in the log.
#[must_use]
pub fn pushed(id: &RequestId) -> String {
    exit(id, &json!({"_tag": "Success", "value": {}}))
}

/// The pull `id` is over. Never for a live one.
#[must_use]
pub fn pulled(id: &RequestId) -> String {
    exit(id, &json!({"_tag": "Success"}))
}

/// The ping `id` over HTTP.
#[must_use]
pub fn pinged(id: &RequestId) -> String {
    exit(id, &json!({"_tag": "Success", "value": {"_tag": "SyncMessage.Pong"}}))
}

/// The request `id` failed.
#[must_use]
pub fn failed(id: &RequestId, failure: &Failure) -> String {
    let error = match failure {
        Failure::BackendIdMismatch(other) => ErrorDocument::BackendIdMismatch(other),
        Failure::ServerAhead(ahead) => ErrorDocument::ServerAhead(ahead),
        Failure::Unknown(message) => ErrorDocument::Unknown { cause: Cause { name: "Error", message } },
    };
    let fail = json!({"_tag": "Fail", "error": error});
    let cause = match id.form() {
        Form::Object => fail,
        Form::Array => Value::Array(vec![fail]),
    };
    exit(id, &json!({"_tag": "Failure", "cause": cause}))
}

fn exit(id: &RequestId, exit: &Value) -> String {
    format!(r#"{{"_tag":"Exit","requestId":{},"exit":{exit}}}"#, id.as_str())
}
