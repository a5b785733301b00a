//! A document that a server gave, kept as it was written: numbers have their digits and fields their order, however the
//! document is printed.

use std::fmt;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::failure::Failure;

/// JSON that was written by a server.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub(crate) struct Document(Box<RawValue>);

/// The fields of an object, in their order.
pub(crate) struct Fields(pub(crate) Vec<(String, Document)>);

impl Document {
    /// What it holds.
    pub(crate) fn decode<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_str(self.0.get()).map_err(Failure::Answer)
    }

    /// Its text.
    pub(crate) fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl Serialize for Document {
    /// Level by level, so that whoever prints it may indent it.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.as_str();
        match text.as_bytes().first() {
            Some(b'{') => {
                let Fields(fields) = serde_json::from_str(text).map_err(S::Error::custom)?;
                serializer.collect_map(fields)
            }
            Some(b'[') => {
                let items: Vec<Document> = serde_json::from_str(text).map_err(S::Error::custom)?;
                serializer.collect_seq(items)
            }
            Some(_) | None => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fields, D::Error> {
        deserializer.deserialize_map(InOrder)
    }
}

struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Fields(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::Document;

    #[test]
    fn what_was_written_is_printed() {
        let text = r#"{"z":12345678901234567890123,"a":[1.50,1E+2,{"e":"\u00e9"},[],{}],"n":null}"#;
        let document: Document = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&document).unwrap(), text);
        let spread = "{\n  \"z\": 12345678901234567890123,\n  \"a\": [\n    1.50,\n    1E+2,\n    {\n      \"e\": \"\\u00e9\"\n    \
                      },\n    [],\n    {}\n  ],\n  \"n\": null\n}";
        assert_eq!(serde_json::to_string_pretty(&document).unwrap(), spread);
        assert_eq!(document.decode::<std::collections::BTreeMap<String, Document>>().unwrap().len(), 3);
    }
}
