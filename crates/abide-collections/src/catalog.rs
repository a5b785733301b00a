//! The object that remembers collections. There is one, `all`.
//!
//! | row | what |
//! |---|---|
//! | `c/{name}` | a collection |
//! | `f/{name}/{path}` | a file of the folder that it was made from |
//! | `a/{name}/{asset}` | an image of a collection that is being deleted |
//! | `lives/{name}` | how many collections of that name were deleted |

use crate::collection::{Archived, Collection, SourceFile};
use crate::limits::{ITEMS_PER_CALL, NAME_CHARS, PATH_BYTES};
use crate::refusal::No;
use abide_core::time::Time;
use abide_engine::{Answer, Halt, Nothing, Object, Record, Turn};
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
    /// To [`Call::Get`], [`Call::Save`] and [`Call::Delete`].
    Collection(Option<Box<Collection>>),
    /// To [`Call::Files`].
    Files {
        /// By path.
        files: Vec<(String, SourceFile)>,
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
    if former.is_none() && collection.created_at != Time::default() && collection.life < lives {
        // Whoever saves it has not heard of that.
        return Err(No::Gone(collection.name).into());
    }
    collection.life = former.as_ref().map_or(lives, |former| former.life);
    if former.as_ref().is_some_and(|former| former.deleting) && !collection.deleting {
        return Err(No::Deleting(collection.name).into());
    }
    collection.created_at = former.map_or(turn.now(), |former| former.created_at);
    collection.updated_at = turn.now();
    turn.put(&key(&collection.name), &collection)?;
    Ok(Reply::Collection(Some(Box::new(collection))))
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
    if !files.is_empty() || !assets.is_empty() {
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

fn assets_key(name: &str) -> String {
    format!("a/{name}/")
}

fn lives_key(name: &str) -> String {
    format!("lives/{name}")
}
