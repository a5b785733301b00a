//! The object that remembers collections. There is one, `all`.
//!
//! | row | what |
//! |---|---|
//! | `c/{name}` | a collection |
//! | `f/{name}/{path}` | a file of the folder that it was made from |
//! | `u/{name}/{entity}` | an entity that something failed for: the next run does it again |
//! | `a/{name}/{asset}` | an image of a collection that is being deleted |
//! | `lives/{name}` | how many collections of that name were deleted |

use crate::by_hand::ByHand;
use crate::collection::{Archived, Collection, SourceFile, Unfinished};
use crate::limits::{ITEMS_PER_CALL, NAME_CHARS, PATH_BYTES};
use crate::refusal::No;
use abide_core::time::Time;
use abide_engine::{Answer, Halt, Nothing, Object, Record, Turn};
use abide_entities::EntityId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The name of the one object of its kind.
pub const NAME: &str = "all";

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// Collections, by name.
    List {
        /// After this name.
        after: Option<String>,
    },
    /// One collection.
    Get {
        /// Which.
        name: String,
    },
    /// A collection is so from now on. When it began and which of its name it is, is known here.
    Save(Box<Collection>),
    /// Files of a collection, by path.
    Files {
        /// Which.
        name: String,
        /// After this path.
        after: Option<String>,
    },
    /// Files of a collection are so from now on.
    SaveFiles {
        /// Which.
        name: String,
        /// By path.
        put: BTreeMap<String, SourceFile>,
        /// Paths that are gone.
        gone: BTreeSet<String>,
    },
    /// Entities of a collection that something failed for, by id.
    Unfinished {
        /// Which.
        name: String,
        /// After this id.
        after: Option<String>,
    },
    /// Something failed for entities of a collection, or they are done.
    SaveUnfinished {
        /// Which.
        name: String,
        /// What is to be done again.
        put: BTreeMap<EntityId, Unfinished>,
        /// Those that are done.
        gone: BTreeSet<EntityId>,
    },
    /// A change by hand is to be done, unless another one was begun before it: one at a time, and each knows of the last.
    Begin {
        /// Of which collection.
        name: String,
        /// How many had been begun when it was decided.
        after: u64,
        /// What is to be done.
        change: Box<ByHand>,
    },
    /// While a change by hand is under way: files that nobody moved are known to be where they are.
    Pin {
        /// Of which collection.
        name: String,
        /// How many had been begun with it.
        nth: u64,
        /// Where they are, by path.
        at: BTreeMap<String, EntityId>,
    },
    /// A change by hand is done, or cannot be; nothing if somebody said so already.
    End {
        /// Of which collection.
        name: String,
        /// How many had been begun with it.
        nth: u64,
        /// Whether it is done.
        is_done: bool,
    },
    /// Images of a collection that is being deleted, by asset.
    Assets {
        /// Which.
        name: String,
        /// After this one.
        after: Option<String>,
    },
    /// Images of a collection that is being deleted are to go, or are gone.
    SaveAssets {
        /// Which.
        name: String,
        /// By asset.
        put: BTreeMap<String, Archived>,
        /// Assets that are gone.
        gone: BTreeSet<String>,
    },
    /// A collection is being deleted from now on: whoever works on it saves nothing any more.
    Delete {
        /// Which.
        name: String,
    },
    /// A collection without files is forgotten.
    Remove {
        /// Which.
        name: String,
    },
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// To [`Call::List`].
    Collections {
        /// These.
        collections: Vec<Collection>,
        /// `after` of the next page; none if this is the last.
        next: Option<String>,
    },
    /// To [`Call::Get`], [`Call::Save`] and [`Call::Delete`]; to [`Call::Begin`] the collection with the change, or none if
    /// another one came before it.
    Collection(Option<Box<Collection>>),
    /// To [`Call::Files`].
    Files {
        /// By path.
        files: Vec<(String, SourceFile)>,
        /// `after` of the next page; none if this is the last.
        next: Option<String>,
    },
    /// To [`Call::Unfinished`].
    Unfinished {
        /// By id.
        entities: Vec<(String, Unfinished)>,
        /// `after` of the next page; none if this is the last.
        next: Option<String>,
    },
    /// To [`Call::Assets`].
    Assets {
        /// By asset.
        assets: Vec<(String, Archived)>,
        /// `after` of the next page; none if this is the last.
        next: Option<String>,
    },
    /// To everything else.
    Done,
}

/// The kind of object that remembers collections.
#[derive(Debug, Clone, Copy)]
pub struct Collections;

const COLLECTIONS: &str = "c/";

impl Object for Collections {
    const KIND: &'static str = "collections";
    type Call = Call;
    type Reply = Reply;
    type Message = Nothing;
    type Refusal = No;

