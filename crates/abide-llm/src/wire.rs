//! Requests and replies of chat completions. Replies are read leniently: endpoints leave out and add fields as they like.

use crate::ask::{Ask, Shape};
use crate::dialect::{Dialect, Form, Room, Warmth};
use crate::spend::Usage;
use serde_json::{Value, json};

/// What a reply says.
#[derive(Debug)]
pub(crate) struct Said {
    /// None if the reply has none, which is not an empty one.
    pub(crate) text: Option<String>,
    pub(crate) refusal: Option<String>,
    pub(crate) finish: String,
    pub(crate) model: Option<String>,
    pub(crate) usage: Usage,
}

/// What one request asks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) ask: &'a Ask,
    /// What it is about, beside words.
    pub(crate) image_url: Option<&'a str>,
    pub(crate) max_tokens: u32,
    /// What was wrong with the answer before.
    pub(crate) complaint: Option<&'a str>,
}

/// The body of a request.
pub(crate) fn request(question: &Question<'_>, model: &str, dialect: Dialect) -> Value {
    let Question { ask, image_url, max_tokens, complaint } = *question;
    let mut system = ask.system.clone();
    let mut body = json!({ "model": model });
    match dialect.room {
        Room::Tokens => body["max_tokens"] = max_tokens.into(),
        Room::CompletionTokens => body["max_completion_tokens"] = max_tokens.into(),
    }
    match dialect.warmth {
        Warmth::Zero => body["temperature"] = 0.into(),
        Warmth::Its => {}
    }
    if let Shape::Json { name, schema } = &ask.shape {
        match dialect.form {
            Form::Schema => {
                let format = json!({ "name": name, "strict": true, "schema": schema });
                body["response_format"] = json!({ "type": "json_schema", "json_schema": format });
            }
            form @ (Form::JsonObject | Form::Words) => {
                if form == Form::JsonObject {
                    body["response_format"] = json!({ "type": "json_object" });
                }
                system.push_str(&format!(
                    "\n\nAnswer with one JSON object and nothing else. It must fit this JSON Schema:\n{schema}"
                ));
            }
        }
    }
    let about = match image_url {
        None => json!(ask.user),
        Some(url) => json!([
            { "type": "image_url", "image_url": { "url": url } },
            { "type": "text", "text": ask.user },
        ]),
    };
    let mut messages =
        vec![json!({ "role": "system", "content": system }), json!({ "role": "user", "content": about })];
    if system.is_empty() {
        messages.remove(0);
    }
    if let Some(complaint) = complaint {
        let content =
            format!("The last answer could not be used: {complaint}. Answer again in the asked form.");
        messages.push(json!({ "role": "user", "content": content }));
    }
    body["messages"] = messages.into();
    body
}

/// Reads a reply; the error says what is missing.
pub(crate) fn read(body: &Value) -> Result<Said, &'static str> {
    let choice = body.pointer("/choices/0").ok_or("it has no choices")?;
    let message = choice.get("message").ok_or("its choice has no message")?;
    let text = match message.get("content") {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Array(parts)) => {
            Some(parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect())
        }
        Some(_) | None => None,
    };
    let string = |at: &Value, name: &str| at.get(name).and_then(Value::as_str).map(str::to_owned);
    let tokens = |name: &str| body.pointer(name).and_then(Value::as_u64).unwrap_or(0);
    Ok(Said {
        text,
        refusal: string(message, "refusal"),
        finish: string(choice, "finish_reason").unwrap_or_default(),
        model: string(body, "model"),
        usage: Usage {
            input_tokens: tokens("/usage/prompt_tokens"),
            output_tokens: tokens("/usage/completion_tokens"),
        },
    })
}

/// The code in the body of an error, wherever endpoints put it.
pub(crate) fn error_code(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let found = ["/error/code", "/error/type", "/code", "/detail/error/code"]
        .iter()
        .find_map(|place| body.pointer(place).and_then(Value::as_str).filter(|code| !code.is_empty()));
    found.map(str::to_owned)
}
