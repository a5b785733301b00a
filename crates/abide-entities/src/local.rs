//! Entities of this engine, with their blobs in a bucket.

use crate::answer::{Deleted, EntityList, HierarchyMade, Made, Resolved, Shown, Uploaded, Versions};
use crate::blobs::{Blobs, BlobsCall, BlobsReply, MAIN, Stored};
use crate::catalog::{Catalog, CatalogCall, CatalogReply};
use crate::collect::{Collected, Collecting};
use crate::content::{Codec, ContentId};
use crate::dag_json;
use crate::entity::{Call, Entity, Reply};
use crate::error::{CasDetails, EntityError};
use crate::file_dag::{FileHasher, HashedFile};
use crate::id::EntityId;
use crate::limits::{CHUNK_BYTES, DELETION_WAITS, LEVELS, LINK_WAIT_MS};
use crate::refusal::BAD_CURSOR;
use crate::request::{Append, Create, Hierarchy, RELATIONSHIPS, Relationship, Selector, relationships_json};
use crate::spool::Spool;
use crate::store::{Asked, Contents, Detail, EntityStore, Part, Pieces};
use abide_blob::{BlobError, Bucket, Key};
use abide_core::ticket::{Resolution, Ticket};
use abide_engine::store::view::TicketView;
use abide_engine::{Answer, CallError, Engine, EngineError, Object, RefusalClass, TurnError};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Entities of this engine. Cheap to clone.
#[derive(Clone)]
pub struct LocalEntities {
    pub(crate) engine: Engine,
    pub(crate) bucket: Bucket,
    spool: PathBuf,
    /// Held by a collection from beginning to end: two at a time could delete a generation that a third party began anew.
    pub(crate) collecting: Arc<tokio::sync::Mutex<()>>,
    /// Held while somebody gets children, from looking for a circle to the answer: two at a time could close one together.
    adopting: Arc<tokio::sync::Mutex<()>>,
}

impl LocalEntities {
    /// Entities of `engine` with blobs in `bucket`. Files that are being uploaded are put into the directory `spool`,
    /// which is ours alone: what a former process left there is removed.
    pub fn new(engine: Engine, bucket: Bucket, spool: &Path) -> Result<LocalEntities, EntityError> {
        let unusable = |error: std::io::Error| {
            EntityError::Blobs(format!("the directory {} cannot be used: {error}", spool.display()))
        };
        Spool::clear(spool).map_err(unusable)?;
        let (collecting, adopting) = (Arc::default(), Arc::default());
        Ok(LocalEntities { engine, bucket, spool: spool.to_owned(), collecting, adopting })
    }

    async fn entity(&self, id: &EntityId, call: Call) -> Result<Reply, EntityError> {
        match self.engine.ask::<Entity>(id.as_str(), &call).await.map_err(refused)? {
            Answer::Now(reply) => Ok(reply),
            Answer::Later(ticket) => self.linked(&ticket).await,
        }
    }

    /// The answer when everybody who was linked knows it.
    async fn linked(&self, ticket: &Ticket) -> Result<Reply, EntityError> {
        let wait = Duration::from_millis(LINK_WAIT_MS);
        let view = self.engine.ticket(ticket, wait).await.map_err(engine_failed)?;
        match view {
            Some(TicketView::Resolved(Resolution::Reply(reply))) => {
                reply.decode().map_err(|error| EntityError::Internal(error.to_string()))
            }
            Some(TicketView::Resolved(Resolution::Refused { message, .. })) => {
                Err(EntityError::Conflict(message))
            }
            Some(TicketView::Open) => Err(EntityError::Backend(
                "the version was made, and its links are still being made: read the entity again".to_owned(),
            )),
            Some(TicketView::Resolved(Resolution::Gone)) | None => {
                Err(EntityError::Internal("the answer to a call was lost".to_owned()))
            }
        }
    }

    pub(crate) async fn blobs(&self, call: BlobsCall) -> Result<BlobsReply, EntityError> {
        now::<Blobs>(&self.engine, MAIN, &call).await
    }

