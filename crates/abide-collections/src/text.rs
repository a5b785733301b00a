//! Components as people see them: files, and what phases wrote about them.

use crate::limits::TEXT_BYTES;
use abide_entities::{ContentId, EntityError, EntityStore, Part};
use abide_organize::REF_SUFFIX;
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

/// Bytes as text: UTF-8, or UTF-16 if they say so, or what was written before there was either.
fn decoded(bytes: &[u8]) -> String {
    let units = |bytes: &[u8], unit: fn([u8; 2]) -> u16| -> String {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xFF, 0xFE, rest @ ..] => return units(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => return units(rest, u16::from_be_bytes),
        _ => {}
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        // Only the last letter is cut off.
        Err(error) if error.error_len().is_none() => String::from_utf8_lossy(bytes).into_owned(),
        Err(_) => bytes.iter().copied().map(char::from).collect(),
    }
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

    #[test]
    fn texts_are_read_as_they_were_written() {
        for bytes in [&b"Gr\xC3\xB6\xC3\x9Fe"[..], b"Gr\xF6\xDFe", b"\xFF\xFEG\0r\0\xF6\0\xDF\0e\0"] {
            assert_eq!(decoded(bytes), "Größe");
        }
        assert_eq!(decoded(b"\xFE\xFF\0a\0b"), "ab");
        assert_eq!(decoded(b"cut \xC3"), "cut \u{FFFD}");
    }
}
