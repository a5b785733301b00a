//! `/sync`: what sync clients speak, and a store's log for other programs.
//!
//! Who may use them is proved by the client's payload or its `Authorization` header, not by a token of the server.

use crate::app::App;
use crate::body::{JsonBody, TextBody};
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::params::Params;
use crate::path::At;
use crate::role::Role;
use crate::route::Routes;
use crate::services::SyncService;
use crate::sync::{self, Feed, Member, NoUpgrade, Party, Pass, Source, Upgrade};
use abide_core::json::Json as JsonText;
use abide_core::name::Name;
use abide_links::auth::{Access, Credential, Denied};
use abide_links::event::{self, Append};
use abide_links::sync::answer::Failure;
use abide_links::sync::frame::{self, Frame};
use abide_links::sync::limits::FRAME_BYTES;
use abide_links::sync::{Call, KEY_REUSED};
use axum::Json;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The header by which an `EventSource` says what it has seen.
const LAST_EVENT_ID: &str = "last-event-id";

/// Its routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .get("/sync", Role::Anyone, "the socket of a sync client", socket)
        .post("/sync", Role::Anyone, "a request of a sync client over HTTP", request)
        .options("/sync", Role::Anyone, "what pages of other sites may send", preflight)
        .get("/sync/{store}", Role::Anyone, "a store's log: id, head, live readers and their lag", show)
        .get("/sync/{store}/events", Role::Anyone, "a store's events as lines of JSON", events)
        .get("/sync/{store}/tail", Role::Anyone, "a store's events as they come", tail)
        .post("/sync/{store}/events", Role::Anyone, "append events, numbered by the server", append)
}

/// What the address of a sync request says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Address {
    store_id: Option<String>,
    transport: Option<String>,
    payload: Option<String>,
}

/// A sync request whose sender was let in.
struct Admitted {
    store_id: String,
    credential: Credential,
    access: Access,
}

/// A sync request that is refused, in the words of the protocol: a status and a text.
struct Refused(StatusCode, String);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        with_cors((self.0, self.1).into_response())
    }
}

fn service(app: &App) -> &SyncService {
    app.services().sync.as_ref().expect("these routes are there only with their service")
}

/// A sync request that goes no further.
enum NotAdmitted {
    Refused(Response),
    /// It cannot be found out now whether its sender may.
    Unavailable(String),
}

/// Lets in who may, to the store that the address names.
async fn admit(app: &App, uri: &Uri, transport: &str) -> Result<Admitted, NotAdmitted> {
    let bad = |error: &dyn std::fmt::Display| {
        NotAdmitted::Refused(Refused(StatusCode::BAD_REQUEST, error.to_string()).into_response())
    };
    let Query(address) = Query::<Address>::try_from_uri(uri).map_err(|error| bad(&error))?;
    let (Some(store_id), Some(asked)) = (address.store_id, address.transport) else {
        return Err(bad(&"Invalid path: a sync request has storeId and transport"));
    };
    if asked != transport {
        let text = format!("transport={asked} is not asked for this way: ws by GET, http by POST");
        return Err(bad(&text));
    }
    Name::new(&store_id).map_err(|error| bad(&error))?;
    let credential = credential(address.payload.as_deref()).map_err(|text| bad(&text))?;
    let access = match service(app).authority.admit(app.engine(), &store_id, &credential).await {
        Ok(access) => access,
        Err(error @ Denied::Unavailable(_)) => return Err(NotAdmitted::Unavailable(error.to_string())),
        Err(error) => return Err(bad(&error)),
    };
    Ok(Admitted { store_id, credential, access })
}

/// The payload is JSON that was percent-encoded twice, once by the client and once as a part of the address.
fn credential(payload: Option<&str>) -> Result<Credential, String> {
    let Some(payload) = payload else { return Ok(Credential::None) };
    let text = percent_decode_str(payload)
        .decode_utf8()
        .map_err(|error| format!("the payload is not UTF-8: {error}"))?;
    let value: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| format!("the payload is not JSON: {error}"))?;
    Ok(Credential::of_payload(Some(&value)))
}

/// `GET /sync`: a socket. Without the parameters of a sync request it says what it is.
async fn socket(State(app): State<App>, uri: Uri, upgrade: Result<Upgrade, NoUpgrade>) -> Response {
    if uri.query().is_none() {
        return "This is the sync endpoint: see docs/sync-protocol.md.\n".into_response();
    }
    let Admitted { store_id, credential, access } = match admit(&app, &uri, "ws").await {
        Ok(admitted) => admitted,
        Err(NotAdmitted::Refused(response)) => return response,
        Err(NotAdmitted::Unavailable(text)) => {
            return Refused(StatusCode::SERVICE_UNAVAILABLE, text).into_response();
        }
    };
    let Ok(upgrade) = upgrade else {
        let text = "transport=ws needs Upgrade: websocket".to_owned();
        return Refused(StatusCode::UPGRADE_REQUIRED, text).into_response();
    };
    let Some(place) = app.sockets().place() else { return no_place().into_response() };
    let feed = match app.feeds().open(&app, &store_id).await {
        Ok(feed) => feed,
        Err(error) => return error.into_response(),
    };
    let SyncService { authority, recheck, silence, .. } = service(&app).clone();
    let party = Party { store_id, credential, access, authority, recheck, silence, feed };
    upgrade.answer(move |wire| sync::serve(app, wire, party, place))
}

fn no_place() -> ApiError {
    ApiError::new(ErrorCode::Overloaded, "no more sockets and tails are taken now: try again")
}

/// What a sync client sends over HTTP: as much as over a socket.
type Request = Result<TextBody<FRAME_BYTES>, ApiError>;

