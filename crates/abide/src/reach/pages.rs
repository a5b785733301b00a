//! Lists of the server, which come in pages.

use serde::Deserialize;
use serde_json::Value;

use super::{Client, Path, ReachError};
use crate::document::Document;

/// The most that a server puts on one page.
const PAGE: usize = 1_000;

/// The beginning of a list.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// What is on it.
    pub(crate) items: Vec<Document>,
    /// Where the rest begins, if there is one.
    pub(crate) next: Option<Value>,
}

/// A page of the server.
#[derive(Deserialize)]
struct Page {
    #[serde(alias = "jobs", alias = "dead")]
    items: Vec<Document>,
    next: Option<Value>,
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

/// At most `most` items of the list at `path`.
pub(crate) async fn list(client: &Client, path: &Path, most: usize) -> Result<Listed, ReachError> {
    list_far(client, path, most, Far::Enough).await
}

/// The same, but no further than `far`.
pub(crate) async fn list_far(
    client: &Client,
    path: &Path,
    most: usize,
    far: Far,
) -> Result<Listed, ReachError> {
    let mut listed = Listed::default();
    loop {
        let after = listed.next.as_ref().map(plain);
        let room = (most - listed.items.len()).min(PAGE);
        let page: Page = client.get(&path.clone().with("limit", Some(room)).with("after", after)).await?;
        let is_full = page.items.len() >= room;
        listed.items.extend(page.items);
        listed.next = page.next;
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
