//! Publishing a plan: groups become entities with the directory's files, and the directory lets go of what it gave away.
//!
//! Every step finds out what is there already, so that publishing again, after a crash or beside another chunk, gives the same
//! entities. A file is in its group before the directory lets go of it: it is never nowhere.

use super::bounds::bound;
use super::describe::{Chunk, ChunkGroup, Source};
use super::paper::{ask_organizer, is_stopping, not_read};
use super::read;
use crate::calls::{Call, Publish, Reply};
use crate::contract::{DESCRIPTION_FILE, DESCRIPTION_SOURCE, ExistingGroup, GroupEntity, PiRequest};
use crate::group_id::group_id;
use crate::jobs::{Order, Outcome, Published};
use crate::limits::{CHANGES, CONFLICTS, PUBLISH_ROUNDS, READ_AT_ONCE};
use crate::names;
use crate::plan::{Group, Plan};
use crate::rows::Task;
use crate::service::Service;
use abide_core::job::{AttemptEnd, Finish};
use abide_engine::worker::{done, failed, failed_for_good, skipped};
use abide_engine::{JobContext, Worker};
use abide_entities::answer::Shown;
use abide_entities::request::{Append, Create};
use abide_entities::{ContentId, EntityError, EntityId, EntityStore, Pieces, update_if};
use futures_util::{StreamExt, stream};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;

/// The property of a group that says which part gave it its name and description: the first by its place, not by time.
const DESCRIBED_BY: &str = "described_by";

/// Publishes plans.
#[derive(Clone)]
pub(crate) struct Publisher(pub(crate) Service);

impl Worker for Publisher {
    fn run(&self, mut job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let publisher = self.clone();
        Box::pin(async move {
            let order: Order = match job.payload() {
                Ok(order) => order,
                Err(error) => return failed_for_good(format!("the payload cannot be read: {error}")),
            };
            let is_last = job.lease().failures + 1 >= job.lease().max_attempts;
            tokio::select! {
                finish = publisher.attempt(&order, is_last) => finish,
                () = job.stopped() => AttemptEnd::HandedBack.into(),
            }
        })
    }
}

impl Publisher {
    async fn attempt(&self, order: &Order, is_last: bool) -> Finish {
        let site = self.0.site().await;
        let call = Call::Plan { run: order.run, place: order.place };
        let work = match ask_organizer(&site, &order.organizer, &call).await {
            Ok(Reply::Plan(Some(work))) => work,
            Ok(_) => return skipped("the request was begun again, or is gone"),
            Err(_) if is_stopping(&site).await => return AttemptEnd::HandedBack.into(),
            Err(error) => return not_read(&error),
        };
        let Publish { batch_id, chunk_id, asked, planned } = *work;
        let Task::Organize(request) = asked.task else {
            return failed_for_good("there is nothing to publish");
        };
        let store = site.entities.as_ref();
        let publishing = Publishing { store, batch_id: &batch_id, chunk_id: &chunk_id, request: &request };
        match publish(publishing, &planned.plan).await {
            Ok(published) => done(&Outcome::Published(Box::new(published))),
            Err(_) if is_stopping(&site).await => AttemptEnd::HandedBack.into(),
            Err(error) if error.is_retryable() && !is_last => failed(error.to_string()),
            Err(error) => done(&Outcome::Failed { reason: error.to_string() }),
        }
    }
}

/// What is published, and by whom.
#[derive(Clone, Copy)]
pub struct Publishing<'a> {
    /// Where to.
    pub store: &'a dyn EntityStore,
    /// For which batch.
    pub batch_id: &'a str,
    /// By which part of it.
    pub chunk_id: &'a str,
    /// The directory.
    pub request: &'a PiRequest,
}