/// `POST /sync`: one request, answered with an array.
async fn request(State(app): State<App>, uri: Uri, body: Request) -> Response {
    let admitted = match admit(&app, &uri, "http").await {
        Ok(admitted) => Ok(admitted),
        Err(NotAdmitted::Refused(response)) => return response,
        Err(NotAdmitted::Unavailable(text)) => Err(Failure::Unknown(text)),
    };
    let bad = |text: String| Refused(StatusCode::BAD_REQUEST, text).into_response();
    let body = match body {
        Ok(TextBody(body)) => body,
        Err(error) => return with_cors(error.into_response()),
    };
    let mut frames = match frame::read(&body) {
        Ok(frames) => frames,
        Err(error) => return bad(error.to_string()),
    };
    let (Some(Frame::Request { id, ask }), None) = (frames.pop(), frames.pop()) else {
        return bad("the body is not one Request".to_owned());
    };
    let body = match (admitted, ask) {
        (Ok(Admitted { store_id, credential, access }), Ok(ask)) => {
            let pass = Pass::of_member(&store_id, credential, &access);
            sync::answer(&app, &store_id, pass, id, ask).await
        }
        (Err(failure), _) => sync::refused(&id, &failure),
        (Ok(_), Err(error)) => sync::refused(&id, &Failure::Unknown(error.to_string())),
    };
    with_cors(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// `OPTIONS /sync`: pages of other sites may ask, if tokens are asked for; otherwise the guard lets them not come here.
async fn preflight(headers: HeaderMap) -> Response {
    let mut response = with_cors(StatusCode::NO_CONTENT.into_response());
    let asked = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let allowed = asked.unwrap_or(HeaderValue::from_static("*"));
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    response
}

/// In the open mode a foreign page was refused before it came this far.
fn with_cors(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, OPTIONS"));
    response
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StoreDocument {
    store_id: String,
    backend_id: String,
    head: i64,
    /// Pulls that are open.
    live_pulls: usize,
    /// How far the slowest of them is behind.
    lag: i64,
}

/// `GET /sync/{store}`.
async fn show(
    State(app): State<App>,
    member: Member,
    At(store): At<Name>,
) -> Result<Json<StoreDocument>, ApiError> {
    member.enter(&app, &store).await?;
    let feed = existing(&app, &store).await?;
    let head = app.engine().log_head(feed.object().clone()).await?.0;
    let readers = feed.readers();
    let lag = readers.iter().map(|at| (head - at).max(0)).max().unwrap_or(0);
    let backend_id = feed.backend_id().to_owned();
    let store_id = store.as_str().to_owned();
    Ok(Json(StoreDocument { store_id, backend_id, head, live_pulls: readers.len(), lag }))
}

/// The log of a store that there is: reading makes none.
async fn existing(app: &App, store: &Name) -> Result<Arc<Feed>, ApiError> {
    let feed = app.feeds().existing(app, store.as_str()).await?;
    feed.ok_or_else(|| {
        let message =
            format!("there is no store {:?} yet: it begins with the first who writes to it", store.as_str());
        ApiError::new(ErrorCode::UnknownObject, message)
    })
}

/// From where on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct After {
    after: Option<i64>,
}

/// `GET /sync/{store}/events`.
async fn events(
    State(app): State<App>,
    member: Member,
    At(store): At<Name>,
    Params(After { after }): Params<After>,
) -> Result<Response, ApiError> {
    let pass = member.stay(&app, &store).await?;
    let feed = existing(&app, &store).await?;
    let after = after.unwrap_or(0);
    in_the_log(after, app.engine().log_head(feed.object().clone()).await?.0)?;
    let body = sync::export(app, feed, pass, after);
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response())
}

/// `GET /sync/{store}/tail`.
async fn tail(
    State(app): State<App>,
    member: Member,
    At(store): At<Name>,
    Params(After { after }): Params<After>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let pass = member.stay(&app, &store).await?;
    let place = app.sockets().place().ok_or_else(no_place)?;
    let (source, head) = Source::of(&app, &store).await?;
    let after = last_event_id(&headers)?.or(after).unwrap_or(head);
    in_the_log(after, head)?;
    let places = [place, app.wait_place()?];
    let body = sync::tail(app, store, source, pass, places, after);
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, body).into_response())
}

/// What an `EventSource` that comes back has seen.
fn last_event_id(headers: &HeaderMap) -> Result<Option<i64>, ApiError> {
    let Some(given) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let number = given.to_str().ok().and_then(|text| text.parse::<i64>().ok());
    let bad = || ApiError::bad(format!("{LAST_EVENT_ID} is {given:?}: give the number of an event"));
    number.map(Some).ok_or_else(bad)
}

/// Whoever has events that the log has not would miss those that come under their numbers.
fn in_the_log(after: i64, head: i64) -> Result<(), ApiError> {
    if (0..=head).contains(&after) {
        return Ok(());
    }
    Err(ApiError::bad(format!(
        "event {after} is not in the log, which ends at {head}: read it from its beginning (after=0)"
    )))
}

/// `POST /sync/{store}/events`.
async fn append(
    State(app): State<App>,
    member: Member,
    At(store): At<Name>,
    JsonBody(append): JsonBody<Append>,
) -> Result<Json<JsonText>, ApiError> {
    member.enter(&app, &store).await?;
    let appended = app.ask(event::sync(store.as_str())?, &Call::Append(append)).await;
    appended.map(Json).map_err(|error| match error.refusal() {
        Some(KEY_REUSED) => ApiError::new(ErrorCode::KeyReused, error.message()),
        Some(_) | None => error,
    })
}
