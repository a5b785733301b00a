//! What a write leaves in a directory when its process ends in the middle: a file `NAME#1`, which is no blob.

use abide_core::time::Time;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Whether the store takes a name for one of its unfinished writes: what is behind the first `#` is digits alone.
fn is_unfinished(name: &str) -> bool {
    name.split_once('#')
        .is_some_and(|(_, end)| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Removes unfinished writes below a directory that nobody has touched since `until`. How many there were.
pub(crate) fn remove(dir: &Path, until: Time) -> u64 {
    let mut removed = 0;
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        // What is gone or cannot be read has nothing that could be removed.
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(path),
                Ok(kind) if kind.is_file() && entry.file_name().to_str().is_some_and(is_unfinished) => {
                    let touched = entry.metadata().and_then(|metadata| metadata.modified()).ok();
                    let age = touched.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
                    let is_old = age.is_some_and(|age| age.as_millis() < until.0.unsigned_abs().into());
                    removed += u64::from(is_old && std::fs::remove_file(&path).is_ok());
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
    removed
}