    fn call(&self, turn: &mut Turn<'_>, call: Call) -> Result<Answer<Reply>, Halt<No>> {
        let reply = match call {
            Call::List { after } => {
                let after = after.map(|name| key(&name));
                let found: Vec<(String, Collection)> =
                    turn.scan(COLLECTIONS, after.as_deref(), ITEMS_PER_CALL)?;
                let collections: Vec<Collection> =
                    found.into_iter().map(|(_, collection)| collection).collect();
                let next = collections.last().filter(|_| collections.len() == ITEMS_PER_CALL);
                Reply::Collections { next: next.map(|last| last.name.clone()), collections }
            }
            Call::Get { name } => Reply::Collection(turn.get(&key(&name))?.map(Box::new)),
            Call::Save(collection) => save(turn, *collection)?,
            Call::Files { name, after } => {
                known(turn, &name)?;
                let (files, next) = page(turn, &files_key(&name), after)?;
                Reply::Files { files, next }
            }
            Call::SaveFiles { name, put, gone } => {
                known(turn, &name)?;
                save_rows(turn, &files_key(&name), &put, &gone)?
            }
            Call::Unfinished { name, after } => {
                known(turn, &name)?;
                let (entities, next) = page(turn, &unfinished_key(&name), after)?;
                Reply::Unfinished { entities, next }
            }
            Call::SaveUnfinished { name, put, gone } => {
                known(turn, &name)?;
                let put = put.into_iter().map(|(id, what)| (id.to_string(), what)).collect();
                let gone = gone.iter().map(EntityId::to_string).collect();
                save_rows(turn, &unfinished_key(&name), &put, &gone)?
            }
            Call::Begin { name, after, change } => begin(turn, &name, after, *change)?,
            Call::Pin { name, nth, at } => pin(turn, &name, nth, at)?,
            Call::End { name, nth, is_done } => end(turn, &name, nth, is_done)?,
            Call::Assets { name, after } => {
                known(turn, &name)?;
                let (assets, next) = page(turn, &assets_key(&name), after)?;
                Reply::Assets { assets, next }
            }
            Call::SaveAssets { name, put, gone } => {
                known(turn, &name)?;
                save_rows(turn, &assets_key(&name), &put, &gone)?
            }
            Call::Delete { name } => {
                let marked = Collection { deleting: true, updated_at: turn.now(), ..known(turn, &name)? };
                turn.put(&key(&name), &marked)?;
                Reply::Collection(Some(Box::new(marked)))
            }
            Call::Remove { name } => remove(turn, name)?,
        };
        Ok(reply.into())
    }
}

/// Whether a text can be the name of a collection.
pub fn check_name(name: &str) -> Result<(), No> {
    let fits = (1..=NAME_CHARS).contains(&name.chars().count())
        && name.trim() == name
        && !matches!(name, "." | "..")
        && !name.contains(|c: char| c == '/' || c.is_control());
    if fits { Ok(()) } else { Err(No::BadName(name.to_owned())) }
}

fn save(turn: &mut Turn<'_>, mut collection: Collection) -> Result<Reply, Halt<No>> {
    let name = &collection.name;
    check_name(name)?;
    let former: Option<Collection> = turn.get(&key(name))?;
    let lives = turn.get(&lives_key(name))?.unwrap_or(0);
    let life = former.as_ref().map_or(lives, |former| former.life);
    if collection.created_at != Time::default() && collection.life != life {
        // It was deleted, and whoever saves it has not heard of that; somebody may have made one of that name since.
        return Err(No::Gone(collection.name).into());
    }
    collection.life = life;
    if former.as_ref().is_some_and(|former| former.deleting) && !collection.deleting {
        return Err(No::Deleting(collection.name).into());
    }
    if let Some(former) = &former {
        let is_decided = collection.places_files() && !former.places_files();
        if is_decided && (former.changing.is_some() || collection.by_hand != former.by_hand) {
            return Err(No::ByHand(collection.name).into());
        }
        collection.by_hand = former.by_hand;
        collection.changing.clone_from(&former.changing);
    }
    collection.created_at = former.map_or(turn.now(), |former| former.created_at);
    collection.updated_at = turn.now();
    turn.put(&key(&collection.name), &collection)?;
    Ok(Reply::Collection(Some(Box::new(collection))))
}

fn begin(turn: &mut Turn<'_>, name: &str, after: u64, change: ByHand) -> Result<Reply, Halt<No>> {
    let mut collection = known(turn, name)?;
    if collection.deleting {
        return Err(No::Deleting(collection.name).into());
    }
    // Where it was decided to bring a file, it would come all the same.
    if change.is_of_files() && collection.places_files() {
        return Err(No::Bringing(collection.name).into());
    }
    if change.sources().len() > ITEMS_PER_CALL {
        return Err(No::TooMany(change.sources().len()).into());
    }
    if collection.changing.is_some() || collection.by_hand != after {
        return Ok(Reply::Collection(None));
    }
    collection.by_hand += 1;
    collection.changing = Some(change);
    turn.put(&key(name), &collection)?;
    Ok(Reply::Collection(Some(Box::new(collection))))
}

