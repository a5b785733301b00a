//! `/links/keys`: API keys of organizations, for those who run the server.

use crate::app::App;
use crate::body::JsonBody;
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::page;
use crate::params::Params;
use crate::path::At;
use crate::role::Role;
use crate::route::Routes;
use abide_core::name::{Kind, Name};
use abide_core::object::ObjectKey;
use abide_core::time::Time;
use abide_links::auth::keys::{self, ApiKey, Bound, Call, Reply};
use abide_store::{Answer as Found, Read};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};

/// Its routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .get("/links/keys", Role::Admin, "API keys without their secrets", list)
        .post("/links/keys", Role::Admin, "make an API key, shown once", create)
        .delete("/links/keys/{id}", Role::Admin, "make an API key worthless", revoke)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewKey {
    org: Name,
    #[serde(default = "api")]
    source: String,
}

fn api() -> String {
    "api".to_owned()
}

#[derive(Serialize)]
struct MadeDocument {
    key: String,
    #[serde(flatten)]
    about: KeyDocument,
}

#[derive(Serialize)]
struct KeyDocument {
    id: String,
    org: String,
    source: String,
    created_at: Time,
}

impl KeyDocument {
    fn new(id: &str, bound: Bound) -> KeyDocument {
        let Bound { org, source, created_at } = bound;
        KeyDocument { id: id.to_owned(), org, source, created_at }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PageParams {
    after: Option<String>,
    limit: Option<usize>,
}

#[derive(Serialize)]
struct KeyPage {
    keys: Vec<KeyDocument>,
    next: Option<String>,
}

#[derive(Serialize)]
struct Revoked {
    id: String,
}

async fn create(
    State(app): State<App>,
    JsonBody(NewKey { org, source }): JsonBody<NewKey>,
) -> Result<Json<MadeDocument>, ApiError> {
    let key = ApiKey::draw().map_err(|error| ApiError::new(ErrorCode::TurnFailed, error.to_string()))?;
    let make = Call::Make { digest: key.digest(), org: org.as_str().to_owned(), source };
    ask(&app, key.id(), &make).await?;
    let about = KeyDocument::new(key.id(), bound(&app, key.id()).await?);
    Ok(Json(MadeDocument { key: key.reveal(), about }))
}

async fn list(
    State(app): State<App>,
    Params(PageParams { after, limit }): Params<PageParams>,
) -> Result<Json<KeyPage>, ApiError> {
    let limit = page::items(limit)?;
    let after = after.map(|id| ObjectKey::new(keys::KIND, id)).transpose()?;
    let read = Read::Objects { kind: Some(Kind::new(keys::KIND)?), after, limit };
    let Found::Objects(objects) = app.read(read).await? else {
        unreachable!("the store answers about objects in kind")
    };
    let next = page::next(&objects, limit, |last| last.object.name.as_str().to_owned());
    let mut keys = Vec::new();
    for object in objects {
        let id = object.object.name.as_str();
        keys.push(KeyDocument::new(id, bound(&app, id).await?));
    }
    Ok(Json(KeyPage { keys, next }))
}

async fn revoke(State(app): State<App>, At(id): At<String>) -> Result<Json<Revoked>, ApiError> {
    ask(&app, &id, &Call::Revoke).await?;
    Ok(Json(Revoked { id }))
}

async fn bound(app: &App, id: &str) -> Result<Bound, ApiError> {
    match ask(app, id, &Call::Show).await? {
        Reply::Bound(bound) => Ok(bound),
        Reply::Made | Reply::Revoked => Err(ApiError::new(
            ErrorCode::TurnFailed,
            "the key answered with something else than was asked for",
        )),
    }
}

async fn ask(app: &App, id: &str, call: &Call) -> Result<Reply, ApiError> {
    let reply = app.ask(ObjectKey::new(keys::KIND, id)?, call).await?;
    reply.decode().map_err(|error| ApiError::new(ErrorCode::TurnFailed, error.to_string()))
}
