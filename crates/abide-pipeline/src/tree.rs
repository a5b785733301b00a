//! The tree of a batch: files, wherever they were, become directories with their files, parents before children.

use crate::calls::{Item, NewNode};
use crate::config::ProcessingConfig;
use crate::ids;
use crate::limits::{DEPTH, DIRECTORIES, FILES_PER_DIRECTORY};
use crate::message::PiNode;
use crate::node::{FileKind, FileRecord};
use abide_entities::limits::COMPONENT_NAME_BYTES;
use abide_entities::{ContentId, EntityId};
use abide_organize::contract::{ExistingGroup, OWN_COMPONENTS};
use std::collections::{BTreeMap, BTreeSet};

/// A batch that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTree {
    /// A path is not one.
    #[error("{0:?} is not a path: it begins with a slash and has no parts that are empty, '.' or '..'")]
    Path(String),
    /// A path is too deep.
    #[error("{0:?} is more than {DEPTH} directories deep")]
    Depth(String),
    /// There are too many directories.
    #[error("the batch has more than {DIRECTORIES} directories")]
    Directories,
}

/// A file where it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundFile {
    /// Where it was.
    pub logical_path: String,
    /// Where its bytes are.
    pub staging_key: String,
    /// What is to be done with it, if that is said.
    pub config: Option<ProcessingConfig>,
}

/// What is known of a directory beside its files.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KnownDirectory {
    /// What is to be done with it.
    pub config: Option<ProcessingConfig>,
    /// Its entity, if another one than follows from its path.
    pub pi: Option<EntityId>,
    /// Groups that it has from before.
    pub existing_groups: Vec<ExistingGroup>,
}

/// Directories with their files.
#[derive(Debug, Default)]
pub struct Tree {
    directories: BTreeMap<String, Directory>,
}

#[derive(Debug, Default)]
struct Directory {
    known: KnownDirectory,
    files: Vec<FileRecord>,
    names: BTreeSet<String>,
}

impl Tree {
    /// Notes what is known of a directory.
    pub fn know(&mut self, path: &str, known: KnownDirectory) -> Result<(), BadTree> {
        self.directory(path)?.known = known;
        Ok(())
    }

    /// Adds a file.
    pub fn add(&mut self, file: FoundFile) -> Result<(), BadTree> {
        let bad = || BadTree::Path(file.logical_path.chars().take(200).collect());
        let (path, name) = file.logical_path.rsplit_once('/').ok_or_else(bad)?;
        if name.is_empty() {
            return Err(bad());
        }
        let directory = self.directory(path)?;
        if let Some(config) = file.config {
            directory.known.config = Some(directory.known.config.map_or(config, |known| known.or(config)));
        }
        let name = free_name(name, &directory.names);
        let error = directory.refusal(&name);
        let filename = cut_name(&name);
        directory.names.insert(filename.clone());
        directory.files.push(FileRecord {
            kind: FileKind::of(&filename),
            filename,
            staging_key: Some(file.staging_key),
            cid: None,
            ocr: file.config.is_none_or(|config| config.ocr),
            ocr_complete: false,
            error,
            fixed: false,
            former: false,
            round: 0,
        });
        Ok(())
    }

    /// The directory at a path, with all above it.
    fn directory(&mut self, path: &str) -> Result<&mut Directory, BadTree> {
        let path = if path.is_empty() { "/" } else { path };
        let bad = || BadTree::Path(path.chars().take(200).collect());
        let parts = path.strip_prefix('/').ok_or_else(bad)?;
        let fits = |part: &str| !matches!(part, "" | "." | "..") && !part.chars().any(char::is_control);
        if !parts.is_empty() && !parts.split('/').all(fits) {
            return Err(bad());
        }
        if parts.split('/').count() > DEPTH {
            return Err(BadTree::Depth(path.chars().take(200).collect()));
        }
        if !self.directories.contains_key(path) {
            let mut above = path;
            while let Some(parent) = parent_of(above) {
                self.directories.entry(parent.to_owned()).or_default();
                above = parent;
            }
            if self.directories.len() as u64 >= u64::from(DIRECTORIES) {
                return Err(BadTree::Directories);
            }
        }
        Ok(self.directories.entry(path.to_owned()).or_default())
    }

    /// Directories and files in the order in which a batch takes them: ids follow from `id_space` and the path, unless
    /// `node_pis` or the directory says otherwise.
    #[must_use]
    pub fn into_items(self, id_space: &str, node_pis: &BTreeMap<String, EntityId>) -> Vec<Item> {
        let mut places: BTreeMap<String, u32> = BTreeMap::new();
        let mut items = Vec::new();
        for (place, (path, mut directory)) in (0_u32..).zip(self.directories) {
            let pi = directory.known.pi.or_else(|| node_pis.get(&path).cloned());
            let node = NewNode {
                parent: parent_of(&path).and_then(|parent| places.get(parent)).copied(),
                pi: pi.unwrap_or_else(|| ids::of_directory(id_space, &path)),
                path: path.clone(),
                config: directory.known.config.unwrap_or_default(),
                published: None,
                existing_groups: directory.known.existing_groups,
            };
            places.insert(path, place);
            items.push(Item::Node(Box::new(node)));
            directory.files.sort_by(|one, other| one.filename.cmp(&other.filename));
            items.extend(directory.files.into_iter().map(|file| Item::File { place, file }));
        }
        items
    }
}

impl Directory {
    /// Why a file cannot be taken.
    fn refusal(&self, name: &str) -> Option<String> {
        if self.files.len() >= FILES_PER_DIRECTORY as usize {
            return Some(format!("its directory has more than {FILES_PER_DIRECTORY} files"));
        }
        if name.len() > COMPONENT_NAME_BYTES {
            return Some(format!("its name is longer than {COMPONENT_NAME_BYTES} bytes"));
        }
        name.chars().any(char::is_control).then(|| "its name has a control character".to_owned())
    }
}

/// The name, or one with a number if another file or a phase has it.
pub(crate) fn free_name(name: &str, taken: &BTreeSet<String>) -> String {
    let is_free = |name: &str| !taken.contains(name) && !OWN_COMPONENTS.contains(&name);
    if is_free(name) {
        return name.to_owned();
    }
    let (stem, ending) = name.split_once('.').map_or((name, String::new()), |(s, e)| (s, format!(".{e}")));
    (2..)
        .map(|number| format!("{stem} ({number}){ending}"))
        .find(|name| is_free(name))
        .expect("there are more numbers than files")
}

/// A name as a row can have it.
fn cut_name(name: &str) -> String {
    let mut end = name.len().min(COMPONENT_NAME_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].to_owned()
}

/// The path above a path; none above `/`.
#[must_use]
pub fn parent_of(path: &str) -> Option<&str> {
    match path.rsplit_once('/') {
        Some(("", "")) | None => None,
        Some(("", _)) => Some("/"),
        Some((parent, _)) => Some(parent),
    }
}

/// An entity that is there, as a directory of a batch; `named` says which of its files stay where they are.
#[must_use]
pub fn of_entity(
    place: u32,
    node: NewNode,
    components: &BTreeMap<String, ContentId>,
    named: &PiNode,
) -> Vec<Item> {
    let files = components.iter().filter(|(name, _)| !OWN_COMPONENTS.contains(&name.as_str()));
    let files = files.map(|(name, cid)| {
        let file = FileRecord {
            fixed: named.fixed_files.contains(name),
            former: named.former_files.contains(name),
            ..FileRecord::published(name, *cid)
        };
        Item::File { place, file }
    });
    std::iter::once(Item::Node(Box::new(node))).chain(files).collect()
}
