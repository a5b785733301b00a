//! Requests to a server of this machine.

use std::net::SocketAddr;
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

/// Sends requests to one server. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    address: SocketAddr,
    token: String,
}

/// A request: a path of plain parts, and what is asked of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Path {
    parts: Vec<String>,
    query: Vec<(&'static str, String)>,
}

impl Path {
    /// `/v1/` and these parts, which may hold any characters.
    pub(crate) fn v1<const N: usize>(parts: [&str; N]) -> Path {
        let parts = ["v1"].into_iter().chain(parts).map(str::to_owned).collect();
        Path { parts, query: Vec::new() }
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
        Ok(Client { http, address, token: token.to_owned() })
    }

    /// Whether the server takes requests.
    pub(crate) async fn ready(&self) -> Result<(), ReachError> {
        let path = Path { parts: vec!["ready".to_owned()], query: Vec::new() };
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
        let mut url = Url::parse(&format!("http://{}/", self.address)).expect("an address makes a URL");
        url.path_segments_mut().expect("http URLs have paths").pop_if_empty().extend(&path.parts);
        if !path.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&path.query);
        }
        self.http.request(method, url).bearer_auth(&self.token)
    }

    async fn answer<T: DeserializeOwned>(
        &self,
        name: String,
        request: RequestBuilder,
    ) -> Result<T, ReachError> {
        let lost = |error: reqwest::Error| ReachError::Lost { address: self.address, error: causes(&error) };
        let response = request.send().await.map_err(lost)?;
        let status = response.status();
        let body = response.bytes().await.map_err(lost)?;
        let strange = |error: serde_json::Error| ReachError::Strange {
            address: self.address,
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
                ReachError::Denied(Denied { address: self.address, message })
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
