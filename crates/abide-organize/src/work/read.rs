//! Reading a directory off its entity.

use crate::contract::{FileInput, OWN_COMPONENTS};
use crate::file::{FileKind, InputFile};
use crate::limits::{EXISTING_FILES, FILE_BYTES, FILES, READS, REF_BYTES};
use crate::text::decoded;
use abide_entities::answer::Shown;
use abide_entities::{ContentId, EntityError, EntityStore, Part};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;
use std::collections::BTreeMap;

/// What text files end in.
const TEXTS: [&str; 22] = [
    "txt", "md", "json", "xml", "html", "htm", "csv", "tsv", "yaml", "yml", "toml", "ini", "cfg", "conf",
    "log", "rst", "tex", "rtf", "asc", "nfo", "xmp", "srt",
];

/// Files of a directory, and what is worth knowing about them.
#[derive(Debug, Default)]
pub(crate) struct Read {
    /// By name.
    pub(crate) files: Vec<InputFile>,
    pub(crate) warnings: Vec<String>,
}

/// A directory that cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// It is too large for one request.
    #[error("the directory has {0} files, and one request takes {FILES}: send it in chunks")]
    TooMany(usize),
    /// The entity or its files cannot be reached.
    #[error(transparent)]
    Entity(#[from] EntityError),
}

/// Where a file comes from.
struct Source {
    name: String,
    given: FileInput,
    cid: Option<ContentId>,
}

/// The files that are asked for, or all there are.
pub(crate) async fn directory(
    store: &dyn EntityStore,
    entity: Option<&Shown>,
    asked: Option<&[FileInput]>,
    contents: Option<ContentId>,
) -> Result<Read, ReadError> {
    let mut read = Read::default();
    let sent = match contents {
        Some(cid) => sent(store, cid, &mut read.warnings).await?,
        None => BTreeMap::new(),
    };
    let components = entity.map(|entity| &entity.components);
    let mut sources: Vec<Source> = match asked {
        Some(files) => files
            .iter()
            .map(|file| {
                let mut given = file.clone();
                given.content = given.content.or_else(|| sent.get(&file.name).cloned());
                let cid = components.and_then(|components| components.get(&file.name)).copied();
                Source { name: file.name.clone(), given, cid }
            })
            .collect(),
        None => {
            let own = |name: &&String| !OWN_COMPONENTS.contains(&name.as_str());
            let names = components.into_iter().flatten().filter(|(name, _)| own(name));
            let whole = |(name, cid): (&String, &ContentId)| Source {
                name: name.clone(),
                given: FileInput::named(name.clone()),
                cid: Some(*cid),
            };
            names.map(whole).collect()
        }
    };
    if sources.len() > FILES {
        return Err(ReadError::TooMany(sources.len()));
    }
    // The order of files must not depend on who sent them: prompts would differ.
    sources.sort_by(|one, other| one.name.cmp(&other.name));
    let found: Vec<(InputFile, Option<String>)> =
        stream::iter(sources).map(|source| file(store, source)).buffered(READS).try_collect().await?;
    for (file, warning) in found {
        read.files.push(file);
        read.warnings.extend(warning);
    }
    Ok(read)
}

/// Some files of a group that exists, to see what is in it.
pub(crate) async fn sample(store: &dyn EntityStore, entity: &Shown) -> Result<Vec<InputFile>, ReadError> {
    let names = entity.components.keys().filter(|name| !OWN_COMPONENTS.contains(&name.as_str()));
    let files: Vec<FileInput> = names.take(EXISTING_FILES).map(FileInput::named).collect();
    Ok(directory(store, Some(entity), Some(&files), None).await?.files)
}

/// Contents that were sent with a request and kept as a blob.
async fn sent(
    store: &dyn EntityStore,
    cid: ContentId,
    warnings: &mut Vec<String>,
) -> Result<BTreeMap<String, String>, EntityError> {
    match bytes(store, cid, u64::MAX).await {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map_err(|error| EntityError::Internal(format!("kept contents cannot be read: {error}"))),
        // It is collected when nothing names it for long; the entity has the same files.
        Err(EntityError::NotFound(_)) => {
            warnings.push("the contents that were sent are gone: the entity's were read".to_owned());
            Ok(BTreeMap::new())
        }
        Err(error) => Err(error),
    }
}

/// A file with its text; and what went wrong, if that is no reason to stop.
async fn file(store: &dyn EntityStore, source: Source) -> Result<(InputFile, Option<String>), EntityError> {
    let Source { name, given, cid } = source;
    let is_given = given.content.is_some();
    let mut file = given.into_file();
    if is_given {
        return Ok((file, None));
    }
    let Some(cid) = cid else {
        return Ok((file, Some(format!("{name:?} is no component of the entity: it went by its name"))));
    };
    let is_ref = file.kind == FileKind::Ref;
    if !is_ref && !is_text(&name) {
        return Ok((file, None));
    }
    let read = match bytes(store, cid, if is_ref { REF_BYTES } else { FILE_BYTES }).await {
        Ok(read) => read,
        Err(EntityError::NotFound(_)) => {
            return Ok((file, Some(format!("the bytes of {name:?} are gone: it went by its name"))));
        }
        Err(error) => return Err(error),
    };
    if !is_ref {
        file.content = decoded(&read);
        return Ok((file, None));
    }
    let warning = match serde_json::from_slice::<RefData>(&read) {
        Ok(data) => {
            data.put_into(&mut file);
            None
        }
        Err(error) => Some(format!("{name:?} cannot be read as a reference ({error}): it went by its name")),
    };
    Ok((file, warning))
}

fn is_text(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    extension.is_some_and(|extension| TEXTS.contains(&extension.as_str()))
}

/// What a reference says about the bytes that it stands for.
#[derive(Deserialize)]
struct RefData {
    #[serde(rename = "type")]
    kind: Option<String>,
    size: Option<u64>,
    filename: Option<String>,
    ocr: Option<String>,
}

impl RefData {
    fn put_into(self, file: &mut InputFile) {
        file.content = self.ocr.unwrap_or_default();
        file.original_filename = file.original_filename.take().or(self.filename);
        file.mime_type = file.mime_type.take().or(self.kind);
        file.size = file.size.or(self.size);
    }
}

/// The first bytes of a blob.
pub(crate) async fn bytes(
    store: &dyn EntityStore,
    cid: ContentId,
    most: u64,
) -> Result<Vec<u8>, EntityError> {
    let part = match most {
        u64::MAX => None,
        most => Some(Part::From(0, Some(most - 1))),
    };
    let mut contents = match store.cat(cid, part).await {
        // There is no first byte of an empty file.
        Err(EntityError::InvalidParams(_)) if part.is_some() => store.cat(cid, None).await?,
        other => other?,
    };
    let mut bytes = Vec::new();
    while let Some(piece) = contents.pieces.next().await {
        bytes.extend_from_slice(&piece?);
        if bytes.len() as u64 >= most {
            bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
            break;
        }
    }
    Ok(bytes)
}
