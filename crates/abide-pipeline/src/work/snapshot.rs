//! Makes the entity of a node what its files are: files are kept, the entity is made or gets a version, children are linked.

use super::{WorkError, run};
use crate::calls::{BriefAnswer, Call, FilesAnswer, KidsAnswer, OkAnswer, StoredFile};
use crate::node::{FileKind, FileRecord, Node};
use crate::orders::{Published, SnapshotOrder};
use crate::service::Service;
use crate::site::Site;
use crate::status::PhaseName;
use crate::work::Spent;
use abide_blob::{Bucket, Key};
use abide_core::job::Finish;
use abide_engine::JobContext;
use abide_engine::worker::Worker;
use abide_entities::answer::Shown;
use abide_entities::limits::{CHILDREN_AT_ONCE, COMPONENT_CHANGES, COMPONENTS_AT_CREATION};
use abide_entities::request::{Append, Create};
use abide_entities::{ContentId, EntityError, EntityId, EntityStore, update};
use futures_util::{StreamExt, TryStreamExt, stream};
use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;

/// Files that are kept at a time.
const AT_A_TIME: usize = 8;

/// Makes entities of nodes.
#[derive(Clone)]
pub(crate) struct Snapshot(pub(crate) Service);

impl Worker for Snapshot {
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let service = self.0.clone();
        Box::pin(run(job, |order: SnapshotOrder| async move { snapshot(&service, &order).await }))
    }
}

async fn snapshot(service: &Service, order: &SnapshotOrder) -> Result<Published, WorkError> {
    let site = service.site().await;
    let (batch, life, place) = (order.node.batch.batch_id.as_str(), order.node.batch.life, order.node.place);
    let brief: BriefAnswer = site.ask(batch, &Call::Brief { life, place, phase: order.phase }).await?;
    let Some(node) = brief.node else {
        return Err(WorkError::Never("nothing is to be done with the directory any more".to_owned()));
    };
    // An entity that is there has what came before, or somebody took it away.
    let since =
        if node.current_tip.is_some() && order.phase == PhaseName::Discovery { node.round } else { 0 };
    let components = files(service, &site, order, since).await?;
    let note = brief.custom_note.unwrap_or_else(|| usual_note(order.phase).to_owned());
    let entity = Target::new(site.entities.as_ref(), &order.node.pi, note);
    if order.phase == PhaseName::Ocr {
        return entity.refresh(components).await;
    }
    let mut kids = kids(&site, order).await?;
    let is_new = node.current_tip.is_none();
    if !is_new {
        kids = without_parent(site.entities.as_ref(), kids).await?;
    }
    let published = entity.publish(label(&node), components, kids).await?;
    if let (true, None, Some(parent)) = (is_new, node.parent, &brief.parent_pi) {
        entity.put_under(parent).await?;
    }
    Ok(published)
}

/// Those that are in nothing yet: the others are where they belong, or somebody moved or deleted them.
async fn without_parent(store: &dyn EntityStore, kids: Vec<EntityId>) -> Result<Vec<EntityId>, WorkError> {
    let found: Vec<Option<EntityId>> = stream::iter(kids)
        .map(|kid| async move {
            match store.get(&kid).await {
                Ok(shown) => Ok(shown.parent_pi.is_none().then_some(kid)),
                Err(EntityError::NotFound(_)) => Ok(None),
                Err(error) => Err(WorkError::from(error)),
            }
        })
        .buffered(AT_A_TIME)
        .try_collect()
        .await?;
    Ok(found.into_iter().flatten().collect())
}

const fn usual_note(phase: PhaseName) -> &'static str {
    match phase {
        PhaseName::Ocr => "what was read off its images",
        PhaseName::Discovery
        | PhaseName::Reorganization
        | PhaseName::Pinax
        | PhaseName::Cheimarros
        | PhaseName::Description => "as it was found",
    }
}

/// Keeps the files of a node that are not kept yet, tells the batch, and gives all that are and came since that round.
async fn files(
    service: &Service,
    site: &Site,
    order: &SnapshotOrder,
    since: u32,
) -> Result<BTreeMap<String, ContentId>, WorkError> {
    let (batch, life, place) = (order.node.batch.batch_id.as_str(), order.node.batch.life, order.node.place);
    let mut components = BTreeMap::new();
    let mut after = None;
    loop {
        let page: FilesAnswer = site.ask(batch, &Call::Files { place, after }).await?;
        let (open, kept): (Vec<FileRecord>, Vec<FileRecord>) =
            page.files.into_iter().partition(FileRecord::is_open);
        let kept = kept.into_iter().filter(|file| file.round >= since);
        components.extend(kept.filter_map(|file| Some((file.filename, file.cid?))));
        let stored: Vec<StoredFile> = stream::iter(open)
            .map(|file| keep(service.staging(), site.entities.as_ref(), file))
            .buffered(AT_A_TIME)
            .try_collect()
            .await?;
        if !stored.is_empty() {
            components.extend(stored.iter().filter_map(|file| Some((file.filename.clone(), file.cid?))));
            site.ask::<OkAnswer>(batch, &Call::Stored { life, place, files: stored }).await?;
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(components),
        }
    }
}

