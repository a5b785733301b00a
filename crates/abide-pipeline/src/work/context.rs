//! What metadata and descriptions are made from: the texts of an entity, what was read off its images, and its children.

use super::{ChildText, WorkError};
use crate::limits::{CONTEXT_BYTES, CONTEXT_FILE_BYTES};
use crate::node::FileKind;
use abide_entities::answer::Shown;
use abide_entities::{ContentId, EntityStore, Part};
use abide_organize::contract::OWN_COMPONENTS;
use abide_organize::{FileKind as InputKind, InputFile, budget, decoded};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::Value;

/// Files and children that are read at a time.
const AT_A_TIME: usize = 8;

/// The first bytes of a file.
pub(super) async fn read(
    entities: &dyn EntityStore,
    cid: ContentId,
    bound: usize,
) -> Result<Vec<u8>, WorkError> {
    let last = bound.saturating_sub(1) as u64;
    let contents = match entities.cat(cid, Some(Part::From(0, Some(last)))).await {
        Ok(contents) => contents,
        // A file without bytes has no such part.
        Err(abide_entities::EntityError::InvalidParams(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut pieces = contents.pieces;
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.try_next().await? {
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// The files of an entity, within bounds, in the order of their names; those that nobody can read have no text.
pub(super) async fn files(entities: &dyn EntityStore, shown: &Shown) -> Result<Vec<InputFile>, WorkError> {
    let named = shown.components.iter().filter(|(name, _)| !OWN_COMPONENTS.contains(&name.as_str()));
    let named: Vec<(String, ContentId)> = named.map(|(name, cid)| (name.clone(), *cid)).collect();
    let mut reading = stream::iter(named)
        .map(|(name, cid)| async move {
            if FileKind::of(&name) == FileKind::Other {
                return Ok(InputFile::text(name, ""));
            }
            let bytes = read(entities, cid, CONTEXT_FILE_BYTES).await?;
            Ok::<_, WorkError>(input(name, &bytes))
        })
        .buffered(AT_A_TIME);
    let (mut files, mut left) = (Vec::new(), CONTEXT_BYTES);
    while let Some(mut file) = reading.try_next().await? {
        if file.content.len() > left {
            file.content.clear();
        }
        left -= file.content.len();
        files.push(file);
    }
    Ok(files)
}

pub(super) fn input(name: String, bytes: &[u8]) -> InputFile {
    if FileKind::of(&name) != FileKind::Ref {
        return InputFile::text(name, decoded(bytes));
    }
    let reference: Value = serde_json::from_slice(bytes).unwrap_or(Value::Null);
    let of = |field: &str| reference.get(field).and_then(Value::as_str).map(str::to_owned);
    InputFile {
        name,
        kind: InputKind::Ref,
        content: of("ocr").unwrap_or_default(),
        original_filename: of("filename"),
        mime_type: of("type"),
        size: reference.get("size").and_then(Value::as_u64),
    }
}

/// What was read off images is left out if texts and children alone are more than so many tokens.
pub(super) fn without_ocr_beyond(files: &mut [InputFile], children_tokens: usize, threshold: usize) {
    let texts = files.iter().filter(|file| file.kind == InputKind::Text);
    let tokens: usize = texts.map(|file| budget::tokens(&file.content)).sum();
    if tokens + children_tokens < threshold {
        return;
    }
    for file in files.iter_mut().filter(|file| file.kind == InputKind::Ref) {
        file.content.clear();
    }
}

/// The children of an entity in their order, each with a component if it has that, and perhaps with another one; what is past the
/// bound is left out.
pub(super) async fn of_children(
    entities: &dyn EntityStore,
    shown: &Shown,
    component: &str,
    also: Option<&str>,
) -> Result<Vec<ChildText<[Option<Vec<u8>>; 2]>>, WorkError> {
    let mut children: Vec<ChildText<[Option<Vec<u8>>; 2]>> = stream::iter(shown.children_pi.clone())
        .map(|pi| async move {
            let child = entities.get(&pi).await?;
            let second = match also {
                Some(also) => own(entities, &child, also).await?,
                None => None,
            };
            let what = [own(entities, &child, component).await?, second];
            let end = pi.as_str().len() - 8;
            let label = child.label.unwrap_or_else(|| pi.as_str()[end..].to_owned());
            Ok::<_, WorkError>(ChildText { pi, label, what })
        })
        .buffered(AT_A_TIME)
        .try_collect()
        .await?;
    let mut left = CONTEXT_BYTES;
    for what in children.iter_mut().flat_map(|child| &mut child.what) {
        match what.as_ref().map_or(0, Vec::len) {
            bytes if bytes > left => *what = None,
            bytes => left -= bytes,
        }
    }
    Ok(children)
}

/// A component of an entity, if it has it.
pub(super) async fn own(
    entities: &dyn EntityStore,
    shown: &Shown,
    component: &str,
) -> Result<Option<Vec<u8>>, WorkError> {
    match shown.components.get(component) {
        Some(cid) => read(entities, *cid, CONTEXT_FILE_BYTES).await.map(Some),
        None => Ok(None),
    }
}
