//! `/v1/backup`: a copy of the store, made while it is in use.

use crate::app::App;
use crate::backup::NoBackup;
use crate::body::JsonBody;
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::role::Role;
use crate::route::Routes;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Its route.
pub(crate) fn routes() -> Routes {
    Routes::new().post("/v1/backup", Role::Admin, "copy the store to a file of the server's machine", make)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BackupRequest {
    path: PathBuf,
}

#[derive(Serialize)]
struct BackupDocument {
    path: PathBuf,
    bytes: u64,
}

async fn make(
    State(app): State<App>,
    JsonBody(BackupRequest { path }): JsonBody<BackupRequest>,
) -> Result<Json<BackupDocument>, ApiError> {
    if !path.is_absolute() {
        return Err(ApiError::bad(format!(
            "path is {path:?}: give an absolute path of the server's machine"
        )));
    }
    let service = app.services().backup.clone().expect("there is no route without its service");
    let target = path.clone();
    let made = tokio::task::spawn_blocking(move || service.make(&target)).await;
    let made =
        made.unwrap_or_else(|error| Err(NoBackup::Store(format!("making the backup panicked: {error}"))));
    let bytes = made.map_err(|problem| match problem {
        NoBackup::File(message) => ApiError::bad(message),
        NoBackup::Store(message) => ApiError::new(ErrorCode::StoreUnavailable, message),
    })?;
    Ok(Json(BackupDocument { path, bytes }))
}
