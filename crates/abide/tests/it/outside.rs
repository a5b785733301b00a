//! Somebody outside: an HTTP server of the test that answers by a script and remembers what it was asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tokio::runtime::Runtime;

/// What it was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) token: Option<String>,
    /// JSON, or null.
    pub(crate) body: Value,
}

/// What it answers: a status, a header if there is one, a body.
pub(crate) type Answer = (u16, Option<(&'static str, &'static str)>, Value);

type Script = dyn Fn(&Asked, &[Asked]) -> Answer + Send + Sync;

/// A server; it ends when dropped.
pub(crate) struct Outside {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    _runtime: Runtime,
}

#[derive(Clone)]
struct Answering {
    script: Arc<Script>,
    // Requests come on any thread; locked for one answer at a time.
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Outside {
    /// Answers each request by `script`, which is also shown those before it.
    pub(crate) fn start(script: impl Fn(&Asked, &[Asked]) -> Answer + Send + Sync + 'static) -> Outside {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address");
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let answering = Answering { script: Arc::new(script), asked: Arc::clone(&asked) };
        let router = Router::new().fallback(answer).with_state(answering);
        runtime.spawn(async move { axum::serve(listener, router).await });
        Outside { address, asked, _runtime: runtime }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything that it was asked until now.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn answer(
    State(answering): State<Answering>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let token = headers.get("authorization").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let asked = Asked { method: method.to_string(), path: uri.path().to_owned(), token, body };
    let mut before = answering.asked.lock().unwrap_or_else(PoisonError::into_inner);
    let (status, header, body) = (answering.script)(&asked, &before);
    before.push(asked);
    drop(before);
    let status = StatusCode::from_u16(status).expect("a status");
    let mut response = (status, axum::Json(body)).into_response();
    if let Some((name, value)) = header {
        response.headers_mut().insert(name, value.parse().expect("a header"));
    }
    response
}
