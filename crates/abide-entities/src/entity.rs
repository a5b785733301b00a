//! The entity: creates itself, takes new versions by compare-and-swap, shows any of them.

use crate::answer::{Made, Resolved, Shown, Versions};
use crate::children;
use crate::components;
use crate::content::ContentId;
use crate::id::EntityId;
use crate::leave;
use crate::links;
use crate::messages::ToEntity;
use crate::refusal::No;
use crate::request::{Append, Create, Selector, USUAL_TYPE};
use crate::rows::{self, Bond, HEAD, Head, LEAVING, Leaving, Version, Waiting};
use crate::seal::{self, Changes};
use crate::show;
use abide_core::event::{Event, Sender};
use abide_engine::{Answer, Halt, Object, Turn};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// What an entity is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Call {
    /// Begin.
    Create(Box<Create>),
    /// Have a new version.
    Append(Box<Append>),
    /// Be deleted, with every version.
    Delete {
        /// Only if the tip is this one.
        expect_tip: Option<ContentId>,
    },
    /// Show the newest version.
    Get,
    /// Show one version.
    Version(Selector),
    /// List versions.
    Versions {
        /// How many.
        limit: usize,
        /// After the one with this manifest.
        cursor: Option<ContentId>,
    },
    /// Say where the tip is.
    Resolve,
    /// Say whose child it is.
    Parent,
    /// Show a block.
    Block {
        /// Of which version.
        ver: u32,
        /// Which page of children; the manifest if none.
        page: Option<u64>,
    },
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// There is a version.
    Made(Made),
    /// The tip is another one.
    TipMoved {
        /// This.
        actual: ContentId,
    },
    /// It is deleted, and whoever named it or was named by it knows.
    Deleted,
    /// A version.
    Shown(Box<Shown>),
    /// Versions.
    Versions(Versions),
    /// The tip.
    Resolved(Resolved),
    /// The parent, if it has one.
    Parent(Option<EntityId>),
    /// A block as DAG-JSON.
    Block(Value),
}

/// The kind of object that an entity is; its name is the entity's id.
#[derive(Debug, Clone, Copy)]
pub struct Entity;

impl Object for Entity {
    const KIND: &'static str = "entity";
    type Call = Call;
    type Reply = Reply;
    type Message = ToEntity;
    type Refusal = No;

    fn call(&self, turn: &mut Turn<'_>, call: Call) -> Result<Answer<Reply>, Halt<No>> {
        let id = own_id(turn)?;
        let head: Option<Head> = turn.get(HEAD)?;
        let create = match call {
            Call::Create(create) => *create,
            Call::Delete { expect_tip } => return leave::begin(turn, &id, head, expect_tip),
            other => {
                let head = head.ok_or_else(|| No::Unknown(id.clone()))?;
                return existing(turn, &id, head, other);
            }
        };
        match head {
            Some(head) => again(turn, &id, &head, &create),
            None => begin(turn, &id, create),
        }
    }

    fn message(&self, turn: &mut Turn<'_>, from: Option<&Sender>, message: ToEntity) -> Result<(), Halt<No>> {
        let id = own_id(turn)?;
        // Nobody outside has a part in links.
        let Some(from) = from else { return Ok(()) };
        if message == ToEntity::Forgotten {
            return leave::go_on(turn);
        }
        links::take(turn, &id, from, message)
    }

