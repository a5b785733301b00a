//! What is to be done: which files are new, edited or gone.

use std::collections::BTreeMap;
use std::fs::File as OpenFile;
use std::io::{self, Read};
use std::path::Path;

use abide_collections::changes::{Changes, Found, changes, doubtful};
use abide_collections::{Collection, SourceFile};
use sha2::{Digest, Sha256};

use super::super::preprocess::folder::Folder;
use crate::failure::Failure;

/// Files of a collection, by path.
pub(super) type Known = BTreeMap<String, SourceFile>;

/// What is to be done.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) changes: Changes,
    /// Every file of the folder; those that are brought in, and those in doubt, with their digest.
    pub(super) found: BTreeMap<String, Found>,
    /// The name of everything that is done about these changes: the same for the same collection and contents.
    pub(super) batch_id: String,
}

impl Plan {
    pub(super) fn of(collection: &Collection, folder: &Folder, known: &Known) -> Result<Plan, Failure> {
        let entries = folder.files.iter().map(|file| {
            let found = Found { bytes: file.bytes, modified_ms: file.modified_ms, digest: None };
            (file.path.clone(), found)
        });
        let mut found: BTreeMap<String, Found> = entries.collect();
        let unclear: Vec<String> = doubtful(known, &found)
            .chain(found.keys().filter(|path| !known.contains_key(*path)))
            .cloned()
            .collect();
        for path in unclear {
            let digest = digest(&folder.root.join(&path))?;
            if let Some(found) = found.get_mut(&path) {
                found.digest = Some(digest);
            }
        }
        let changes = changes(known, &found);
        let batch_id = batch_id(collection, &changes, &found, known);
        Ok(Plan { changes, found, batch_id })
    }
}

/// What a file's content is known by.
fn digest(path: &Path) -> Result<String, Failure> {
    let unreadable = |error: io::Error| Failure::Input { path: path.to_owned(), error };
    let mut file = OpenFile::open(path).map_err(unreadable)?;
    let mut hash = Sha256::new();
    let mut piece = vec![0; 256 * 1024];
    loop {
        match file.read(&mut piece).map_err(unreadable)? {
            0 => break,
            read => hash.update(&piece[..read]),
        }
    }
    Ok(hex(&hash.finalize()))
}

fn batch_id(
    collection: &Collection,
    changes: &Changes,
    found: &BTreeMap<String, Found>,
    known: &Known,
) -> String {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    };
    add(&collection.name);
    if collection.life > 0 {
        // What was done for one that was deleted is gone.
        add(&collection.life.to_string());
    }
    for path in changes.brought() {
        add(path);
        add(found.get(path).and_then(|found| found.digest.as_deref()).unwrap_or_default());
        // What it was before: a file that is edited back is another change.
        add(known.get(path).map(|known| known.digest.as_str()).unwrap_or_default());
    }
    for path in &changes.gone {
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

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
