//! `/metrics`: everything that is counted, for Prometheus.

use crate::app::App;
use crate::error::ApiError;
use crate::metrics;
use crate::role::Role;
use crate::route::Routes;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

/// Its routes.
pub(crate) fn routes() -> Routes {
    Routes::new().get("/metrics", Role::Read, "everything that is counted, as Prometheus reads it", show)
}

async fn show(State(app): State<App>) -> Result<impl IntoResponse, ApiError> {
    let text = metrics::render(&metrics::all(&app).await?);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text))
}
