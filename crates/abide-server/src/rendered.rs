//! The page as the server writes it: what is so now stands in it before its script runs, and without one.
//!
//! Each part is what a route answers, so nobody is shown more than the route would say.

use crate::access::Caller;
use crate::app::App;
use crate::error::ApiError;
use crate::params::Params;
use crate::path::At;
use crate::routes::{dead, jobs, objects, queues};
use abide_coordinator::{Call, Page, calls};
use abide_core::job::{JobId, JobState};
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Jobs, dead letters and objects that are shown, of each.
const SHOWN: usize = 20;
/// Queues that are shown; the script shows all.
const QUEUES: usize = 100;
/// Work items that are shown.
const ITEMS: u32 = 50;
/// The coordinator whose items are shown, as the page names it.
const COORDINATOR: &str = "main-coordinator";
/// Characters of what something says for machines.
const CHARS: usize = 300;

/// `page` with what `caller` may see, each part within its element.
pub(crate) async fn rendered(page: &str, app: &App, caller: Caller) -> Result<String, ApiError> {
    let parts = [
        ("<div id=\"queue-list\" class=\"grid\">", queue_cards(app).await?),
        ("<ul id=\"job-list\" class=\"list\">", job_rows(app, caller, json!({ "limit": SHOWN })).await?),
        ("<ul id=\"dead-list\" class=\"list\">", dead_rows(app, caller).await?),
        ("<ul id=\"object-list\" class=\"list\">", object_rows(app).await?),
        ("<ol id=\"items\" class=\"list\">", item_rows(app).await?),
    ];
    Ok(parts.into_iter().fold(page.to_owned(), |page, (element, part)| {
        page.replacen(element, &format!("{element}{part}"), 1)
    }))
}

async fn queue_cards(app: &App) -> Result<String, ApiError> {
    let found = document(queues::list(State(app.clone())).await)?;
    let card = |queue: &Value| {
        let count = |state: JobState| {
            let count = &queue["counts"][state.as_str()];
            format!("<div><dt>{state}</dt><dd>{count}</dd></div>")
        };
        let paused = if queue["policy"]["paused"] == true { badge("paused") } else { String::new() };
        format!(
            "<article class=\"card\"><div class=\"head\"><h3>{}</h3>{paused}</div><dl>{}</dl>\
             <p class=\"hint rate\">{} finished in the last minute</p></article>",
            text(&queue["queue"]),
            JobState::ALL.map(count).concat(),
            queue["finished_last_minute"],
        )
    };
    Ok(list(&found["queues"]).take(QUEUES).map(card).collect())
}

async fn job_rows(app: &App, caller: Caller, which: Value) -> Result<String, ApiError> {
    let found = document(jobs::list(State(app.clone()), caller, params(which)).await)?;
    let mut rows = String::new();
    for job in list(&found["jobs"]) {
        let why = match job["job"].as_i64().filter(|_| job["state"] != "done") {
            Some(id) => causes(app, caller, JobId(id)).await?,
            None => String::new(),
        };
        rows.push_str(&format!(
            "<li><div class=\"head\"><h3>{} · {} · {}</h3>{}</div><code>{}</code>{why}</li>",
            job["job"],
            text(&job["queue"]),
            text(&job["kind"]),
            badge(job["state"].as_str().unwrap_or_default()),
            escaped(&job["payload"].to_string()),
        ));
    }
    Ok(rows)
}

/// Why a job is not running. One that is gone meanwhile has no reason any more.
async fn causes(app: &App, caller: Caller, job: JobId) -> Result<String, ApiError> {
    let Ok(why) = document(jobs::why(State(app.clone()), caller, At(job)).await) else {
        return Ok(String::new());
    };
    let sentence = |cause: &Value| format!("<li>{}</li>", text(&cause["sentence"]));
    let sentences: String = list(&why["causes"]).map(sentence).collect();
    Ok(format!("<ul class=\"why\">{sentences}</ul>"))
}

async fn dead_rows(app: &App, caller: Caller) -> Result<String, ApiError> {
    let found = document(dead::list(State(app.clone()), caller, params(json!({ "limit": SHOWN }))).await)?;
    let row = |letter: &Value| {
        let [kind, name, event, error] = ["kind", "name", "event", "error"].map(|field| text(&letter[field]));
        format!(
            "<li><div class=\"head\"><h3>{kind}/{name} · {event}</h3></div><p class=\"error\">{error}</p></li>"
        )
    };
    let letters: String = list(&found["dead"]).map(row).collect();
    Ok(letters + &job_rows(app, caller, json!({ "state": JobState::Failed, "limit": SHOWN })).await?)
}

async fn object_rows(app: &App) -> Result<String, ApiError> {
    let recent = json!({ "recent": true, "limit": SHOWN });
    let found = document(objects::list(State(app.clone()), params(recent)).await)?;
    let row = |object: &Value| {
        let (kind, name) = (text(&object["kind"]), text(&object["name"]));
        let version = format!("<span class=\"hint\">version {}</span>", object["version"]);
        format!("<li><div class=\"head\"><h3>{kind}/{name}</h3>{version}</div></li>")
    };
    Ok(list(&found["objects"]).map(row).collect())
}

/// Work items of the coordinator that the page begins with, the newest first.
async fn item_rows(app: &App) -> Result<String, ApiError> {
    if app.services().coordinator.is_none() {
        return Ok(String::new());
    }
    let newest = Call::Queue(Page { newest: Some(ITEMS), ..Page::default() });
    let found: Value = app.ask(calls::coordinator(COORDINATOR)?, &newest).await?.decode().unwrap_or_default();
    let row = |item: &Value| {
        let stamp = |stamp: &Value| {
            let since =
                stamp["time"].as_f64().unwrap_or(0.0) - item["timestamps"][0]["time"].as_f64().unwrap_or(0.0);
            format!("<li>{} <b>+{since:.0} ms</b></li>", text(&stamp["tag"]))
        };
        let total = item["timeTaken"]
            .as_f64()
            .map(|ms| format!("<span class=\"hint total\">total {ms:.0} ms</span>"));
        let error = item["error"].as_str().map(|error| format!("<p class=\"error\">{}</p>", escaped(error)));
        format!(
            "<li><div class=\"head\"><h3>{:.8}</h3>{}{}</div><p class=\"said\">{}</p>{}<ul class=\"stamps\">{}</ul></li>",
            text(&item["id"]),
            badge(item["status"].as_str().unwrap_or_default()),
            total.unwrap_or_default(),
            text(&item["payload"]["message"]),
            error.unwrap_or_default(),
            list(&item["timestamps"]).map(stamp).collect::<String>(),
        )
    };
    Ok(list(&found["queue"]).rev().map(row).collect())
}

/// What a route answers.
fn document<T: Serialize>(answer: Result<Json<T>, ApiError>) -> Result<Value, ApiError> {
    let Json(answer) = answer?;
    Ok(serde_json::to_value(answer).expect("what a route answers is JSON"))
}

/// What a route is asked.
fn params<T: DeserializeOwned>(fields: Value) -> Params<T> {
    Params(serde_json::from_value(fields).expect("parameters that the route knows"))
}

fn list(value: &Value) -> std::slice::Iter<'_, Value> {
    value.as_array().map_or(&[][..], Vec::as_slice).iter()
}

fn badge(word: &str) -> String {
    let word = escaped(word);
    format!("<span class=\"badge\" data-state=\"{word}\">{word}</span>")
}

/// A text of a document.
fn text(value: &Value) -> String {
    escaped(value.as_str().unwrap_or_default())
}

/// The beginning of a text, with nothing in it that is markup.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars().take(CHARS) {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}
