//! What is in a directory and is no blob: the file or reference `NAME#1` that a write leaves when its process ends in the
//! middle, and a reference to a file that is gone.

use abide_core::time::Time;
use std::fs::{DirEntry, FileType};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Whether the store takes a name for one of its unfinished writes: what is behind the first `#` is digits alone.
fn is_unfinished(name: &str) -> bool {
    name.split_once('#')
        .is_some_and(|(_, end)| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Removes unfinished writes below a directory that nobody has touched since `until`. How many there were.
pub(crate) fn remove(dir: &Path, until: Time) -> u64 {
    remove_if(dir, |entry, kind| {
        let touched = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        let age = touched.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let is_old = age.is_some_and(|age| age.as_millis() < until.0.unsigned_abs().into());
        let is_written = kind.is_file() || kind.is_symlink();
        is_old && is_written && entry.file_name().to_str().is_some_and(is_unfinished)
    })
}

/// Removes unfinished writes of one file.
pub(crate) fn remove_of(file: &Path) {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name().and_then(|name| name.to_str())) else {
        return;
    };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let left = entry.file_name();
        let is_of_it =
            |left: &str| is_unfinished(left) && left.split_once('#').is_some_and(|(of, _)| of == name);
        if left.to_str().is_some_and(is_of_it) {
            // One that cannot be removed is found again when it is old.
            drop(std::fs::remove_file(entry.path()));
        }
    }
}

/// Removes references below a directory that lead to nothing. How many there were.
pub(crate) fn remove_lost(dir: &Path) -> u64 {
    remove_if(dir, |entry, kind| kind.is_symlink() && !entry.path().exists())
}

fn remove_if(dir: &Path, is_to_go: impl Fn(&DirEntry, FileType) -> bool) -> u64 {
    let mut removed = 0;
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        // What is gone or cannot be read has nothing that could be removed.
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                Ok(kind) if is_to_go(&entry, kind) => {
                    removed += u64::from(std::fs::remove_file(entry.path()).is_ok());
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
    removed
}
