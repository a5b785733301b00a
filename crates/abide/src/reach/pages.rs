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

/// How far to read a list whose pages may end before they are full, because the server looks at so many items and no
/// more for one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Far {
    /// Until there is enough, or nothing more.
    Enough,
    /// Until a page is not full: however rare what is asked for is, it does not take long.
    FullPages,
}

/// At most `most` items of the list at `path`, whose pages have them in `field`.
pub(crate) async fn list(
    client: &Client,
    path: &Path,
    field: &str,
    most: usize,
) -> Result<Listed, ReachError> {
    list_far(client, path, field, most, Far::Enough).await
}

/// The same, but no further than `far`.
pub(crate) async fn list_far(
    client: &Client,
    path: &Path,
    field: &str,
    most: usize,
    far: Far,
) -> Result<Listed, ReachError> {
    let mut listed = Listed::default();
    loop {
        let after = listed.next.as_ref().map(plain);
        let room = (most - listed.items.len()).min(PAGE);
        let mut page: Value =
            client.get(&path.clone().with("limit", Some(room)).with("after", after)).await?;
        let before = listed.items.len();
        if let Value::Array(items) = page[field].take() {
            listed.items.extend(items);
        }
        listed.next = Some(page["next"].take()).filter(|next| !next.is_null());
        let is_full = listed.items.len() - before >= room;
        if listed.next.is_none() || listed.items.len() >= most || (far == Far::FullPages && !is_full) {
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
