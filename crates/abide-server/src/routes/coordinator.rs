//! `/coordinator/{name}` and `/processor/{name}`: work items, processed by queue or directly.

use crate::app::App;
use crate::error::ApiError;
use crate::path::At;
use crate::route::{Role, Routes};
use abide_coordinator::{Call, calls};
use abide_core::json::Json as JsonText;
use axum::Json;
use axum::extract::State;

/// Its routes.
pub(crate) fn routes() -> Routes {
    Routes::new().get("/coordinator/{name}", Role::Read, "whether a coordinator is there", status)
}

async fn status(State(app): State<App>, At(name): At<String>) -> Result<Json<JsonText>, ApiError> {
    ask(&app, &name, &Call::Status).await
}

/// Asks the coordinator `name`; its reply is the answer.
async fn ask(app: &App, name: &str, call: &Call) -> Result<Json<JsonText>, ApiError> {
    let object = calls::coordinator(name)?;
    app.ask(object, call).await.map(Json)
}
