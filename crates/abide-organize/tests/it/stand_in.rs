//! A stand-in for a model: real HTTP on a loopback port. It reads the files off the question as a model would, and what it says
//! about them is up to the test.

use axum::Router;
use axum::body::Body;
use axum::http::{Response, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the stand-in does with a question.
pub(crate) enum Play {
    /// Says this.
    Says(String),
    /// Says this, and was cut.
    Cut(String),
    /// Answers with this status, and `Retry-After` if there is a second number.
    Status(u16, Option<u32>),
    /// Says this after a while.
    SaysAfter(Duration, String),
    /// Never answers.
    Hangs,
}

/// A question as a model sees it.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// Which it is, from 0.
    pub(crate) number: usize,
    /// Its files.
    pub(crate) files: Vec<String>,
    /// The whole of it.
    pub(crate) user: String,
    /// Who the model is to be.
    pub(crate) system: String,
}

/// An endpoint and what it was asked.
pub(crate) struct StandIn {
    pub(crate) base_url: String,
    asked: Arc<Mutex<Vec<Question>>>,
}

impl StandIn {
    pub(crate) async fn start(play: impl Fn(&Question) -> Play + Send + Sync + 'static) -> StandIn {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (seen, play) = (Arc::clone(&asked), Arc::new(play));
        let answer = move |body: String| {
            let body: Value = serde_json::from_str(&body).unwrap();
            let question = read(&body, seen.lock().unwrap().len());
            seen.lock().unwrap().push(question.clone());
            let play = play(&question);
            async move { reply(play).await }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let router = Router::new().route("/v1/chat/completions", post(answer));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        StandIn { base_url, asked }
    }

    /// Every question so far.
    pub(crate) fn asked(&self) -> Vec<Question> {
        self.asked.lock().unwrap().clone()
    }
}

fn read(body: &Value, number: usize) -> Question {
    let text = |at: &str| body.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
    let user = text("/messages/1/content");
    let names = user.lines().filter_map(|line| line.strip_prefix("File: "));
    let files = names.filter_map(|line| line.rsplit_once(" (")).map(|(name, _)| name.to_owned()).collect();
    Question { number, files, user, system: text("/messages/0/content") }
}

async fn reply(play: Play) -> Response<Body> {
    let (content, finish) = match play {
        Play::Says(content) => (content, "stop"),
        Play::Cut(content) => (content, "length"),
        Play::Status(status, wait) => {
            let reply = Response::builder().status(StatusCode::from_u16(status).unwrap());
            let reply = wait.into_iter().fold(reply, |reply, s| reply.header("retry-after", s.to_string()));
            return reply.body(Body::from("no")).unwrap();
        }
        Play::SaysAfter(wait, content) => {
            tokio::time::sleep(wait).await;
            (content, "stop")
        }
        Play::Hangs => std::future::pending().await,
    };
    let body = json!({
        "model": "stand-in-1",
        "choices": [{ "message": { "role": "assistant", "content": content }, "finish_reason": finish }],
        "usage": { "prompt_tokens": 1_000, "completion_tokens": 100 },
    });
    Response::builder().header("content-type", "application/json").body(Body::from(body.to_string())).unwrap()
}

/// Groups files by their first letter; those that begin with `z` belong nowhere.
pub(crate) fn by_letter(files: &[String]) -> Value {
    let mut groups: Vec<Value> = Vec::new();
    for letter in 'a'..='y' {
        let these: Vec<&String> = files.iter().filter(|name| name.starts_with(letter)).collect();
        if !these.is_empty() {
            let description = format!("Files that begin with {letter}.");
            groups.push(json!({ "group_name": format!("Letter {letter}"), "description": description, "files": these }));
        }
    }
    let rest: Vec<&String> = files.iter().filter(|name| name.starts_with('z')).collect();
    json!({ "groups": groups, "ungrouped_files": rest, "reorganization_description": "By first letter." })
}

/// A good answer.
pub(crate) fn good(question: &Question) -> Play {
    Play::Says(by_letter(&question.files).to_string())
}

/// The same after a while.
pub(crate) fn good_after(question: &Question, wait: Duration) -> Play {
    Play::SaysAfter(wait, by_letter(&question.files).to_string())
}
