//! Requests to a server of this machine.

use std::net::SocketAddr;
use std::path::Path as FilePath;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use abide_entities::{EntityError, RemoteEntities};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

use super::problem::{Denied, ReachError};
use crate::failure::Failure;

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

    /// These parts.
    pub(crate) fn of<const N: usize>(parts: [&str; N]) -> Path {
        Path { parts: parts.map(str::to_owned).to_vec(), ..Path::default() }
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
            // It is http of this machine: certificates are not needed, nor the time that reading them takes.
            .tls_certs_only([])
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

    /// Asks for something that need not be there.
    pub(crate) async fn find<T: DeserializeOwned>(&self, path: &Path) -> Result<Option<T>, ReachError> {
        match self.get(path).await {
            Err(ReachError::Refused { status: 404, .. }) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Writes what is at a path to a file.
    pub(crate) async fn download(&self, path: &Path, to: &FilePath) -> Result<(), Failure> {
        let unwritten = |error| Failure::Input { path: to.to_owned(), error };
        let mut response =
            self.sent(&name("GET", path), self.request(Method::GET, path).timeout(LONG)).await?;
        let mut file = File::create(to).await.map_err(unwritten)?;
        while let Some(piece) = response.chunk().await.map_err(|error| self.lost(&error))? {
            file.write_all(&piece).await.map_err(unwritten)?;
        }
        file.flush().await.map_err(unwritten)
    }

    /// The entities of the server.
    pub(crate) fn entities(&self) -> Result<RemoteEntities, EntityError> {
        let Server { address, token } = self.server();
        RemoteEntities::nearby(&format!("http://{address}"), Some(token))
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

    /// Has something done under a key: whoever asks again under it gets what the answer held.
    pub(crate) async fn post_under<T: DeserializeOwned>(
        &self,
        key: &str,
        path: &Path,
        body: &impl Serialize,
    ) -> Result<T, ReachError> {
        let request = self.request(Method::POST, path).header("idempotency-key", key);
        self.answer(name("POST", path), request.json(body)).await
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

    /// Removes something, however long it takes.
    pub(crate) async fn delete_all<T: DeserializeOwned>(&self, path: &Path) -> Result<T, ReachError> {
        self.answer(name("DELETE", path), self.request(Method::DELETE, path).timeout(LONG)).await
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
        let response = self.sent(&name, request).await?;
        let status = response.status();
        let body = response.bytes().await.map_err(|error| self.lost(&error))?;
        serde_json::from_slice(&body).map_err(|error| self.strange(&name, status, &error))
    }

    /// Sends a request; an answer that says no is an error.
    async fn sent(&self, name: &str, request: RequestBuilder) -> Result<Response, ReachError> {
        let response = request.send().await.map_err(|error| self.lost(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = response.bytes().await.map_err(|error| self.lost(&error))?;
        let ErrorDocument { error } =
            serde_json::from_slice(&body).map_err(|error| self.strange(name, status, &error))?;
        let ErrorContent { code, message } = error;
        Err(match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                ReachError::Denied(Denied { address: self.server().address, message })
            }
            status => ReachError::Refused { status: status.as_u16(), code, message },
        })
    }

    fn lost(&self, error: &reqwest::Error) -> ReachError {
        ReachError::Lost { address: self.server().address, error: causes(error) }
    }

    fn strange(&self, request: &str, status: StatusCode, error: &serde_json::Error) -> ReachError {
        let (request, error) = (request.to_owned(), format!("{status}, {error}"));
        ReachError::Strange { address: self.server().address, request, error }
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
