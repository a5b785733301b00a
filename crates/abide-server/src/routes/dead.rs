//! `/v1/dead`: dead letters of objects. (A job's dead letter is the job itself, in state `failed`.)

use crate::access::Caller;
use crate::app::App;
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::hidden::is_closed_to;
use crate::page;
use crate::params::Params;
use crate::path::At;
use abide_core::dead::{DeadEvent, DeadId, DeadLetter};
use abide_core::event::Sender;
use abide_core::json::Json as JsonText;
use abide_core::limits::PAGE_BYTES;
use abide_core::name::{AlarmName, Kind, Name};
use abide_core::object::{Incarnation, ObjectKey};
use abide_core::time::Time;
use abide_store::{Answer, Read, Write, Written};
use axum::Json;
use axum::extract::State;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};

/// Which dead letters to list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListParams {
    kind: Option<Kind>,
    name: Option<Name>,
    event: Option<EventWord>,
    after: Option<i64>,
    limit: Option<usize>,
}

/// What sort of event died.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EventWord {
    Message,
    Outcome,
    Alarm,
    Entries,
}

impl EventWord {
    fn of(event: &DeadEvent) -> EventWord {
        match event {
            DeadEvent::Message { .. } => EventWord::Message,
            DeadEvent::Outcome { .. } => EventWord::Outcome,
            DeadEvent::Alarm { .. } => EventWord::Alarm,
            DeadEvent::Entries { .. } => EventWord::Entries,
        }
    }
}

/// Dead letters that are looked at for a page.
const LOOKS: usize = 1_000;
/// And that are read at a time: the bytes of a page are counted as it grows.
const LETTERS_AT_A_TIME: usize = 32;

#[derive(Serialize)]
pub(crate) struct DeadPage {
    dead: Vec<LetterDocument>,
    next: Option<DeadId>,
}

