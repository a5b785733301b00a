//! JSON text that is known to be valid: what rows, messages, payloads and replies are made of.

use crate::limits::{JSON_DEPTH, within};
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::fmt;
use std::sync::Arc;

/// Valid JSON text, cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Json(Arc<str>);

/// The text was not JSON, or did not have the shape that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadJson(pub String);

impl Json {
    /// `null`.
    #[must_use]
    pub fn null() -> Json {
        Json("null".into())
    }

    /// Checks `text` and keeps it as it is.
    pub fn parse(text: impl Into<Arc<str>>) -> Result<Json, BadJson> {
        let text = text.into();
        let depth = depth(&text);
        within("levels of JSON", JSON_DEPTH, depth).map_err(|over| BadJson(over.to_string()))?;
        match serde_json::from_str::<Readable>(&text) {
            Ok(Readable) => Ok(Json(text)),
            Err(_) if serde_json::from_str::<IgnoredAny>(&text).is_ok() && has_lone_surrogate(&text) => {
                Err(BadJson("it has half of a surrogate pair, which is no character".to_owned()))
            }
            Err(error) => Err(BadJson(error.to_string())),
        }
    }

    /// Text that a store wrote from a [`Json`] earlier, so it is not checked again.
    #[must_use]
    pub fn trusted(text: impl Into<Arc<str>>) -> Json {
        Json(text.into())
    }

    /// Encodes a value.
    pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Json, BadJson> {
        serde_json::to_string(value).map(|text| Json(text.into())).map_err(|e| BadJson(e.to_string()))
    }

    /// Decodes into a value.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, BadJson> {
        serde_json::from_str(&self.0).map_err(|e| BadJson(e.to_string()))
    }

    /// For a field that is left out if there is no value, so that `null` is a value.
    pub fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
        Json::deserialize(deserializer).map(Some)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Bytes of the text.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the text is empty: never, for JSON has at least one character.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Json {
        Json(value.to_string().into())
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Ok(Json(String::from(Box::<str>::from(raw)).into()))
    }
}

/// JSON that every reader can read: its numbers are finite and its texts are text.
struct Readable;

impl<'de> Deserialize<'de> for Readable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Readable, D::Error> {
        deserializer.deserialize_any(Readable)
    }
}

impl<'de> Visitor<'de> for Readable {
    type Value = Readable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_str<E>(self, _: &str) -> Result<Readable, E> {
        Ok(Readable)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Readable, A::Error> {
        while items.next_element::<Readable>()?.is_some() {}
        Ok(Readable)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Readable, A::Error> {
        while fields.next_entry::<Readable, Readable>()?.is_some() {}
        Ok(Readable)
    }
}

/// Whether valid JSON escapes half of a surrogate pair: readers disagree about what that is.
fn has_lone_surrogate(text: &str) -> bool {
    let mut rest = text;
    let mut high = false;
    while let Some(at) = rest.find('\\') {
        let escape = &rest[at + 1..];
        let code = escape.strip_prefix('u').and_then(|digits| u32::from_str_radix(digits.get(..4)?, 16).ok());
        let is_low = matches!(code, Some(0xDC00..=0xDFFF));
        if (high && at > 0) || high != is_low {
            return true;
        }
        high = matches!(code, Some(0xD800..=0xDBFF));
        rest = &escape[if code.is_some() { 5 } else { 1 }..];
    }
    high
}

/// The deepest nesting of arrays and objects.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_text, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