/// Publishes a plan. Publishing it again changes nothing.
pub async fn publish(publishing: Publishing<'_>, plan: &Plan) -> Result<Published, EntityError> {
    let Distinct { plan, met, notes } = &publishing.distinct(plan).await?;
    let mut request = publishing.request.clone();
    request.existing_groups.extend(met.iter().cloned());
    let publishing = Publishing { request: &request, ..publishing };
    let (mut warnings, mut ours) = (Vec::new(), BTreeSet::new());
    let mut round = 0;
    loop {
        let parent = publishing.store.get(&publishing.request.pi).await?;
        let (groups, kept) = publishing.groups(plan, &parent, &ours, &mut warnings).await?;
        ours.extend(kept.iter().flat_map(|kept| kept.keys().cloned()));
        let given: BTreeMap<&str, ContentId> =
            kept.iter().flat_map(|kept| kept.iter().map(|(name, cid)| (name.as_str(), *cid))).collect();
        let parent = publishing.let_go(plan, &groups, &given).await?;
        let is_left = |name: &&str| parent.components.contains_key(*name);
        let left = given.keys().filter(|name| is_left(name)).count();
        round += 1;
        // A file that changed while it was given away stays until its group has the newest one.
        if left > 0 && round < PUBLISH_ROUNDS {
            continue;
        }
        if left > 0 {
            warnings.push(format!(
                "{left} files changed again and again: they are in the directory and in groups"
            ));
        }
        let grouped: BTreeSet<&str> =
            groups.iter().flat_map(|group| group.files.iter().map(String::as_str)).collect();
        let planned = plan.groups.iter().flat_map(|group| &group.files).chain(&plan.ungrouped_files);
        let mut seen = BTreeSet::new();
        let stays = planned.filter(|name| !grouped.contains(name.as_str()) && seen.insert(name.as_str()));
        let ungrouped = stays.cloned().collect();
        warnings.extend(notes.iter().cloned());
        bound(&mut warnings);
        return Ok(Published { tip: parent.tip, ver: parent.ver, groups, ungrouped, warnings });
    }
}

/// A plan whose groups have names that nothing else in the directory has.
struct Distinct {
    plan: Plan,
    /// Groups of earlier runs that it names and that nobody offered.
    met: Vec<ExistingGroup>,
    /// What is worth knowing.
    notes: Vec<String>,
}

/// A part of the directory that has a name.
struct Taken {
    group: ExistingGroup,
    /// Whether it was made by grouping files; it is a folder otherwise.
    is_group: bool,
}

impl Taken {
    fn of(child: Shown) -> Option<(String, Taken)> {
        let is_group = child.properties.is_some_and(|properties| properties.contains_key(DESCRIBED_BY));
        let group_name = child.label?;
        let description = child.description.unwrap_or_default();
        let name = group_name.to_lowercase();
        Some((name, Taken { group: ExistingGroup { group_name, pi: child.id, description }, is_group }))
    }
}

/// Components of a group that came from the directory.
type Given = BTreeMap<String, ContentId>;

