//! `/v1/objects`: calls, and what objects hold.

use crate::access::Caller;
use crate::app::App;
use crate::body::{AnyBody, json_text};
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::hidden::{may_look_into, shown};
use crate::page;
use crate::params::{self, Params};
use crate::path::At;
use crate::routes::tickets;
use crate::wait::Wait;
use abide_core::commit::Reply;
use abide_core::json::Json as JsonText;
use abide_core::limits::{PAGE_BYTES, SCAN_ROWS};
use abide_core::log::{LogEntry, Seq};
use abide_core::name::{AlarmName, IdempotencyKey, Kind, Name};
use abide_core::object::{Incarnation, ObjectKey, Version};
use abide_core::row::{Row, successor};
use abide_core::time::Time;
use abide_engine::Call;
use abide_engine::object::Exposure;
use abide_store::read::{Got, Load, Want};
use abide_store::view::ObjectView;
use abide_store::{Answer, Read};
use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeSet;

const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Objects that changed lately which are looked at one by one.
const CHANGED: usize = 100;

/// Rows that are read at a time for a page: its bytes are counted as it grows.
const ROWS_AT_A_TIME: usize = 32;

/// Calls an object of a kind that is exposed.
pub(crate) async fn call(
    State(app): State<App>,
    At(object): At<ObjectKey>,
    Params(wait): Params<Wait>,
    Key(key): Key,
    AnyBody(body): AnyBody,
) -> Result<Response, ApiError> {
    match app.engine().exposure(&object.kind) {
        Some(Exposure::Outside) => {}
        Some(Exposure::Inside) | None => {
            let message = format!("no object of the kind {} can be called from outside", object.kind);
            return Err(ApiError::new(ErrorCode::UnknownKind, message));
        }
    }
    let wait = wait.duration()?;
    match app.engine().call(Call { object, body, key }).await? {
        Reply::Now(reply) => Ok(json_text(&reply)),
        Reply::Later(ticket) => tickets::answer(&app, &ticket, wait).await,
    }
}

/// The idempotency key of a call or claim, if it has one.
pub(crate) struct Key(pub(crate) Option<IdempotencyKey>);

impl FromRequestParts<App> for Key {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Key, ApiError> {
        idempotency_key(&parts.headers).map(Key)
    }
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, ApiError> {
    let mut given = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(first) = given.next() else { return Ok(None) };
    if given.next().is_some() {
        return Err(ApiError::bad("there is more than one Idempotency-Key: send one"));
    }
    let text = first.to_str().map_err(|_| ApiError::bad("the Idempotency-Key is not plain ASCII text"))?;
    Ok(Some(IdempotencyKey::new(text)?))
}

/// Which objects to list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListParams {
    kind: Option<Kind>,
    after: Option<String>,
    limit: Option<usize>,
    recent: Option<bool>,
}

#[derive(Serialize)]
pub(crate) struct ObjectPage {
    objects: Vec<ObjectDocument>,
    next: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct ObjectDocument {
    kind: Kind,
    name: Name,
    incarnation: Incarnation,
    version: Version,
    log_head: Seq,
    created_at: Time,
    updated_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    alarms: Option<Vec<AlarmDocument>>,
}

#[derive(Serialize)]
pub(crate) struct AlarmDocument {
    alarm: AlarmName,
    at: Time,
}

impl ObjectDocument {
    fn listed(view: ObjectView) -> ObjectDocument {
        let ObjectView { object, incarnation, version, log_head, created_at, updated_at, alarms: _ } = view;
        let ObjectKey { kind, name } = object;
        ObjectDocument { kind, name, incarnation, version, log_head, created_at, updated_at, alarms: None }
    }

    fn whole(mut view: ObjectView) -> ObjectDocument {
        let alarms = std::mem::take(&mut view.alarms);
        let alarms = alarms.into_iter().map(|(alarm, at)| AlarmDocument { alarm, at }).collect();
        ObjectDocument { alarms: Some(alarms), ..ObjectDocument::listed(view) }
    }
}

/// Objects by kind and name.
pub(crate) async fn list(
    State(app): State<App>,
    Params(params): Params<ListParams>,
) -> Result<Json<ObjectPage>, ApiError> {
    let limit = page::items(params.limit)?;
    if params.recent == Some(true) {
        if params.kind.is_some() || params.after.is_some() {
            return Err(ApiError::bad(
                "recent objects are of every kind and on one page: give no kind, no after",
            ));
        }
        return recent(&app, limit).await;
    }
    let after = params.after.map(|after| params::object("after", &after)).transpose()?;
    let Answer::Objects(objects) = app.read(Read::Objects { kind: params.kind, after, limit }).await? else {
        unreachable!("the store answers about objects in kind")
    };
    let next = page::next(&objects, limit, |last| last.object.to_string());
    Ok(Json(ObjectPage { objects: objects.into_iter().map(ObjectDocument::listed).collect(), next }))
}

/// Objects that changed or began last, the latest first. What changed before this server started, and began before others,
/// is not among them: nothing keeps objects in the order of their changes.
async fn recent(app: &App, limit: usize) -> Result<Json<ObjectPage>, ApiError> {
    let Answer::Objects(mut objects) = app.read(Read::NewestObjects { limit }).await? else {
        unreachable!("the store answers about objects in kind")
    };
    let known: BTreeSet<ObjectKey> = objects.iter().map(|view| view.object.clone()).collect();
    for changed in app.feed().changed_objects(limit.min(CHANGED)) {
        if known.contains(&changed) {
            continue;
        }
        let Answer::Object(view) = app.read(Read::Object(changed)).await? else {
            unreachable!("the store answers about an object in kind")
        };
        objects.extend(view);
    }
    objects.sort_by_key(|view| Reverse(view.updated_at));
    objects.truncate(limit);
    let objects = objects.into_iter().map(ObjectDocument::listed).collect();
    Ok(Json(ObjectPage { objects, next: None }))
}

/// One object with its alarms.
pub(crate) async fn show(
    State(app): State<App>,
    At(object): At<ObjectKey>,
) -> Result<Json<ObjectDocument>, ApiError> {
    let Answer::Object(view) = app.read(Read::Object(object.clone())).await? else {
        unreachable!("the store answers about an object in kind")
    };
    view.map(|view| Json(ObjectDocument::whole(view))).ok_or_else(|| unknown(&object))
}

fn unknown(object: &ObjectKey) -> ApiError {
    ApiError::new(ErrorCode::UnknownObject, format!("there is no object {object}"))
}

/// Which rows to list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowParams {
    #[serde(default)]
    prefix: String,
    after: Option<String>,
    limit: Option<usize>,
}

