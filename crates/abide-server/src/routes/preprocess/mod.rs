//! `/preprocess`: batches of scans, their tasks, and what workers use.

mod blobs;
mod live;

use crate::app::App;
use crate::body::{AnyBody, SmallBody};
use crate::error::ApiError;
use crate::page;
use crate::params::Params;
use crate::path::{At, Named};
use crate::role::Role;
use crate::route::Routes;
use crate::routes::queued;
use abide_core::json::Json as JsonText;
use abide_core::name::Kind;
use abide_core::object::{Incarnation, ObjectKey};
use abide_engine::Object;
use abide_preprocess::calls::{
    AttemptRef, FilePage, InputsAnswer, OkAnswer, OutputAnswer, StatusAnswer, TaskPage, TasksAnswer,
};
use abide_preprocess::limits::REPORT_BYTES;
use abide_preprocess::{Batch, Call, CallbackError, QueueMessage, Report, Service, jobs};
use abide_store::{Answer, Read};
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The name by which clients know the service.
const NAME: &str = "arke-preprocessing-orchestrator";

/// Its routes.
pub(crate) fn routes() -> Routes {
    use Role::{Anyone, Operate, Read};
    Routes::new()
        .get("/preprocess/health", Anyone, "whether the service is there", health)
        .get("/preprocess/status/{batch}", Read, "how far a batch is", status)
        .also_get("/preprocess/status", Read, status_of_none)
        .also_get("/preprocess/status/", Read, status_of_none)
        .post(
            "/preprocess/callback/{batch}/{task}",
            Anyone,
            "how a task went; its signature says who may",
            callback,
        )
        .post(
            "/preprocess/uploads/{batch}/{task}",
            Anyone,
            "URLs for outputs of a task; its signature says who may",
            blobs::uploads,
        )
        .post("/preprocess/admin/reset/{batch}", Operate, "stop a batch, its workers and machines", reset)
        .post("/preprocess/queue", Operate, "bring a queue message, which starts a batch", queue)
        .post("/preprocess/test", Operate, "the same, for trying it out", queue)
        .get("/preprocess/batches", Read, "batches by name", batches)
        .get("/preprocess/batches/{batch}/tasks", Read, "its tasks, by phase and status", tasks)
        .post("/preprocess/batches/{batch}/tasks/{task}/retry", Operate, "try a failed task again", retry)
        .get("/preprocess/batches/{batch}/inputs", Read, "its inputs and how they ended", inputs)
        .get("/preprocess/batches/{batch}/files", Read, "its files as they are delivered", files)
        .get(
            "/preprocess/batches/{batch}/events",
            Read,
            "how far it is, live, as server-sent events",
            live::events,
        )
        .get(
            "/preprocess/blob/{bucket}/{*key}",
            Anyone,
            "a blob of a local bucket; its signature says who may",
            blobs::get,
        )
        .put("/preprocess/blob/{bucket}/{*key}", Anyone, "put one; its signature says who may", blobs::put)
        .get("/preprocess/asset/{asset}", Read, "an image in its usual variant", blobs::asset)
        .get(
            "/preprocess/asset/{asset}/{variant}",
            Read,
            "an image as thumb, medium, large or original",
            blobs::variant,
        )
        .get("/asset/{asset}", Read, "an image in its usual variant", blobs::asset)
        .get("/asset/{asset}/{variant}", Read, "an image as thumb, medium, large or original", blobs::variant)
}

/// A task of a batch.
pub(crate) struct TaskAt {
    batch: String,
    task: String,
}

impl Named for TaskAt {
    type Segments = (String, String);

    fn named((batch, task): (String, String)) -> Result<TaskAt, ApiError> {
        Ok(TaskAt { batch, task })
    }
}

/// What proves which attempt of a task a request is from.
#[derive(Debug, Deserialize)]
pub(crate) struct Proof {
    life: i64,
    attempt: u32,
    signature: String,
}

impl Proof {
    fn of(&self, task_id: String) -> AttemptRef {
        AttemptRef { life: Incarnation(self.life), task_id, attempt: self.attempt }
    }
}

/// The service: its routes are there only with it.
fn service(app: &App) -> &Service {
    app.services().preprocess.as_ref().expect("its routes are there only with it")
}

async fn ask(app: &App, batch: &str, call: &Call) -> Result<JsonText, ApiError> {
    app.ask(ObjectKey::new(Batch::KIND, batch)?, call).await
}

#[derive(Serialize)]
pub(crate) struct Health {
    status: &'static str,
    service: &'static str,
    timestamp: String,
}

async fn health(State(app): State<App>) -> Json<Health> {
    let timestamp = abide_preprocess::iso(app.engine().now());
    Json(Health { status: "ok", service: NAME, timestamp })
}

async fn status(State(app): State<App>, At(batch): At<String>) -> Result<Json<StatusAnswer>, ApiError> {
    status_of(&app, &batch).await.map(Json)
}

/// Who asks for the status of no batch left out which.
async fn status_of_none() -> ApiError {
    ApiError::bad("name a batch: GET /preprocess/status/{batch}")
}

/// How far a batch is, and what its workers wait for.
async fn status_of(app: &App, batch: &str) -> Result<StatusAnswer, ApiError> {
    let status = read::<StatusAnswer>(ask(app, batch, &Call::Status).await?)?;
    let goes_on = !matches!(status.status.as_str(), "DONE" | "ERROR");
    let hindrance = service(app).hindrance().borrow().clone();
    Ok(StatusAnswer { waits: hindrance.filter(|_| goes_on), ..status })
}

