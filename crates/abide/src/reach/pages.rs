//! Lists of the server, which come in pages.

use serde_json::{Map, Value};

use super::{Client, Path, ReachError};

/// The most that a server puts on one page.
const PAGE: usize = 1_000;

/// The beginning of a list.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// What is on it.
    pub(crate) items: Vec<Value>,
    /// Where the rest begins, if there is one.
    pub(crate) next: Option<Value>,
}

impl Listed {
    /// As a page of the server, with its items in `field`.
    pub(crate) fn into_document(self, field: &str) -> Value {
        let next = self.next.unwrap_or(Value::Null);
        Value::Object(Map::from_iter([
            (field.to_owned(), Value::Array(self.items)),
            ("next".to_owned(), next),
        ]))
    }
}

/// At most `most` items of the list at `path`, whose pages have them in `field`. Pages with filters may end early.
pub(crate) async fn list(
    client: &Client,
    path: &Path,
    field: &str,
    most: usize,
) -> Result<Listed, ReachError> {
    let mut listed = Listed::default();
    loop {
        let after = listed.next.as_ref().map(plain);
        let room = (most - listed.items.len()).min(PAGE);
        let mut page: Value =
            client.get(&path.clone().with("limit", Some(room)).with("after", after)).await?;
        if let Value::Array(items) = page[field].take() {
            listed.items.extend(items);
        }
        listed.next = Some(page["next"].take()).filter(|next| !next.is_null());
        if listed.next.is_none() || listed.items.len() >= most {
            return Ok(listed);
        }
    }
}

/// A cursor as it is written into a URL.
fn plain(cursor: &Value) -> String {
    match cursor {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
