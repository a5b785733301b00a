//! A stand-in for an endpoint: real HTTP on a loopback port, one reply for each request.

use abide_core::time::{Clock, Time};
use abide_llm::{Client, Endpoint, Limiters, Price};
use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

struct Standing;

impl Clock for Standing {
    fn now(&self) -> Time {
        Time(1_767_225_600_000)
    }

    fn elapsed_ms(&self) -> i64 {
        0
    }
}

/// An endpoint and what it was asked.
pub(crate) struct StandIn {
    base_url: String,
    seen: Arc<Mutex<Vec<Value>>>,
}

impl StandIn {
    pub(crate) async fn start(replies: impl IntoIterator<Item = (u16, Value)>) -> StandIn {
        let replies = Arc::new(Mutex::new(replies.into_iter().collect::<VecDeque<_>>()));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let asked = seen.clone();
        let answer = move |body: String| {
            asked.lock().unwrap().push(serde_json::from_str(&body).unwrap());
            let (status, body) =
                replies.lock().unwrap().pop_front().unwrap_or((418, json!("the script is over")));
            async move { (StatusCode::from_u16(status).unwrap(), body.to_string()) }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let router = Router::new().route("/v1/chat/completions", post(answer));
        let router = router.layer(axum::extract::DefaultBodyLimit::disable());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        StandIn { base_url, seen }
    }

    pub(crate) fn client(&self) -> Client {
        let price = Price { input_micros: 1_000_000, output_micros: 2_000_000 };
        let endpoint = Endpoint { price, attempts: 1, ..Endpoint::new(self.base_url.clone(), "sees") };
        Client::new(endpoint, &Limiters::default(), Arc::new(Standing)).unwrap()
    }

    /// The bodies of all requests so far.
    pub(crate) fn bodies(&self) -> Vec<Value> {
        self.seen.lock().unwrap().clone()
    }
}

/// A completion that says `content` and used 100 and 20 tokens.
pub(crate) fn says(content: &str) -> (u16, Value) {
    let message = json!({ "role": "assistant", "content": content });
    let body = json!({
        "model": "stand-in-1",
        "choices": [{ "message": message, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 100, "completion_tokens": 20 },
    });
    (200, body)
}
