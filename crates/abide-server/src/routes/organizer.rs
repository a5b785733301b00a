//! `/organizer`: directories into groups, as requests with a callback or asked and answered at once.

use crate::app::App;
use crate::body::SmallBody;
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::path::At;
use crate::role::Role;
use crate::route::Routes;
use abide_organize::contract::{OrganizeRequest, OrganizerKind, ProcessRequest, StrategizeRequest};
use abide_organize::limits::REQUEST_BYTES;
use abide_organize::{FaultOf, Service, ServiceError};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// The name by which clients know the service.
const NAME: &str = "arke-organizer-service";

/// Its routes.
pub(crate) fn routes() -> Routes {
    use Role::{Anyone, Operate, Read};
    Routes::new()
        .get("/organizer/health", Anyone, "whether the service is there, and who decides", health)
        .post("/organizer/process", Operate, "group directories, and call back", process)
        .get("/organizer/status/{batch}/{chunk}", Read, "how far a request is", status)
        .post("/organizer/organize", Operate, "group files, now; nothing is kept", organize)
        .post("/organizer/strategize", Operate, "say how a large directory is best grouped, now", strategize)
}

/// A failed request in the shape that clients of these routes know.
#[derive(Serialize)]
struct Failed {
    error: &'static str,
    message: String,
    timestamp: String,
}

fn failed(app: &App, status: StatusCode, error: &'static str, message: String) -> Response {
    let timestamp = abide_preprocess::iso(app.engine().now());
    (status, Json(Failed { error, message, timestamp })).into_response()
}

/// The answer to a request that was read or not, and done or not.
async fn answer<T, R, Done>(app: &App, body: Body<T>, done: impl FnOnce(T) -> Done) -> Response
where
    R: Serialize,
    Done: Future<Output = Result<R, ServiceError>>,
{
    let error = match body {
        Ok(SmallBody(request)) => match done(request).await {
            Ok(reply) => return Json(reply).into_response(),
            Err(error) => error,
        },
        Err(error) => {
            return failed(app, error.status(), error.code().as_str(), error.message().to_owned());
        }
    };
    let (status, code) = match error.fault() {
        FaultOf::Caller => (StatusCode::BAD_REQUEST, ErrorCode::BadRequest.as_str()),
        FaultOf::Model => (StatusCode::BAD_GATEWAY, "model_failed"),
        FaultOf::ModelForNow => (StatusCode::SERVICE_UNAVAILABLE, "model_unavailable"),
        FaultOf::OursForNow => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        FaultOf::Ours => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
    };
    failed(app, status, code, error.to_string())
}

type Body<T> = Result<SmallBody<T, REQUEST_BYTES>, ApiError>;

/// The service: its routes are there only with it.
fn service(app: &App) -> &Service {
    app.services().organizer.as_ref().expect("the routes are there only with the service")
}

#[derive(Serialize)]
struct Health<P> {
    status: &'static str,
    service: &'static str,
    organizer: OrganizerKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// What its tokens cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<P>,
    /// Questions to it at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    concurrency: Option<usize>,
}

async fn health(State(app): State<App>) -> impl IntoResponse {
    let service = service(&app);
    let asked = service.options().model.as_ref();
    let model = asked.map(|model| model.name().to_owned());
    let (price, concurrency) =
        (asked.map(|model| model.price()), asked.map(|_| service.options().concurrency));
    Json(Health { status: "ok", service: NAME, organizer: service.kind(), model, price, concurrency })
}

async fn process(State(app): State<App>, body: Body<ProcessRequest>) -> Response {
    answer(&app, body, |request| service(&app).process(request)).await
}

async fn status(State(app): State<App>, at: Result<At<(String, String)>, ApiError>) -> Response {
    let status = async |(batch, chunk): (String, String)| service(&app).status(&batch, &chunk).await;
    answer(&app, at.map(|At(at)| SmallBody(at)), status).await
}

async fn organize(State(app): State<App>, body: Body<OrganizeRequest>) -> Response {
    answer(&app, body, |request| service(&app).organize(request)).await
}

async fn strategize(State(app): State<App>, body: Body<StrategizeRequest>) -> Response {
    answer(&app, body, |request| service(&app).strategize(request)).await
}
