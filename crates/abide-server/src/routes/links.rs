//! `/links/api`: the links of a store. Requests name the store by `x-livestore-store-id`; it is `local` if they do not.
//!
//! Who may use them is proved by the `Authorization` header as for `/sync`. What changes something is answered when it is in
//! the store's log.

use crate::app::App;
use crate::body::JsonBody;
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::params::Params;
use crate::path::At;
use crate::role::Role;
use crate::route::Routes;
use crate::sync::Member;
use abide_core::commit::Reply as CallReply;
use abide_core::json::Json as JsonText;
use abide_core::name::Name;
use abide_core::object::ObjectKey;
use abide_core::ticket::Resolution;
use abide_engine::Call as EngineCall;
use abide_links::event;
use abide_links::processor::{Added, Call, LinkView, Listed, Query, Reply};
use abide_store::view::TicketView;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a request waits for what it wrote to be in the log.
const WAIT: Duration = Duration::from_secs(10);

/// Its routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .get("/links/api/links", Role::Anyone, "links by state, or those that fit `q`", list)
        .post("/links/api/links", Role::Anyone, "save a link", save)
        .get("/links/api/links/{id}", Role::Anyone, "a link", show)
        .post("/links/api/links/{id}/reprocess", Role::Anyone, "process a link again", reprocess)
        .post("/links/api/links/{id}/cancel", Role::Anyone, "stop processing a link", cancel)
        .post("/links/api/ingest", Role::Anyone, "save a link from another program", ingest)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Save {
    url: String,
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ingest {
    url: String,
}

#[derive(Serialize)]
struct Ingested {
    status: &'static str,
    result: &'static str,
    id: String,
}

async fn list(
    State(app): State<App>,
    member: Member,
    headers: HeaderMap,
    Params(query): Params<Query>,
) -> Result<Json<Listed>, ApiError> {
    match ask(&app, &headers, &member, &Call::List(query)).await? {
        Reply::Listed(listed) => Ok(Json(listed)),
        Reply::Added(_) | Reply::Links(_) => Err(odd()),
    }
}

async fn save(
    State(app): State<App>,
    member: Member,
    headers: HeaderMap,
    JsonBody(Save { url, tags }): JsonBody<Save>,
) -> Result<Json<Added>, ApiError> {
    add(&app, &headers, &member, url, tags).await.map(Json)
}

async fn ingest(
    State(app): State<App>,
    member: Member,
    headers: HeaderMap,
    JsonBody(Ingest { url }): JsonBody<Ingest>,
) -> Result<Json<Ingested>, ApiError> {
    let Added { created, link } = add(&app, &headers, &member, url, Vec::new()).await?;
    let result = if created { "ingested" } else { "duplicate" };
    Ok(Json(Ingested { status: "queued", result, id: link.id }))
}

async fn show(
    State(app): State<App>,
    member: Member,
    headers: HeaderMap,
    At(id): At<String>,
) -> Result<Json<LinkView>, ApiError> {
    one(ask(&app, &headers, &member, &Call::Get { id }).await?).map(Json)
}

async fn reprocess(
    State(app): State<App>,
    member: Member,
    headers: HeaderMap,
    At(id): At<String>,
) -> Result<Json<LinkView>, ApiError> {
    one(ask(&app, &headers, &member, &Call::Reprocess { id }).await?).map(Json)
}

async fn cancel(
    State(app): State<App>,
    member: Member,
    headers: HeaderMap,
    At(id): At<String>,
) -> Result<Json<LinkView>, ApiError> {
    one(ask(&app, &headers, &member, &Call::Cancel { id }).await?).map(Json)
}

async fn add(
    app: &App,
    headers: &HeaderMap,
    member: &Member,
    url: String,
    tags: Vec<String>,
) -> Result<Added, ApiError> {
    let call = Call::Add { urls: vec![url], tags, source: "api".to_owned() };
    match ask(app, headers, member, &call).await? {
        Reply::Added(added) => added.into_iter().next().ok_or_else(odd),
        Reply::Links(_) | Reply::Listed(_) => Err(odd()),
    }
}

fn one(reply: Reply) -> Result<LinkView, ApiError> {
    match reply {
        Reply::Links(links) => links.into_iter().next().ok_or_else(odd),
        Reply::Added(added) => added.into_iter().next().map(|added| added.link).ok_or_else(odd),
        Reply::Listed(_) => Err(odd()),
    }
}

/// Asks the links of the request's store, and waits for what is answered later.
async fn ask(app: &App, headers: &HeaderMap, member: &Member, call: &Call) -> Result<Reply, ApiError> {
    let object = store(app, headers, member).await?;
    let body = JsonText::encode(call).map_err(|error| ApiError::bad(error.0))?;
    let reply = match app.engine().call(EngineCall { object, body, key: None }).await? {
        CallReply::Now(reply) => reply,
        CallReply::Later(ticket) => match app.engine().ticket(&ticket, WAIT).await? {
            Some(TicketView::Resolved(Resolution::Reply(reply))) => reply,
            Some(TicketView::Resolved(Resolution::Refused { .. } | Resolution::Gone) | TicketView::Open)
            | None => {
                let message = "it is saved and not in the log yet: read it again in a moment";
                return Err(ApiError::new(ErrorCode::OutcomeUnknown, message));
            }
        },
    };
    reply.decode().map_err(|_| odd())
}

/// The links of the store that the request names, if who asks may see it.
async fn store(app: &App, headers: &HeaderMap, member: &Member) -> Result<ObjectKey, ApiError> {
    let named = headers.get("x-livestore-store-id").and_then(|value| value.to_str().ok());
    let store = Name::new(named.unwrap_or("local"))?;
    member.enter(app, &store).await?;
    Ok(event::links(store.as_str())?)
}

fn odd() -> ApiError {
    ApiError::new(ErrorCode::TurnFailed, "the links answered with something else than was asked for")
}