    fn prefetch(&self, event: &Event) -> Vec<String> {
        let mut keys = vec![HEAD.to_owned()];
        match event {
            Event::Call { body } => match body.decode::<Call>() {
                Ok(Call::Append(append)) => {
                    keys.extend(append.children_pi_add.iter().map(rows::child));
                    keys.extend(append.children_pi_remove.iter().map(rows::child));
                }
                Ok(Call::Version(Selector::Ver(ver)) | Call::Block { ver, .. }) => {
                    keys.push(rows::version(ver));
                }
                Ok(
                    Call::Create(_)
                    | Call::Delete { .. }
                    | Call::Get
                    | Call::Versions { .. }
                    | Call::Resolve
                    | Call::Parent
                    | Call::Version(_),
                )
                | Err(_) => {}
            },
            Event::Message { from: Some(from), .. } => {
                keys.extend(EntityId::parse(from.object.name.as_str()).ok().map(|id| rows::child(&id)));
            }
            Event::Message { from: None, .. }
            | Event::Alarm { .. }
            | Event::Outcome(_)
            | Event::Entries { .. } => {}
        }
        keys
    }
}

fn own_id(turn: &Turn<'_>) -> Result<EntityId, Halt<No>> {
    let name = turn.object().name.as_str();
    EntityId::parse(name).map_err(|_| No::BadName(name.to_owned()).into())
}

fn existing(turn: &mut Turn<'_>, id: &EntityId, head: Head, call: Call) -> Result<Answer<Reply>, Halt<No>> {
    let reply = match call {
        Call::Append(append) => return take_append(turn, id, head, *append),
        Call::Get => Reply::Shown(Box::new(show::newest(turn, id, &head)?)),
        Call::Version(selector) => Reply::Shown(Box::new(show::version(turn, id, &head, selector)?)),
        Call::Versions { limit, cursor } => Reply::Versions(show::versions(turn, limit, cursor)?),
        Call::Resolve => Reply::Resolved(Resolved { id: id.clone(), tip: head.version.cid }),
        Call::Parent => Reply::Parent(head.version.parent),
        Call::Block { ver, page } => Reply::Block(show::block(turn, id, &head, ver, page)?),
        Call::Create(_) | Call::Delete { .. } => unreachable!("beginnings and ends are answered before"),
    };
    Ok(reply.into())
}

/// A creation of what is there already: the same one is answered as the first time.
fn again(
    turn: &mut Turn<'_>,
    id: &EntityId,
    head: &Head,
    create: &Create,
) -> Result<Answer<Reply>, Halt<No>> {
    if head.asked != content_of(create) {
        return Err(No::Taken(id.clone()).into());
    }
    let first = rows::version(1);
    let first: Version = turn.get(&first)?.ok_or_else(|| No::Unknown(id.clone()))?;
    Ok(Reply::Made(made(id, &first)).into())
}

fn begin(turn: &mut Turn<'_>, id: &EntityId, create: Create) -> Result<Answer<Reply>, Halt<No>> {
    if turn.get::<Leaving>(LEAVING)?.is_some() {
        return Err(No::Leaving(id.clone()).into());
    }
    create.check(id).map_err(|error| No::Invalid(error.to_string()))?;
    let asked = content_of(&create);
    let now = turn.now().0;
    let version = Version {
        ver: 1,
        cid: asked,
        prev: None,
        ts: now,
        note: create.note,
        kind: create.kind.unwrap_or_else(|| USUAL_TYPE.to_owned()),
        label: create.label,
        description: create.description,
        properties: create.properties.filter(|properties| !properties.is_empty()),
        parent: create.parent_pi,
        source: create.source_pi,
        components: 0,
        children: 0,
        next_seq: 0,
    };
    // An entity of this id that was deleted had smaller numbers: what is still said about its links means nothing here.
    let first = now.unsigned_abs();
    let mut head = Head { created_at: now, asked, version, bond: None, next_link: first, next_wait: first };
    let mut changes = Changes::default();
    components::change(turn, 1, create.components, &BTreeSet::new(), &mut changes)?;
    let adding: BTreeSet<EntityId> = create.children_pi.into_iter().collect();
    let parent = head.version.parent.clone();
    let wait = wait_number(&mut head, adding.len() + usize::from(parent.is_some()));
    for child in &adding {
        links::adopt(turn, &mut head, child, wait, &mut changes)?;
    }
    if let (Some(parent), Some(asked)) = (&parent, wait) {
        head.bond = Some(Bond::Asked(asked));
        links::send(turn, parent, &ToEntity::Adopt { asked })?;
    }
    seal::seal(turn, id, &mut head, changes)?;
    let left = adding.len() as u32 + u32::from(parent.is_some());
    answer(turn, id, &head, wait, left)
}

