//! A collection to a folder, as it is organized: files under their names, descriptions and records beside them. A folder that has
//! an export of the collection is brought up to date.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path};

use abide_collections::{Collection, Tree, shown_name};
use abide_entities::{ContentId, EntityError, EntityId, EntityStore};
use abide_preprocess::report::RefData;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;

use crate::commands::preprocess::Left;
use crate::commands::preprocess::folder::real;
use crate::failure::Failure;
use crate::reach::{Client, Path as Request, ReachError};

/// What says which files of a folder are of an export.
const MARK: &str = ".abide-export.json";

/// What was written.
#[derive(Debug, Serialize)]
pub(crate) struct Exported {
    pub(crate) files: u64,
    pub(crate) dir: String,
    /// Files and images whose bytes are missing.
    pub(in crate::commands) left: Vec<Left>,
}

impl Exported {
    /// Whether everything was written.
    pub(crate) fn all_done(&self) -> Result<(), Failure> {
        match self.left.len() {
            0 => Ok(()),
            left => {
                Err(Failure::Partly(format!("{left} files were not exported, each with its reason above")))
            }
        }
    }
}

/// Which files of a folder are of an export, by their paths in it.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Mark {
    collection: String,
    files: BTreeSet<String>,
}

/// Writes a collection to a folder that is not there, empty, or has an export of it.
pub(crate) async fn to_folder(
    client: &Client,
    entities: &dyn EntityStore,
    name: &str,
    dir: &Path,
) -> Result<Exported, Failure> {
    let collection: Collection = client.get(&Request::of(["collections", name])).await?;
    check_target(dir, Path::new(&collection.folder), name)?;
    let mut mark = Mark::read(dir)?.unwrap_or_default();
    name.clone_into(&mut mark.collection);
    let tree = Tree::read(entities, &collection.root_pi).await?;
    let folders = folders(&tree);
    let planned: Vec<(String, &str, ContentId)> = tree
        .branches()
        .iter()
        .flat_map(|branch| {
            let folder = &folders[&branch.entity.id];
            let files = branch.entity.components.iter();
            files.map(move |(component, cid)| {
                (in_folder(folder, shown_name(component)), component.as_str(), *cid)
            })
        })
        .collect();
    for (path, ..) in &planned {
        let to = dir.join(path);
        if !mark.files.contains(path) && to.exists() {
            let message = format!("{} is there and not of an export: move it away", to.display());
            return Err(Failure::Unusable(message));
        }
    }
    let paths: BTreeSet<String> = planned.iter().map(|(path, ..)| path.to_lowercase()).collect();
    let mut export = Export { client, entities, dir, paths, written: BTreeSet::new(), left: Vec::new() };
    // What is written before it is stopped is known to be of an export.
    mark.files.extend(planned.iter().flat_map(|(path, ..)| [path.clone(), export.read_off(path)]));
    mark.write(dir)?;
    for folder in folders.values() {
        let folder = dir.join(folder);
        fs::create_dir_all(&folder).map_err(|error| Failure::Input { path: folder, error })?;
    }
    for (path, component, cid) in planned {
        match export.file(path.clone(), component, cid).await {
            // The others are written all the same.
            Err(Failure::Entities(EntityError::NotFound(reason))) => {
                export.left.push(Left { file: path, reason });
            }
            written => written?,
        }
    }
    let (files, left) = (export.written.len() as u64, export.left);
    // Of what is missing now, an earlier export has the only copy.
    export.written.extend(left.iter().map(|left| left.file.clone()));
    mark.remove_others(dir, &export.written);
    Mark { collection: mark.collection, files: export.written }.write(dir)?;
    Ok(Exported { files, dir: dir.display().to_string(), left })
}

/// Neither the source is written to, nor a folder that has something else in it.
pub(crate) fn check_target(dir: &Path, source: &Path, name: &str) -> Result<(), Failure> {
    let unusable = |error| Failure::Input { path: dir.to_owned(), error };
    if real(dir).map_err(unusable)?.starts_with(source) {
        return Err(Failure::Unusable(format!(
            "{} is in {}, and nothing is written to a source: choose another folder",
            dir.display(),
            source.display()
        )));
    }
    let is_free = match fs::read_dir(dir) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        Err(error) => return Err(unusable(error)),
    };
    if is_free || Mark::read(dir)?.is_some_and(|mark| mark.collection == name) {
        return Ok(());
    }
    Err(Failure::Unusable(format!("{} is not empty: choose another folder", dir.display())))
}

impl Mark {
    fn read(dir: &Path) -> Result<Option<Mark>, Failure> {
        let path = dir.join(MARK);
        match fs::read(&path) {
            Ok(text) => Ok(serde_json::from_slice(&text).ok()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::Input { path, error }),
        }
    }

    fn write(&self, dir: &Path) -> Result<(), Failure> {
        let path = dir.join(MARK);
        let unwritten = |error| Failure::Input { path: path.clone(), error };
        let text = serde_json::to_vec_pretty(self).map_err(|error| unwritten(error.into()))?;
        fs::create_dir_all(dir).and_then(|()| fs::write(&path, text)).map_err(unwritten)
    }