fn pin(turn: &mut Turn<'_>, name: &str, nth: u64, at: BTreeMap<String, EntityId>) -> Result<Reply, Halt<No>> {
    let collection = known(turn, name)?;
    if at.len() > ITEMS_PER_CALL {
        return Err(No::TooMany(at.len()).into());
    }
    if collection.changing.is_none() || collection.by_hand != nth {
        return Ok(Reply::Done);
    }
    turn.prefetch(at.keys().map(|path| format!("{}{path}", files_key(name))))?;
    for (path, at) in at {
        let row = format!("{}{path}", files_key(name));
        if let Some(file) = turn.get::<SourceFile>(&row)?.filter(|file| file.at.is_none()) {
            turn.put(&row, &SourceFile { at: Some(at), ..file })?;
        }
    }
    Ok(Reply::Done)
}

fn end(turn: &mut Turn<'_>, name: &str, nth: u64, is_done: bool) -> Result<Reply, Halt<No>> {
    let mut collection = known(turn, name)?;
    let Some(change) = collection.changing.take_if(|_| collection.by_hand == nth) else {
        return Ok(Reply::Done);
    };
    if is_done {
        turn.prefetch(change.sources().iter().map(|path| format!("{}{path}", files_key(name))))?;
        for path in change.sources() {
            let row = format!("{}{path}", files_key(name));
            if let Some(mut file) = turn.get::<SourceFile>(&row)? {
                change.remember(&mut file);
                turn.put(&row, &file)?;
            }
        }
    }
    turn.put(&key(name), &collection)?;
    Ok(Reply::Done)
}

/// Rows by name, and where the next page begins.
type Page<R> = (Vec<(String, R)>, Option<String>);

/// Rows under a prefix, without it.
fn page<R: Record>(turn: &mut Turn<'_>, prefix: &str, after: Option<String>) -> Result<Page<R>, Halt<No>> {
    let after = after.map(|name| format!("{prefix}{name}"));
    let found: Vec<(String, R)> = turn.scan(prefix, after.as_deref(), ITEMS_PER_CALL)?;
    let name = |key: String| key.strip_prefix(prefix).map(str::to_owned).unwrap_or(key);
    let rows: Vec<(String, R)> = found.into_iter().map(|(key, row)| (name(key), row)).collect();
    let next = rows.last().filter(|_| rows.len() == ITEMS_PER_CALL).map(|(name, _)| name.clone());
    Ok((rows, next))
}

fn save_rows<R: Record>(
    turn: &mut Turn<'_>,
    prefix: &str,
    put: &BTreeMap<String, R>,
    gone: &BTreeSet<String>,
) -> Result<Reply, Halt<No>> {
    let count = put.len() + gone.len();
    if count > ITEMS_PER_CALL {
        return Err(No::TooMany(count).into());
    }
    for (name, row) in put {
        if name.len() > PATH_BYTES {
            return Err(No::LongPath(name.clone()).into());
        }
        turn.put(&format!("{prefix}{name}"), row)?;
    }
    for name in gone {
        turn.delete(&format!("{prefix}{name}"));
    }
    Ok(Reply::Done)
}

/// What is done under its name from now on has other names: everything of it is gone.
fn remove(turn: &mut Turn<'_>, name: String) -> Result<Reply, Halt<No>> {
    let collection = known(turn, &name)?;
    let (files, _) = page::<SourceFile>(turn, &files_key(&name), None)?;
    let (assets, _) = page::<Archived>(turn, &assets_key(&name), None)?;
    let (unfinished, _) = page::<Unfinished>(turn, &unfinished_key(&name), None)?;
    if !files.is_empty() || !assets.is_empty() || !unfinished.is_empty() {
        return Err(No::HasFiles(name).into());
    }
    turn.put(&lives_key(&name), &(collection.life + 1))?;
    turn.delete(&key(&name));
    Ok(Reply::Done)
}

fn known(turn: &mut Turn<'_>, name: &str) -> Result<Collection, Halt<No>> {
    turn.get(&key(name))?.ok_or_else(|| No::Unknown(name.to_owned()).into())
}

fn key(name: &str) -> String {
    format!("{COLLECTIONS}{name}")
}

fn files_key(name: &str) -> String {
    format!("f/{name}/")
}

fn unfinished_key(name: &str) -> String {
    format!("u/{name}/")
}

fn assets_key(name: &str) -> String {
    format!("a/{name}/")
}

fn lives_key(name: &str) -> String {
    format!("lives/{name}")
}
