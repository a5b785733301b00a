//! What is to be done: which files are new, edited or gone.

use std::collections::BTreeMap;
use std::fs::File as OpenFile;
use std::io::{self, Read};
use std::path::Path;

use abide_collections::changes::{Changes, Found, changes, doubtful};
use abide_collections::{Collection, SourceFile};
use sha2::{Digest, Sha256};

use super::super::preprocess::Left;
use super::super::preprocess::folder::Folder;
use super::look::unusable;

/// Files of a collection, by path.
pub(super) type Known = BTreeMap<String, SourceFile>;

/// What is to be done.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) changes: Changes,
    /// Every file of the folder; those that are brought in, and those in doubt, with their digest.
    pub(super) found: BTreeMap<String, Found>,
    /// Files that cannot be read, each with its reason.
    pub(super) left: Vec<Left>,
}

impl Plan {
    pub(super) fn of(folder: &Folder, known: &Known) -> Plan {
        let entries = folder.files.iter().map(|file| {
            let found = Found { bytes: file.bytes, modified_ms: file.modified_ms, digest: None };
            (file.path.clone(), found)
        });
        let mut found: BTreeMap<String, Found> = entries.collect();
        // What cannot be looked at is as it was.
        let hides = |path: &str| unusable(folder).any(|left| is_below(path, &left.file));
        let hidden: Vec<_> =
            known.iter().filter(|(path, _)| !found.contains_key(*path) && hides(path)).collect();
        for (path, SourceFile { bytes, modified_ms, .. }) in hidden {
            found.insert(path.clone(), Found { bytes: *bytes, modified_ms: *modified_ms, digest: None });
        }
        let unclear: Vec<String> = doubtful(known, &found)
            .chain(found.keys().filter(|path| !known.contains_key(*path)))
            .cloned()
            .collect();
        let mut left = Vec::new();
        for path in unclear {
            let Some(now) = found.get_mut(&path) else { continue };
            match (digest(&folder.root.join(&path)), known.get(&path)) {
                (Ok(digest), _) => now.digest = Some(digest),
                (Err(error), before) => {
                    left.push(Left { file: path.clone(), reason: format!("it cannot be read: {error}") });
                    // What cannot be read is as it was, or not there yet.
                    match before {
                        Some(before) => (now.bytes, now.modified_ms) = (before.bytes, before.modified_ms),
                        None => drop(found.remove(&path)),
                    }
                }
            }
        }
        Plan { changes: changes(known, &found), found, left }
    }

    /// Files that have another time and nothing else, as they are remembered from now on.
    pub(super) fn touched(&self, known: &Known) -> Known {
        let touched = self.changes.touched.iter().filter_map(|path| {
            let modified_ms = self.found.get(path)?.modified_ms;
            Some((path.clone(), SourceFile { modified_ms, ..known.get(path)?.clone() }))
        });
        touched.collect()
    }

    /// The name of everything that is done about these changes: the same for the same collection and contents.
    pub(super) fn batch_id(&self, collection: &Collection, known: &Known) -> String {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        add(&collection.name);
        // What was done for one that was deleted, or was swept before it came to anything, is gone.
        if collection.life > 0 || collection.abandoned > 0 {
            add(&collection.life.to_string());
        }
        if collection.abandoned > 0 {
            add(&collection.abandoned.to_string());
        }
        for path in self.changes.brought() {
            add(path);
            add(self.found.get(path).and_then(|found| found.digest.as_deref()).unwrap_or_default());
            // What it was before: a file that is edited back is another change.
            add(known.get(path).map(|known| known.digest.as_str()).unwrap_or_default());
        }
        for path in &self.changes.gone {
            add("gone");
            add(path);
            add(known.get(path).map(|known| known.digest.as_str()).unwrap_or_default());
        }
        // The same change made again later is not the same run.
        add(&known.len().to_string());
        for (path, file) in known {
            add(path);
            add(&file.digest);
        }
        format!("ingest-{}", &hex(&hash.finalize())[..24])
    }
}

/// Whether a path is that of a file or folder, or of something in it.
fn is_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || above.is_empty() || rest.starts_with('/'))
}

/// What a file's content is known by.
fn digest(path: &Path) -> io::Result<String> {
    let mut file = OpenFile::open(path)?;
    let mut hash = Sha256::new();
    let mut piece = vec![0; 256 * 1024];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            read => hash.update(&piece[..read]),
        }
    }
    Ok(hex(&hash.finalize()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
