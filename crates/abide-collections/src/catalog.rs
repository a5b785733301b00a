//! The object that remembers collections. There is one, `all`.
//!
//! | row | what |
//! |---|---|
//! | `c/{name}` | a collection |
//! | `f/{name}/{path}` | a file of the folder that it was made from |

use crate::collection::{Collection, SourceFile};
use crate::limits::{ITEMS_PER_CALL, NAME_CHARS, PATH_BYTES};
use crate::refusal::No;
use abide_engine::{Answer, Halt, Nothing, Object, Turn};
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
    /// A collection is so from now on.
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
    /// To [`Call::Get`].
    Collection(Option<Box<Collection>>),
    /// To [`Call::Files`].
    Files {
        /// By path.
        files: Vec<(String, SourceFile)>,
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
                let prefix = files_key(&name);
                let after = after.map(|path| format!("{prefix}{path}"));
                let found: Vec<(String, SourceFile)> =
                    turn.scan(&prefix, after.as_deref(), ITEMS_PER_CALL)?;
                let path = |key: String| key.strip_prefix(&prefix).map(str::to_owned).unwrap_or(key);
                let files: Vec<(String, SourceFile)> =
                    found.into_iter().map(|(key, file)| (path(key), file)).collect();
                let next =
                    files.last().filter(|_| files.len() == ITEMS_PER_CALL).map(|(path, _)| path.clone());
                Reply::Files { files, next }
            }
            Call::SaveFiles { name, put, gone } => save_files(turn, &name, &put, &gone)?,
            Call::Remove { name } => {
                known(turn, &name)?;
                let files: Vec<(String, SourceFile)> = turn.scan(&files_key(&name), None, 1)?;
                if !files.is_empty() {
                    return Err(No::HasFiles(name).into());
                }
                turn.delete(&key(&name));
                Reply::Done
            }
        };
        Ok(reply.into())
    }
}

/// Whether a text can be the name of a collection.
pub fn check_name(name: &str) -> Result<(), No> {
    let fits = (1..=NAME_CHARS).contains(&name.chars().count())
        && name.trim() == name
        && !name.contains(|c: char| c == '/' || c.is_control());
    if fits { Ok(()) } else { Err(No::BadName(name.to_owned())) }
}

fn save(turn: &mut Turn<'_>, mut collection: Collection) -> Result<Reply, Halt<No>> {
    let name = &collection.name;
    check_name(name)?;
    let former: Option<Collection> = turn.get(&key(name))?;
    collection.created_at = former.map_or(turn.now(), |former| former.created_at);
    collection.updated_at = turn.now();
    turn.put(&key(&collection.name), &collection)?;
    Ok(Reply::Done)
}

fn save_files(
    turn: &mut Turn<'_>,
    name: &str,
    put: &BTreeMap<String, SourceFile>,
    gone: &BTreeSet<String>,
) -> Result<Reply, Halt<No>> {
    known(turn, name)?;
    let count = put.len() + gone.len();
    if count > ITEMS_PER_CALL {
        return Err(No::TooMany(count).into());
    }
    let prefix = files_key(name);
    for (path, file) in put {
        if path.len() > PATH_BYTES {
            return Err(No::LongPath(path.clone()).into());
        }
        turn.put(&format!("{prefix}{path}"), file)?;
    }
    for path in gone {
        turn.delete(&format!("{prefix}{path}"));
    }
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
