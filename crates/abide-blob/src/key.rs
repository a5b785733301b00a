//! Keys: names of blobs, the same in a directory and on S3.

use crate::error::BadKey;
use object_store::path::Path;
use std::fmt;

/// Bytes of a key: what S3 takes.
const KEY_BYTES: usize = 1_024;
/// Bytes of one segment: what file systems take, less what a temporary name adds.
const SEGMENT_BYTES: usize = 240;

/// The name of a blob: segments with `/` between them, in any language.
///
/// No segment is empty, `.` or `..`, so a key never leaves its bucket, and none has a control character.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Path);

impl Key {
    /// Checks a key.
    pub fn new(text: &str) -> Result<Key, BadKey> {
        let bad =
            |reason: &str| BadKey { given: text.chars().take(120).collect(), reason: reason.to_owned() };
        if text.is_empty() {
            return Err(bad("it is empty"));
        }
        if text.len() > KEY_BYTES {
            return Err(bad("it is longer than 1,024 bytes"));
        }
        if text.starts_with('/') || text.ends_with('/') {
            return Err(bad("it begins or ends with a slash"));
        }
        if text.chars().any(char::is_control) {
            return Err(bad("it has a control character"));
        }
        if text.split('/').any(|segment| segment.len() > SEGMENT_BYTES) {
            return Err(bad("a part between slashes is longer than 240 bytes"));
        }
        if text.split('/').any(str::is_empty) {
            return Err(bad("there is nothing between two of its slashes"));
        }
        if let Some(dots) = text.split('/').find(|segment| matches!(*segment, "." | "..")) {
            return Err(bad(&format!("{dots:?} between slashes is no name")));
        }
        // Parsed, not made: making one would percent-encode what is not ASCII, and other tools would see another name.
        Path::parse(text).map(Key).map_err(|error| bad(&error.to_string()))
    }

    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_ref()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
