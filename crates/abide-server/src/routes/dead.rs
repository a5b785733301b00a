//! `/v1/dead`: dead letters of objects. (A job's dead letter is the job itself, in state `failed`.)

use crate::app::App;
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::page;
use crate::params::Params;
use crate::path::At;
use abide_core::dead::{DeadEvent, DeadId, DeadLetter};
use abide_core::event::Sender;
use abide_core::json::Json as JsonText;
use abide_core::name::AlarmName;
use abide_core::object::{Incarnation, ObjectKey};
use abide_core::time::Time;
use abide_store::{Answer, Read, Write, Written};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};

/// Which dead letters to list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListParams {
    after: Option<i64>,
    limit: Option<usize>,
}

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

/// Dead letters, oldest first.
pub(crate) async fn list(
    State(app): State<App>,
    Params(params): Params<ListParams>,
) -> Result<Json<DeadPage>, ApiError> {
    let limit = page::items(params.limit)?;
    let Answer::Dead(dead) = app.read(Read::Dead { after: params.after.map(DeadId), limit }).await? else {
        unreachable!("the store answers about dead letters in kind")
    };
    let next = page::next(&dead, limit, |last| last.id);
    Ok(Json(DeadPage { dead: dead.into_iter().map(LetterDocument::from).collect(), next }))
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
