//! `/entities`, `/upload`, `/cat`, `/dag`, `/resolve`, `/hierarchy`: versioned manifests and their blobs.

use crate::app::App;
use crate::arriving::GivenUp;
use crate::body::{JsonBody, LINGERS, given_up};
use crate::error::ApiError;
use crate::params::Params;
use crate::path::{At, Named};
use crate::role::Role;
use crate::route::Routes;
use abide_entities::answer::{Deleted, EntityList, HierarchyMade, Made, Resolved, Shown, Uploaded, Versions};
use abide_entities::limits::{COLLECT_USUAL_MS, PAGE_ITEMS, UPLOAD_PARTS};
use abide_entities::request::{Append, Collect, Create, Hierarchy, Selector};
use abide_entities::{
    Collected, Collecting, ContentId, Detail, EntityError, EntityId, EntityStore, Part, Pieces,
};
use axum::Json;
use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Their routes.
pub(crate) fn routes() -> Routes {
    use Role::{Operate, Read};
    Routes::new()
        .get("/entities", Read, "entities, the one that changed last first", list)
        .post("/entities", Operate, "create an entity", create)
        .post("/entities/collect", Role::Admin, "delete files that nothing names", collect)
        .get("/entities/{id}", Read, "an entity in its newest version", get)
        .delete("/entities/{id}", Operate, "delete an entity with its versions and files", remove)
        .get("/entities/{id}/versions", Read, "its versions, newest first", versions)
        .post("/entities/{id}/versions", Operate, "make a new version", append)
        .get("/entities/{id}/versions/{selector}", Read, "a version, by cid:<cid> or ver:<n>", version)
        .get("/resolve/{id}", Read, "the tip of an entity", resolve)
        .post("/hierarchy", Operate, "add and remove children", hierarchy)
        .post("/relations", Operate, "the same as /hierarchy", hierarchy)
        .post("/upload", Operate, "keep files, sent as the parts of a form", upload)
        .get("/cat/{cid}", Read, "the bytes of a file", cat)
        .get("/dag/{cid}", Read, "a manifest or a node of a file as DAG-JSON", dag)
}

const INDEX_USUAL: usize = 100;
const VERSIONS_USUAL: usize = 50;

/// A failed request in the shape that clients of these routes know.
pub(crate) struct Failed(EntityError);

impl From<EntityError> for Failed {
    fn from(error: EntityError) -> Failed {
        Failed(error)
    }
}

impl From<ApiError> for Failed {
    fn from(error: ApiError) -> Failed {
        let (status, message) = (error.status().as_u16(), error.message().to_owned());
        Failed(match status {
            413 => EntityError::TooLarge(message),
            // To be sent again, which nobody does with what is wrong.
            408 => EntityError::Backend(message),
            400..=499 => EntityError::Invalid(message),
            500 => EntityError::Internal(message),
            _ => EntityError::Backend(message),
        })
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, Json(self.0.body())).into_response()
    }
}

/// What the path names, or the answer in that shape.
pub(crate) struct Of<T>(T);

impl<T: Named> FromRequestParts<App> for Of<T> {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Of<T>, Failed> {
        let At(named) = At::from_request_parts(parts, app).await?;
        Ok(Of(named))
    }
}

type Decoded<T> = Result<JsonBody<T>, ApiError>;
type Asked<T> = Result<Params<T>, ApiError>;
type Answered<T> = Result<Json<T>, Failed>;

fn store(app: &App) -> Result<Arc<dyn EntityStore>, Failed> {
    let missing = || EntityError::Backend("this server has no entities".to_owned());
    let entities = app.services().entities.as_ref().ok_or_else(missing)?;
    Ok(Arc::clone(&entities.store))
}

async fn create(State(app): State<App>, body: Decoded<Create>) -> Result<(StatusCode, Json<Made>), Failed> {
    let JsonBody(create) = body?;
    Ok((StatusCode::CREATED, Json(store(&app)?.create(create).await?)))
}

async fn collect(State(app): State<App>, body: Decoded<Collect>) -> Answered<Collected> {
    let JsonBody(Collect { older_than_ms, dry_run }) = body?;
    let collecting = if dry_run { Collecting::DryRun } else { Collecting::ForGood };
    let older_than_ms = older_than_ms.unwrap_or(COLLECT_USUAL_MS);
    Ok(Json(store(&app)?.collect(collecting, older_than_ms).await?))
}

async fn get(State(app): State<App>, Of(id): Of<String>) -> Answered<Shown> {
    Ok(Json(store(&app)?.get(&entity(&id)?).await?))
}

