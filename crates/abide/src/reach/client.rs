//! Requests to a server of this machine.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::{Method, RequestBuilder, StatusCode, Url};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::problem::{Denied, ReachError};

/// How long connecting may take: the server is on this machine.
const CONNECT: Duration = Duration::from_secs(2);
/// How long an answer may take; longer than the longest poll.
const ANSWER: Duration = Duration::from_secs(120);
/// How long an answer may take that needs as much work as there is data.
const LONG: Duration = Duration::from_secs(24 * 60 * 60);
/// How long the answer to a question that needs no work may take.
const QUICK: Duration = Duration::from_secs(3);

/// Sends requests to one server. Cheap to clone; clones follow the server together when it moves.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    // Locked to read it or to replace it.
    server: Arc<Mutex<Server>>,
}

/// Where a server is, and what it lets in.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Server {
    address: SocketAddr,
    token: String,
}

/// A request: a path of plain parts, and what is asked of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Path {
    parts: Vec<String>,
    query: Vec<(&'static str, String)>,
    store: Option<String>,
}

impl Path {
    /// `/v1/` and these parts, which may hold any characters.
    pub(crate) fn v1<const N: usize>(parts: [&str; N]) -> Path {
        let parts = ["v1"].into_iter().chain(parts).map(str::to_owned).collect();
        Path { parts, ..Path::default() }
    }

    /// `/links/` and these parts.
    pub(crate) fn links<const N: usize>(parts: [&str; N]) -> Path {
        let parts = ["links"].into_iter().chain(parts).map(str::to_owned).collect();
        Path { parts, ..Path::default() }
    }

    /// The same, asked of the links of `store`.
    pub(crate) fn of_store(self, store: &str) -> Path {
        Path { store: Some(store.to_owned()), ..self }
    }

    /// The same with one more part.
    pub(crate) fn then(mut self, part: &str) -> Path {
        self.parts.push(part.to_owned());
        self
    }

    /// The same with a parameter, if it has a value. It takes the place of one of that name.
    pub(crate) fn with(mut self, name: &'static str, value: Option<impl ToString>) -> Path {
        if let Some(value) = value {
            self.query.retain(|(known, _)| *known != name);
            self.query.push((name, value.to_string()));
        }
        self
    }
}

#[derive(Deserialize)]
struct ErrorDocument {
    error: ErrorContent,
}

#[derive(Deserialize)]
struct ErrorContent {
    code: String,
    message: String,
}

impl Client {
    /// A client of the server at `address`.
    pub(crate) fn new(address: SocketAddr, token: &str) -> Result<Client, ReachError> {
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT)
            .timeout(ANSWER)
            .build()
            .map_err(|error| ReachError::Client(error.to_string()))?;
        let server = Server { address, token: token.to_owned() };
        Ok(Client { http, server: Arc::new(Mutex::new(server)) })
    }

    /// Sends what follows to another server, as if it were this one: this one, started again, has another address and
    /// another token.
    pub(crate) fn follow(&self, other: &Client) {
        let other = other.server();
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = other;
    }

    fn server(&self) -> Server {
        self.server.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the server takes requests.
    pub(crate) async fn ready(&self) -> Result<(), ReachError> {
        let path = Path { parts: vec!["ready".to_owned()], ..Path::default() };
        let request = self.request(Method::GET, &path).timeout(QUICK);
        self.answer::<serde_json::Value>("GET /ready".to_owned(), request).await.map(drop)
    }

    /// Asks.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &Path) -> Result<T, ReachError> {
        self.answer(name("GET", path), self.request(Method::GET, path)).await
    }

    /// Has something done that needs no words.
    pub(crate) async fn act<T: DeserializeOwned>(&self, path: &Path) -> Result<T, ReachError> {
        self.answer(name("POST", path), self.request(Method::POST, path)).await
    }

    /// Has something done.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &Path,
        body: &impl Serialize,
    ) -> Result<T, ReachError> {
        self.answer(name("POST", path), self.request(Method::POST, path).json(body)).await
    }

    /// Has something done that was written as JSON already, however long it takes.
    pub(crate) async fn post_text<T: DeserializeOwned>(
        &self,
        path: &Path,
        body: String,
    ) -> Result<T, ReachError> {
        let request = self.request(Method::POST, path).header("content-type", "application/json");
        self.answer(name("POST", path), request.timeout(LONG).body(body)).await
    }

    /// Sets something.
    pub(crate) async fn put<T: DeserializeOwned>(
        &self,
        path: &Path,
        body: &impl Serialize,
    ) -> Result<T, ReachError> {
        self.answer(name("PUT", path), self.request(Method::PUT, path).json(body)).await
    }

    /// Removes something.
    pub(crate) async fn delete<T: DeserializeOwned>(&self, path: &Path) -> Result<T, ReachError> {
        self.answer(name("DELETE", path), self.request(Method::DELETE, path)).await
    }

    fn request(&self, method: Method, path: &Path) -> RequestBuilder {
        let Server { address, token } = self.server();
        let mut url = Url::parse(&format!("http://{address}/")).expect("an address makes a URL");
        url.path_segments_mut().expect("http URLs have paths").pop_if_empty().extend(&path.parts);
        if !path.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&path.query);
        }
        let request = self.http.request(method, url).bearer_auth(token);
        match &path.store {
            Some(store) => request.header("x-livestore-store-id", store),
            None => request,
        }
    }

    async fn answer<T: DeserializeOwned>(
        &self,
        name: String,
        request: RequestBuilder,
    ) -> Result<T, ReachError> {
        let Server { address, .. } = self.server();
        let lost = |error: reqwest::Error| ReachError::Lost { address, error: causes(&error) };
        let response = request.send().await.map_err(lost)?;
        let status = response.status();
        let body = response.bytes().await.map_err(lost)?;
        let strange = |error: serde_json::Error| ReachError::Strange {
            address,
            request: name,
            error: format!("{status}, {error}"),
        };
        if status.is_success() {
            return serde_json::from_slice(&body).map_err(strange);
        }
        let ErrorDocument { error } = serde_json::from_slice(&body).map_err(strange)?;
        let ErrorContent { code, message } = error;
        Err(match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                ReachError::Denied(Denied { address, message })
            }
            _ => ReachError::Refused { code, message },
        })
    }
}

fn name(method: &str, path: &Path) -> String {
    format!("{method} /{}", path.parts.join("/"))
}

/// What an error says and what was behind it.
fn causes(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(deeper) = cause {
        text.push_str(&format!(": {deeper}"));
        cause = deeper.source();
    }
    text
}
