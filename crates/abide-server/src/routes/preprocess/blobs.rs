//! Bytes: blobs lent by signed URLs, and images as they are served.

use super::{Proof, TaskAt, ask, read, service};
use crate::app::App;
use crate::arriving::GivenUp;
use crate::body::{JsonBody, given_up};
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::params::Params;
use crate::path::{At, Named};
use crate::routes::batches;
use abide_blob::{Access, BlobError, Key, Loan};
use abide_core::time::Time;
use abide_engine::RefusalClass;
use abide_preprocess::asset::Asset;
use abide_preprocess::calls::CheckAnswer;
use abide_preprocess::limits::INPUT_BYTES;
use abide_preprocess::worker::{UploadsAnswer, UploadsRequest};
use abide_preprocess::{Call, Holder, Lent, Which};
use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::future::ready;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// URLs that one request gets.
const UPLOADS: usize = 1_000;
/// How long they are good.
const GOOD_FOR: Duration = Duration::from_secs(15 * 60);
/// Pieces of a body that are read away after it was refused.
const PIECES_LEFT: usize = 16_384;
/// Bytes of what describes an asset.
const ASSET_BYTES: u64 = 64 * 1024;

/// A blob of a bucket.
pub(crate) struct BlobAt {
    which: Which,
    key: Key,
}

impl Named for BlobAt {
    type Segments = (String, String);

    fn named((bucket, key): (String, String)) -> Result<BlobAt, ApiError> {
        let which = Which::parse(&bucket).ok_or_else(|| unknown(format!("there is no bucket {bucket:?}")))?;
        let key = Key::new(&key).map_err(|error| ApiError::bad(error.to_string()))?;
        Ok(BlobAt { which, key })
    }
}

/// What a signed URL brings.
#[derive(Debug, Deserialize)]
pub(crate) struct Signed {
    ends_at: i64,
    /// The attempt that it was lent to, if to one.
    #[serde(default)]
    holder: String,
    signature: String,
}

fn unknown(message: impl Into<String>) -> ApiError {
    ApiError::refused(ErrorCode::Refused(RefusalClass::NotFound), "unknown_blob", message)
}

pub(super) fn failed(error: BlobError) -> ApiError {
    match error {
        BlobError::NotFound(_) => unknown(error.to_string()),
        BlobError::BadKey(_) => ApiError::bad(error.to_string()),
        BlobError::TooLarge { .. } => ApiError::new(ErrorCode::TooLarge, error.to_string()),
        BlobError::Full { .. } => ApiError::new(ErrorCode::StoreFull, error.to_string()),
        BlobError::Failed { .. } | BlobError::Unusable { .. } => {
            ApiError::new(ErrorCode::StoreUnavailable, error.to_string())
        }
    }
}

fn wrong_signature(message: impl Into<String>) -> ApiError {
    ApiError::refused(ErrorCode::Refused(RefusalClass::Forbidden), "wrong_signature", message)
}

fn check(app: &App, at: &BlobAt, signed: &Signed, access: Access) -> Result<(), ApiError> {
    let Signed { ends_at, holder, signature } = signed;
    let loan = Loan { bucket: at.which.as_str(), key: &at.key, access, ends_at: Time(*ends_at), holder };
    let checked = service(app).buckets().signer.check(&loan, signature, app.engine().now());
    checked.map_err(|error| wrong_signature(error.to_string()))
}

pub(super) async fn get(
    State(app): State<App>,
    At(at): At<BlobAt>,
    Params(signed): Params<Signed>,
) -> Result<Response, ApiError> {
    check(&app, &at, &signed, Access::Get)?;
    send(&app, at.which, &at.key, "application/octet-stream").await
}

async fn send(app: &App, which: Which, key: &Key, content_type: &str) -> Result<Response, ApiError> {
    let (found, bytes) = service(app).buckets().get(which).get(key).await.map_err(failed)?;
    let mut response = Body::from_stream(bytes).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(found.bytes));
    headers.extend(tagged(found.etag.as_deref()));
    let content_type = HeaderValue::from_str(content_type);
    headers.extend(content_type.ok().map(|content_type| (header::CONTENT_TYPE, content_type)));
    // What a stranger's file is, it is not to become a page of ours.
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let policy = HeaderValue::from_static("default-src 'none'; sandbox");
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

