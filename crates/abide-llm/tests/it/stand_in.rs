//! A stand-in for an endpoint: real HTTP on a loopback port, playing a script, one step for each request.

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Response};
use axum::routing::post;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::sync::Barrier;

/// What the stand-in does with a request.
pub(crate) enum Play {
    /// Answers with this status, headers and body.
    Reply(u16, Vec<(&'static str, String)>, String),
    /// Never answers.
    Hang,
    /// Does that as soon as others have come, too.
    Meets(Arc<Barrier>, Box<Play>),
}

/// An endpoint and what it was asked.
pub(crate) struct StandIn {
    pub(crate) base_url: String,
    seen: Arc<Mutex<Vec<(HeaderMap, Value)>>>,
}

impl StandIn {
    pub(crate) async fn start(plays: impl IntoIterator<Item = Play>) -> StandIn {
        let plays = Arc::new(Mutex::new(plays.into_iter().collect::<VecDeque<_>>()));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let asked = seen.clone();
        let answer = move |headers: HeaderMap, body: String| {
            asked.lock().unwrap().push((headers, serde_json::from_str(&body).unwrap()));
            let play = plays.lock().unwrap().pop_front();
            async move {
                let play = match play {
                    Some(Play::Meets(others, play)) => {
                        others.wait().await;
                        Some(*play)
                    }
                    play => play,
                };
                match play {
                    Some(Play::Reply(status, headers, body)) => {
                        let reply = Response::builder().status(status);
                        let reply =
                            headers.into_iter().fold(reply, |reply, (name, value)| reply.header(name, value));
                        reply.body(Body::from(body)).unwrap()
                    }
                    Some(Play::Hang | Play::Meets(..)) => std::future::pending().await,
                    None => Response::builder().status(418).body(Body::from("the script is over")).unwrap(),
                }
            }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let router = Router::new().route("/v1/chat/completions", post(answer));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        StandIn { base_url, seen }
    }

    /// The bodies of all requests so far.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        self.seen.lock().unwrap().iter().map(|(_, body)| body.clone()).collect()
    }

    /// A header of the first request.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let seen = self.seen.lock().unwrap();
        seen.first()?.0.get(name)?.to_str().ok().map(str::to_owned)
    }
}

/// A completion that says `content` and used 100 and 20 tokens.
pub(crate) fn says(content: &str) -> Play {
    ends(content, "stop")
}

/// The same with another reason for its end.
pub(crate) fn ends(content: &str, finish: &str) -> Play {
    let message = json!({ "role": "assistant", "content": content });
    let body = json!({
        "model": "stand-in-1",
        "choices": [{ "message": message, "finish_reason": finish }],
        "usage": { "prompt_tokens": 100, "completion_tokens": 20 },
    });
    Play::Reply(200, Vec::new(), body.to_string())
}

/// A status with nothing to it.
pub(crate) fn status(status: u16) -> Play {
    Play::Reply(status, Vec::new(), r#"{"error":{"message":"no"}}"#.to_owned())
}