    async fn shown(&self, id: &EntityId, call: Call) -> Result<Shown, EntityError> {
        match self.entity(id, call).await? {
            Reply::Shown(shown) => Ok(*shown),
            other => Err(unexpected(&other)),
        }
    }

    /// Keeps relationships as a component.
    async fn relate(
        &self,
        given: &[Relationship],
        components: &mut BTreeMap<String, ContentId>,
    ) -> Result<(), EntityError> {
        let mut hasher = FileHasher::default();
        let bytes = Bytes::from(relationships_json(given));
        hasher.update(&bytes);
        let file = hasher.finish();
        components.insert(RELATIONSHIPS.to_owned(), file.id);
        self.keep(&file, Source::Memory(bytes)).await
    }

    /// What is about to be named must not be collected before it is.
    async fn touch(&self, components: &BTreeMap<String, ContentId>) -> Result<(), EntityError> {
        if components.is_empty() {
            return Ok(());
        }
        let cids = components.values().copied().collect();
        match self.blobs(BlobsCall::Touch { cids }).await? {
            BlobsReply::Touched { deleted } if deleted.is_empty() => Ok(()),
            BlobsReply::Touched { deleted } => {
                let cids: Vec<String> = deleted.iter().map(ContentId::to_string).collect();
                Err(EntityError::Invalid(format!(
                    "{} was deleted with the last entity that named it: upload it again",
                    cids.join(", ")
                )))
            }
            other => Err(unexpected(&other)),
        }
    }

    async fn keep(&self, file: &HashedFile, source: Source<'_>) -> Result<(), EntityError> {
        let cid = file.id;
        let node = file.root.as_ref().map(dag_json::of_node);
        let reply = self.blobs(BlobsCall::Keep { cid, size: file.bytes, node }).await?;
        let BlobsReply::Keep(stored) = reply else { return Err(unexpected(&reply)) };
        let key = blob_key(cid, stored.generation)?;
        if stored.is_there && self.has(&key, stored.size).await? {
            return Ok(());
        }
        match source {
            Source::Memory(bytes) => self.bucket.put(&key, bytes, OCTETS).await.map_err(bucket_failed)?,
            Source::File(path) => {
                self.bucket.put_file(&key, path, OCTETS).await.map_err(bucket_failed)?;
            }
        }
        self.blobs(BlobsCall::Kept { cid, generation: stored.generation }).await.map(drop)
    }

    /// Whether the bucket has these bytes. A store that was restored knows files whose bytes nobody restored: whoever brings
    /// them again brings them back.
    async fn has(&self, key: &Key, size: u64) -> Result<bool, EntityError> {
        match self.bucket.head(key).await {
            Ok(found) => Ok(found.bytes == size),
            Err(BlobError::NotFound(_)) => Ok(false),
            Err(error) => Err(bucket_failed(error)),
        }
    }

    async fn take_file(&self, name: String, mut pieces: Pieces) -> Result<Uploaded, EntityError> {
        let (mut hasher, mut memory, mut spool) = (FileHasher::default(), Vec::new(), None);
        while let Some(piece) = pieces.next().await {
            let piece = piece?;
            hasher.update(&piece);
            if spool.is_none() && memory.len() + piece.len() <= CHUNK_BYTES {
                memory.extend_from_slice(&piece);
                continue;
            }
            if spool.is_none() {
                spool = Some(Spool::begin(&self.spool, &std::mem::take(&mut memory)).await.map_err(full)?);
            }
            if let Some(spool) = &mut spool {
                spool.write(&piece).await.map_err(full)?;
            }
        }
        let file = hasher.finish();
        match spool {
            None => self.keep(&file, Source::Memory(memory.into())).await?,
            Some(spool) => {
                let path = spool.finish().await.map_err(full)?;
                self.keep(&file, Source::File(path.path())).await?;
            }
        }
        Ok(Uploaded { name, cid: file.id, size: file.bytes })
    }

