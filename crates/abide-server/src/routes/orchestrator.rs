//! `/orchestrator`: batches of directories through their phases.

use crate::app::App;
use crate::body::AnyBody;
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::params::Params;
use crate::path::{At, Named};
use crate::role::Role;
use crate::route::Routes;
use crate::routes::queued;
use abide_core::json::{BadJson, Json as JsonText};
use abide_core::object::ObjectKey;
use abide_engine::Object;
use abide_organize::contract::CallbackPayload;
use abide_pipeline::{Call, CallbackError, IngestMessage, Pipeline, ServiceCallback, orders};
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};

/// The name by which clients know the service.
const NAME: &str = "arke-orchestrator";

/// Its routes.
pub(crate) fn routes() -> Routes {
    use Role::{Anyone, Operate, Read};
    Routes::new()
        .get("/orchestrator/health", Anyone, "whether the service is there", health)
        .get("/orchestrator/status/{batch}", Read, "how far a batch is", status)
        .post("/orchestrator/callback/{service}/{batch}", Operate, "what came of a request", callback)
        .post("/orchestrator/admin/reset/{batch}", Operate, "stop a batch and its jobs", reset)
        .post("/orchestrator/queue", Operate, "bring a message, which starts a batch", queue)
        .get("/orchestrator/batches/{batch}/nodes", Read, "its directories", nodes)
        .get("/orchestrator/batches/{batch}/nodes/{place}", Read, "a directory with its files", node)
}

async fn ask(app: &App, batch: &str, call: &Call) -> Result<Json<JsonText>, ApiError> {
    app.ask(ObjectKey::new(Pipeline::KIND, batch)?, call).await.map(Json)
}

#[derive(Serialize)]
pub(crate) struct Health {
    status: &'static str,
    service: &'static str,
    timestamp: String,
    /// What reads images.
    #[serde(skip_serializing_if = "Option::is_none")]
    ocr: Option<String>,
    /// Whether that is a model.
    ocr_is_model: bool,
    /// Why nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    ocr_missing: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    services: Option<Checked>,
}

/// Which services it needs are there.
#[derive(Serialize)]
struct Checked {
    preprocess: bool,
    entities: bool,
    organizer: bool,
}

/// What to look at beside.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HealthParams {
    check: Option<String>,
}

async fn health(
    State(app): State<App>,
    Params(params): Params<HealthParams>,
) -> Result<Json<Health>, ApiError> {
    let services = match params.check.as_deref() {
        None => None,
        Some("services") => Some(Checked {
            preprocess: app.services().preprocess.is_some(),
            entities: app.services().entities.is_some(),
            organizer: app.services().organizer.is_some(),
        }),
        Some(other) => return Err(ApiError::bad(format!("check is {other:?}: say services"))),
    };
    let timestamp = abide_preprocess::iso(app.engine().now());
    let pipeline = app.services().pipeline.as_ref();
    let reader = pipeline.map(|pipeline| pipeline.reader.clone());
    let ocr_is_model = pipeline.is_some_and(|pipeline| pipeline.reader_is_model);
    let (ocr, ocr_missing) = match reader {
        Some(Ok(name)) => (Some(name), None),
        Some(Err(why)) => (None, Some(why)),
        None => (None, None),
    };
    Ok(Json(Health { status: "ok", service: NAME, timestamp, ocr, ocr_is_model, ocr_missing, services }))
}

async fn status(State(app): State<App>, At(batch): At<String>) -> Result<Json<JsonText>, ApiError> {
    ask(&app, &batch, &Call::Status).await
}

async fn callback(
    State(app): State<App>,
    At((service, batch)): At<(String, String)>,
    AnyBody(body): AnyBody,
) -> Result<Json<JsonText>, ApiError> {
    if !body.as_str().trim_start().starts_with('{') {
        return Err(ApiError::bad("a callback is a JSON object"));
    }
    let bad = |error: BadJson| ApiError::bad(error.0);
    if service != "organizer" {
        let payload = Box::new(body.decode::<ServiceCallback>().map_err(bad)?);
        return ask(&app, &batch, &Call::Answered { service, payload }).await;
    }
    let pipeline = app.services().pipeline.as_ref();
    let pipeline = pipeline.expect("its routes are there only with it");
    let taken = pipeline.service.take_answer(&batch, body.decode::<CallbackPayload>().map_err(bad)?).await;
    let answer = taken.map_err(|error| match error {
        CallbackError::Call(error) => error.into(),
        CallbackError::Entities(_) => ApiError::new(ErrorCode::StoreUnavailable, error.to_string()),
    })?;
    JsonText::encode(&answer).map(Json).map_err(bad)
}

async fn reset(State(app): State<App>, At(batch): At<String>) -> Result<Json<JsonText>, ApiError> {
    ask(&app, &batch, &Call::Reset).await
}

/// A message goes the way of the queue: it is checked here, so that whoever sends it hears of what is wrong with it.
async fn queue(State(app): State<App>, AnyBody(body): AnyBody) -> Result<Response, ApiError> {
    let value = body.decode::<serde_json::Value>().map_err(|error| ApiError::bad(error.0))?;
    let message = IngestMessage::read(&value).map_err(|error| ApiError::bad(error.to_string()))?;
    queued::enqueue(&app, (orders::MESSAGES, orders::START), message.batch_id.as_str(), &value).await
}

/// A page of directories.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NodesParams {
    after: Option<u32>,
    limit: Option<usize>,
}

async fn nodes(
    State(app): State<App>,
    At(batch): At<String>,
    Params(params): Params<NodesParams>,
) -> Result<Json<JsonText>, ApiError> {
    ask(&app, &batch, &Call::Nodes { after: params.after, limit: params.limit }).await
}

/// A directory of a batch.
pub(crate) struct NodeAt {
    batch: String,
    place: u32,
}

impl Named for NodeAt {
    type Segments = (String, String);

    fn named((batch, place): (String, String)) -> Result<NodeAt, ApiError> {
        let bad = || ApiError::bad(format!("{place:?} is no place of a directory: it is a number"));
        let place = place.parse().map_err(|_| bad())?;
        Ok(NodeAt { batch, place })
    }
}

async fn node(State(app): State<App>, At(at): At<NodeAt>) -> Result<Json<JsonText>, ApiError> {
    ask(&app, &at.batch, &Call::Node { place: at.place }).await
}
