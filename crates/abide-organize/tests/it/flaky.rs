//! Entities that cannot be reached now and then, before or after they did what they were asked.

use crate::rig::{Orchestrator, Rig, whole, with_model};
use crate::stand_in::{StandIn, good};
use crate::tree::{Grouped, Tree, tree};
use abide_entities::Asked;
use abide_entities::answer::{Deleted, EntityList, HierarchyMade, Made, Resolved, Shown, Uploaded, Versions};
use abide_entities::request::{Append, Create, Hierarchy, Selector};
use abide_entities::{
    Collected, Collecting, ContentId, Contents, Detail, EntityError, EntityId, EntityStore, LocalEntities,
    Part, Pieces,
};
use abide_organize::contract::{CallbackStatus, PiRequest, PiStatus};
use abide_organize::work::{Publishing, publish};
use abide_organize::{Group, Plan};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// When a request fails.
#[derive(Debug, Clone, Copy)]
enum Fails {
    BeforeItIsDone,
    AfterItIsDone,
    /// Only if it makes an entity, and then for good.
    ForGood,
}

/// Entities whose nth request fails.
struct Flaky {
    inner: Arc<LocalEntities>,
    asked: AtomicUsize,
    nth: usize,
    fails: Fails,
}

impl Flaky {
    fn new(inner: &Arc<LocalEntities>, nth: usize, fails: Fails) -> Flaky {
        Flaky { inner: Arc::clone(inner), asked: AtomicUsize::new(0), nth, fails }
    }

    async fn through<T>(&self, done: Asked<'_, T>) -> Result<T, EntityError> {
        let gone = || Err(EntityError::Backend("not now".to_owned()));
        if let Fails::ForGood = self.fails {
            return done.await;
        }
        match (self.asked.fetch_add(1, Ordering::SeqCst) == self.nth, self.fails) {
            (false, _) | (true, Fails::ForGood) => done.await,
            (true, Fails::BeforeItIsDone) => gone(),
            (true, Fails::AfterItIsDone) => {
                drop(done.await);
                gone()
            }
        }
    }
}

impl EntityStore for Flaky {
    fn create(&self, create: Create) -> Asked<'_, Made> {
        if let Fails::ForGood = self.fails
            && self.asked.fetch_add(1, Ordering::SeqCst) == self.nth
        {
            return Box::pin(async { Err(EntityError::Forbidden("not here".to_owned())) });
        }
        Box::pin(self.through(self.inner.create(create)))
    }
    fn get<'a>(&'a self, id: &'a EntityId) -> Asked<'a, Shown> {
        Box::pin(self.through(self.inner.get(id)))
    }
    fn version<'a>(&'a self, id: &'a EntityId, selector: Selector) -> Asked<'a, Shown> {
        self.inner.version(id, selector)
    }
    fn versions<'a>(
        &'a self,
        id: &'a EntityId,
        limit: usize,
        cursor: Option<ContentId>,
    ) -> Asked<'a, Versions> {
        self.inner.versions(id, limit, cursor)
    }
    fn resolve<'a>(&'a self, id: &'a EntityId) -> Asked<'a, Resolved> {
        self.inner.resolve(id)
    }
    fn append<'a>(&'a self, id: &'a EntityId, append: Append) -> Asked<'a, Made> {
        Box::pin(self.through(self.inner.append(id, append)))
    }
    fn delete<'a>(&'a self, id: &'a EntityId, expect_tip: Option<ContentId>) -> Asked<'a, Deleted> {
        self.inner.delete(id, expect_tip)
    }
    fn hierarchy(&self, hierarchy: Hierarchy) -> Asked<'_, HierarchyMade> {
        self.inner.hierarchy(hierarchy)
    }
    fn list(&self, limit: usize, cursor: Option<String>, detail: Detail) -> Asked<'_, EntityList> {
        self.inner.list(limit, cursor, detail)
    }
    fn upload(&self, name: String, pieces: Pieces) -> Asked<'_, Uploaded> {
        Box::pin(self.through(self.inner.upload(name, pieces)))
    }
    fn cat(&self, cid: ContentId, part: Option<Part>) -> Asked<'_, Contents> {
        Box::pin(self.through(self.inner.cat(cid, part)))
    }
    fn dag(&self, cid: ContentId) -> Asked<'_, Value> {
        self.inner.dag(cid)
    }
    fn collect(&self, collecting: Collecting, older_than_ms: i64) -> Asked<'_, Collected> {
        self.inner.collect(collecting, older_than_ms)
    }
}

const FILES: [(&str, &str); 5] = [("a1", "1"), ("a2", "2"), ("b1", "3"), ("b2", "4"), ("z", "5")];

