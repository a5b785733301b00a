//! A file of a collection as people look at it.

use crate::limits::SHOWN_VERSIONS;
use crate::part::{Named, Part};
use crate::text::{is_file, shown_name, text_of};
use crate::tree::label;
use abide_entities::answer::Shown;
use abide_entities::request::Selector;
use abide_entities::{ContentId, EntityError, EntityId, EntityStore};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};

/// Versions of a part that are looked at at the same time.
const READ_AT_ONCE: usize = 4;

/// A file, in one version of the part that it is in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownFile {
    /// Its name.
    pub name: String,
    /// The component that it is, or that stands for it.
    pub component: String,
    /// What that has.
    pub cid: ContentId,
    /// The part that it is in.
    pub part: Named,
    /// Labels from the topmost to that, with `/` between them.
    pub path: String,
    /// The version of the part.
    pub ver: u32,
    /// Its text, or what was read off the image: the beginning, if it is long.
    pub text: Option<String>,
    /// Those of the newest versions of the part in which it has another content than before, newest first.
    pub versions: Vec<FileVersion>,
}

/// A version of a part, and what a file is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileVersion {
    /// Which.
    pub ver: u32,
    /// When it was made.
    pub ts: String,
    /// What the file has in it; none if it has no such file.
    pub cid: Option<ContentId>,
}

impl ShownFile {
    /// Finds a file at a path of labels and a name, or of an id and a name, in the newest version of its part or in
    /// version `ver`.
    pub(crate) async fn find(
        store: &dyn EntityStore,
        root: &EntityId,
        path: &str,
        ver: Option<u32>,
    ) -> Result<Option<ShownFile>, EntityError> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let part = match Part::find(store, root, folder).await? {
            Some(part) => part,
            None => match Part::former(store, root, folder).await? {
                Some(part) => part,
                None => return Ok(None),
            },
        };
        let path = part.path();
        let newest = part.entity.ver;
        let entity = match ver {
            None => part.entity,
            Some(ver) => store.version(&part.entity.id, Selector::Ver(ver)).await?,
        };
        let mut files = entity.components.iter().filter(|(component, _)| is_file(component));
        let found = files.find(|(component, _)| *component == name || shown_name(component) == name);
        let Some((component, cid)) = found.map(|(component, cid)| (component.clone(), *cid)) else {
            return Ok(None);
        };
        Ok(Some(ShownFile {
            name: shown_name(&component).to_owned(),
            cid,
            part: Named { id: entity.id.clone(), label: label(&entity).to_owned() },
            path,
            ver: entity.ver,
            text: text_of(store, &component, cid).await?,
            versions: versions(store, &entity.id, newest, &component).await?,
            component,
        }))
    }
}

/// Where a component has another content than in the version before.
async fn versions(
    store: &dyn EntityStore,
    id: &EntityId,
    newest: u32,
    component: &str,
) -> Result<Vec<FileVersion>, EntityError> {
    // One more than is shown: whether the last of them is another than before.
    let reads: Vec<_> = (1..=newest).rev().take(SHOWN_VERSIONS + 1).collect();
    let reads = reads.into_iter().map(|ver| store.version(id, Selector::Ver(ver)));
    let read: Vec<Shown> = stream::iter(reads).buffered(READ_AT_ONCE).try_collect().await?;
    let is_whole = read.last().is_some_and(|oldest| oldest.ver == 1);
    let has = |version: &Shown| version.components.get(component).copied();
    let mut versions = Vec::new();
    for (at, version) in read.iter().enumerate() {
        let before = read.get(at + 1).and_then(has);
        let is_known = at + 1 < read.len() || is_whole;
        if is_known && has(version) != before {
            versions.push(FileVersion { ver: version.ver, ts: version.ts.clone(), cid: has(version) });
        }
    }
    Ok(versions)
}
