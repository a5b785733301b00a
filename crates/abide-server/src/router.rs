//! Every route.

use crate::app::App;
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::guard::guard;
use crate::routes::{attempts, dead, health, jobs, lease, limits, objects, queues, tickets};
use axum::Router;
use axum::extract::Request;
use axum::http::{Method, Uri};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::{get, post, put};
use tokio::time::Instant;

/// The routes around an engine.
pub(crate) fn router(app: App) -> Router {
    Router::new()
        .route("/health", get(health::health))
        .route("/ready", get(health::ready))
        .route("/v1/objects", get(objects::list))
        .route("/v1/objects/{kind}/{name}", get(objects::show))
        .route("/v1/objects/{kind}/{name}/call", post(objects::call))
        .route("/v1/objects/{kind}/{name}/rows", get(objects::rows))
        .route("/v1/objects/{kind}/{name}/log", get(objects::log))
        .route("/v1/tickets/{ticket}", get(tickets::show))
        .route("/v1/jobs", get(jobs::list).post(jobs::enqueue))
        .route("/v1/jobs/{job}", get(jobs::show))
        .route("/v1/jobs/{job}/why", get(jobs::why))
        .route("/v1/jobs/{job}/cancel", post(jobs::cancel))
        .route("/v1/jobs/{job}/retry", post(jobs::retry))
        .route("/v1/jobs/{job}/heartbeat", post(attempts::heartbeat))
        .route("/v1/jobs/{job}/progress", post(attempts::progress))
        .route("/v1/jobs/{job}/finish", post(attempts::finish))
        .route("/v1/lease", post(lease::lease))
        .route("/v1/queues", get(queues::list))
        .route("/v1/queues/{queue}", get(queues::show).put(queues::set))
        .route("/v1/queues/{queue}/pause", post(queues::pause))
        .route("/v1/queues/{queue}/resume", post(queues::resume))
        .route("/v1/limits", get(limits::list))
        .route("/v1/limits/{key}", put(limits::set).delete(limits::remove))
        .route("/v1/dead", get(dead::list))
        .route("/v1/dead/{id}", axum::routing::delete(dead::drop_one))
        .route("/v1/dead/{id}/replay", post(dead::replay))
        .method_not_allowed_fallback(wrong_method)
        .fallback(unknown_route)
        .layer(from_fn(guard))
        .layer(from_fn(note))
        .with_state(app)
}

async fn unknown_route(method: Method, uri: Uri) -> ApiError {
    let message = format!("there is no {method} {}: docs/http.md lists every route", uri.path());
    ApiError::new(ErrorCode::UnknownRoute, message)
}

async fn wrong_method(method: Method, uri: Uri) -> ApiError {
    let message = format!("{} does not take {method}: the Allow header says what it takes", uri.path());
    ApiError::new(ErrorCode::MethodNotAllowed, message)
}

/// Notes each request in the log.
async fn note(request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let began = Instant::now();
    let response = next.run(request).await;
    let (status, took_ms) = (response.status().as_u16(), began.elapsed().as_millis());
    tracing::debug!(target: "http", %method, path, status, took_ms, "request");
    response
}