/// What a batch answered.
fn read<T: DeserializeOwned>(answer: JsonText) -> Result<T, ApiError> {
    answer.decode().map_err(|error| ApiError::bad(error.0))
}

async fn callback(
    State(app): State<App>,
    At(at): At<TaskAt>,
    Params(proof): Params<Proof>,
    SmallBody(report): SmallBody<Report, REPORT_BYTES>,
) -> Result<Json<OkAnswer>, ApiError> {
    let answer = service(&app).call_back(&at.batch, proof.of(at.task), proof.signature, report).await;
    answer.map(Json).map_err(|error| match error {
        CallbackError::Call(error) => error.into(),
        CallbackError::Bucket(error) => blobs::failed(error),
    })
}

async fn reset(State(app): State<App>, At(batch): At<String>) -> Result<Json<JsonText>, ApiError> {
    ask(&app, &batch, &Call::Reset).await.map(Json)
}

/// A message goes the way of the queue: it is checked here, so that whoever sends it hears of what is wrong with it.
async fn queue(State(app): State<App>, AnyBody(body): AnyBody) -> Result<Response, ApiError> {
    let value = body.decode::<serde_json::Value>().map_err(|error| ApiError::bad(error.0))?;
    let message = QueueMessage::read(&value).map_err(|error| ApiError::bad(error.to_string()))?;
    queued::enqueue(&app, (jobs::MESSAGES, jobs::START), message.batch_id.as_str(), &message).await
}

/// Which batches to list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListParams {
    after: Option<String>,
    limit: Option<usize>,
}

#[derive(Serialize)]
struct BatchPage {
    batches: Vec<StatusAnswer>,
    next: Option<String>,
}

/// Batches on one page: each is asked how far it is.
const BATCHES: usize = 50;

async fn batches(State(app): State<App>, Params(params): Params<ListParams>) -> Result<Response, ApiError> {
    let limit = page::items(params.limit)?.min(BATCHES);
    let after = params.after.map(|after| ObjectKey::new(Batch::KIND, after)).transpose()?;
    let read = Read::Objects { kind: Some(Kind::new(Batch::KIND)?), after, limit };
    let Answer::Objects(objects) = app.read(read).await? else {
        unreachable!("the store answers about objects in kind")
    };
    let next = page::next(&objects, limit, |last| last.object.name.as_str().to_owned());
    let mut batches = Vec::with_capacity(objects.len());
    for view in objects {
        // One that was deleted meanwhile is no batch any more.
        batches.extend(status_of(&app, view.object.name.as_str()).await.ok());
    }
    Ok(Json(BatchPage { batches, next }).into_response())
}

/// Calls that one page is filled from: a batch answers with what fits into one answer, and looks at so many items, of which
/// filters leave a few.
const CALLS_PER_PAGE: usize = 32;

/// A page of `limit` items, from as many answers as it takes, and where the next begins. One that takes too many ends early.
async fn fill<A: DeserializeOwned, T, C>(
    (app, batch): (&App, &str),
    (limit, after): (usize, Option<C>),
    call: impl Fn(Option<C>, usize) -> Call,
    split: impl Fn(A) -> (Vec<T>, Option<C>),
) -> Result<(Vec<T>, Option<C>), ApiError> {
    let (mut items, mut next) = (Vec::new(), after);
    for _ in 0..CALLS_PER_PAGE {
        let call = call(next, limit - items.len());
        let (found, further) = split(read(ask(app, batch, &call).await?)?);
        items.extend(found);
        next = further;
        if next.is_none() || items.len() >= limit {
            break;
        }
    }
    Ok((items, next))
}

async fn tasks(
    State(app): State<App>,
    At(batch): At<String>,
    Params(page): Params<TaskPage>,
) -> Result<Json<TasksAnswer>, ApiError> {
    let of = (page::items(page.limit)?, page.after.clone());
    let call = |after, limit| Call::Tasks(TaskPage { after, limit: Some(limit), ..page.clone() });
    let (tasks, next) =
        fill((&app, &batch), of, call, |TasksAnswer { tasks, next }: TasksAnswer| (tasks, next)).await?;
    Ok(Json(TasksAnswer { tasks, next }))
}

async fn inputs(
    State(app): State<App>,
    At(batch): At<String>,
    Params(page): Params<FilePage>,
) -> Result<Json<InputsAnswer>, ApiError> {
    let of = (page::items(page.limit)?, page.after);
    let call = |after, limit| Call::Inputs(FilePage { after, limit: Some(limit) });
    let (inputs, next) =
        fill((&app, &batch), of, call, |InputsAnswer { inputs, next }: InputsAnswer| (inputs, next)).await?;
    Ok(Json(InputsAnswer { inputs, next }))
}

async fn files(
    State(app): State<App>,
    At(batch): At<String>,
    Params(page): Params<FilePage>,
) -> Result<Json<OutputAnswer>, ApiError> {
    let of = (page::items(page.limit)?, page.after);
    let call = |after, limit| Call::Output(FilePage { after, limit: Some(limit) });
    let (files, next) = fill((&app, &batch), of, call, |answer: OutputAnswer| {
        (answer.output.into_iter().zip(answer.places).collect(), answer.next)
    })
    .await?;
    let (output, places) = files.into_iter().unzip();
    Ok(Json(OutputAnswer { output, places, next }))
}

async fn retry(State(app): State<App>, At(at): At<TaskAt>) -> Result<Json<JsonText>, ApiError> {
    ask(&app, &at.batch, &Call::Retry { task_id: at.task }).await.map(Json)
}
