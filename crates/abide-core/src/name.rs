//! Names: newtypes over short text, checked once where they enter.

use crate::limits::{KIND_BYTES, NAME_BYTES};
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// A name that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {given:?} {reason}")]
pub struct BadName {
    /// Which name: "a queue's name".
    pub what: &'static str,
    /// What was given, shortened.
    pub given: String,
    /// What is wrong with it and what would be right.
    pub reason: String,
}

fn bad(what: &'static str, given: &str, reason: impl Into<String>) -> BadName {
    BadName { what, given: given.chars().take(80).collect(), reason: reason.into() }
}

/// Kinds and queues: lower case, digits and `-_.`, starting with a letter or digit.
fn check_word(what: &'static str, text: &str) -> Result<(), BadName> {
    let ok = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    if text.is_empty() {
        return Err(bad(what, text, "is empty"));
    }
    if text.len() > KIND_BYTES {
        return Err(bad(what, text, format!("is longer than {KIND_BYTES} bytes")));
    }
    if !text.chars().all(ok) || !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return Err(bad(
            what,
            text,
            "may have only a-z, 0-9, '-', '_' and '.', and starts with a letter or digit",
        ));
    }
    Ok(())
}

/// Names from outside: any text without control characters, of bounded length.
fn check_text(what: &'static str, text: &str) -> Result<(), BadName> {
    if text.is_empty() {
        return Err(bad(what, text, "is empty"));
    }
    if text.len() > NAME_BYTES {
        return Err(bad(what, text, format!("is longer than {NAME_BYTES} bytes")));
    }
    if text.chars().any(char::is_control) {
        return Err(bad(what, text, "has a control character"));
    }
    Ok(())
}

/// Limit keys: a name, or a class and a name in it.
fn check_limit_key(what: &'static str, text: &str) -> Result<(), BadName> {
    check_text(what, text)?;
    let is_whole = match text.split_once(':') {
        Some((class, name)) => !class.is_empty() && !name.is_empty(),
        None => text != "*",
    };
    if !is_whole {
        return Err(bad(
            what,
            text,
            "lacks a class or a name: write class:name, such as host:example.org, or class:* for all of the class",
        ));
    }
    Ok(())
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $check:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks `text`.
            pub fn new(text: impl AsRef<str>) -> Result<$name, BadName> {
                $check($what, text.as_ref())?;
                Ok($name(text.as_ref().into()))
            }

            /// A name that a store wrote earlier, so it is not checked again.
            #[must_use]
            pub fn trusted(text: impl Into<Arc<str>>) -> $name {
                $name(text.into())
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadName;
            fn try_from(text: String) -> Result<$name, BadName> {
                $name::new(text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0.as_ref().to_owned()
            }
        }

        impl std::str::FromStr for $name {
            type Err = BadName;
            fn from_str(text: &str) -> Result<$name, BadName> {
                $name::new(text)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
    };
}

name!(
    /// What sort of object: chooses the handler.
    Kind, "an object's kind", check_word
);
name!(
    /// Which object of its kind.
    Name, "an object's name", check_text
);
name!(
    /// A queue.
    QueueName, "a queue's name", check_word
);
name!(
    /// What sort of job: chooses the worker.
    JobKind, "a job's kind", check_word
);
name!(
    /// A job's unique key.
    UniqueKey, "a unique key", check_text
);
name!(
    /// What a limit counts: `host:example.org`, `model:small`. The part before the first `:` is its class.
    LimitKey, "a limit key", check_limit_key
);
name!(
    /// One of an object's alarms.
    AlarmName, "an alarm's name", check_text
);
name!(
    /// Who runs jobs.
    WorkerId, "a worker's id", check_text
);
name!(
    /// The client's name for one call, so that repeating it changes nothing.
    IdempotencyKey, "an idempotency key", check_text
);

impl LimitKey {
    /// The key that holds a queue's own concurrency and rate.
    #[must_use]
    pub fn of_queue(queue: &QueueName) -> LimitKey {
        LimitKey::trusted(format!("queue:{queue}"))
    }

    /// The class whose default applies when the key has no policy of its own: `host:*` for `host:example.org`.
    #[must_use]
    pub fn class(&self) -> Option<LimitKey> {
        let (class, rest) = self.as_str().split_once(':')?;
        (rest != "*").then(|| LimitKey::trusted(format!("{class}:*")))
    }
}
