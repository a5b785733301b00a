//! `/openapi.json`: what this server can be asked, for programs.

use crate::app::App;
use crate::openapi::document;
use crate::role::Role;
use crate::route::Routes;
use crate::router::routes as every_route;
use axum::Json;
use axum::extract::State;
use serde_json::Value;

/// Its routes.
pub(crate) fn routes() -> Routes {
    Routes::new().get("/openapi.json", Role::Anyone, "every route with its schemas, as OpenAPI 3.1", show)
}

async fn show(State(app): State<App>) -> Json<Value> {
    Json(document(&every_route(app.services())))
}
