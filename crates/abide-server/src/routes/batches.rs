//! `/api/batches`: files are uploaded, become entities, are preprocessed, and the pipeline takes them.

use crate::app::App;
use crate::body::{JsonBody, SmallBody};
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::path::At;
use crate::role::Role;
use crate::route::Routes;
use crate::routes::tickets;
use crate::services::PipelineService;
use abide_blob::Key;
use abide_core::commit::Reply;
use abide_core::json::Json as JsonText;
use abide_core::object::ObjectKey;
use abide_engine::{Call as EngineCall, Object, RefusalClass};
use abide_entities::EntityError;
use abide_pipeline::upload::{
    Call, CompleteFile, FileDocument, Init, Inited, Intake, PART_BYTES, ProcessedAnswer, ProcessedBody,
    StartFile, StatusAnswer, UploadError, UploadType, WithdrawFile, part_key,
};
use abide_preprocess::{Lent, Which};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use std::time::Duration;

/// How long a client waits for a file to be put together, or for the entities of a small batch.
const WAITS: Duration = Duration::from_secs(30);
/// Bytes of a list of processed files.
const PROCESSED_BYTES: usize = 256 * 1024 * 1024;

/// Its routes.
pub(crate) fn routes() -> Routes {
    use Role::{Operate, Read};
    Routes::new()
        .post("/api/batches/init", Operate, "begin an upload", init)
        .post("/api/batches/{batch}/files/start", Operate, "URLs for a file", start)
        .post("/api/batches/{batch}/files/complete", Operate, "a file is uploaded", complete)
        .post("/api/batches/{batch}/files/withdraw", Operate, "a file does not come after all", withdraw)
        .post("/api/batches/{batch}/finalize", Operate, "all files are uploaded", finalize)
        .get("/api/batches/{batch}/status", Read, "how far an upload is", status)
        .post(
            "/api/batches/{batch}/enqueue-processed",
            Operate,
            "its files are preprocessed",
            enqueue_processed,
        )
}

/// The service: its routes are there only with it.
fn service(app: &App) -> &PipelineService {
    app.services().pipeline.as_ref().expect("its routes are there only with it")
}

pub(crate) fn failed(error: UploadError) -> ApiError {
    match error {
        UploadError::Bad(bad) => ApiError::bad(bad.to_string()),
        UploadError::Parent(EntityError::NotFound(_)) => {
            let code = ErrorCode::Refused(RefusalClass::NotFound);
            ApiError::refused(code, "unknown_parent", error.to_string())
        }
        UploadError::Call(error) => error.into(),
        UploadError::Parent(_) | UploadError::Failed(_) => {
            ApiError::new(ErrorCode::StoreUnavailable, error.to_string())
        }
    }
}

async fn init(
    State(app): State<App>,
    JsonBody(init): JsonBody<Init>,
) -> Result<(StatusCode, Json<Inited>), ApiError> {
    let inited = service(&app).service.init_upload(init).await.map_err(failed)?;
    Ok((StatusCode::CREATED, Json(inited)))
}

/// Where a file is put.
#[derive(Serialize)]
pub(crate) struct Started {
    r2_key: String,
    upload_type: UploadType,
    #[serde(skip_serializing_if = "Option::is_none")]
    presigned_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upload_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part_size: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    presigned_urls: Vec<PartUrl>,
}

#[derive(Serialize)]
struct PartUrl {
    part_number: u32,
    url: String,
}

async fn start(
    State(app): State<App>,
    At(batch): At<String>,
    JsonBody(file): JsonBody<StartFile>,
) -> Result<Json<Started>, ApiError> {
    let started = service(&app).service.start_file(&batch, file).await.map_err(failed)?;
    let mut presigned_urls = Vec::new();
    for part_number in 1..=started.parts {
        let url = lend(&app, &part_key(&batch, &started.upload_id, part_number)).await?;
        presigned_urls.push(PartUrl { part_number, url });
    }
    let is_simple = started.upload_type == UploadType::Simple;
    let presigned_url = if is_simple { presigned_urls.pop().map(|part| part.url) } else { None };
    Ok(Json(Started {
        r2_key: started.r2_key,
        upload_type: started.upload_type,
        presigned_url,
        upload_id: (!is_simple).then_some(started.upload_id),
        part_size: (!is_simple).then_some(PART_BYTES),
        presigned_urls,
    }))
}

/// A URL by which one blob of staging is put: of the bucket's own service, or of ours.
async fn lend(app: &App, key: &str) -> Result<String, ApiError> {
    let missing = || ApiError::new(ErrorCode::StoreUnavailable, "this server preprocesses nothing");
    let preprocess = app.services().preprocess.as_ref().ok_or_else(missing)?;
    let key = Key::new(key).map_err(|error| ApiError::bad(error.to_string()))?;
    let (site, good_for) = (preprocess.site().await, service(app).urls_good_for);
    let now = app.engine().now();
    let url = preprocess.buckets().lend(&site.url, (Which::Staging, &key), Lent::ToPut, now, good_for).await;
    url.map_err(|error| ApiError::new(ErrorCode::StoreUnavailable, error.to_string()))
}

/// Calls an upload, and waits if the answer comes later.
async fn call(app: &App, batch: &str, call: &Call) -> Result<Response, ApiError> {
    use axum::response::IntoResponse;
    let object = ObjectKey::new(Intake::KIND, batch)?;
    let body = JsonText::encode(call).map_err(|error| ApiError::bad(error.0))?;
    match app.engine().call(EngineCall { object, body, key: None }).await? {
        Reply::Now(reply) => Ok(Json(reply).into_response()),
        Reply::Later(ticket) => tickets::answer(app, &ticket, WAITS).await,
    }
}

async fn complete(
    State(app): State<App>,
    At(batch): At<String>,
    JsonBody(file): JsonBody<CompleteFile>,
) -> Result<Response, ApiError> {
    call(&app, &batch, &Call::Complete(file)).await
}

async fn withdraw(
    State(app): State<App>,
    At(batch): At<String>,
    JsonBody(file): JsonBody<WithdrawFile>,
) -> Result<Response, ApiError> {
    call(&app, &batch, &Call::Withdraw(file)).await
}

async fn finalize(State(app): State<App>, At(batch): At<String>) -> Result<Response, ApiError> {
    call(&app, &batch, &Call::Finalize).await
}

#[derive(Serialize)]
pub(crate) struct Status {
    #[serde(flatten)]
    status: StatusAnswer,
    files: Vec<FileDocument>,
}

async fn status(State(app): State<App>, At(batch): At<String>) -> Result<Json<Status>, ApiError> {
    let (status, files) = service(&app).service.upload_status(&batch).await.map_err(failed)?;
    Ok(Json(Status { status, files }))
}

async fn enqueue_processed(
    State(app): State<App>,
    At(batch): At<String>,
    SmallBody(body): SmallBody<ProcessedBody, PROCESSED_BYTES>,
) -> Result<Json<ProcessedAnswer>, ApiError> {
    service(&app).service.take_processed(&batch, body).await.map(Json).map_err(failed)
}