/// Keeps a file. One that cannot be kept, now or later, says why.
pub(crate) async fn keep(
    staging: &Bucket,
    entities: &dyn EntityStore,
    file: FileRecord,
) -> Result<StoredFile, WorkError> {
    let FileRecord { filename, staging_key, .. } = file;
    let kept = async {
        let key = staging_key.ok_or_else(|| WorkError::Never("it has no place in staging".to_owned()))?;
        let key = Key::new(&key).map_err(|error| WorkError::Never(error.to_string()))?;
        let (_, bytes) = staging.get(&key).await?;
        let pieces = bytes.map_err(|error| EntityError::Blobs(error.to_string()));
        let uploaded = entities.upload(filename.clone(), Box::pin(pieces)).await?;
        Ok(uploaded.cid)
    };
    match kept.await {
        Ok(cid) => Ok(StoredFile { filename, cid: Some(cid), error: None }),
        Err(WorkError::Never(reason)) => Ok(StoredFile { filename, cid: None, error: Some(reason) }),
        Err(later) => Err(later),
    }
}

async fn kids(site: &Site, order: &SnapshotOrder) -> Result<Vec<EntityId>, WorkError> {
    let mut kids = Vec::new();
    let mut after = None;
    loop {
        let call = Call::Kids { place: order.node.place, after };
        let page: KidsAnswer = site.ask(order.node.batch.batch_id.as_str(), &call).await?;
        kids.extend(page.kids);
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(kids),
        }
    }
}

/// The entity of a directory.
pub(crate) struct Target<'a> {
    store: &'a dyn EntityStore,
    pi: &'a EntityId,
    note: String,
}

impl<'a> Target<'a> {
    /// One whose versions have this note.
    pub(crate) fn new(store: &'a dyn EntityStore, pi: &'a EntityId, note: impl Into<String>) -> Target<'a> {
        Target { store, pi, note: note.into() }
    }

    /// Makes the entity, or gives it what it lacks. A second time it lacks nothing.
    pub(crate) async fn publish(
        &self,
        label: &str,
        components: BTreeMap<String, ContentId>,
        kids: Vec<EntityId>,
    ) -> Result<Published, WorkError> {
        if !self.exists().await? {
            let create = Create {
                id: Some(self.pi.clone()),
                components: components
                    .iter()
                    .take(COMPONENTS_AT_CREATION)
                    .map(|(n, c)| (n.clone(), *c))
                    .collect(),
                children_pi: kids.iter().take(CHILDREN_AT_ONCE).cloned().collect(),
                label: Some(label.to_owned()),
                note: Some(self.note.clone()),
                ..Create::default()
            };
            match self.store.create(create).await {
                // Somebody made it with other content: it gets what it lacks.
                Ok(_) | Err(EntityError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let lacking = |shown: &Shown| {
            let has: BTreeSet<&EntityId> = shown.children_pi.iter().collect();
            let lacks = kids.iter().filter(|kid| !has.contains(kid)).take(CHILDREN_AT_ONCE).cloned();
            let other = components.iter().filter(|(name, cid)| shown.components.get(*name) != Some(cid));
            (other.take(COMPONENT_CHANGES).map(|(name, cid)| (name.clone(), *cid)).collect(), lacks.collect())
        };
        self.add(lacking).await
    }

    /// Gives the entity what was read off its images. What somebody took away or changed otherwise meanwhile is left alone.
    async fn refresh(&self, components: BTreeMap<String, ContentId>) -> Result<Published, WorkError> {
        let lacking = |shown: &Shown| {
            let is_older = |name: &String, cid: &ContentId| {
                FileKind::is_image_ref(name) && shown.components.get(name).is_some_and(|has| has != cid)
            };
            let older = components.iter().filter(|(name, cid)| is_older(name, cid));
            (older.take(COMPONENT_CHANGES).map(|(name, cid)| (name.clone(), *cid)).collect(), Vec::new())
        };
        self.add(lacking).await
    }

    /// Adds what is lacking until nothing is.
    async fn add(
        &self,
        lacking: impl Fn(&Shown) -> (BTreeMap<String, ContentId>, Vec<EntityId>),
    ) -> Result<Published, WorkError> {
        loop {
            let shown = self.store.get(self.pi).await?;
            let (components, children_pi_add) = lacking(&shown);
            if components.is_empty() && children_pi_add.is_empty() {
                return Ok(Published {
                    tip: shown.tip,
                    ver: shown.ver,
                    warnings: Vec::new(),
                    spent: Spent::default(),
                });
            }
            let note = Some(self.note.clone());
            let append = Append { components, children_pi_add, note, ..Append::onto(shown.tip) };
            match self.store.append(self.pi, append).await {
                Ok(made) if made.children_failed.unwrap_or(0) > 0 => {
                    let reason =
                        format!("{} of its children do not exist", made.children_failed.unwrap_or(0));
                    return Err(WorkError::Later(reason));
                }
                Ok(_) | Err(EntityError::Cas(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn exists(&self) -> Result<bool, WorkError> {
        match self.store.resolve(self.pi).await {
            Ok(_) => Ok(true),
            Err(EntityError::NotFound(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Puts the topmost entity under another one.
    pub(crate) async fn put_under(&self, parent: &EntityId) -> Result<(), WorkError> {
        let shown = self.store.get(self.pi).await?;
        if shown.parent_pi.as_ref() == Some(parent) {
            return Ok(());
        }
        let added = update(self.store, parent, |shown| Append {
            children_pi_add: vec![self.pi.clone()],
            note: Some(self.note.clone()),
            ..Append::onto(shown.tip)
        });
        added.await?;
        Ok(())
    }
}

fn label(node: &Node) -> &str {
    if node.name().is_empty() { "/" } else { node.name() }
}