    /// Nobody may become a child of somebody below it: whoever goes down a tree would never come to its end.
    async fn refuse_circle(&self, parent: &EntityId, children: &[EntityId]) -> Result<(), EntityError> {
        let mut above = (!children.is_empty()).then(|| parent.clone());
        for _ in 0..LEVELS {
            let Some(id) = above else { return Ok(()) };
            if children.contains(&id) {
                let message = format!("{id} is above {parent}, and cannot be its child as well");
                return Err(EntityError::Invalid(message));
            }
            above = match self.entity(&id, Call::Parent).await {
                Ok(Reply::Parent(parent)) => parent,
                Ok(other) => return Err(unexpected(&other)),
                // What is not there has nobody above it; whether that matters is judged where it is used.
                Err(EntityError::NotFound(_)) => None,
                Err(error) => return Err(error),
            };
        }
        Err(EntityError::Invalid(format!("{parent} is {LEVELS} levels deep: nothing goes below that")))
    }

    async fn stored(&self, cid: ContentId) -> Result<Stored, EntityError> {
        match self.blobs(BlobsCall::Find { cid }).await? {
            BlobsReply::Found(Some(stored)) => Ok(stored),
            BlobsReply::Found(None) => {
                Err(EntityError::NotFound(format!("there is no file with the content id {cid}")))
            }
            other => Err(unexpected(&other)),
        }
    }

    async fn contents(&self, cid: ContentId, part: Option<Part>) -> Result<Contents, EntityError> {
        let stored = self.stored(cid).await?;
        let size = stored.size;
        let key = blob_key(cid, stored.generation)?;
        let (part, stream) = match part {
            None => ((0, size), self.bucket.get(&key).await.map_err(|error| lost(cid, error))?.1),
            Some(part) => {
                let (first, past) = part.of(size).ok_or_else(|| {
                    EntityError::InvalidParams(format!(
                        "the file has {size} bytes, and the range asks for others"
                    ))
                })?;
                let stream = self.bucket.get_range(&key, first..past).await;
                let stream = stream.map_err(|error| lost(cid, error))?;
                ((first, past), stream)
            }
        };
        Ok(Contents { size, part, pieces: Box::pin(stream.map_err(bucket_failed)) })
    }

    async fn block(&self, cid: ContentId) -> Result<Value, EntityError> {
        let found = now::<Catalog>(&self.engine, MAIN, &CatalogCall::Find { cid }).await?;
        if let CatalogReply::Found(Some(block)) = found {
            let call = Call::Block { ver: block.ver, page: block.page };
            return match self.entity(&block.entity, call).await? {
                Reply::Block(value) => Ok(value),
                other => Err(unexpected(&other)),
            };
        }
        let stored = self.stored(cid).await.map_err(|error| match error {
            EntityError::NotFound(_) => {
                EntityError::NotFound(format!("there is no manifest, page or file with the content id {cid}"))
            }
            other => other,
        })?;
        if let Some(node) = stored.node {
            return Ok(node);
        }
        debug_assert!(cid.is(Codec::Raw), "a file without a node is one leaf");
        let key = blob_key(cid, stored.generation)?;
        let bytes = self.bucket.get_bytes(&key, CHUNK_BYTES as u64).await.map_err(bucket_failed)?;
        Ok(dag_json::of_bytes(&bytes))
    }
}