#[derive(Serialize)]
pub(crate) struct RowPage {
    version: Version,
    rows: Vec<RowDocument>,
    next: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct RowDocument {
    key: String,
    schema: u16,
    value: JsonText,
}

/// An object's rows in order of their keys. A page of large ones may have fewer than were asked for.
pub(crate) async fn rows(
    State(app): State<App>,
    caller: Caller,
    At(object): At<ObjectKey>,
    Params(params): Params<RowParams>,
) -> Result<Json<RowPage>, ApiError> {
    may_look_into(&object, caller)?;
    let RowParams { prefix, after, limit } = params;
    let limit = page::items(limit)?.min(SCAN_ROWS);
    let scan = |after: Option<&str>, had: usize| Want::Scan {
        prefix: prefix.clone(),
        from: after.map(successor),
        limit: (limit - had).min(ROWS_AT_A_TIME),
    };
    let Part { version, mut rows, mut is_end } = part(&app, &object, scan(after.as_deref(), 0)).await?;
    while !is_end && rows.len() < limit && fitting(&rows) == rows.len() {
        let last = rows.last().map(|(key, _)| key.as_str());
        let more = part(&app, &object, scan(last, rows.len())).await?;
        // A page is of one version: what has changed since is on the next.
        if more.version != version {
            break;
        }
        rows.extend(more.rows);
        is_end = more.is_end;
    }
    if fitting(&rows) < rows.len() {
        rows.truncate(fitting(&rows));
        is_end = false;
    }
    let next = rows.last().filter(|_| !is_end).map(|(key, _)| key.clone());
    let document =
        |(key, row): (String, Row)| RowDocument { key, schema: row.schema, value: shown(row.value, caller) };
    Ok(Json(RowPage { version, rows: rows.into_iter().map(document).collect(), next }))
}

/// Some of an object's rows, as they were together.
struct Part {
    version: Version,
    rows: Vec<(String, Row)>,
    is_end: bool,
}

async fn part(app: &App, object: &ObjectKey, scan: Want) -> Result<Part, ApiError> {
    let load = Load { object: object.clone(), wants: vec![scan], reply_for: None };
    let Answer::Load(loaded) = app.read(Read::Load(load)).await? else {
        unreachable!("the store answers a load in kind")
    };
    let Some(header) = loaded.header else { return Err(unknown(object)) };
    let Some(Got::Scan { rows, end }) = loaded.got.into_iter().next() else {
        unreachable!("the store answers a scan with rows")
    };
    Ok(Part { version: header.version, rows, is_end: end })
}

/// How many of the rows make a page; one always does.
fn fitting(rows: &[(String, Row)]) -> usize {
    let mut bytes = 0;
    let fit = rows.iter().take_while(|(_, row)| {
        bytes += row.value.len();
        bytes <= PAGE_BYTES
    });
    fit.count().max(1).min(rows.len())
}

/// Which entries to list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogParams {
    #[serde(default)]
    after: i64,
    limit: Option<usize>,
}

#[derive(Serialize)]
pub(crate) struct LogDocument {
    incarnation: Incarnation,
    head: Seq,
    entries: Vec<LogEntry>,
    next: Option<Seq>,
}

/// An object's log past a cursor.
pub(crate) async fn log(
    State(app): State<App>,
    caller: Caller,
    At(object): At<ObjectKey>,
    Params(params): Params<LogParams>,
) -> Result<Json<LogDocument>, ApiError> {
    may_look_into(&object, caller)?;
    let limit = page::items(params.limit)?;
    let read = Read::Log { object: object.clone(), after: Seq(params.after.max(0)), limit };
    let Answer::Log(page) = app.read(read).await? else {
        unreachable!("the store answers about logs in kind")
    };
    let page = page.ok_or_else(|| unknown(&object))?;
    let next = page.entries.last().map(|last| last.seq).filter(|last| *last < page.head);
    Ok(Json(LogDocument { incarnation: page.incarnation, head: page.head, entries: page.entries, next }))
}
