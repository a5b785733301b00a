//! Components as people see them: files, and what phases wrote about them.

use crate::limits::TEXT_BYTES;
use abide_entities::{ContentId, EntityError, EntityStore, Part};
use abide_organize::{REF_SUFFIX, decoded};
use abide_pipeline::FileKind;
use futures_util::StreamExt;
use serde_json::Value;

/// Components that are no files of the folder.
const WRITTEN: [&str; 6] = [
    "pinax.json",
    "cheimarros.json",
    "description.md",
    "reorganization-description.txt",
    "chunks.json",
    "relationships",
];

/// Whether a component is a file of the folder, or was made of one.
#[must_use]
pub fn is_file(component: &str) -> bool {
    !WRITTEN.contains(&component) && !component.starts_with("reorganization-")
}

/// A component's name as people know it.
#[must_use]
pub fn shown_name(component: &str) -> &str {
    component.strip_suffix(REF_SUFFIX).unwrap_or(component)
}

/// The name under which a file is kept: its own, unless a phase writes under that.
#[must_use]
pub(crate) fn component_name(file: &str) -> String {
    if is_file(file) {
        return file.to_owned();
    }
    let beside = match file.rsplit_once('.') {
        Some((stem, ending)) => format!("{stem} (file).{ending}"),
        None => format!("{file} (file)"),
    };
    if is_file(&beside) { beside } else { format!("(file) {file}") }
}

/// The text of a component: its own, or what was read off the image that it stands for; none if it has none.
pub async fn text_of(
    store: &dyn EntityStore,
    component: &str,
    cid: ContentId,
) -> Result<Option<String>, EntityError> {
    let kind = FileKind::of(component);
    if kind == FileKind::Other {
        return Ok(None);
    }
    let text = read(store, cid).await?;
    if kind == FileKind::Text {
        return Ok(Some(text));
    }
    let reference: Option<Value> = serde_json::from_str(&text).ok();
    Ok(reference.and_then(|reference| Some(reference.get("ocr")?.as_str()?.to_owned())))
}

/// The beginning of a blob as text.
pub(crate) async fn read(store: &dyn EntityStore, cid: ContentId) -> Result<String, EntityError> {
    let contents = match store.cat(cid, Some(Part::From(0, Some(TEXT_BYTES as u64 - 1)))).await {
        // It has no bytes at all, or they were lost: the rest can be seen, and deleted, all the same.
        Err(EntityError::InvalidParams(_) | EntityError::NotFound(_)) => return Ok(String::new()),
        contents => contents?,
    };
    let mut bytes = Vec::new();
    let mut pieces = contents.pieces;
    while let Some(piece) = pieces.next().await {
        bytes.extend_from_slice(&piece?);
    }
    Ok(decoded(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_never_has_the_name_of_what_phases_write() {
        for (file, expected) in [
            ("letter.txt", "letter.txt"),
            ("description.md", "description (file).md"),
            ("pinax.json", "pinax (file).json"),
            ("relationships", "relationships (file)"),
            ("reorganization-description.txt", "(file) reorganization-description.txt"),
        ] {
            assert_eq!(component_name(file), expected);
            assert!(is_file(&component_name(file)), "{file}");
        }
        assert_eq!(shown_name("scan.jpg.ref.json"), "scan.jpg");
    }
}
