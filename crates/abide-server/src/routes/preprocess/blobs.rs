//! Bytes: blobs lent by signed URLs, and images as they are served.

use super::{Proof, TaskAt, ask, service};
use crate::app::App;
use crate::body::JsonBody;
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::params::Params;
use crate::path::{At, Named};
use crate::routes::batches;
use abide_blob::{Access, BlobError, Key};
use abide_core::time::Time;
use abide_engine::RefusalClass;
use abide_preprocess::asset::Asset;
use abide_preprocess::calls::CheckAnswer;
use abide_preprocess::limits::INPUT_BYTES;
use abide_preprocess::worker::{UploadsAnswer, UploadsRequest, Wanted};
use abide_preprocess::{Buckets, Call, Which};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::time::Duration;

/// URLs that one request gets.
const UPLOADS: usize = 1_000;
/// How long they are good.
const GOOD_FOR: Duration = Duration::from_secs(15 * 60);
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
    signature: String,
}

fn unknown(message: impl Into<String>) -> ApiError {
    ApiError::refused(ErrorCode::Refused(RefusalClass::NotFound), "unknown_blob", message)
}

fn failed(error: BlobError) -> ApiError {
    match error {
        BlobError::NotFound(_) => unknown(error.to_string()),
        BlobError::BadKey(_) => ApiError::bad(error.to_string()),
        BlobError::TooLarge { .. } => ApiError::new(ErrorCode::TooLarge, error.to_string()),
        BlobError::Failed { .. } | BlobError::Unusable { .. } => {
            ApiError::new(ErrorCode::StoreUnavailable, error.to_string())
        }
    }
}

fn check(app: &App, at: &BlobAt, signed: &Signed, access: Access) -> Result<(), ApiError> {
    let signer = &service(app).buckets().signer;
    let ends_at = Time(signed.ends_at);
    let now = app.engine().now();
    let checked = signer.check(at.which.as_str(), &at.key, access, ends_at, &signed.signature, now);
    checked.map_err(|error| {
        let code = ErrorCode::Refused(RefusalClass::Forbidden);
        ApiError::refused(code, "wrong_signature", error.to_string())
    })
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
    let content_type = HeaderValue::from_str(content_type);
    headers.extend(content_type.ok().map(|content_type| (header::CONTENT_TYPE, content_type)));
    // What a stranger's file is, it is not to become a page of ours.
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let policy = HeaderValue::from_static("default-src 'none'; sandbox");
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

pub(super) async fn put(
    State(app): State<App>,
    At(at): At<BlobAt>,
    Params(signed): Params<Signed>,
    body: Body,
) -> Result<Response, ApiError> {
    check(&app, &at, &signed, Access::Put)?;
    let bound = match (&app.services().pipeline, at.which) {
        (Some(pipeline), Which::Staging) => pipeline.service.awaited_bytes(at.key.as_str()).await,
        _ => Ok(None),
    };
    let bound = bound.map_err(batches::failed)?.unwrap_or(INPUT_BYTES);
    let bucket = service(&app).buckets().get(at.which);
    let stream = body.into_data_stream();
    let put = bucket.put_stream(&at.key, stream, "application/octet-stream", bound).await;
    let bytes = put.map_err(failed)?;
    // Clients of buckets give back what they were told of each part.
    Ok((StatusCode::OK, [(header::ETAG, format!("\"{bytes:x}\""))]).into_response())
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
    let call = Call::Check { attempt: proof.of(at.task), signature: proof.signature };
    let checked = ask(&app, &at.batch, &call).await?;
    let checked: CheckAnswer = checked.decode().map_err(|error| ApiError::bad(error.0))?;
    let site = service(&app).site().await;
    let now = app.engine().now();
    let mut urls = Vec::with_capacity(request.files.len());
    for wanted in request.files {
        if !is_its_own(&wanted, &checked, &at.batch) {
            let code = ErrorCode::Refused(RefusalClass::Forbidden);
            let message = format!("{} is not for this task to write", wanted.key);
            return Err(ApiError::refused(code, "foreign_key", message));
        }
        let key = Key::new(&wanted.key).map_err(|error| ApiError::bad(error.to_string()))?;
        let buckets = service(&app).buckets();
        if wanted.is_input && shared(buckets, &checked, wanted.bucket, &key).await.map_err(failed)? {
            urls.push(String::new());
            continue;
        }
        let url = buckets.lend(&site.url, wanted.bucket, &key, Access::Put, now, GOOD_FOR).await;
        urls.push(url.map_err(failed)?);
    }
    Ok(Json(UploadsAnswer { urls }))
}

/// Lets a key share the bytes of the task's input. Whether the buckets can.
async fn shared(buckets: &Buckets, task: &CheckAnswer, which: Which, key: &Key) -> Result<bool, BlobError> {
    let input = Key::new(&task.input.r2_key)?;
    buckets.get(which).share(key, &buckets.staging, &input).await
}

/// Whether a key is one of those that the task may write.
fn is_its_own(wanted: &Wanted, task: &CheckAnswer, batch: &str) -> bool {
    let CheckAnswer { input, asset_id } = task;
    match wanted.bucket {
        Which::Archive => {
            wanted.key.starts_with(&format!("archive/{batch}/{asset_id}/"))
                || wanted.key == Asset::key(asset_id)
        }
        Which::Staging => {
            let named = input.output_r2_key.as_deref();
            let stem = named.map_or(input.r2_key.as_str(), |key| key.strip_suffix(".jpg").unwrap_or(key));
            let of_stem = wanted.key.strip_prefix(stem);
            let is_output = of_stem.is_some_and(|rest| {
                let page = rest.strip_prefix("-p").and_then(|page| page.split_once('.'));
                let numbered = |(number, end): (&str, &str)| {
                    number.bytes().all(|digit| digit.is_ascii_digit()) && matches!(end, "jpg" | "txt")
                };
                rest == ".jpg" || page.is_some_and(numbered)
            });
            is_output || wanted.key == format!("{}.ref.json", input.r2_key)
        }
    }
}

pub(super) async fn asset(State(app): State<App>, At(asset): At<String>) -> Result<Response, ApiError> {
    serve(&app, &asset, None).await
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

pub(super) async fn variant(State(app): State<App>, At(at): At<VariantAt>) -> Result<Response, ApiError> {
    serve(&app, &at.asset, Some(&at.variant)).await
}

async fn serve(app: &App, asset_id: &str, variant: Option<&str>) -> Result<Response, ApiError> {
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
    send(app, Which::Archive, &key, &serving.content_type).await
}
