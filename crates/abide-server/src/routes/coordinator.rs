//! `/coordinator/{name}` and `/processor/{name}`: work items, processed by queue or directly.

use crate::access::{Caller, enough};
use crate::app::App;
use crate::body::AnyBody;
use crate::error::ApiError;
use crate::params::Params;
use crate::path::At;
use crate::role::Role;
use crate::route::Routes;
use crate::routes::objects::Key;
use abide_coordinator::limits::PAGE_ITEMS;
use abide_coordinator::{Call, Invalid, Page, Processor, ProcessorCall, ResultBy, calls};
use abide_core::json::Json as JsonText;
use abide_core::name::IdempotencyKey;
use abide_core::object::ObjectKey;
use abide_engine::Object;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

/// Its routes.
pub(crate) fn routes() -> Routes {
    use Role::{Anyone, Operate, Read};
    Routes::new()
        .get("/coordinator/{name}", Read, "whether a coordinator is there", status)
        .also_get("/coordinator/{name}/", Read, status)
        .get("/coordinator/{name}/queue", Read, "its work items, oldest first", queue)
        .post("/coordinator/{name}/queue", Operate, "submit a message", submit)
        .get("/coordinator/{name}/queue/{work_id}", Read, "a work item", item)
        .post("/coordinator/{name}/queue/batch", Operate, "submit many messages", submit_batch)
        .post("/coordinator/{name}/process/{work_id}", Operate, "begin a work item again", process)
        .post(
            "/coordinator/{name}/result/{work_id}",
            Anyone,
            "say what came of a work item, with the proof of its attempt or the role operate",
            result,
        )
        .get("/coordinator/{name}/stats", Read, "how many work items there are in each status", stats)
        .post("/coordinator/{name}/clear", Operate, "forget all work items and stop what is under way", clear)
        .get("/processor/{name}", Read, "whether a processor is there", processor_status)
        .also_get("/processor/{name}/", Read, processor_status)
        .get("/processor/{name}/stats", Read, "how many work items it has processed", processor_stats)
}

/// An item of a coordinator: the names of both.
type Item = (String, String);
type Answered = Result<Json<JsonText>, Failed>;

/// Why a request of a coordinator failed: its own shape for bodies that are not valid, field by field.
pub(crate) enum Failed {
    Invalid(Invalid),
    Error(ApiError),
}

impl From<Invalid> for Failed {
    fn from(invalid: Invalid) -> Failed {
        Failed::Invalid(invalid)
    }
}

impl From<ApiError> for Failed {
    fn from(error: ApiError) -> Failed {
        Failed::Error(error)
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        match self {
            Failed::Invalid(invalid) => (StatusCode::BAD_REQUEST, Json(invalid.answer())).into_response(),
            Failed::Error(error) => error.into_response(),
        }
    }
}

async fn status(State(app): State<App>, At(name): At<String>) -> Answered {
    ask(&app, &name, &Call::Status).await
}

async fn queue(State(app): State<App>, At(name): At<String>, Params(page): Params<Page>) -> Answered {
    for (name, given) in [("limit", page.limit), ("newest", page.newest.map(|newest| newest as usize))] {
        if let Some(given) = given.filter(|given| !(1..=PAGE_ITEMS).contains(given)) {
            let message = format!("{name} is {given}: ask for 1 to {PAGE_ITEMS} items at a time");
            return Err(ApiError::bad(message).into());
        }
    }
    ask(&app, &name, &Call::Queue(page)).await
}

async fn item(State(app): State<App>, At((name, work_id)): At<Item>) -> Answered {
    ask(&app, &name, &Call::item(&work_id)).await
}

async fn submit(
    State(app): State<App>,
    At(name): At<String>,
    Key(key): Key,
    AnyBody(body): AnyBody,
) -> Answered {
    ask_once(&app, &name, &Call::submit(&value(&body)?)?, key).await
}

async fn submit_batch(
    State(app): State<App>,
    At(name): At<String>,
    Key(key): Key,
    AnyBody(body): AnyBody,
) -> Answered {
    ask_once(&app, &name, &Call::submit_batch(&value(&body)?)?, key).await
}

async fn process(State(app): State<App>, At((name, work_id)): At<Item>, AnyBody(body): AnyBody) -> Answered {
    let body = value(&body)?;
    let body = Some(&body).filter(|body| !body.is_null());
    ask(&app, &name, &Call::process(&work_id, body)?).await
}

async fn result(
    State(app): State<App>,
    caller: Caller,
    At((name, work_id)): At<Item>,
    AnyBody(body): AnyBody,
) -> Answered {
    let body = value(&body)?;
    let by = match ResultBy::read(&body) {
        Some(attempt) => attempt,
        None => {
            enough(caller, Role::Operate)?;
            ResultBy::Operator
        }
    };
    ask(&app, &name, &Call::result(&work_id, by, &body)?).await
}

async fn stats(State(app): State<App>, At(name): At<String>) -> Answered {
    ask(&app, &name, &Call::Stats).await
}

async fn clear(State(app): State<App>, At(name): At<String>) -> Answered {
    ask(&app, &name, &Call::Clear).await
}

async fn processor_status(State(app): State<App>, At(name): At<String>) -> Answered {
    ask_processor(&app, &name, &ProcessorCall::Status).await
}

async fn processor_stats(State(app): State<App>, At(name): At<String>) -> Answered {
    ask_processor(&app, &name, &ProcessorCall::Stats).await
}

fn value(body: &JsonText) -> Result<Value, ApiError> {
    body.decode().map_err(|error| ApiError::bad(format!("the body cannot be read as JSON: {error}")))
}

/// Asks the coordinator `name`; its reply is the answer.
async fn ask(app: &App, name: &str, call: &Call) -> Answered {
    ask_once(app, name, call, None).await
}

async fn ask_once(app: &App, name: &str, call: &Call, key: Option<IdempotencyKey>) -> Answered {
    let object = calls::coordinator(name).map_err(ApiError::from)?;
    Ok(Json(app.ask_once(object, call, key).await?))
}

async fn ask_processor(app: &App, name: &str, call: &ProcessorCall) -> Answered {
    let object = ObjectKey::new(Processor::KIND, name).map_err(ApiError::from)?;
    Ok(Json(app.ask(object, call).await?))
}