#[derive(Serialize)]
struct LetterDocument {
    id: DeadId,
    #[serde(flatten)]
    object: ObjectKey,
    incarnation: Option<Incarnation>,
    #[serde(flatten)]
    event: EventDocument,
    error: String,
    failures: u32,
    crashes: u32,
    died_at: Time,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
enum EventDocument {
    Message { from: Option<Sender>, body: JsonText },
    Outcome { body: JsonText },
    Alarm { alarm: AlarmName, at: Time },
    Entries { source: ObjectKey },
}

impl From<DeadLetter> for LetterDocument {
    fn from(letter: DeadLetter) -> LetterDocument {
        let DeadLetter { id, object, incarnation, event, error, failures, crashes, died_at } = letter;
        let event = match event {
            DeadEvent::Message { from, body } => EventDocument::Message { from, body },
            DeadEvent::Outcome { body } => EventDocument::Outcome { body },
            DeadEvent::Alarm { name, at } => EventDocument::Alarm { alarm: name, at },
            DeadEvent::Entries { source } => EventDocument::Entries { source },
        };
        LetterDocument { id, object, incarnation, event, error, failures, crashes, died_at }
    }
}

/// Dead letters, oldest first. A page of few among many, or of large ones, may have fewer than there are.
pub(crate) async fn list(
    State(app): State<App>,
    caller: Caller,
    Params(params): Params<ListParams>,
) -> Result<Json<DeadPage>, ApiError> {
    let (dead, next) = matching(&app, &params).await?;
    let shown = dead.into_iter().map(|letter| shown_to(caller, letter).into());
    Ok(Json(DeadPage { dead: shown.collect(), next }))
}

/// What an object of an organization was sent, and why it failed, is nobody else's.
fn shown_to(caller: Caller, letter: DeadLetter) -> DeadLetter {
    if !is_closed_to(caller, &letter.object) {
        return letter;
    }
    let body = JsonText::null();
    let event = match letter.event {
        DeadEvent::Message { from, .. } => DeadEvent::Message { from, body },
        DeadEvent::Outcome { .. } => DeadEvent::Outcome { body },
        other @ (DeadEvent::Alarm { .. } | DeadEvent::Entries { .. }) => other,
    };
    DeadLetter { event, error: String::new(), ..letter }
}

/// A page of matching dead letters, and where the next one begins.
async fn matching(app: &App, params: &ListParams) -> Result<(Vec<DeadLetter>, Option<DeadId>), ApiError> {
    let limit = page::items(params.limit)?;
    let passes = |letter: &DeadLetter| {
        params.kind.as_ref().is_none_or(|kind| *kind == letter.object.kind)
            && params.name.as_ref().is_none_or(|name| *name == letter.object.name)
            && params.event.is_none_or(|event| event == EventWord::of(&letter.event))
    };
    let mut after = params.after.map(DeadId);
    let (mut found, mut bytes, mut looked) = (Vec::new(), 0, 0);
    while looked < LOOKS {
        let letters = some(app, after).await?;
        let are_last = letters.len() < LETTERS_AT_A_TIME;
        for letter in letters {
            let id = letter.id;
            if passes(&letter) {
                bytes += bytes_of(&letter);
                if found.len() == limit || (bytes > PAGE_BYTES && !found.is_empty()) {
                    return Ok((found, after));
                }
                found.push(letter);
            }
            (after, looked) = (Some(id), looked + 1);
        }
        if are_last {
            return Ok((found, None));
        }
    }
    Ok((found, after))
}

/// The first dead letters after one.
async fn some(app: &App, after: Option<DeadId>) -> Result<Vec<DeadLetter>, ApiError> {
    match app.read(Read::Dead { after, limit: LETTERS_AT_A_TIME }).await? {
        Answer::Dead(letters) => Ok(letters),
        other => unreachable!("the store answered about dead letters with {other:?}"),
    }
}

fn bytes_of(letter: &DeadLetter) -> usize {
    match &letter.event {
        DeadEvent::Message { body, .. } | DeadEvent::Outcome { body } => body.len(),
        DeadEvent::Alarm { .. } | DeadEvent::Entries { .. } => 0,
    }
}

#[derive(Serialize)]
pub(crate) struct TakenPage {
    ids: Vec<DeadId>,
    became: &'static str,
    next: Option<DeadId>,
}

/// Runs the events of a page of matching dead letters again.
pub(crate) async fn replay_matching(
    State(app): State<App>,
    Params(params): Params<ListParams>,
) -> Result<Json<TakenPage>, ApiError> {
    take_matching(&app, &params, |id| Write::ReplayDead { id }, "replayed").await
}

/// Forgets a page of matching dead letters.
pub(crate) async fn drop_matching(
    State(app): State<App>,
    Params(params): Params<ListParams>,
) -> Result<Json<TakenPage>, ApiError> {
    take_matching(&app, &params, |id| Write::DropDead { id }, "dropped").await
}

async fn take_matching(
    app: &App,
    params: &ListParams,
    write: fn(DeadId) -> Write,
    became: &'static str,
) -> Result<Json<TakenPage>, ApiError> {
    let (dead, next) = matching(app, params).await?;
    let writes = dead.iter().map(|letter| app.write(write(letter.id)));
    let mut ids = Vec::new();
    for (letter, written) in dead.iter().zip(join_all(writes).await) {
        // One that is gone was taken by somebody else.
        if let Written::Dead(true) = written? {
            ids.push(letter.id);
        }
    }
    Ok(Json(TakenPage { ids, became, next }))
}

#[derive(Serialize)]
pub(crate) struct DeadDocument {
    id: DeadId,
    became: &'static str,
}

/// Runs a dead letter's event again, with fresh attempts.
pub(crate) async fn replay(
    State(app): State<App>,
    At(id): At<DeadId>,
) -> Result<Json<DeadDocument>, ApiError> {
    take(&app, id, Write::ReplayDead { id }, "replayed").await
}

/// Forgets a dead letter.
pub(crate) async fn drop_one(
    State(app): State<App>,
    At(id): At<DeadId>,
) -> Result<Json<DeadDocument>, ApiError> {
    take(&app, id, Write::DropDead { id }, "dropped").await
}

async fn take(
    app: &App,
    id: DeadId,
    write: Write,
    became: &'static str,
) -> Result<Json<DeadDocument>, ApiError> {
    let Written::Dead(was_there) = app.write(write).await? else {
        unreachable!("the store answers about a dead letter in kind")
    };
    if was_there {
        Ok(Json(DeadDocument { id, became }))
    } else {
        let message = format!("there is no dead letter {}: it was replayed or dropped already", id.0);
        Err(ApiError::new(ErrorCode::UnknownDeadLetter, message))
    }
}
