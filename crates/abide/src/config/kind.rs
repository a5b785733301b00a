//! What the values of an option look like.

use std::path::PathBuf;

use toml::de::DeValue;

use super::value::Value;

/// The kind of an option, with its bounds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// A whole number within bounds.
    Integer {
        /// The smallest that is accepted.
        min: i64,
        /// The largest that is accepted.
        max: i64,
    },
    /// An address with a port.
    Address,
    /// A path.
    Path,
    /// `true` or `false`.
    Switch,
    /// Any text of one line; empty means not set.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
}

impl Kind {
    /// Reads a value from a variable, a flag or a string of `abide.toml`; `None` if it is not one of this kind.
    pub(crate) fn parse(&self, raw: &str) -> Option<Value> {
        match self {
            Self::Integer { .. } => self.bounded(raw.parse().ok()?),
            Self::Address => raw.parse().ok().map(Value::Address),
            // A shell would have expanded the tilde; taken literally it makes a directory named "~".
            Self::Path if raw.is_empty() || raw == "~" || raw.starts_with("~/") => None,
            Self::Path => Some(Value::Path(PathBuf::from(raw))),
            Self::Switch => raw.parse().ok().map(Value::Switch),
            Self::Text => (!raw.contains(['\n', '\0'])).then(|| Value::Text(raw.to_owned())),
            Self::Choice(words) => words.iter().find(|word| **word == raw).map(|word| Value::Choice(word)),
        }
    }

    /// Reads a value of `abide.toml`; `None` if it is not one of this kind.
    pub(crate) fn decode(&self, toml: &DeValue<'_>) -> Option<Value> {
        match (self, toml) {
            (Self::Integer { .. }, DeValue::Integer(number)) => {
                self.bounded(i64::from_str_radix(number.as_str(), number.radix()).ok()?)
            }
            (Self::Switch, DeValue::Boolean(on)) => Some(Value::Switch(*on)),
            (Self::Address | Self::Path | Self::Text | Self::Choice(_), DeValue::String(text)) => {
                self.parse(text)
            }
            _ => None,
        }
    }

    /// What a value of this kind should have been, for a person.
    pub(crate) fn expected(&self) -> String {
        match self {
            Self::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Self::Address => "an address with a port such as 127.0.0.1:8787".to_owned(),
            Self::Path => "a path that is UTF-8, not empty and does not begin with ~".to_owned(),
            Self::Switch => "true or false".to_owned(),
            Self::Text => "text of one line".to_owned(),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
        }
    }

    /// The number within the bounds of this kind that is nearest to `number`.
    pub(crate) fn clamp(&self, number: i64) -> i64 {
        match self {
            Self::Integer { min, max } => number.clamp(*min, *max),
            Self::Address | Self::Path | Self::Switch | Self::Text | Self::Choice(_) => number,
        }
    }

    fn bounded(&self, number: i64) -> Option<Value> {
        (self.clamp(number) == number).then_some(Value::Integer(number))
    }
}
