//! Entities of a process that is stopped: from some request on nothing is answered, and nothing goes on.

use abide_entities::answer::{Deleted, EntityList, HierarchyMade, Made, Resolved, Shown, Uploaded, Versions};
use abide_entities::request::{Append, Create, Hierarchy, Selector};
use abide_entities::{
    Asked, Collected, Collecting, ContentId, Contents, Detail, EntityError, EntityId, EntityStore,
    LocalEntities, Part, Pieces,
};
use serde_json::Value;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;

pub(crate) struct Stops {
    inner: LocalEntities,
    asked: AtomicUsize,
    at: usize,
    stopped: Notify,
}

impl Stops {
    /// The request `at`, from 0, is the last: every second time it is still done.
    pub(crate) fn new(inner: &LocalEntities, at: usize) -> Stops {
        Stops { inner: inner.clone(), asked: AtomicUsize::new(0), at, stopped: Notify::new() }
    }

    /// Requests so far.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    async fn through<T>(&self, done: Asked<'_, T>) -> Result<T, EntityError> {
        let nth = self.asked.fetch_add(1, Ordering::SeqCst);
        if nth < self.at {
            return done.await;
        }
        if nth == self.at && nth % 2 == 1 {
            drop(done.await);
        }
        self.stopped.notify_one();
        std::future::pending().await
    }

    /// What the process does, until it is stopped.
    pub(crate) async fn until<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = work => Some(done),
            () = self.stopped.notified() => None,
        }
    }
}

impl EntityStore for Stops {
    fn create(&self, create: Create) -> Asked<'_, Made> {
        Box::pin(self.through(self.inner.create(create)))
    }
    fn get<'a>(&'a self, id: &'a EntityId) -> Asked<'a, Shown> {
        Box::pin(self.through(self.inner.get(id)))
    }
    fn version<'a>(&'a self, id: &'a EntityId, selector: Selector) -> Asked<'a, Shown> {
        Box::pin(self.through(self.inner.version(id, selector)))
    }
    fn versions<'a>(
        &'a self,
        id: &'a EntityId,
        limit: usize,
        cursor: Option<ContentId>,
    ) -> Asked<'a, Versions> {
        Box::pin(self.through(self.inner.versions(id, limit, cursor)))
    }
    fn resolve<'a>(&'a self, id: &'a EntityId) -> Asked<'a, Resolved> {
        Box::pin(self.through(self.inner.resolve(id)))
    }
    fn append<'a>(&'a self, id: &'a EntityId, append: Append) -> Asked<'a, Made> {
        Box::pin(self.through(self.inner.append(id, append)))
    }
    fn delete<'a>(&'a self, id: &'a EntityId, expect_tip: Option<ContentId>) -> Asked<'a, Deleted> {
        Box::pin(self.through(self.inner.delete(id, expect_tip)))
    }
    fn hierarchy(&self, hierarchy: Hierarchy) -> Asked<'_, HierarchyMade> {
        Box::pin(self.through(self.inner.hierarchy(hierarchy)))
    }
    fn list(&self, limit: usize, cursor: Option<String>, detail: Detail) -> Asked<'_, EntityList> {
        Box::pin(self.through(self.inner.list(limit, cursor, detail)))
    }
    fn upload(&self, name: String, pieces: Pieces) -> Asked<'_, Uploaded> {
        Box::pin(self.through(self.inner.upload(name, pieces)))
    }
    fn cat(&self, cid: ContentId, part: Option<Part>) -> Asked<'_, Contents> {
        Box::pin(self.through(self.inner.cat(cid, part)))
    }
    fn dag(&self, cid: ContentId) -> Asked<'_, Value> {
        Box::pin(self.through(self.inner.dag(cid)))
    }
    fn collect(&self, collecting: Collecting, older_than_ms: i64) -> Asked<'_, Collected> {
        Box::pin(self.through(self.inner.collect(collecting, older_than_ms)))
    }
}
