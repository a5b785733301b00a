//! How an endpoint is spoken to. Those that speak as OpenAI's does do not all speak alike: what one does not take is said in
//! another way or left out, and that is remembered.

use serde_json::Value;
use std::sync::{Mutex, PoisonError};

/// What a request says beside the question, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) form: Form,
    pub(crate) room: Room,
    pub(crate) warmth: Warmth,
}

/// How the endpoint is told which shape is wanted. Each is understood by more endpoints than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    /// By a JSON schema that it enforces.
    Schema,
    /// By JSON mode, and the schema in words.
    JsonObject,
    /// In words alone.
    Words,
}

/// How it is told how long the answer may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Room {
    /// As `max_tokens`, which nearly all know.
    Tokens,
    /// As `max_completion_tokens`, which models that think before they answer want.
    CompletionTokens,
}

/// How it is told to answer alike what is asked alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Warmth {
    /// By a temperature of 0.
    Zero,
    /// It is not: the model takes no other temperature than its own.
    Its,
}

/// A part of a request that an endpoint may not take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Form,
    Room,
    Warmth,
}

impl Part {
    /// What a refusal with this body is about; none if it is about the question.
    pub(crate) fn refused_by(body: &str) -> Option<Part> {
        let error: Option<Value> = serde_json::from_str(body).ok();
        let param = error.as_ref().and_then(|error| error.pointer("/error/param")?.as_str());
        let body = body.to_ascii_lowercase();
        let speaks_of = |words: &[&str]| words.iter().any(|word| body.contains(word));
        if body.contains("max_tokens") && body.contains("max_completion_tokens") {
            Some(Part::Room)
        } else if param == Some("temperature") || param.is_none() && speaks_of(&["temperature"]) {
            Some(Part::Warmth)
        } else if speaks_of(&[
            "response_format",
            "json_schema",
            "json_object",
            "response format",
            "structured output",
        ]) {
            Some(Part::Form)
        } else {
            None
        }
    }
}

impl Dialect {
    /// What is tried first.
    pub(crate) const FIRST: Dialect =
        Dialect { form: Form::Schema, room: Room::Tokens, warmth: Warmth::Zero };

    /// The next way to say a part; none if there is no other.
    fn without(self, part: Part) -> Option<Dialect> {
        match part {
            Part::Form => {
                let form = match self.form {
                    Form::Schema => Form::JsonObject,
                    Form::JsonObject => Form::Words,
                    Form::Words => return None,
                };
                Some(Dialect { form, ..self })
            }
            Part::Room => match self.room {
                Room::Tokens => Some(Dialect { room: Room::CompletionTokens, ..self }),
                Room::CompletionTokens => None,
            },
            Part::Warmth => match self.warmth {
                Warmth::Zero => Some(Dialect { warmth: Warmth::Its, ..self }),
                Warmth::Its => None,
            },
        }
    }
}

/// The dialect of one endpoint, as far as it is known.
#[derive(Debug)]
pub(crate) struct Known {
    // Locked to copy or to change it.
    dialect: Mutex<Dialect>,
}

impl Known {
    pub(crate) fn new() -> Known {
        Known { dialect: Mutex::new(Dialect::FIRST) }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        *self.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A part of a request that was in the dialect `used` was not taken; whether there is another way. Others may have found out
    /// the same with requests of their own, which is no reason to give up more.
    pub(crate) fn is_refused(&self, used: Dialect, part: Part) -> bool {
        let Some(next) = used.without(part) else { return false };
        let mut known = self.dialect.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Dialect {
            form: known.form.max(next.form),
            room: known.room.max(next.room),
            warmth: known.warmth.max(next.warmth),
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Part;

    #[test]
    fn a_refusal_says_what_it_is_about() {
        let of = |param: &str, says: &str| format!(r#"{{"error":{{"message":"{says}","param":{param}}}}}"#);
        for (body, part) in [
            (of("\"max_tokens\"", "max_tokens: use max_completion_tokens"), Some(Part::Room)),
            (of("\"temperature\"", "only the default value is supported"), Some(Part::Warmth)),
            (of("null", "Temperature is deprecated for this model"), Some(Part::Warmth)),
            (of("\"response_format\"", "no schema, whatever the temperature"), Some(Part::Form)),
            ("unknown parameter response_format".to_owned(), Some(Part::Form)),
            (of("\"model\"", "there is no such model; temperature 0"), None),
            (of("\"max_tokens\"", "max_tokens is too large: 99999"), None),
            ("no".to_owned(), None),
        ] {
            assert_eq!(Part::refused_by(&body), part, "{body}");
        }
    }
}