impl EntityStore for LocalEntities {
    fn create(&self, mut create: Create) -> Asked<'_, Made> {
        Box::pin(async move {
            let id = match create.take_id()? {
                Some(id) => id,
                None => draw_id(self.engine.now().0)?,
            };
            create.check(&id)?;
            let adopts = create.parent_pi.is_some() && !create.children_pi.is_empty();
            let _alone = if adopts { Some(self.adopting.lock().await) } else { None };
            if let Some(parent) = &create.parent_pi {
                self.resolve(parent).await.map_err(|error| match error {
                    EntityError::NotFound(_) => no_parent(parent),
                    other => other,
                })?;
                self.refuse_circle(parent, &create.children_pi).await?;
            }
            if let Some(given) = create.relationships.take().filter(|given| !given.is_empty()) {
                self.relate(&given, &mut create.components).await?;
            }
            self.touch(&create.components).await?;
            let parent = create.parent_pi.clone();
            match (self.entity(&id, Call::Create(Box::new(create))).await?, parent) {
                (Reply::Made(made), _) => Ok(made),
                // The parent was deleted before it heard of the child, which went with it.
                (Reply::Deleted, Some(parent)) => {
                    self.free().await?;
                    Err(no_parent(&parent))
                }
                (other, _) => Err(unexpected(&other)),
            }
        })
    }

    fn get<'a>(&'a self, id: &'a EntityId) -> Asked<'a, Shown> {
        Box::pin(self.shown(id, Call::Get))
    }

    fn version<'a>(&'a self, id: &'a EntityId, selector: Selector) -> Asked<'a, Shown> {
        Box::pin(self.shown(id, Call::Version(selector)))
    }

    fn versions<'a>(
        &'a self,
        id: &'a EntityId,
        limit: usize,
        cursor: Option<ContentId>,
    ) -> Asked<'a, Versions> {
        Box::pin(async move {
            match self.entity(id, Call::Versions { limit, cursor }).await? {
                Reply::Versions(versions) => Ok(versions),
                other => Err(unexpected(&other)),
            }
        })
    }

    fn resolve<'a>(&'a self, id: &'a EntityId) -> Asked<'a, Resolved> {
        Box::pin(async move {
            match self.entity(id, Call::Resolve).await? {
                Reply::Resolved(resolved) => Ok(resolved),
                other => Err(unexpected(&other)),
            }
        })
    }

    fn append<'a>(&'a self, id: &'a EntityId, mut append: Append) -> Asked<'a, Made> {
        Box::pin(async move {
            append.check(id)?;
            let adopts = !append.children_pi_add.is_empty();
            let _alone = if adopts { Some(self.adopting.lock().await) } else { None };
            self.refuse_circle(id, &append.children_pi_add).await?;
            match append.relationships.take() {
                None => {}
                Some(given) if given.is_empty() => {
                    append.components_remove.insert(RELATIONSHIPS.to_owned());
                }
                Some(given) => self.relate(&given, &mut append.components).await?,
            }
            self.touch(&append.components).await?;
            let expect = append.expect_tip;
            match self.entity(id, Call::Append(Box::new(append))).await? {
                Reply::Made(made) => Ok(made),
                Reply::TipMoved { actual } => Err(EntityError::Cas(Box::new(CasDetails { actual, expect }))),
                other => Err(unexpected(&other)),
            }
        })
    }

    fn delete<'a>(&'a self, id: &'a EntityId, expect_tip: Option<ContentId>) -> Asked<'a, Deleted> {
        Box::pin(async move {
            let mut waits = 0;
            let reply = loop {
                match self.entity(id, Call::Delete { expect_tip }).await {
                    // One with many files takes its time: whoever asks again waits with those who wait.
                    Err(EntityError::Backend(_)) if waits < DELETION_WAITS => waits += 1,
                    Err(EntityError::NotFound(_)) if waits > 0 => break Reply::Deleted,
                    reply => break reply?,
                }
            };
            match (reply, expect_tip) {
                (Reply::Deleted, _) => {}
                (Reply::TipMoved { actual }, Some(expect)) => {
                    return Err(EntityError::Cas(Box::new(CasDetails { actual, expect })));
                }
                (other, _) => return Err(unexpected(&other)),
            }
            let freed = self.free().await?;
            Ok(Deleted {
                id: id.clone(),
                pi: id.clone(),
                files_deleted: freed.blobs,
                bytes_freed: freed.bytes,
            })
        })
    }

    fn hierarchy(&self, hierarchy: Hierarchy) -> Asked<'_, HierarchyMade> {
        Box::pin(async move {
            let parent = hierarchy.parent_pi.clone();
            self.append(&parent, hierarchy.into_append()).await.map(HierarchyMade::from)
        })
    }

    fn list(&self, limit: usize, cursor: Option<String>, detail: Detail) -> Asked<'_, EntityList> {
        Box::pin(async move {
            let with_metadata = detail == Detail::Metadata;
            let call = CatalogCall::List { limit, cursor, with_metadata };
            match now::<Catalog>(&self.engine, MAIN, &call).await? {
                CatalogReply::List(list) => Ok(list),
                other => Err(unexpected(&other)),
            }
        })
    }

    fn upload(&self, name: String, pieces: Pieces) -> Asked<'_, Uploaded> {
        Box::pin(self.take_file(name, pieces))
    }

    fn cat(&self, cid: ContentId, part: Option<Part>) -> Asked<'_, Contents> {
        Box::pin(self.contents(cid, part))
    }

    fn dag(&self, cid: ContentId) -> Asked<'_, Value> {
        Box::pin(self.block(cid))
    }

    fn collect(&self, collecting: Collecting, older_than_ms: i64) -> Asked<'_, Collected> {
        Box::pin(self.collect_unnamed(collecting, older_than_ms))
    }
}

