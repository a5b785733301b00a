//! Entities of another server that has the same routes.

use crate::answer::{Deleted, EntityList, HierarchyMade, Made, Resolved, Shown, Uploaded, Versions};
use crate::collect::{Collected, Collecting};
use crate::content::ContentId;
use crate::error::{EntityError, ErrorBody};
use crate::id::EntityId;
use crate::request::{Append, Collect, Create, Hierarchy, Selector};
use crate::store::{Asked, Contents, Detail, EntityStore, Part, Pieces};
use abide_fetch::certificates;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, RANGE};
use reqwest::{Body, Client, ClientBuilder, Method, RequestBuilder, Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::time::Duration;

/// How long a connection may take.
const CONNECTS: Duration = Duration::from_secs(10);
/// How long the other side may say nothing. It waits for links itself, so this is longer than that.
const SPEAKS: Duration = Duration::from_secs(60);
/// What is read of an answer that says what went wrong.
const ERROR_BYTES: usize = 64 * 1024;
/// What is read of any other answer but a file's.
const ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// Entities of another server.
#[derive(Clone)]
pub struct RemoteEntities {
    client: Client,
    base: String,
    token: Option<String>,
}

impl RemoteEntities {
    /// The server whose routes begin at `base`; `token` lets us in.
    pub fn new(base: &str, token: Option<String>) -> Result<RemoteEntities, EntityError> {
        RemoteEntities::through(Client::builder, base, token)
    }

    /// The same for a server of this machine: no proxy is asked for it.
    pub fn nearby(base: &str, token: Option<String>) -> Result<RemoteEntities, EntityError> {
        RemoteEntities::through(|| Client::builder().no_proxy(), base, token)
    }

    fn through(
        builder: impl Fn() -> ClientBuilder,
        base: &str,
        token: Option<String>,
    ) -> Result<RemoteEntities, EntityError> {
        let client = certificates::client(|| builder().connect_timeout(CONNECTS).read_timeout(SPEAKS));
        let client = client.map_err(|error| EntityError::Internal(error.to_string()))?;
        Ok(RemoteEntities { client, base: base.trim_end_matches('/').to_owned(), token })
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.base));
        match &self.token {
            Some(token) => request.header(AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        }
    }

    async fn get_json<T: DeserializeOwned>(&self, path: &str) -> Result<T, EntityError> {
        read(sent(self.request(Method::GET, path)).await?).await
    }

    async fn post_json<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, EntityError> {
        read(sent(self.request(Method::POST, path).json(body)).await?).await
    }

    async fn send_file(&self, name: String, pieces: Pieces) -> Result<Uploaded, EntityError> {
        let mut random = [0; 16];
        getrandom::fill(&mut random)
            .map_err(|error| EntityError::Backend(format!("no randomness for a boundary: {error}")))?;
        let boundary = format!("abide-{:032x}", u128::from_be_bytes(random));
        // What would end the header's value early is not part of a name.
        let name: String = name.chars().filter(|c| !c.is_control() && !matches!(c, '"' | '\\')).collect();
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n"
        );
        let tail = format!("\r\n--{boundary}--\r\n");
        let one = |text: String| stream::iter([Ok::<_, EntityError>(Bytes::from(text))]);
        let body = one(head).chain(pieces).chain(one(tail));
        let request = self
            .request(Method::POST, "/upload")
            .header(CONTENT_TYPE, format!("multipart/form-data; boundary={boundary}"))
            .body(Body::wrap_stream(body));
        let uploaded: Vec<Uploaded> = read(sent(request).await?).await?;
        let first = uploaded.into_iter().next();
        first.ok_or_else(|| EntityError::Backend("the other server says that it kept nothing".to_owned()))
    }

    async fn contents(&self, cid: ContentId, part: Option<Part>) -> Result<Contents, EntityError> {
        let request = self.request(Method::GET, &format!("/cat/{cid}"));
        let request = match part {
            None => request,
            Some(Part::From(first, None)) => request.header(RANGE, format!("bytes={first}-")),
            Some(Part::From(first, Some(last))) => request.header(RANGE, format!("bytes={first}-{last}")),
            Some(Part::Last(count)) => request.header(RANGE, format!("bytes=-{count}")),
        };
        let response = sent(request).await?;
        let length = response.content_length();
        let (size, came) = match response.status() {
            StatusCode::PARTIAL_CONTENT => ranged(&response)?,
            _ => {
                let size =
                    length.ok_or_else(|| EntityError::Backend("a file came without its size".to_owned()))?;
                (size, (0, size))
            }
        };
        Ok(Contents { size, part: came, pieces: Box::pin(response.bytes_stream().map_err(lost)) })
    }
}

/// What `Content-Range: bytes 0-4/11` says: the whole size, the first byte and the one past the last.
fn ranged(response: &Response) -> Result<(u64, (u64, u64)), EntityError> {
    let header = response.headers().get("content-range").and_then(|range| range.to_str().ok());
    let read = || {
        let (range, size) = header?.strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let last: u64 = last.parse().ok()?;
        Some((size.parse().ok()?, (first.parse().ok()?, last.checked_add(1)?)))
    };
    read().ok_or_else(|| EntityError::Backend(format!("a part of a file came as {header:?}")))
}

fn lost(error: reqwest::Error) -> EntityError {
    EntityError::Backend(format!("the other server cannot be reached: {error}"))
}

