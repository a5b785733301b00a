//! A stand-in for a model: real HTTP on a loopback port, which sees, groups, writes records and describes.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

/// Nobody asks anything for this long: everybody waits for what is held.
const QUIET: Duration = Duration::from_secs(2);

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Reading,
    Grouping,
    Plan,
    Record,
    Description,
}

/// What was asked, and whether it was answered.
#[derive(Debug, Default)]
struct Seen {
    asked: BTreeMap<(Kind, String), u32>,
    /// Questions of this kind get no answer.
    holding: Option<Kind>,
    /// Everything but reading is answered with an error.
    is_failing: bool,
    /// Everything but reading is refused, which nobody asks again for.
    is_refusing: bool,
    /// Reading is refused.
    is_blind: bool,
    /// Questions that got none.
    held: u32,
    count: u64,
}

/// An endpoint. Its thread ends with the process.
pub(crate) struct Model {
    pub(crate) base_url: String,
    seen: Arc<(Mutex<Seen>, Condvar)>,
}

impl Model {
    pub(crate) fn start() -> Model {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port of this machine");
        let base_url = format!("http://{}/v1", listener.local_addr().expect("it listens"));
        let seen: Arc<(Mutex<Seen>, Condvar)> = Arc::default();
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        Model { base_url, seen }
    }

    /// From now on questions of this kind get no answer.
    pub(crate) fn hold(&self, kind: Option<Kind>) {
        let mut seen = self.seen.0.lock().unwrap_or_else(PoisonError::into_inner);
        (seen.holding, seen.held) = (kind, 0);
    }

    /// From now on everything but reading is answered with an error, or is not.
    pub(crate) fn fail(&self, is_failing: bool) {
        self.seen.0.lock().unwrap_or_else(PoisonError::into_inner).is_failing = is_failing;
    }

    /// From now on everything but reading is refused, or is not.
    pub(crate) fn refuse(&self, is_refusing: bool) {
        self.seen.0.lock().unwrap_or_else(PoisonError::into_inner).is_refusing = is_refusing;
    }

    /// From now on it refuses to read, or does not.
    pub(crate) fn blind(&self, is_blind: bool) {
        self.seen.0.lock().unwrap_or_else(PoisonError::into_inner).is_blind = is_blind;
    }

    /// Waits until a question is held and nothing else is asked any more, and says how many are held.
    pub(crate) fn wait_until_held(&self) -> usize {
        let (seen, changed) = &*self.seen;
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let count = seen.count;
            let (now, waited) = changed.wait_timeout(seen, QUIET).unwrap_or_else(PoisonError::into_inner);
            seen = now;
            if seen.held > 0 && waited.timed_out() && seen.count == count {
                return seen.held as usize;
            }
        }
    }

    /// How often each question of a kind was asked.
    pub(crate) fn asked(&self, kind: Kind) -> Vec<u32> {
        let seen = self.seen.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.asked.iter().filter(|((of, _), _)| *of == kind).map(|(_, count)| *count).collect()
    }
}

fn serve(stream: TcpStream, shared: &(Mutex<Seen>, Condvar)) {
    let Some(body) = read(&stream) else { return };
    let (kind, question) = question(&body);
    let (seen, changed) = shared;
    let (is_held, no) = {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen.asked.entry((kind, question.clone())).or_default() += 1;
        seen.count += 1;
        let is_held = seen.holding == Some(kind);
        seen.held += u32::from(is_held);
        changed.notify_all();
        let no = match kind {
            Kind::Reading => seen.is_blind.then_some("401 Unauthorized"),
            _ if seen.is_refusing => Some("401 Unauthorized"),
            _ => seen.is_failing.then_some("500 Internal Server Error"),
        };
        (is_held, no)
    };
    if let Some(status) = no {
        let reply = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        let _sent = (&stream).write_all(reply.as_bytes());
        return;
    }
    if is_held {
        // Until whoever asked is gone.
        let mut left = [0];
        let _ended = (&stream).read(&mut left);
        return;
    }
    let content = answer(kind, &question);
    let reply = json!({
        "model": "stand-in-1",
        "choices": [{ "message": { "role": "assistant", "content": content }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 1_000, "completion_tokens": 100 },
    })
    .to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        reply.len()
    );
    // Whoever asked may be gone.
    let _sent = (&stream).write_all(head.as_bytes()).and_then(|()| (&stream).write_all(reply.as_bytes()));
}

fn read(stream: &TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

/// What is asked for, and the words of it.
fn question(body: &Value) -> (Kind, String) {
    let messages = body["messages"].as_array().expect("messages");
    let content = &messages.last().expect("a message")["content"];
    if let Some(parts) = content.as_array() {
        let image = parts.iter().find_map(|part| part["image_url"]["url"].as_str());
        return (Kind::Reading, image.expect("an image").to_owned());
    }
    let text = content.as_str().expect("text").to_owned();
    let format = &body["response_format"];
    let kind = match (format["type"].as_str(), format["json_schema"]["name"].as_str()) {
        (Some(_), Some("organize_response")) => Kind::Grouping,
        (Some(_), Some("strategize_response")) => Kind::Plan,
        (Some(_), _) => Kind::Record,
        (None, _) => Kind::Description,
    };
    (kind, text)
}

fn answer(kind: Kind, question: &str) -> String {
    match kind {
        Kind::Reading => format!("Zanzibar written on an image of {} characters", question.len()),
        Kind::Grouping => groups(question),
        Kind::Plan => {
            json!({ "should_coordinate": true, "guidance": "By the first word.", "reasoning": "They have one." })
                .to_string()
        }
        Kind::Record => json!({
            "title": "What the model calls it", "type": "Collection", "creator": ["Somebody"],
            "created": "1885/1893", "language": "en", "subjects": ["gardens"], "description": "Said by a model.",
        })
        .to_string(),
        Kind::Description => "# A title by the model\n\n## Overview\n\nThe model has seen this.\n".to_owned(),
    }
}

/// Files by the word they begin with, if several do.
fn groups(question: &str) -> String {
    let names = question.lines().filter_map(|line| line.strip_prefix("File: "));
    let files: Vec<&str> = names.filter_map(|line| line.rsplit_once(" (")).map(|(name, _)| name).collect();
    let mut by_word: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in &files {
        by_word.entry(file.split('_').next().unwrap_or(file)).or_default().push(file);
    }
    let (groups, alone): (Vec<_>, Vec<_>) = by_word.into_iter().partition(|(_, files)| files.len() > 1);
    let groups: Vec<Value> = groups
        .into_iter()
        .map(|(word, files)| json!({ "group_name": format!("Papers of {word}"), "description": "By a model.", "files": files }))
        .collect();
    let alone: Vec<&str> = alone.into_iter().flat_map(|(_, files)| files).collect();
    json!({ "groups": groups, "ungrouped_files": alone, "reorganization_description": "By the first word." })
        .to_string()
}