const OCTETS: &str = "application/octet-stream";

/// Where the bytes of a file are before they are kept.
enum Source<'a> {
    Memory(Bytes),
    File(&'a Path),
}

/// Calls an object that answers now.
async fn now<O>(engine: &Engine, name: &str, call: &O::Call) -> Result<O::Reply, EntityError>
where
    O: Object,
    O::Call: Serialize,
    O::Reply: DeserializeOwned,
{
    match engine.ask::<O>(name, call).await.map_err(refused)? {
        Answer::Now(reply) => Ok(reply),
        Answer::Later(_) => {
            Err(EntityError::Internal("an answer that should have been there is not".to_owned()))
        }
    }
}

/// Where the bytes of a generation are. The last characters of an id spread files over directories.
pub(crate) fn blob_key(cid: ContentId, generation: u32) -> Result<Key, EntityError> {
    let text = cid.to_string();
    let shard = &text[text.len() - 2..];
    Key::new(&format!("{shard}/{text}.{generation}"))
        .map_err(|error| EntityError::Internal(error.to_string()))
}

fn draw_id(now_ms: i64) -> Result<EntityId, EntityError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random)
        .map_err(|error| EntityError::Backend(format!("no randomness for an id: {error}")))?;
    Ok(EntityId::made(now_ms.unsigned_abs(), u128::from_be_bytes(random)))
}

fn no_parent(parent: &EntityId) -> EntityError {
    EntityError::Invalid(format!("parent_pi: there is no entity {parent}"))
}

fn unexpected(reply: &impl std::fmt::Debug) -> EntityError {
    EntityError::Internal(format!("an answer that nobody asked for: {reply:?}"))
}

pub(crate) fn bucket_failed(error: BlobError) -> EntityError {
    EntityError::Blobs(error.to_string())
}

/// What is known here and not in the bucket was lost, or not restored.
fn lost(cid: ContentId, error: BlobError) -> EntityError {
    match error {
        BlobError::NotFound(_) => {
            EntityError::NotFound(format!("the bytes of the file {cid} are missing: upload it again"))
        }
        error => bucket_failed(error),
    }
}

fn full(error: std::io::Error) -> EntityError {
    EntityError::Blobs(format!("the file cannot be kept: {error}"))
}

fn engine_failed(error: EngineError) -> EntityError {
    EntityError::Backend(error.to_string())
}

fn refused(error: CallError) -> EntityError {
    let text = error.to_string();
    match error {
        CallError::Refused(refused) if refused.code == BAD_CURSOR => {
            EntityError::InvalidCursor(refused.message)
        }
        CallError::Refused(refused) => match refused.class {
            RefusalClass::Invalid => EntityError::Invalid(refused.message),
            RefusalClass::NotFound => EntityError::NotFound(refused.message),
            RefusalClass::Conflict => EntityError::Conflict(refused.message),
            RefusalClass::Forbidden => EntityError::Forbidden(refused.message),
            RefusalClass::TooMany => EntityError::Backend(refused.message),
        },
        CallError::Failed(TurnError::OverBound(over)) => EntityError::TooLarge(over.to_string()),
        CallError::Failed(_) | CallError::UnknownKind(_) | CallError::KeyReused(_) => {
            EntityError::Internal(text)
        }
        CallError::Overloaded { .. }
        | CallError::OutcomeUnknown
        | CallError::Store(_)
        | CallError::Stopping => EntityError::Backend(text),
    }
}
