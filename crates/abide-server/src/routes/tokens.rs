//! `/v1/tokens`: who may do what from outside.

use crate::app::App;
use crate::body::JsonBody;
use crate::error::ApiError;
use crate::path::At;
use crate::role::Grant;
use crate::tokens::{NewToken, TokenInfo, create_in_book, list as list_all, revoke_in_book};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateRequest {
    role: Grant,
    #[serde(default)]
    label: String,
}

#[derive(Serialize)]
pub(crate) struct TokenList {
    tokens: Vec<TokenInfo>,
}

#[derive(Serialize)]
pub(crate) struct RevokedDocument {
    id: String,
    became: &'static str,
}

/// Makes a token; its secret is in this answer and nowhere else.
pub(crate) async fn create(
    State(app): State<App>,
    JsonBody(request): JsonBody<CreateRequest>,
) -> Result<(StatusCode, Json<NewToken>), ApiError> {
    let (made, book) = create_in_book(app.engine(), request.role, &request.label).await?;
    app.access().learn(book);
    Ok((StatusCode::CREATED, Json(made)))
}

/// Every token without its secret, oldest first.
pub(crate) async fn list(State(app): State<App>) -> Result<Json<TokenList>, ApiError> {
    Ok(Json(TokenList { tokens: list_all(app.engine()).await? }))
}

/// Makes a token void, at once.
pub(crate) async fn revoke(
    State(app): State<App>,
    At(id): At<String>,
) -> Result<Json<RevokedDocument>, ApiError> {
    app.access().learn(revoke_in_book(app.engine(), &id).await?);
    Ok(Json(RevokedDocument { id, became: "revoked" }))
}