impl Publishing<'_> {
    /// The plan with names that nothing else in the directory has: people know parts by their names. A group that this batch
    /// made under a name has it, and a group of an earlier run gets what is meant for it, also if it was one of too many to offer.
    async fn distinct(self, plan: &Plan) -> Result<Distinct, EntityError> {
        let mut distinct = Distinct { plan: plan.clone(), met: Vec::new(), notes: Vec::new() };
        let parent = self.store.get(&self.request.pi).await?;
        if plan.groups.is_empty() || parent.children_pi.is_empty() {
            return Ok(distinct);
        }
        let reads: Vec<_> = parent.children_pi.iter().map(|child| self.store.get(child)).collect();
        let mut reads = stream::iter(reads).buffered(READ_AT_ONCE);
        let mut taken: BTreeMap<String, Taken> = BTreeMap::new();
        while let Some(child) = reads.next().await {
            match child {
                Ok(child) => taken.extend(Taken::of(child)),
                Err(EntityError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let of = |name: &str| taken.get(&name.to_lowercase());
        let is_free = |name: &String| {
            let own = group_id(self.batch_id, &parent.id, name);
            of(name).is_none_or(|there| there.group.pi == own)
        };
        let planned: BTreeSet<String> =
            plan.groups.iter().map(|group| group.group_name.to_lowercase()).collect();
        let Distinct { plan, met, notes } = &mut distinct;
        for group in plan.groups.iter_mut().filter(|group| self.existing(&group.group_name).is_none()) {
            let name = group.group_name.clone();
            if is_free(&name) {
                continue;
            }
            if let Some(there) = of(&name).filter(|there| there.is_group) {
                notes.push(format!("there is a group {name:?} from before: its files were added to that"));
                met.push(there.group.clone());
                continue;
            }
            let others = (2..).map(|number| format!("{name} ({number})"));
            let mut others = others.filter(|other| !planned.contains(&other.to_lowercase()));
            if let Some(other) = others.find(is_free) {
                notes.push(format!("there is another part {name:?}: the group is named {other:?}"));
                group.group_name = other;
            }
        }
        Ok(distinct)
    }

    /// Makes every group have its files.
    async fn groups(
        self,
        plan: &Plan,
        parent: &Shown,
        ours: &BTreeSet<String>,
        warnings: &mut Vec<String>,
    ) -> Result<(Vec<GroupEntity>, Vec<Given>), EntityError> {
        warnings.clear();
        let (mut groups, mut given) = (Vec::new(), Vec::new());
        for group in &plan.groups {
            let existing = self.existing(&group.group_name);
            let id = match existing {
                Some(known) => known.pi.clone(),
                None => group_id(self.batch_id, &parent.id, &group.group_name),
            };
            let entity = match self.store.get(&id).await {
                Ok(entity) => Some(entity),
                Err(EntityError::NotFound(_)) => None,
                Err(error) => return Err(error),
            };
            // What a group of an earlier run has under a name may be another file: somebody may have moved it there.
            let keeps = |name: &String| existing.is_some() && !ours.contains(name);
            let files = files(group, parent, entity.as_ref(), keeps, warnings);
            if files.is_empty() {
                warnings.push(format!(
                    "the group {:?} has none of the directory's files any more",
                    group.group_name
                ));
                continue;
            }
            let (tip, ver) = match entity {
                None => self.create(&id, parent, group, &files).await?,
                Some(_) => self.add(&id, group, &files, existing.is_some()).await?,
            };
            groups.push(GroupEntity {
                group_name: group.group_name.clone(),
                pi: id,
                tip: Some(tip),
                ver: Some(ver),
                files: files.keys().cloned().collect(),
                description: group.description.clone(),
            });
            given.push(files);
        }
        Ok((groups, given))
    }

    /// The group of an earlier run with that name.
    fn existing(&self, name: &str) -> Option<&ExistingGroup> {
        let plain = |name: &str| names::safe(name).unwrap_or_default().to_lowercase();
        self.request.existing_groups.iter().find(|known| plain(&known.group_name) == plain(name))
    }

    async fn create(
        self,
        id: &EntityId,
        parent: &Shown,
        group: &Group,
        files: &Given,
    ) -> Result<(ContentId, u32), EntityError> {
        let create = Create {
            id: Some(id.clone()),
            components: files.clone(),
            parent_pi: Some(parent.id.clone()),
            label: Some(group.group_name.clone()),
            description: Some(group.description.clone()),
            properties: Some(described_by(&self.place())),
            note: Some(format!("grouped by {}", self.name())),
            ..Create::default()
        };
        match self.store.create(create).await {
            Ok(made) => Ok((made.tip, made.ver)),
            // Another chunk was faster, with other files.
            Err(EntityError::Conflict(_)) => self.add(id, group, files, false).await,
            Err(error) => Err(error),
        }
    }

    /// Adds files to a group that is there. Its name and description are those of the part that comes first, unless the
    /// group is from an earlier run.
    async fn add(
        self,
        id: &EntityId,
        group: &Group,
        files: &Given,
        keeps_name: bool,
    ) -> Result<(ContentId, u32), EntityError> {
        loop {
            let changed = update_if(self.store, id, |shown| {
                let new = files.iter().filter(|(name, cid)| shown.components.get(*name) != Some(*cid));
                let components: Given = new.take(CHANGES).map(|(name, cid)| (name.clone(), *cid)).collect();
                let describes = !keeps_name && self.describes(shown);
                (!components.is_empty() || describes).then(|| Append {
                    components,
                    label: describes.then(|| group.group_name.clone()),
                    description: describes.then(|| group.description.clone()),
                    properties: describes.then(|| {
                        let mut properties = shown.properties.clone().unwrap_or_default();
                        properties.extend(described_by(&self.place()));
                        properties
                    }),
                    note: Some(format!("files added by {}", self.name())),
                    ..Append::onto(shown.tip)
                })
            })
            .await?;
            if !changed.is_changed {
                return Ok((changed.tip, changed.ver));
            }
        }
    }

    /// Whether this part comes before the one that described a group.
    fn describes(self, shown: &Shown) -> bool {
        let by = shown.properties.as_ref().and_then(|properties| properties.get(DESCRIBED_BY));
        by.and_then(Value::as_str).is_some_and(|by| self.place().as_str() < by)
    }

    /// What it comes by among the parts of its directory. Ids of chunks are drawn when they are sent, so that parts of a
    /// directory that is done again would come in another order by them.
    fn place(self) -> String {
        match self.request.part {
            Some(part) => format!("{part:06}-{}", self.chunk_id),
            None => self.chunk_id.to_owned(),
        }
    }

    fn name(self) -> String {
        format!("{}:{}", self.batch_id, self.chunk_id)
    }

    /// The directory lets go of what groups have, and says so.
    async fn let_go(
        self,
        plan: &Plan,
        groups: &[GroupEntity],
        given: &BTreeMap<&str, ContentId>,
    ) -> Result<Shown, EntityError> {
        let id = &self.request.pi;
        if groups.is_empty() {
            return self.store.get(id).await;
        }
        let chunk = Chunk {
            description: plan.reorganization_description.clone(),
            groups: groups
                .iter()
                .map(|group| ChunkGroup {
                    name: group.group_name.clone(),
                    pi: group.pi.as_str().to_owned(),
                    description: group.description.clone(),
                })
                .collect(),
        };
        let mut conflicts = 0;
        loop {
            let parent = self.store.get(id).await?;
            let words = self.words(&parent, &chunk).await?;
            let says = |name: &str, cid: ContentId| parent.components.get(name) == Some(&cid);
            let is_said = words.iter().all(|(name, cid)| says(name, *cid));
            let gone = given.iter().filter(|(name, cid)| says(name, **cid));
            let components_remove: BTreeSet<String> =
                gone.take(CHANGES).map(|(name, _)| (*name).to_owned()).collect();
            if is_said && components_remove.is_empty() {
                return Ok(parent);
            }
            let append = Append {
                components: words,
                components_remove,
                note: Some(format!("grouped by {}", self.name())),
                ..Append::onto(parent.tip)
            };
            match self.store.append(id, append).await {
                Ok(_) => {}
                // Somebody else was faster: everything is looked at again.
                Err(EntityError::Cas(_)) if conflicts < CONFLICTS => conflicts += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// The description and what it is written from, as blobs.
    async fn words(self, parent: &Shown, chunk: &Chunk) -> Result<BTreeMap<String, ContentId>, EntityError> {
        let mut source = match parent.components.get(DESCRIPTION_SOURCE) {
            // What somebody else wrote there is replaced.
            Some(cid) => {
                serde_json::from_slice(&read::bytes(self.store, *cid, u64::MAX).await?).unwrap_or_default()
            }
            None => Source::default(),
        };
        let place = format!("{}:{}", self.batch_id, self.place());
        source.chunks.insert(place, chunk.clone());
        let machine = serde_json::to_string_pretty(&source)
            .map_err(|error| EntityError::Internal(format!("a description cannot be written: {error}")))?;
        let mut words = BTreeMap::new();
        for (name, text) in [(DESCRIPTION_FILE, source.text()), (DESCRIPTION_SOURCE, machine)] {
            words.insert(name.to_owned(), upload(self.store, name, text).await?);
        }
        Ok(words)
    }
}

/// What a group gets: files that are still in the directory, and those that it got before. Of a name that it `keeps` it has
/// another file: the directory's stays where it is.
fn files(
    group: &Group,
    parent: &Shown,
    entity: Option<&Shown>,
    keeps: impl Fn(&String) -> bool,
    warnings: &mut Vec<String>,
) -> Given {
    let mut files = Given::new();
    for name in &group.files {
        let before = entity.and_then(|entity| entity.components.get(name));
        match (parent.components.get(name), before) {
            (Some(cid), Some(there)) if cid != there && keeps(name) => {
                let group = &group.group_name;
                warnings
                    .push(format!("the group {group:?} has another file {name:?}: this one was not moved"));
            }
            (Some(cid), _) | (None, Some(cid)) => {
                files.insert(name.clone(), *cid);
            }
            (None, None) => {
                warnings.push(format!("{name:?} is not in the directory any more: it was not moved"));
            }
        }
    }
    files
}

fn described_by(place: &str) -> Map<String, Value> {
    Map::from_iter([(DESCRIBED_BY.to_owned(), json!(place))])
}

/// Keeps a text.
pub(crate) async fn upload(
    store: &dyn EntityStore,
    name: &str,
    text: String,
) -> Result<ContentId, EntityError> {
    let pieces: Pieces = Box::pin(stream::iter([Ok(text.into())]));
    Ok(store.upload(name.to_owned(), pieces).await?.cid)
}