/// Which version is to be deleted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeleteParams {
    expect_tip: Option<String>,
}

async fn remove(
    State(app): State<App>,
    Of(id): Of<String>,
    params: Asked<DeleteParams>,
) -> Answered<Deleted> {
    let (id, Params(params)) = (entity(&id)?, params?);
    let expect_tip = params.expect_tip.as_deref().map(content).transpose()?;
    Ok(Json(store(&app)?.delete(&id, expect_tip).await?))
}

async fn resolve(State(app): State<App>, Of(id): Of<String>) -> Answered<Resolved> {
    Ok(Json(store(&app)?.resolve(&entity(&id)?).await?))
}

async fn append(
    State(app): State<App>,
    Of(id): Of<String>,
    body: Decoded<Append>,
) -> Result<(StatusCode, Json<Made>), Failed> {
    let (id, JsonBody(append)) = (entity(&id)?, body?);
    Ok((StatusCode::CREATED, Json(store(&app)?.append(&id, append).await?)))
}

async fn version(State(app): State<App>, Of((id, selector)): Of<(String, String)>) -> Answered<Shown> {
    Ok(Json(store(&app)?.version(&entity(&id)?, Selector::parse(&selector)?).await?))
}

async fn hierarchy(State(app): State<App>, body: Decoded<Hierarchy>) -> Answered<HierarchyMade> {
    let JsonBody(hierarchy) = body?;
    Ok(Json(store(&app)?.hierarchy(hierarchy).await?))
}

/// A page of a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PageParams {
    limit: Option<usize>,
    cursor: Option<String>,
    include_metadata: Option<bool>,
}

impl PageParams {
    fn limit(&self, usual: usize) -> Result<usize, EntityError> {
        match self.limit.unwrap_or(usual) {
            limit if (1..=PAGE_ITEMS).contains(&limit) => Ok(limit),
            limit => Err(EntityError::InvalidParams(format!("limit is {limit}: ask for 1 to {PAGE_ITEMS}"))),
        }
    }
}

fn page(params: Asked<PageParams>) -> Result<PageParams, EntityError> {
    match params {
        Ok(Params(page)) => Ok(page),
        Err(error) => Err(EntityError::InvalidParams(error.message().to_owned())),
    }
}

async fn list(State(app): State<App>, params: Asked<PageParams>) -> Answered<EntityList> {
    let page = page(params)?;
    let limit = page.limit(INDEX_USUAL)?;
    let detail = if page.include_metadata == Some(true) { Detail::Metadata } else { Detail::Tips };
    let cursor = page.cursor.filter(|cursor| !cursor.is_empty());
    Ok(Json(store(&app)?.list(limit, cursor, detail).await?))
}

async fn versions(
    State(app): State<App>,
    Of(id): Of<String>,
    params: Asked<PageParams>,
) -> Answered<Versions> {
    let (id, page) = (entity(&id)?, page(params)?);
    let limit = page.limit(VERSIONS_USUAL)?;
    let cursor = page.cursor.filter(|cursor| !cursor.is_empty());
    let cursor = cursor.map(|text| ContentId::parse(&text).map_err(|_| EntityError::InvalidCursor(text)));
    Ok(Json(store(&app)?.versions(&id, limit, cursor.transpose()?).await?))
}

async fn dag(State(app): State<App>, Of(cid): Of<String>) -> Answered<Value> {
    Ok(Json(store(&app)?.dag(content(&cid)?).await?))
}