/// The word that changes with a blob's bytes, as a header.
fn tagged(etag: Option<&str>) -> Option<(HeaderName, HeaderValue)> {
    Some((header::ETAG, HeaderValue::from_str(etag?).ok()?))
}

/// Puts a blob as often as it is asked for: each takes the place of the one before. A URL that was lent to an attempt ends with
/// it: what is not all here by then changes nothing.
pub(super) async fn put(
    State(app): State<App>,
    At(at): At<BlobAt>,
    Params(signed): Params<Signed>,
    body: Body,
) -> Result<Response, ApiError> {
    check(&app, &at, &signed, Access::Put)?;
    let holder = match signed.holder.as_str() {
        "" => None,
        lent => Some(Holder::parse(lent).ok_or_else(|| wrong_signature("the URL names no attempt"))?),
    };
    is_under_way(&app, holder.as_ref()).await?;
    let bound = match (&app.services().pipeline, at.which) {
        (Some(pipeline), Which::Staging) => pipeline.service.awaited_bytes(at.key.as_str()).await,
        _ => Ok(None),
    };
    let bound = bound.map_err(batches::failed)?.unwrap_or(INPUT_BYTES);
    let is_given_up = Arc::new(AtomicBool::new(false));
    let gives_up = Arc::clone(&is_given_up);
    let came = body.into_data_stream().map_err(move |error| {
        let error = error.into_inner();
        gives_up.store(error.is::<GivenUp>(), Ordering::Relaxed);
        error.to_string()
    });
    let checked = stream::once(is_under_way(&app, holder.as_ref()));
    let checked = checked.map(|checked| checked.map(|()| Bytes::new()).map_err(|error| error.to_string()));
    let bucket = service(&app).buckets().get(at.which);
    let mut stream = Box::pin(came.chain(checked));
    match bucket.put_stream(&at.key, &mut stream, "application/octet-stream", bound).await {
        // Clients of buckets give back what they were told of each part.
        Ok(bytes) => Ok((StatusCode::OK, [(header::ETAG, format!("\"{bytes:x}\""))]).into_response()),
        Err(error) => {
            // What comes from here on changes nothing.
            let error = if is_given_up.load(Ordering::Relaxed) { given_up() } else { failed(error) };
            // Who is still sending would not hear why.
            let left = stream.take_while(|piece| ready(piece.is_ok())).take(PIECES_LEFT);
            left.for_each(|_| ready(())).await;
            // It may have been broken off for this, and an attempt that is over stays over.
            is_under_way(&app, holder.as_ref()).await?;
            Err(error)
        }
    }
}

/// Whether the attempt that a URL was lent to, if to one, is not over.
async fn is_under_way(app: &App, holder: Option<&Holder>) -> Result<(), ApiError> {
    let Some(holder) = holder else { return Ok(()) };
    let check = holder.check(&service(app).buckets().signer);
    ask(app, &holder.batch, &check).await.map(drop)
}

