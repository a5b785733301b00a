//! The door to entities, ours or somebody else's.

use crate::answer::{Deleted, EntityList, HierarchyMade, Made, Resolved, Shown, Uploaded, Versions};
use crate::collect::{Collected, Collecting};
use crate::content::ContentId;
use crate::error::EntityError;
use crate::id::EntityId;
use crate::request::{Append, Create, Hierarchy, Selector};
use bytes::Bytes;
use futures_util::Stream;
use serde_json::Value;
use std::pin::Pin;

/// An answer that is on its way.
pub type Asked<'a, T> = Pin<Box<dyn Future<Output = Result<T, EntityError>> + Send + 'a>>;

/// Bytes as they come.
pub type Pieces = Pin<Box<dyn Stream<Item = Result<Bytes, EntityError>> + Send>>;

/// Entities and their blobs: the routes of the service, one method each.
pub trait EntityStore: Send + Sync {
    /// Creates an entity.
    fn create(&self, create: Create) -> Asked<'_, Made>;
    /// The newest version.
    fn get<'a>(&'a self, id: &'a EntityId) -> Asked<'a, Shown>;
    /// Any version.
    fn version<'a>(&'a self, id: &'a EntityId, selector: Selector) -> Asked<'a, Shown>;
    /// Versions past one, newest first.
    fn versions<'a>(
        &'a self,
        id: &'a EntityId,
        limit: usize,
        cursor: Option<ContentId>,
    ) -> Asked<'a, Versions>;
    /// The tip.
    fn resolve<'a>(&'a self, id: &'a EntityId) -> Asked<'a, Resolved>;
    /// A new version.
    fn append<'a>(&'a self, id: &'a EntityId, append: Append) -> Asked<'a, Made>;
    /// Deletes an entity with all its versions, and files that nothing names any more. One with children stays.
    fn delete<'a>(&'a self, id: &'a EntityId, expect_tip: Option<ContentId>) -> Asked<'a, Deleted>;
    /// Other children.
    fn hierarchy(&self, hierarchy: Hierarchy) -> Asked<'_, HierarchyMade>;
    /// Entities, the one that changed last first.
    fn list(&self, limit: usize, cursor: Option<String>, detail: Detail) -> Asked<'_, EntityList>;
    /// Keeps a file.
    fn upload(&self, name: String, pieces: Pieces) -> Asked<'_, Uploaded>;
    /// A file's bytes.
    fn cat(&self, cid: ContentId, part: Option<Part>) -> Asked<'_, Contents>;
    /// A block as DAG-JSON.
    fn dag(&self, cid: ContentId) -> Asked<'_, Value>;
    /// Deletes blobs that no manifest of any version names and that nobody uploaded, or was about to name, for
    /// `older_than_ms`. Less than an hour is an error: whoever uploaded a blob needs time to name it.
    fn collect(&self, collecting: Collecting, older_than_ms: i64) -> Asked<'_, Collected>;
}

/// How much a list says about each entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Id and tip.
    Tips,
    /// And type, label, version, counts.
    Metadata,
}

/// A part of a file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// From the first to the last, that one too; to the end if there is no last.
    From(u64, Option<u64>),
    /// So many at the end.
    Last(u64),
}

impl Part {
    /// The first byte and the one past the last, of a file of `size` bytes; none if there are no such bytes.
    #[must_use]
    pub fn of(self, size: u64) -> Option<(u64, u64)> {
        let (first, past) = match self {
            Part::From(first, last) => (first, last.map_or(size, |last| last.saturating_add(1).min(size))),
            Part::Last(count) => (size.saturating_sub(count), size),
        };
        (first < past).then_some((first, past))
    }
}

/// A file's bytes, or a part of them.
pub struct Contents {
    /// Bytes of the whole file.
    pub size: u64,
    /// The first byte and the one past the last that come.
    pub part: (u64, u64),
    /// They.
    pub pieces: Pieces,
}
