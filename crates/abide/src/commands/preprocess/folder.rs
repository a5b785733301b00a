//! The folder that is preprocessed: its files, in order.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use abide_blob::Key;
use serde_json::{Value, json};

use super::Left;
use crate::failure::Failure;

/// Folders in folders, at most.
const DEPTH: usize = 64;
/// Bytes that the name of what is made of a file takes at least, where its own name is shortened.
const MADE_BYTES: usize = 40;
/// Bytes of the name of a file in a collection: what is made of it has a longer one.
const NAME_BYTES: usize = 210;
/// Bytes of its path.
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
    /// What is no file of the folder: links, sockets and their kin.
    pub(in crate::commands) skipped: Vec<Left>,
    /// Files that cannot be read or named, and folders that are too deep.
    pub(in crate::commands) unusable: Vec<Left>,
    /// Folders that cannot be read: nobody knows what is in them.
    pub(in crate::commands) closed: Vec<Left>,
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
    /// One that is, or was, at a path.
    pub(super) fn of(path: String, bytes: u64, modified_ms: i64) -> File {
        let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase();
        let known = TYPES.iter().find(|(known, _)| *known == extension);
        let content_type = known.map_or("application/octet-stream", |(_, content_type)| content_type);
        File { path, bytes, modified_ms, content_type }
    }

    pub(in crate::commands) fn is_convertible(&self) -> bool {
        CONVERTED.contains(&self.content_type)
    }
}

impl Folder {
    /// Looks at a folder. Links are not followed; what cannot be used is named with its reason.
    pub(in crate::commands) fn read(dir: &Path) -> Result<Folder, Failure> {
        let unreadable = |error: io::Error| Failure::Input { path: dir.to_owned(), error };
        let root = dir.canonicalize().map_err(unreadable)?;
        let device = fs::metadata(&root).map_err(unreadable)?.dev();
        fs::read_dir(&root).map_err(unreadable)?;
        let (files, skipped, unusable, closed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut folder = Folder { root: root.clone(), files, bytes: 0, device, skipped, unusable, closed };
        let mut open = vec![(root, 0)];
        while let Some((dir, depth)) = open.pop() {
            let entries = fs::read_dir(&dir).and_then(Iterator::collect::<io::Result<Vec<_>>>);
            match entries {
                Ok(entries) => {
                    let dirs = entries.iter().filter_map(|entry| folder.add(entry, depth));
                    open.extend(dirs.map(|dir| (dir, depth + 1)));
                }
                Err(error) => {
                    let (file, reason) = (folder.shown(&dir), format!("it cannot be read: {error}"));
                    folder.closed.push(Left { file, reason });
                }
            }
        }
        folder.files.sort_by(|a, b| a.path.cmp(&b.path));
        for left in [&mut folder.skipped, &mut folder.unusable, &mut folder.closed] {
            left.sort_by(|a, b| a.file.cmp(&b.file));
        }
        folder.bytes = folder.files.iter().map(|file| file.bytes).sum();
        Ok(folder)
    }

    /// Adds what is found in a folder; one that is to be looked into is given back.
    fn add(&mut self, entry: &fs::DirEntry, depth: usize) -> Option<PathBuf> {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < DEPTH => return Some(path),
            Ok(kind) if kind.is_dir() => {
                self.unusable(&path, format!("it is in more than {DEPTH} folders: bring it further up"));
            }
            Ok(kind) if kind.is_file() => {
                // One that cannot be opened is said so here, not in the middle of everything.
                let metadata = fs::File::open(&path).and_then(|file| file.metadata());
                let metadata = metadata.map_err(|error| format!("it cannot be read: {error}"));
                match metadata.and_then(|metadata| file(&self.root, &path, &metadata)) {
                    Ok(file) => self.files.push(file),
                    Err(reason) => self.unusable(&path, reason),
                }
            }
            Ok(kind) => {
                let what = if kind.is_symlink() { "a link, and links are not followed" } else { "no file" };
                let file = self.shown(&path);
                self.skipped.push(Left { file, reason: format!("it is {what}") });
            }
            Err(error) => self.unusable(&path, format!("it cannot be read: {error}")),
        }
        None
    }

    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().into_owned()
    }

    fn unusable(&mut self, path: &Path, reason: String) {
        let file = self.shown(path);
        self.unusable.push(Left { file, reason });
    }

    /// The folder as a collection can have it. One of which a part cannot be looked into is refused: what is in there would
    /// count as removed.
    pub(in crate::commands) fn for_a_collection(mut self) -> Result<Folder, Failure> {
        if let Some(Left { file, reason }) = self.closed.first() {
            let (path, error) = (self.root.join(file), io::Error::other(reason.clone()));
            return Err(Failure::Input { path, error });
        }
        for file in std::mem::take(&mut self.files) {
            match too_long(&file.path) {
                None => self.files.push(file),
                Some(reason) => {
                    self.bytes -= file.bytes;
                    self.unusable.push(Left { file: file.path, reason });
                }
            }
        }
        self.unusable.sort_by(|a, b| a.file.cmp(&b.file));
        Ok(self)
    }

    /// A file as it is now.
    pub(in crate::commands) fn again(&self, file: &File) -> io::Result<File> {
        let metadata = fs::File::open(self.root.join(&file.path))?.metadata()?;
        Ok(File::of(file.path.clone(), metadata.len(), modified_ms(&metadata)))
    }

    /// Files that a phase takes.
    pub(in crate::commands) fn convertible(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_convertible())
    }

    /// Some of its files, in order.
    pub(super) fn part(&self, files: Vec<File>) -> Folder {
        let bytes = files.iter().map(|file| file.bytes).sum();
        let (root, device) = (self.root.clone(), self.device);
        Folder { root, files, bytes, device, skipped: Vec::new(), unusable: Vec::new(), closed: Vec::new() }
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

/// Why a file cannot be in a collection, if it is for its path.
fn too_long(path: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if name.len() > NAME_BYTES {
        return Some(format!("its name has more than {NAME_BYTES} bytes: shorten it"));
    }
    (path.len() > PATH_BYTES).then(|| format!("its path has more than {PATH_BYTES} bytes: shorten it"))
}

/// A file as it is named in buckets; the reason if it cannot be.
fn file(root: &Path, path: &Path, metadata: &fs::Metadata) -> Result<File, String> {
    let relative = path.strip_prefix(root).unwrap_or(path);
    let relative = relative.to_str().ok_or("its name is not UTF-8: rename it")?;
    // As long as the key that it gets.
    Key::new(&format!("staging/{:0>31}/{relative}", ""))
        .map_err(|error| format!("its name cannot be used: {}: rename it", error.reason))?;
    let name = relative.rsplit('/').next().unwrap_or(relative);
    let is_digits = |end: &str| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit());
    if name.split_once('#').is_some_and(|(_, end)| is_digits(end)) {
        return Err("its name ends in # and digits, as unfinished files of a bucket do: rename it".to_owned());
    }
    let file = File::of(relative.to_owned(), metadata.len(), modified_ms(metadata));
    let folders = &relative[..relative.len() - name.len()];
    if file.is_convertible()
        && Key::new(&format!("staging/{:0>31}/{folders}{:0>MADE_BYTES$}", "", "")).is_err()
    {
        return Err("its folders leave no room for the names of what is made of it: rename them".to_owned());
    }
    Ok(file)
}

fn modified_ms(metadata: &fs::Metadata) -> i64 {
    metadata.mtime() * 1_000 + metadata.mtime_nsec() / 1_000_000
}
