//! `/links/api`: the links of a store. Requests name it by `x-livestore-store-id`, or else it is that of who asks.
//!
//! Who may use them is proved by the `Authorization` header as for `/sync`. What changes something is answered when it is in
//! the store's log.

use crate::app::App;
use crate::body::SmallBody;
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
use abide_core::ticket::Resolution;
use abide_engine::{Call as EngineCall, RefusalClass};
use abide_links::event;
use abide_links::limits::PAGE_LINKS;
use abide_links::page::Metadata;
use abide_links::processor::preview::NoPreview;
use abide_links::processor::{
    Added, Call, Changes, Done, LARGE_ANSWER, LinkView, Listed, NOT_DONE, NewLink, Query, Reply,
};
use abide_store::view::TicketView;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, header};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a request waits for what it wrote to be in the log.
const WAIT: Duration = Duration::from_secs(10);
/// Bytes of a body.
const BODY_BYTES: usize = 65_536;
/// Who brings a link if nothing else is known.
const SOURCE: &str = "api";

type Body<T> = SmallBody<T, BODY_BYTES>;

/// Its routes.
pub(crate) fn routes() -> Routes {
    use Role::Anyone;
    Routes::new()
        .get("/links/api/links", Anyone, "links by state and time, or those that fit `q`", list)
        .post("/links/api/links", Anyone, "save a link", save)
        .post("/links/api/links/batch-update", Anyone, "change many links", batch_update)
        .get("/links/api/links/{id}", Anyone, "a link", show)
        .patch("/links/api/links/{id}", Anyone, "change a link", update)
        .post("/links/api/links/{id}/reprocess", Anyone, "process a link again", reprocess)
        .post("/links/api/links/{id}/cancel", Anyone, "stop processing a link", cancel)
        .post("/links/api/ingest", Anyone, "save a link from another program", ingest)
        .post("/links/api/import", Anyone, "save many links", import)
        .get("/links/api/metadata", Anyone, "what a link would show", metadata)
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
struct Import {
    urls: Vec<NewLink>,
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ingest {
    url: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchUpdate {
    ids: Option<Vec<String>>,
    #[serde(rename = "where")]
    listed: Option<Query>,
    changes: Changes,
    limit: Option<usize>,
}

#[derive(Serialize)]
struct Ingested {
    status: &'static str,
    result: &'static str,
    id: String,
}

#[derive(Serialize)]
struct Imported {
    links: Vec<Added>,
}

#[derive(Serialize)]
struct Updated {
    updated: usize,
    links: Vec<LinkView>,
}

async fn list(
    State(app): State<App>,
    member: Member,
    Params(query): Params<Query>,
) -> Result<Json<Listed>, ApiError> {
    match Store::of(&app, &member).await?.ask(&Call::List(query)).await? {
        Reply::Listed(listed) => Ok(Json(listed)),
        Reply::Added(_) | Reply::Done(_) | Reply::Links(_) => Err(odd()),
    }
}

async fn save(
    State(app): State<App>,
    member: Member,
    SmallBody(Save { url, tags }): Body<Save>,
) -> Result<Json<Added>, ApiError> {
    Store::of(&app, &member).await?.add_one(url, tags).await.map(Json)
}

async fn ingest(
    State(app): State<App>,
    member: Member,
    SmallBody(Ingest { url }): Body<Ingest>,
) -> Result<Json<Ingested>, ApiError> {
    let Added { created, link } = Store::of(&app, &member).await?.add_one(url, Vec::new()).await?;
    let result = if created { "ingested" } else { "duplicate" };
    Ok(Json(Ingested { status: "queued", result, id: link.id }))
}

async fn import(
    State(app): State<App>,
    member: Member,
    SmallBody(Import { urls, tags }): Body<Import>,
) -> Result<Json<Imported>, ApiError> {
    let links = Store::of(&app, &member).await?.add(urls, tags).await?;
    Ok(Json(Imported { links }))
}

async fn show(
    State(app): State<App>,
    member: Member,
    At(id): At<String>,
) -> Result<Json<LinkView>, ApiError> {
    Store::of(&app, &member).await?.about_one(&Call::Get { id }).await.map(Json)
}

async fn update(
    State(app): State<App>,
    member: Member,
    At(id): At<String>,
    SmallBody(changes): Body<Changes>,
) -> Result<Json<LinkView>, ApiError> {
    Store::of(&app, &member).await?.about_one(&Call::Update { ids: vec![id], changes }).await.map(Json)
}

async fn batch_update(
    State(app): State<App>,
    member: Member,
    SmallBody(BatchUpdate { ids, listed, changes, limit }): Body<BatchUpdate>,
) -> Result<Json<Updated>, ApiError> {
    let limit = limit.unwrap_or(PAGE_LINKS);
    let call = match (ids, listed) {
        (Some(ids), None) if ids.len() > limit => {
            return Err(ApiError::bad(format!("{} ids are given, and the limit is {limit}", ids.len())));
        }
        (Some(ids), None) => Call::Update { ids, changes },
        (None, Some(query)) => {
            let limit = Some(query.limit.map_or(limit, |listed| listed.min(limit)));
            Call::UpdateListed { query: Query { limit, ..query }, changes }
        }
        (Some(_), Some(_)) | (None, None) => return Err(ApiError::bad("give either ids or where")),
    };
    let links = links(Store::of(&app, &member).await?.ask(&call).await?)?;
    Ok(Json(Updated { updated: links.len(), links }))
}

async fn reprocess(
    State(app): State<App>,
    member: Member,
    At(id): At<String>,
) -> Result<Json<LinkView>, ApiError> {
    Store::of(&app, &member).await?.about_one(&Call::Reprocess { id }).await.map(Json)
}

async fn cancel(
    State(app): State<App>,
    member: Member,
    At(id): At<String>,
) -> Result<Json<LinkView>, ApiError> {
    Store::of(&app, &member).await?.about_one(&Call::Cancel { id }).await.map(Json)
}

async fn metadata(
    State(app): State<App>,
    member: Member,
    Params(Ingest { url }): Params<Ingest>,
) -> Result<([(HeaderName, &'static str); 1], Json<Metadata>), ApiError> {
    let (_, access) = member.enter_named(&app).await?;
    let links = app.services().links.as_ref().expect("these routes are there only with their service");
    let found = links.preview.of(&access.user, &url, app.engine().now()).await.map_err(|error| {
        let code = match &error {
            NoPreview::BadTarget(_) => ErrorCode::BadRequest,
            NoPreview::NoPage(_) => ErrorCode::UpstreamFailed,
            NoPreview::Timeout(_) => ErrorCode::UpstreamTimeout,
            NoPreview::TooMany { wait_ms } => {
                return ApiError::new(ErrorCode::Overloaded, error.to_string()).after_ms(*wait_ms);
            }
            NoPreview::Busy => ErrorCode::Overloaded,
        };
        ApiError::new(code, error.to_string())
    })?;
    Ok(([(header::CACHE_CONTROL, "private, no-store")], Json(found)))
}

/// The links of a store, for somebody who was let in.
struct Store<'a> {
    app: &'a App,
    name: Name,
    /// Where what they bring comes from.
    source: String,
}

impl Store<'_> {
    async fn of<'a>(app: &'a App, member: &Member) -> Result<Store<'a>, ApiError> {
        let (name, access) = member.enter_named(app).await?;
        Ok(Store { app, name, source: access.source.unwrap_or_else(|| SOURCE.to_owned()) })
    }

    async fn add_one(&self, url: String, tags: Vec<String>) -> Result<Added, ApiError> {
        self.add(vec![NewLink::of(url)], tags).await?.into_iter().next().ok_or_else(odd)
    }

    async fn add(&self, links: Vec<NewLink>, tags: Vec<String>) -> Result<Vec<Added>, ApiError> {
        match self.ask(&Call::Add { links, tags, source: self.source.clone() }).await? {
            Reply::Added(added) => Ok(added),
            Reply::Done(_) | Reply::Links(_) | Reply::Listed(_) => Err(odd()),
        }
    }

    async fn about_one(&self, call: &Call) -> Result<LinkView, ApiError> {
        links(self.ask(call).await?)?.into_iter().next().ok_or_else(odd)
    }

    /// Asks. Links that were too much for an answer that came later are asked for by themselves.
    async fn ask(&self, call: &Call) -> Result<Reply, ApiError> {
        let done = match self.answer(call).await? {
            Reply::Done(done) => done,
            reply => return Ok(reply),
        };
        let ids = done.iter().map(|done| done.id.clone()).collect();
        let views = links(self.answer(&Call::Named { ids }).await?)?;
        let added = done.into_iter().zip(views).map(|(Done { created, .. }, link)| Added { created, link });
        Ok(Reply::Added(added.collect()))
    }

    /// Asks, and waits for what is answered later.
    async fn answer(&self, call: &Call) -> Result<Reply, ApiError> {
        let object = event::links(self.name.as_str())?;
        let body = JsonText::encode(call).map_err(|error| ApiError::bad(error.0))?;
        let engine = self.app.engine();
        let reply = match engine.call(EngineCall { object, body, key: None }).await? {
            CallReply::Now(reply) => reply,
            CallReply::Later(ticket) => match engine.ticket(&ticket, WAIT).await? {
                Some(TicketView::Resolved(Resolution::Reply(reply))) => reply,
                Some(TicketView::Resolved(Resolution::Refused { code, message })) => {
                    return Err(refused(code, message));
                }
                Some(TicketView::Open) => {
                    let message = "it is taken, but the links of this store are behind their log: look in a while whether it \
                                   was done, and do not send it twice";
                    return Err(ApiError::new(ErrorCode::OutcomeUnknown, message));
                }
                Some(TicketView::Resolved(Resolution::Gone)) | None => {
                    let message =
                        "the links of this store were begun anew meanwhile: look whether it was done";
                    return Err(ApiError::new(ErrorCode::OutcomeUnknown, message));
                }
            },
        };
        reply.decode().map_err(|_| odd())
    }
}

/// What was refused after it had waited: as if it had been refused at once, unless it is done and only not answered.
fn refused(code: String, message: String) -> ApiError {
    let class = match code.as_str() {
        LARGE_ANSWER => return ApiError::new(ErrorCode::OutcomeUnknown, message),
        "unknown_link" => RefusalClass::NotFound,
        NOT_DONE => RefusalClass::Conflict,
        _ => RefusalClass::Invalid,
    };
    ApiError::refused(ErrorCode::Refused(class), code, message)
}

fn links(reply: Reply) -> Result<Vec<LinkView>, ApiError> {
    match reply {
        Reply::Links(links) => Ok(links),
        Reply::Added(added) => Ok(added.into_iter().map(|added| added.link).collect()),
        Reply::Done(_) | Reply::Listed(_) => Err(odd()),
    }
}

fn odd() -> ApiError {
    ApiError::new(ErrorCode::TurnFailed, "the links answered with something else than was asked for")
}
