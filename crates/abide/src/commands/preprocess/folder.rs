//! The folder that is preprocessed: its files, in order.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Left;
use crate::failure::Failure;

/// Folders in folders, at most.
const DEPTH: usize = 64;
/// Bytes of a file's name: what is made of it has a longer one.
const NAME_BYTES: usize = 210;
/// Bytes of a file's path.
const PATH_BYTES: usize = abide_collections::limits::PATH_BYTES;

/// A folder as it was looked at.
#[derive(Debug)]
pub(in crate::commands) struct Folder {
    /// Where it is.
    pub(in crate::commands) root: PathBuf,
    /// Its files, by path.
    pub(in crate::commands) files: Vec<File>,
    /// All their bytes.
    pub(in crate::commands) bytes: u64,
    /// The device that they are on.
    pub(in crate::commands) device: u64,
    /// Files that cannot be taken, each with its reason.
    pub(in crate::commands) left: Vec<Left>,
    /// Links and special files, which are not looked at.
    pub(in crate::commands) special: usize,
}

/// One file.
#[derive(Debug, Clone)]
pub(in crate::commands) struct File {
    /// From the root.
    pub(in crate::commands) path: String,
    pub(in crate::commands) bytes: u64,
    pub(in crate::commands) modified_ms: i64,
    pub(in crate::commands) content_type: &'static str,
}

/// By how names end: what phases and people take it for.
const TYPES: [(&str, &str); 14] = [
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("png", "image/png"),
    ("webp", "image/webp"),
    ("pdf", "application/pdf"),
    ("jp2", "image/jp2"),
    ("heic", "image/heic"),
    ("gif", "image/gif"),
    ("txt", "text/plain"),
    ("json", "application/json"),
    ("mp3", "audio/mpeg"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
];
/// Those that a phase takes.
const CONVERTED: [&str; 5] = ["image/tiff", "image/jpeg", "image/png", "image/webp", "application/pdf"];

impl File {
    pub(in crate::commands) fn is_convertible(&self) -> bool {
        CONVERTED.contains(&self.content_type)
    }
}

impl Folder {
    /// Looks at a folder. Links are not followed; a file that cannot be taken does not hold up the others.
    pub(in crate::commands) fn read(dir: &Path) -> Result<Folder, Failure> {
        let unreadable = |path: &Path, error: io::Error| Failure::Input { path: path.to_owned(), error };
        let root = dir.canonicalize().map_err(|error| unreadable(dir, error))?;
        let metadata = fs::metadata(&root).map_err(|error| unreadable(&root, error))?;
        let (mut files, mut left, mut special) = (Vec::new(), Vec::new(), 0);
        let mut open = vec![(root.clone(), 0)];
        while let Some((dir, depth)) = open.pop() {
            for entry in fs::read_dir(&dir).map_err(|error| unreadable(&dir, error))? {
                let entry = entry.map_err(|error| unreadable(&dir, error))?;
                let (path, found) = (entry.path(), entry.file_type());
                let found = found.map_err(|error| unreadable(&path, error))?;
                if found.is_dir() && depth < DEPTH {
                    open.push((path, depth + 1));
                } else if found.is_dir() {
                    let reason = format!("it is more than {DEPTH} folders deep");
                    left.push(Left { file: shown(&root, &path), reason });
                } else if found.is_file() {
                    let metadata = entry.metadata().map_err(|error| unreadable(&path, error))?;
                    match file(&root, &path, &metadata) {
                        Ok(file) => files.push(file),
                        Err(reason) => left.push(Left { file: shown(&root, &path), reason }),
                    }
                } else {
                    special += 1;
                }
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        left.sort_by(|a, b| a.file.cmp(&b.file));
        let bytes = files.iter().map(|file| file.bytes).sum();
        Ok(Folder { root, files, bytes, device: metadata.dev(), left, special })
    }

    /// Files that a phase takes.
    pub(in crate::commands) fn convertible(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_convertible())
    }

    /// The same for the same files, so that the same command goes on.
    pub(in crate::commands) fn batch_id(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.root.as_os_str().as_encoded_bytes());
        for file in &self.files {
            hash.update(file.path.as_bytes());
            hash.update(file.bytes.to_le_bytes());
            hash.update(file.modified_ms.to_le_bytes());
        }
        let digest: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        format!("folder-{digest}")
    }

    /// Where a file is in staging.
    pub(in crate::commands) fn key(&self, batch: &str, file: &File) -> String {
        format!("staging/{batch}/{}", file.path)
    }

    /// The manifest of the folder as one batch, one directory after the other.
    pub(in crate::commands) fn manifest(&self, batch: &str) -> Value {
        let entries = self.files.iter().map(|file| {
            json!({
                "r2_key": self.key(batch, file),
                "logical_path": file.path,
                "file_name": file.path.rsplit('/').next().unwrap_or(&file.path),
                "file_size": file.bytes,
                "content_type": file.content_type,
            })
        });
        let files: Vec<Value> = entries.collect();
        json!({
            "batch_id": batch,
            "total_files": files.len(),
            "total_bytes": self.bytes,
            "directories": [{ "directory_path": "/", "processing_config": {}, "files": files }],
        })
    }
}

/// Where a path leads, also if the end of it is not there yet.
pub(in crate::commands) fn real(path: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    let there = absolute.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, mut real_path)) = there else { return Ok(absolute) };
    let rest = absolute.strip_prefix(above).unwrap_or(Path::new(""));
    let goes_up = rest.components().any(|part| part == Component::ParentDir);
    for part in rest.components() {
        match part {
            // What is not there is no link, so that its dots mean what they say.
            Component::ParentDir => drop(real_path.pop()),
            part => real_path.push(part),
        }
    }
    // Past the dots there may be links again.
    if goes_up { real(&real_path) } else { Ok(real_path) }
}

/// A path as people can read it.
fn shown(root: &Path, path: &Path) -> String {
    let relative = path.strip_prefix(root).unwrap_or(path);
    relative.to_string_lossy().chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// A file, or why it cannot be taken.
fn file(root: &Path, path: &Path, metadata: &fs::Metadata) -> Result<File, String> {
    let relative = path.strip_prefix(root).unwrap_or(path);
    let relative = relative.to_str().ok_or("its name is not UTF-8: rename it")?;
    if relative.chars().any(char::is_control) {
        return Err("its name has a control character: rename it".to_owned());
    }
    if relative.rsplit('/').next().is_some_and(|name| name.len() > NAME_BYTES) {
        return Err(format!("its name has more than {NAME_BYTES} bytes: shorten it"));
    }
    if relative.len() > PATH_BYTES {
        return Err(format!("its path has more than {PATH_BYTES} bytes: shorten it"));
    }
    let extension = relative.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase();
    let known = TYPES.iter().find(|(known, _)| *known == extension);
    Ok(File {
        path: relative.to_owned(),
        bytes: metadata.len(),
        modified_ms: metadata.mtime() * 1_000 + metadata.mtime_nsec() / 1_000_000,
        content_type: known.map_or("application/octet-stream", |(_, content_type)| content_type),
    })
}