/// Gives a live attempt URLs for its outputs: beside its input in staging, below its asset in the archive.
pub(super) async fn uploads(
    State(app): State<App>,
    At(at): At<TaskAt>,
    Params(proof): Params<Proof>,
    JsonBody(request): JsonBody<UploadsRequest>,
) -> Result<Json<UploadsAnswer>, ApiError> {
    if request.files.len() > UPLOADS {
        return Err(ApiError::new(ErrorCode::TooLarge, format!("ask for at most {UPLOADS} URLs at a time")));
    }
    let holder = Holder { batch: at.batch.clone(), attempt: proof.of(at.task) };
    let call = Call::Check { attempt: holder.attempt.clone(), signature: proof.signature };
    let checked: CheckAnswer = read(ask(&app, &at.batch, &call).await?)?;
    let site = service(&app).site().await;
    let now = app.engine().now();
    let mut urls = Vec::with_capacity(request.files.len());
    for wanted in request.files {
        if !service(&app).may_put(&holder, &checked, &wanted) {
            let code = ErrorCode::Refused(RefusalClass::Forbidden);
            let message = format!("{} is not for this task to write", wanted.key);
            return Err(ApiError::refused(code, "foreign_key", message));
        }
        let key = Key::new(&wanted.key).map_err(|error| ApiError::bad(error.to_string()))?;
        let buckets = service(&app).buckets();
        let is_shared = wanted.is_input
            && service(&app).share_input(&checked, (wanted.bucket, &key)).await.map_err(failed)?;
        if is_shared {
            urls.push(String::new());
            continue;
        }
        let lent = Lent::ToPutBy(&holder);
        let url = buckets.lend(&site.url, (wanted.bucket, &key), lent, now, GOOD_FOR).await;
        urls.push(url.map_err(failed)?);
    }
    Ok(Json(UploadsAnswer { urls }))
}

pub(super) async fn asset(
    State(app): State<App>,
    At(asset): At<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    serve(&app, &asset, None, &headers).await
}

/// A variant of an asset.
pub(crate) struct VariantAt {
    asset: String,
    variant: String,
}

impl Named for VariantAt {
    type Segments = (String, String);

    fn named((asset, variant): (String, String)) -> Result<VariantAt, ApiError> {
        Ok(VariantAt { asset, variant })
    }
}

pub(super) async fn variant(
    State(app): State<App>,
    At(at): At<VariantAt>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    serve(&app, &at.asset, Some(&at.variant), &headers).await
}

async fn serve(
    app: &App,
    asset_id: &str,
    variant: Option<&str>,
    asked: &HeaderMap,
) -> Result<Response, ApiError> {
    let key = Key::new(&Asset::key(asset_id)).map_err(|error| ApiError::bad(error.to_string()))?;
    let described = service(app).buckets().archive.get_bytes(&key, ASSET_BYTES).await;
    let described = described.map_err(|error| match error {
        BlobError::NotFound(_) => unknown(format!("there is no asset {asset_id}")),
        error => failed(error),
    })?;
    let asset: Asset = serde_json::from_slice(&described)
        .map_err(|error| ApiError::new(ErrorCode::StoreUnavailable, format!("asset {asset_id}: {error}")))?;
    let name = variant.unwrap_or(&asset.default_variant);
    let serving = asset.serving(name).ok_or_else(|| {
        unknown(format!("there is no variant {name:?}: there are thumb, medium, large and original"))
    })?;
    let key = Key::new(&serving.r2_key).map_err(|error| ApiError::bad(error.to_string()))?;
    let mut response = match known(app, &key, asked).await? {
        Some(etag) => {
            let mut unchanged = StatusCode::NOT_MODIFIED.into_response();
            unchanged.headers_mut().extend(tagged(Some(&etag)));
            unchanged
        }
        None => send(app, Which::Archive, &key, &serving.content_type).await?,
    };
    // Not for everybody who shares a cache; and a task that is tried again makes it anew.
    let cached = HeaderValue::from_static("private, no-cache");
    response.headers_mut().insert(header::CACHE_CONTROL, cached);
    Ok(response)
}

/// The word for the bytes of an archived blob, if whoever asks names it: they have them.
async fn known(app: &App, key: &Key, asked: &HeaderMap) -> Result<Option<String>, ApiError> {
    if !asked.contains_key(header::IF_NONE_MATCH) {
        return Ok(None);
    }
    let found = service(app).buckets().archive.head(key).await.map_err(failed)?;
    let named = asked.get_all(header::IF_NONE_MATCH).iter().filter_map(|words| words.to_str().ok());
    // What passes on a blob in another coding says so before the word.
    let mut words = named.flat_map(|words| words.split(',')).map(|word| word.trim().trim_start_matches("W/"));
    Ok(found.etag.filter(|etag| words.any(|word| word == "*" || word == etag.trim_start_matches("W/"))))
}