    /// Removes what an earlier export wrote and this one did not, and folders that are empty then.
    fn remove_others(&self, dir: &Path, written: &BTreeSet<String>) {
        for path in self.files.difference(written) {
            let is_inside = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
            let path = Path::new(path);
            // What is gone already, or in a folder with something else, is as it should be.
            if is_inside(path) && fs::remove_file(dir.join(path)).is_ok() {
                let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
                let _left = above.map(|above| fs::remove_dir(dir.join(above))).find(Result::is_err);
            }
        }
    }
}

/// Where each part is written: under its label, or under another if one beside it has the same.
fn folders(tree: &Tree) -> BTreeMap<EntityId, String> {
    let mut folders: BTreeMap<EntityId, String> = BTreeMap::new();
    let mut used: BTreeSet<String> = BTreeSet::new();
    for branch in tree.branches() {
        let Some(above) = branch.parent.as_ref().and_then(|parent| folders.get(parent)) else {
            folders.insert(branch.entity.id.clone(), String::new());
            continue;
        };
        let path = in_folder(above, branch.label());
        let other = (2..).map(|number| format!("{path} ({number})"));
        let free = std::iter::once(path.clone()).chain(other).find(|path| used.insert(path.to_lowercase()));
        folders.insert(branch.entity.id.clone(), free.unwrap_or(path));
    }
    folders
}

fn in_folder(folder: &str, name: &str) -> String {
    match folder {
        "" if name == MARK => format!("_{MARK}"),
        "" => safe(name),
        folder => format!("{folder}/{}", safe(name)),
    }
}

/// A label as a name of a folder: never a way out of it.
fn safe(label: &str) -> String {
    match label {
        "." | ".." => "_".to_owned(),
        label => label.replace(['/', '\\', '\0'], "_"),
    }
}

/// What stands for an image, with what was read off it.
#[derive(Deserialize)]
struct Reference {
    #[serde(flatten)]
    image: RefData,
    #[serde(default)]
    ocr: Option<String>,
}

struct Export<'a> {
    client: &'a Client,
    entities: &'a dyn EntityStore,
    dir: &'a Path,
    /// Paths of files of the collection, in lower case.
    paths: BTreeSet<String>,
    /// Paths in the folder.
    written: BTreeSet<String>,
    left: Vec<Left>,
}

impl Export<'_> {
    /// Where what was read off an image is written: a file that somebody called so keeps its name.
    fn read_off(&self, path: &str) -> String {
        let own = format!("{path}.ocr.txt");
        let others = (2..).map(|number| format!("{path}.ocr ({number}).txt"));
        let mut names = std::iter::once(own.clone()).chain(others);
        names.find(|name| !self.paths.contains(&name.to_lowercase())).unwrap_or(own)
    }

    async fn file(&mut self, path: String, component: &str, cid: ContentId) -> Result<(), Failure> {
        let to = self.dir.join(&path);
        if shown_name(component) == component {
            self.blob(cid, &to).await?;
            self.written.insert(path);
            return Ok(());
        }
        let bytes = self.bytes(cid).await?;
        let Ok(reference) = serde_json::from_slice::<Reference>(&bytes) else {
            // It is called as a ref is, and is none.
            let unwritten = |error| Failure::Input { path: to.clone(), error };
            fs::write(&to, &bytes).map_err(unwritten)?;
            self.written.insert(path);
            return Ok(());
        };
        if let Some(text) = reference.ocr.filter(|text| !text.is_empty()) {
            let read_off = self.read_off(&path);
            let beside = self.dir.join(&read_off);
            fs::write(&beside, text).map_err(|error| Failure::Input { path: beside, error })?;
            self.written.insert(read_off);
        }
        let id = reference.image.url.rsplit('/').next().unwrap_or_default();
        match self.client.download(&Request::of(["preprocess", "asset", id, "original"]), &to).await {
            Ok(()) => drop(self.written.insert(path)),
            // The others are written all the same.
            Err(Failure::Reach(ReachError::Refused { message, .. })) => {
                self.left.push(Left { file: path, reason: message });
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn bytes(&self, cid: ContentId) -> Result<Vec<u8>, Failure> {
        let mut pieces = self.entities.cat(cid, None).await?.pieces;
        let mut bytes = Vec::new();
        while let Some(piece) = pieces.next().await {
            bytes.extend_from_slice(&piece?);
        }
        Ok(bytes)
    }

    async fn blob(&self, cid: ContentId, to: &Path) -> Result<(), Failure> {
        let unwritten = |error| Failure::Input { path: to.to_owned(), error };
        let mut pieces = self.entities.cat(cid, None).await?.pieces;
        let mut file = tokio::fs::File::create(to).await.map_err(unwritten)?;
        while let Some(piece) = pieces.next().await {
            file.write_all(&piece?).await.map_err(unwritten)?;
        }
        file.flush().await.map_err(unwritten)
    }
}
