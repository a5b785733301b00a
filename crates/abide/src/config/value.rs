//! The value of an option.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Serialize;
use tracing_subscriber::filter::LevelFilter;

use crate::logging::LogFormat;
use crate::output::displayed;

/// The value of an option, as its kind read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Value {
    /// A whole number.
    Integer(i64),
    /// An address with a port.
    Address(SocketAddr),
    /// A path.
    Path(#[serde(serialize_with = "displayed")] PathBuf),
    /// On or off.
    Switch(bool),
    /// Text; empty means not set.
    Text(String),
    /// One of a fixed set of words.
    Choice(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => number.fmt(f),
            Self::Address(address) => address.fmt(f),
            Self::Path(path) => path.display().fmt(f),
            Self::Switch(on) => on.fmt(f),
            Self::Text(text) => text.fmt(f),
            Self::Choice(word) => word.fmt(f),
        }
    }
}

/// A Rust type that an option may have in [`super::Config`].
pub(crate) trait FromValue: Sized {
    /// The typed value; `None` if the option's kind does not fit this type.
    fn from_value(value: &Value) -> Option<Self>;
}

impl FromValue for i64 {
    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Integer(number) = value { Some(*number) } else { None }
    }
}

impl FromValue for u64 {
    fn from_value(value: &Value) -> Option<Self> {
        i64::from_value(value).and_then(|number| number.try_into().ok())
    }
}

impl FromValue for u32 {
    fn from_value(value: &Value) -> Option<Self> {
        i64::from_value(value).and_then(|number| number.try_into().ok())
    }
}

impl FromValue for u16 {
    fn from_value(value: &Value) -> Option<Self> {
        i64::from_value(value).and_then(|number| number.try_into().ok())
    }
}

impl FromValue for usize {
    fn from_value(value: &Value) -> Option<Self> {
        i64::from_value(value).and_then(|number| number.try_into().ok())
    }
}

impl FromValue for SocketAddr {
    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Address(address) = value { Some(*address) } else { None }
    }
}

impl FromValue for PathBuf {
    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Path(path) = value { Some(path.clone()) } else { None }
    }
}

impl FromValue for bool {
    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Switch(on) = value { Some(*on) } else { None }
    }
}

impl FromValue for String {
    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Text(text) = value { Some(text.clone()) } else { None }
    }
}

impl FromValue for &'static str {
    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Choice(word) = value { Some(word) } else { None }
    }
}

impl FromValue for LevelFilter {
    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Choice(word) = value { word.parse().ok() } else { None }
    }
}

impl FromValue for LogFormat {
    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Choice(word) = value { Self::from_name(word) } else { None }
    }
}
