//! A file of a directory as it is organized.

use serde::{Deserialize, Serialize};

/// How the names of files end that stand for bytes kept elsewhere.
pub const REF_SUFFIX: &str = ".ref.json";

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// Text of its own.
    Text,
    /// It stands for bytes that are kept elsewhere; its content is what was read off them, if anything.
    Ref,
}

impl FileKind {
    /// What a file of that name is.
    #[must_use]
    pub fn of(name: &str) -> FileKind {
        if name.ends_with(REF_SUFFIX) { FileKind::Ref } else { FileKind::Text }
    }
}

/// A file of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// Its name, unique in the directory.
    pub name: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: FileKind,
    /// Its text; empty if there is none.
    pub content: String,
    /// The name that it had before it was converted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_filename: Option<String>,
    /// Its media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

impl InputFile {
    /// A text with nothing but its name and content.
    #[must_use]
    pub fn text(name: impl Into<String>, content: impl Into<String>) -> InputFile {
        InputFile {
            name: name.into(),
            kind: FileKind::Text,
            content: content.into(),
            original_filename: None,
            mime_type: None,
            size: None,
        }
    }
}
