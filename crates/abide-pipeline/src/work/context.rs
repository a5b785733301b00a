//! What metadata and descriptions are made from: the texts of an entity, what was read off its images, and its children.

use super::{ChildText, WorkError};
use crate::limits::{CONTEXT_BYTES, CONTEXT_FILE_BYTES};
use crate::node::FileKind;
use abide_entities::answer::Shown;
use abide_entities::{ContentId, EntityStore, Part};
use abide_organize::contract::OWN_COMPONENTS;
use abide_organize::{FileKind as InputKind, InputFile, budget};
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
    let is_shown = |name: &str| FileKind::of(name) != FileKind::Other || !is_shown_by_another(name, &named);
    let mut reading =
        stream::iter(named.iter().filter(|(name, _)| is_shown(name)).cloned().collect::<Vec<_>>())
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

/// Whether something readable was made of a file that nobody can read: it speaks for it.
fn is_shown_by_another(name: &str, named: &[(String, ContentId)]) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    named.iter().any(|(other, _)| {
        let rest = other.strip_prefix(stem).filter(|_| FileKind::of(other) != FileKind::Other);
        rest.is_some_and(|rest| rest.starts_with('.') || rest.starts_with("-p"))
    })
}

fn input(name: String, bytes: &[u8]) -> InputFile {
    let text = String::from_utf8_lossy(bytes).into_owned();
    if FileKind::of(&name) != FileKind::Ref {
        return InputFile::text(name, text);
    }
    let reference: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
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

/// One component of each child that has it, in their order.
pub(super) async fn of_children(
    entities: &dyn EntityStore,
    shown: &Shown,
    component: &str,
) -> Result<Vec<ChildText<Vec<u8>>>, WorkError> {
    let children: Vec<Option<ChildText<Vec<u8>>>> = stream::iter(shown.children_pi.clone())
        .map(|pi| async move {
            let child = entities.get(&pi).await?;
            let Some(cid) = child.components.get(component) else { return Ok::<_, WorkError>(None) };
            let what = read(entities, *cid, CONTEXT_FILE_BYTES).await?;
            let end = pi.as_str().len() - 8;
            let label = child.label.unwrap_or_else(|| pi.as_str()[end..].to_owned());
            Ok(Some(ChildText { pi, label, what }))
        })
        .buffered(AT_A_TIME)
        .try_collect()
        .await?;
    let mut left = CONTEXT_BYTES;
    let fits = |child: &ChildText<Vec<u8>>| {
        let fits = child.what.len() <= left;
        left -= if fits { child.what.len() } else { 0 };
        fits
    };
    Ok(children.into_iter().flatten().filter(fits).collect())
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