/// Sends a request; an answer that says no is an error.
async fn sent(request: RequestBuilder) -> Result<Response, EntityError> {
    let response = request.send().await.map_err(lost)?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let text = within(response, ERROR_BYTES).await?;
    let body = serde_json::from_slice(&text).unwrap_or_else(|_| ErrorBody {
        error: String::new(),
        message: format!("the other server answered {status}"),
        details: None,
    });
    Err(match status {
        StatusCode::RANGE_NOT_SATISFIABLE => EntityError::InvalidParams(body.message),
        status => EntityError::read(status.as_u16(), body),
    })
}

fn strange(error: serde_json::Error) -> EntityError {
    EntityError::Backend(format!("the other server's answer cannot be read: {error}"))
}

async fn read_value(response: Response) -> Result<Value, EntityError> {
    let text = within(response, ANSWER_BYTES).await?;
    serde_json::from_slice(&text).map_err(strange)
}

async fn read<T: DeserializeOwned>(response: Response) -> Result<T, EntityError> {
    let mut answer = read_value(response).await?;
    if let Value::Object(fields) = &mut answer {
        with_both_names(fields);
    }
    serde_json::from_value(answer).map_err(strange)
}

/// Gives an answer the names of both generations: others know only one of them.
fn with_both_names(fields: &mut Map<String, Value>) {
    for (one, other) in [("id", "pi"), ("pi", "id"), ("manifest_cid", "tip"), ("tip", "manifest_cid")] {
        if let (Some(known), false) = (fields.get(one).cloned(), fields.contains_key(other)) {
            fields.insert(other.to_owned(), known);
        }
    }
}

async fn within(response: Response, bound: usize) -> Result<Vec<u8>, EntityError> {
    let (mut text, mut pieces) = (Vec::new(), response.bytes_stream());
    while let Some(piece) = pieces.next().await {
        text.extend_from_slice(&piece.map_err(lost)?);
        if text.len() > bound {
            return Err(EntityError::Backend(format!(
                "the other server's answer has more than {bound} bytes"
            )));
        }
    }
    Ok(text)
}

impl EntityStore for RemoteEntities {
    fn create(&self, create: Create) -> Asked<'_, Made> {
        Box::pin(async move { self.post_json("/entities", &create).await })
    }

    fn get<'a>(&'a self, id: &'a EntityId) -> Asked<'a, Shown> {
        Box::pin(async move { self.get_json(&format!("/entities/{id}")).await })
    }

    fn version<'a>(&'a self, id: &'a EntityId, selector: Selector) -> Asked<'a, Shown> {
        let selector = match selector {
            Selector::Cid(cid) => format!("cid:{cid}"),
            Selector::Ver(ver) => format!("ver:{ver}"),
        };
        Box::pin(async move { self.get_json(&format!("/entities/{id}/versions/{selector}")).await })
    }

    fn versions<'a>(
        &'a self,
        id: &'a EntityId,
        limit: usize,
        cursor: Option<ContentId>,
    ) -> Asked<'a, Versions> {
        let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        Box::pin(
            async move { self.get_json(&format!("/entities/{id}/versions?limit={limit}{cursor}")).await },
        )
    }

    fn resolve<'a>(&'a self, id: &'a EntityId) -> Asked<'a, Resolved> {
        Box::pin(async move { self.get_json(&format!("/resolve/{id}")).await })
    }

    fn append<'a>(&'a self, id: &'a EntityId, append: Append) -> Asked<'a, Made> {
        Box::pin(async move { self.post_json(&format!("/entities/{id}/versions"), &append).await })
    }

    fn delete<'a>(&'a self, id: &'a EntityId, expect_tip: Option<ContentId>) -> Asked<'a, Deleted> {
        let expected = expect_tip.map(|tip| format!("?expect_tip={tip}")).unwrap_or_default();
        Box::pin(async move {
            read(sent(self.request(Method::DELETE, &format!("/entities/{id}{expected}"))).await?).await
        })
    }

    fn hierarchy(&self, hierarchy: Hierarchy) -> Asked<'_, HierarchyMade> {
        Box::pin(async move { self.post_json("/hierarchy", &hierarchy).await })
    }

    fn list(&self, limit: usize, cursor: Option<String>, detail: Detail) -> Asked<'_, EntityList> {
        Box::pin(async move {
            if let Some(cursor) =
                cursor.iter().find(|cursor| !cursor.bytes().all(|b| b.is_ascii_alphanumeric()))
            {
                return Err(EntityError::InvalidCursor(cursor.clone()));
            }
            let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
            let with_metadata = detail == Detail::Metadata;
            self.get_json(&format!("/entities?limit={limit}{cursor}&include_metadata={with_metadata}")).await
        })
    }

    fn upload(&self, name: String, pieces: Pieces) -> Asked<'_, Uploaded> {
        Box::pin(self.send_file(name, pieces))
    }

    fn cat(&self, cid: ContentId, part: Option<Part>) -> Asked<'_, Contents> {
        Box::pin(self.contents(cid, part))
    }

    fn dag(&self, cid: ContentId) -> Asked<'_, Value> {
        Box::pin(
            async move { read_value(sent(self.request(Method::GET, &format!("/dag/{cid}"))).await?).await },
        )
    }

    fn collect(&self, collecting: Collecting, older_than_ms: i64) -> Asked<'_, Collected> {
        let dry_run = collecting == Collecting::DryRun;
        let body = Collect { older_than_ms: Some(older_than_ms), dry_run };
        Box::pin(async move { self.post_json("/entities/collect", &body).await })
    }
}