fn plan() -> Plan {
    let group = |name: &str, files: [&str; 2]| Group {
        group_name: name.to_owned(),
        description: format!("about {name}"),
        files: files.map(str::to_owned).to_vec(),
    };
    Plan {
        // A file may be in two groups.
        groups: vec![group("A", ["a1", "a2"]), group("B", ["b1", "b2"]), group("C", ["a2", "b2"])],
        ungrouped_files: vec!["z".to_owned()],
        reorganization_description: "by letter".to_owned(),
    }
}

fn grouped(tree: &Tree) -> Vec<Grouped> {
    let mut groups: Vec<Grouped> = tree.groups.values().cloned().collect();
    groups.sort();
    groups
}

#[tokio::test(flavor = "multi_thread")]
async fn publishing_that_fails_anywhere_and_goes_on_gives_the_same_entities() {
    let rig = Rig::start(abide_organize::Options::builtin(), "http://127.0.0.1:9");
    let mut expected: Option<Vec<Grouped>> = None;
    let mut failed = 0;
    for nth in 0.. {
        let mut is_reached = false;
        for fails in [Fails::BeforeItIsDone, Fails::AfterItIsDone] {
            let before = rig.directory_of(&FILES).await;
            let request = PiRequest::whole(before.id.clone());
            let flaky = Flaky::new(&rig.entities, nth, fails);
            let publishing = Publishing { store: &flaky, batch_id: "b", chunk_id: "0", request: &request };
            let mut published = publish(publishing, &plan()).await;
            if published.is_err() {
                is_reached = true;
                failed += 1;
                published = publish(publishing, &plan()).await;
            } else if flaky.asked.load(Ordering::SeqCst) > nth {
                // It was met by a retry of its own.
                is_reached = true;
            }
            let published = published.unwrap();
            assert_eq!(published.ungrouped, ["z"]);
            let tree = tree(&rig, &before).await;
            assert_eq!(grouped(&tree), *expected.get_or_insert_with(|| grouped(&tree)), "{nth} {fails:?}");
            let (tip, ver) = (published.tip, rig.get(&before.id).await.ver);
            let sure = Publishing { store: rig.entities.as_ref(), ..publishing };
            let again = publish(sure, &plan()).await.unwrap();
            assert_eq!((again.tip, rig.get(&before.id).await.ver), (tip, ver), "{nth} {fails:?}");
        }
        if !is_reached {
            break;
        }
    }
    assert!(failed > 10, "{failed}");
    rig.engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_survives_entities_that_cannot_be_reached() {
    let model = StandIn::start(good).await;
    let mut orchestrator = Orchestrator::start(0).await;
    for nth in [0, 3, 9] {
        let rig = Rig::start(with_model(&model.base_url), &orchestrator.url);
        let before = rig.directory_of(&FILES).await;
        rig.service.begin(abide_organize::Site {
            entities: Arc::new(Flaky::new(&rig.entities, nth, Fails::AfterItIsDone)),
            ..rig.service.site().await
        });
        rig.process(whole("0", &[&before.id])).await;
        let payload = orchestrator.next().await;
        assert_eq!(payload.status, CallbackStatus::Success, "{payload:?}");
        assert_eq!(payload.results.unwrap()[0].status, PiStatus::Success);
        assert_eq!(tree(&rig, &before).await.groups.len(), 2);
        rig.engine.stop().await;
    }
}

/// Only publishing failed: whoever asks again by the same id pays for no second answer.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_could_not_be_published_is_used_when_it_is_asked_for_again() {
    let model = StandIn::start(good).await;
    let mut orchestrator = Orchestrator::start(0).await;
    let rig = Rig::start(with_model(&model.base_url), &orchestrator.url);
    let before = rig.directory_of(&FILES).await;
    rig.service.begin(abide_organize::Site {
        entities: Arc::new(Flaky::new(&rig.entities, 0, Fails::ForGood)),
        ..rig.service.site().await
    });
    rig.process(whole("0", &[&before.id])).await;
    let payload = orchestrator.next().await;
    assert_eq!((payload.status, payload.retryable), (CallbackStatus::Error, Some(true)), "{payload:?}");
    rig.finished("batch-1", "0").await;
    rig.process(whole("0", &[&before.id])).await;
    let payload = orchestrator.next().await;
    assert_eq!(payload.status, CallbackStatus::Success, "{payload:?}");
    assert_eq!((model.asked().len(), payload.spend.llm_calls), (1, 0));
    assert_eq!(tree(&rig, &before).await.groups.len(), 2);
    rig.engine.stop().await;
}