async fn cat(State(app): State<App>, Of(cid): Of<String>, headers: HeaderMap) -> Result<Response, Failed> {
    let cid = content(&cid)?;
    let part = headers.get(header::RANGE).and_then(|range| range.to_str().ok()).and_then(range);
    let contents = match store(&app)?.cat(cid, part).await {
        Ok(contents) => contents,
        Err(error @ EntityError::InvalidParams(_)) if part.is_some() => {
            let size = store(&app)?.cat(cid, None).await?.size;
            let range = [(header::CONTENT_RANGE, format!("bytes */{size}"))];
            return Ok((StatusCode::RANGE_NOT_SATISFIABLE, range, Json(error.body())).into_response());
        }
        Err(error) => return Err(error.into()),
    };
    let (first, past) = contents.part;
    let mut response = Body::from_stream(contents.pieces).into_response();
    let sent = response.headers_mut();
    let text = |text: String| HeaderValue::from_str(&text).expect("digits and ids are fit for a header");
    sent.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    sent.insert(header::CONTENT_LENGTH, HeaderValue::from(past - first));
    sent.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    sent.insert(header::ETAG, text(format!("\"{cid}\"")));
    sent.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    sent.insert("x-ipfs-cid", text(cid.to_string()));
    // What somebody uploaded is never a page of this server.
    sent.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if part.is_some() {
        let range = format!("bytes {first}-{}/{}", past.saturating_sub(1), contents.size);
        sent.insert(header::CONTENT_RANGE, text(range));
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    Ok(response)
}

/// The one part that a `Range` header asks for; any other range is answered with the whole file, as HTTP allows.
fn range(header: &str) -> Option<Part> {
    let (first, last) = header.strip_prefix("bytes=")?.split_once('-')?;
    match (first, last) {
        ("", last) => last.parse().ok().map(Part::Last),
        (first, "") => Some(Part::From(first.parse().ok()?, None)),
        (first, last) => {
            let (first, last) = (first.parse().ok()?, last.parse().ok()?);
            (first <= last).then_some(Part::From(first, Some(last)))
        }
    }
}

async fn upload(State(app): State<App>, request: Request) -> Result<Json<Vec<Uploaded>>, Failed> {
    let store = store(&app)?;
    let bound = app.services().entities.as_ref().map_or(0, |entities| entities.max_upload_bytes);
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let boundary = multer::parse_boundary(kind.unwrap_or_default()).map_err(|_| {
        EntityError::Invalid("send the files as the parts of a multipart/form-data form".to_owned())
    })?;
    let came = Arc::new(Came::default());
    let body = within(request.into_body().into_data_stream(), bound, Arc::clone(&came));
    let failed = move |error: multer::Error| -> EntityError {
        if came.is_given_up.load(Ordering::Relaxed) {
            return Failed::from(given_up()).0;
        }
        if came.bytes.load(Ordering::Relaxed) > bound {
            return EntityError::TooLarge(format!(
                "one request may bring {bound} bytes: send fewer files, or raise entities.max_upload_bytes"
            ));
        }
        EntityError::Invalid(format!("the form cannot be read: {error}"))
    };
    let mut form = multer::Multipart::new(body, boundary);
    let mut uploaded = Vec::new();
    while let Some(field) = form.next_field().await.map_err(&failed)? {
        if uploaded.len() == UPLOAD_PARTS {
            return Err(EntityError::Invalid(format!("one form may have {UPLOAD_PARTS} parts")).into());
        }
        let name = field.file_name().or(field.name()).unwrap_or("file").to_owned();
        let failed = failed.clone();
        let pieces: Pieces = Box::pin(field.map(move |piece| piece.map_err(&failed)));
        uploaded.push(store.upload(name, pieces).await?);
    }
    if uploaded.is_empty() {
        return Err(EntityError::Invalid("the form has no parts: send at least one file".to_owned()).into());
    }
    Ok(Json(uploaded))
}

/// What became of a body.
#[derive(Default)]
struct Came {
    bytes: AtomicU64,
    is_given_up: AtomicBool,
}

/// The pieces of a body up to a bound, counted. What is past it is read for a while all the same: whoever is cut off while it
/// sends never gets to see why.
fn within(
    body: BodyDataStream,
    bound: u64,
    came: Arc<Came>,
) -> impl Stream<Item = Result<Bytes, std::io::Error>> + Send + 'static {
    stream::unfold(Some(body), move |body| {
        let came = Arc::clone(&came);
        async move {
            let mut body = body?;
            let piece = match body.next().await? {
                Ok(piece) => piece,
                Err(error) => {
                    let error = error.into_inner();
                    came.is_given_up.store(error.is::<GivenUp>(), Ordering::Relaxed);
                    return Some((Err(std::io::Error::other(error.to_string())), None));
                }
            };
            let before = came.bytes.fetch_add(piece.len() as u64, Ordering::Relaxed);
            if before + piece.len() as u64 <= bound {
                return Some((Ok(piece), Some(body)));
            }
            let read_away = async { while let Some(Ok(_)) = body.next().await {} };
            drop(tokio::time::timeout(LINGERS, read_away).await);
            Some((Err(std::io::Error::other("too large")), None))
        }
    })
}

fn entity(id: &str) -> Result<EntityId, EntityError> {
    Ok(EntityId::parse(id)?)
}

fn content(cid: &str) -> Result<ContentId, EntityError> {
    Ok(ContentId::parse(cid)?)
}