fn take_append(
    turn: &mut Turn<'_>,
    id: &EntityId,
    mut head: Head,
    append: Append,
) -> Result<Answer<Reply>, Halt<No>> {
    let actual = head.version.cid;
    if actual != append.expect_tip {
        return Ok(Reply::TipMoved { actual }.into());
    }
    append.check(id).map_err(|error| No::Invalid(error.to_string()))?;
    seal::next(turn, &mut head, append.note);
    let version = &mut head.version;
    if let Some(kind) = append.kind {
        version.kind = kind;
    }
    version.label = append.label.or_else(|| version.label.take());
    version.description = append.description.or_else(|| version.description.take());
    if let Some(properties) = append.properties {
        version.properties = Some(properties).filter(|properties| !properties.is_empty());
    }
    let mut changes = Changes::default();
    components::change(turn, version.ver, append.components, &append.components_remove, &mut changes)?;
    let removing: BTreeSet<EntityId> = append.children_pi_remove.into_iter().collect();
    let adding: Vec<EntityId> = unique(append.children_pi_add, &removing);
    let mut leaving = Vec::new();
    for child in removing {
        if let Some(link) = children::remove(turn, &mut head, &child, &mut changes)? {
            leaving.push((child, link));
        }
    }
    let left = adding.len() + leaving.len();
    let wait = wait_number(&mut head, left);
    for (child, link) in leaving {
        links::send(turn, &child, &ToEntity::Released { link, wait })?;
    }
    for child in &adding {
        links::adopt(turn, &mut head, child, wait, &mut changes)?;
    }
    seal::seal(turn, id, &mut head, changes)?;
    answer(turn, id, &head, wait, left as u32)
}

/// Those that are not removed, each once, in their order.
fn unique(adding: Vec<EntityId>, removing: &BTreeSet<EntityId>) -> Vec<EntityId> {
    let mut seen = BTreeSet::new();
    adding.into_iter().filter(|id| !removing.contains(id) && seen.insert(id.clone())).collect()
}

fn wait_number(head: &mut Head, others: usize) -> Option<u64> {
    let wait = (others > 0).then_some(head.next_wait);
    head.next_wait += u64::from(wait.is_some());
    wait
}

/// The answer now, or when the others know.
fn answer(
    turn: &mut Turn<'_>,
    id: &EntityId,
    head: &Head,
    wait: Option<u64>,
    left: u32,
) -> Result<Answer<Reply>, Halt<No>> {
    let Some(wait) = wait else { return Ok(Reply::Made(made(id, &head.version)).into()) };
    let ticket = turn.open_ticket();
    let made = Some(made(id, &head.version));
    let waiting = Waiting { ticket: ticket.clone(), made, left, children_updated: 0, children_failed: 0 };
    turn.put(&rows::waiting(wait), &waiting)?;
    Ok(Answer::Later(ticket))
}

/// What is said of a version that there is.
pub(crate) fn made(id: &EntityId, version: &Version) -> Made {
    Made {
        id: id.clone(),
        pi: id.clone(),
        kind: version.kind.clone(),
        ver: version.ver,
        manifest_cid: version.cid,
        tip: version.cid,
        children_updated: None,
        children_failed: None,
    }
}

/// What a creation is known by: everything but the id, whatever the order in which it was written.
fn content_of(create: &Create) -> ContentId {
    let without_id = Create { id: None, ..create.clone() };
    let value = serde_json::to_value(&without_id).expect("a request has a form in JSON");
    crate::manifest::id_of(&crate::manifest::of_json(&value))
}
