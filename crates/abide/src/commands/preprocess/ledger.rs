//! What earlier runs came to: how each file ended, and which of the results are ours.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// How files ended, each in a line: the last about a file counts.
const ENDS: &str = "made.jsonl";
/// Batches that are not over, a file each.
const BATCHES: &str = "batches";

/// A file as it was looked at, and what was to be done with it: as long as both are the same, it is not done again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) bytes: u64,
    pub(super) modified_ms: i64,
    pub(super) how: String,
}

/// How a file ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub(super) enum End {
    Converted,
    PassedThrough {
        reason: String,
    },
    Failed {
        reason: String,
        /// For something that is not in the file, so that it is tried again.
        again: bool,
    },
}

/// A result as we wrote it: as long as it is the same, it is ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Made {
    /// From the folder of results.
    pub(super) path: String,
    pub(super) bytes: u64,
    pub(super) modified_ms: i64,
}

/// What is known of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) seen: Seen,
    pub(super) end: End,
    /// What was made of it.
    pub(super) made: Vec<Made>,
    /// What was made of it when it was another, and is still to be removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) stale: Vec<Made>,
    /// The version of Abide that did it, and what it might hold.
    by: String,
}

impl Entry {
    pub(super) fn new(seen: Seen, end: End, made: Vec<Made>) -> Entry {
        Entry { seen, end, made, stale: Vec::new(), by: String::new() }
    }

    /// Whether what it says of a file still counts for who works `by` this. Results are not looked at.
    pub(super) fn counts_for(&self, seen: &Seen, by: &str) -> bool {
        let is_same = self.seen.bytes == seen.bytes && self.seen.modified_ms == seen.modified_ms;
        match &self.end {
            End::Converted => self.seen == *seen,
            // Another version may know what to do with it, or have room for it.
            End::PassedThrough { .. } => is_same && self.by == by,
            End::Failed { again, .. } => !again && self.seen == *seen && self.by == by,
        }
    }

    /// Takes over what was made of the file before. It stays ours; and it stays, unless there is something in its place.
    fn succeed<'a>(&mut self, before: impl Iterator<Item = &'a Made>) {
        let made: BTreeSet<&str> = self.made.iter().map(|made| made.path.as_str()).collect();
        // Of one that was written again, the last counts.
        let before: BTreeMap<&str, &Made> = before.map(|before| (before.path.as_str(), before)).collect();
        let before: Vec<Made> = before
            .into_iter()
            .filter(|(path, _)| !made.contains(path))
            .map(|(_, made)| made.clone())
            .collect();
        match self.end {
            End::Failed { .. } => self.made.extend(before),
            End::Converted | End::PassedThrough { .. } => self.stale.extend(before),
        }
    }
}

/// A batch that was begun and is not over, and the files in it as they were.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) id: String,
    pub(super) files: BTreeMap<String, Seen>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Root(String),
    File { path: String, entry: Entry },
    Brought { path: String, made: Made },
}

/// Everything that is known of earlier runs.
#[derive(Debug)]
pub(super) struct Ledger {
    dir: PathBuf,
    /// Who writes here now.
    pub(super) by: String,
    /// The folder that results are of.
    pub(super) root: Option<String>,
    /// By the file's path from the root.
    pub(super) entries: BTreeMap<String, Entry>,
    /// What was brought to its place of files that are not over, by their paths.
    brought: BTreeMap<String, Vec<Made>>,
    /// Of which file a result is, and as what we wrote it, by its path.
    owners: BTreeMap<String, (String, Made)>,
    pub(super) pending: Vec<Pending>,
}

impl Ledger {
    /// Reads what is in `dir`. A line that cannot be read is one that is not there: its file is done again.
    pub(super) fn read(dir: &Path, by: String, is_there: impl Fn(&Made) -> bool) -> Result<Ledger, Failure> {
        let unreadable = |path: PathBuf| move |error| Failure::Input { path, error };
        let (mut root, mut entries) = (None, BTreeMap::new());
        let mut brought: BTreeMap<String, Vec<Made>> = BTreeMap::new();
        let text = or_none(fs::read(dir.join(ENDS))).map_err(unreadable(dir.join(ENDS)))?.unwrap_or_default();
        for line in text.split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(Line::Root(line)) => root = Some(line),
                Ok(Line::File { path, entry }) => {
                    brought.remove(&path);
                    entries.insert(path, entry);
                }
                // One that was about to come to its place may not have.
                Ok(Line::Brought { path, made }) if is_there(&made) => {
                    brought.entry(path).or_default().push(made);
                }
                Ok(Line::Brought { .. }) | Err(_) => {}
            }
        }
        let mut pending: Vec<Pending> = Vec::new();
        let batches = or_none(fs::read_dir(dir.join(BATCHES))).map_err(unreadable(dir.join(BATCHES)))?;
        for found in batches.into_iter().flatten() {
            let path = found.map_err(unreadable(dir.join(BATCHES)))?.path();
            if path.extension().is_some_and(|end| end == "json") {
                let text = fs::read(&path).map_err(unreadable(path.clone()))?;
                pending.extend(serde_json::from_slice::<Pending>(&text).ok());
            }
        }
        pending.sort_by(|a, b| a.id.cmp(&b.id));
        let (dir, owners) = (dir.to_owned(), BTreeMap::new());
        let mut ledger = Ledger { dir, by, root, entries, brought, owners, pending };
        let stale =
            ledger.entries.iter().flat_map(|(path, entry)| entry.stale.iter().map(move |made| (path, made)));
        // What is made of a file now takes the place of what was made of another.
        let made =
            ledger.entries.iter().flat_map(|(path, entry)| entry.made.iter().map(move |made| (path, made)));
        let brought =
            ledger.brought.iter().flat_map(|(path, made)| made.iter().map(move |made| (path, made)));
        let owned = |(path, made): (&String, &Made)| (made.path.clone(), (path.clone(), made.clone()));
        ledger.owners = stale.chain(made).chain(brought).map(owned).collect();
        Ok(ledger)
    }

    /// The file that a result is of, and the result as we wrote it.
    pub(super) fn owner(&self, result: &str) -> Option<(&str, &Made)> {
        self.owners.get(result).map(|(source, made)| (source.as_str(), made))
    }

    /// Files of which something was made.
    pub(super) fn sources(&self) -> BTreeSet<&String> {
        self.entries.keys().chain(self.brought.keys()).collect()
    }

    /// Everything that was made of a file and is its own.
    pub(super) fn results_of(&self, source: &str) -> Vec<&Made> {
        let entry = self.entries.get(source).map(|entry| entry.made.iter().chain(&entry.stale));
        let all = entry.into_iter().flatten().chain(self.brought.get(source).into_iter().flatten());
        let own = all.filter(|made| self.owner(&made.path) == Some((source, made)));
        own.map(|made| (&made.path, made)).collect::<BTreeMap<_, _>>().into_values().collect()
    }

    /// Writes down that a result is about to come to its place: whoever is stopped then knows it as its own.
    pub(super) fn bring(&mut self, source: &str, made: &Made) -> Result<(), Failure> {
        let mut line = Vec::new();
        add(&mut line, &Line::Brought { path: source.to_owned(), made: made.clone() });
        let path = self.dir.join(ENDS);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(&line));
        written.map_err(|error| Failure::Unwritten { path, error })?;
        self.owners.insert(made.path.clone(), (source.to_owned(), made.clone()));
        self.brought.entry(source.to_owned()).or_default().push(made.clone());
        Ok(())
    }

    /// Writes down how files ended.
    pub(super) fn record(&mut self, ended: Vec<(String, Entry)>) -> Result<(), Failure> {
        let mut lines = Vec::new();
        for (path, mut entry) in ended {
            entry.by.clone_from(&self.by);
            let former = self.entries.get(&path).map(|former| former.made.iter().chain(&former.stale));
            let brought = self.brought.remove(&path).unwrap_or_default();
            entry.succeed(former.into_iter().flatten().chain(&brought));
            let owned = |made: &Made| (made.path.clone(), (path.clone(), made.clone()));
            self.owners.extend(entry.made.iter().map(owned));
            let line = Line::File { path, entry };
            add(&mut lines, &line);
            if let Line::File { path, entry } = line {
                self.entries.insert(path, entry);
            }
        }
        let path = self.dir.join(ENDS);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let written = file.and_then(|mut file| {
            file.write_all(&lines)?;
            file.sync_data()
        });
        written.map_err(|error| Failure::Unwritten { path, error })
    }

    /// A file that is gone is known no more.
    pub(super) fn forget(&mut self, source: &str) {
        self.owners.retain(|_, (owner, _)| owner != source);
        self.entries.remove(source);
        self.brought.remove(source);
    }

    /// Gives what was made of files when they were others, and was not replaced; it is known no more.
    pub(super) fn take_stale(&mut self) -> Vec<Made> {
        let mut stale = Vec::new();
        for (source, entry) in &mut self.entries {
            for made in std::mem::take(&mut entry.stale) {
                if self.owners.get(&made.path).is_some_and(|(owner, _)| owner == source) {
                    self.owners.remove(&made.path);
                    stale.push(made);
                }
            }
        }
        stale
    }

    /// Writes everything anew, each file once.
    pub(super) fn rewrite(&self) -> Result<(), Failure> {
        let mut lines = Vec::new();
        if let Some(root) = &self.root {
            add(&mut lines, &Line::Root(root.clone()));
        }
        for (path, entry) in &self.entries {
            add(&mut lines, &Line::File { path: path.clone(), entry: entry.clone() });
        }
        for (path, brought) in &self.brought {
            for made in brought {
                add(&mut lines, &Line::Brought { path: path.clone(), made: made.clone() });
            }
        }
        self.replace(&self.dir.join(ENDS), &lines)
    }

    /// A batch begins.
    pub(super) fn begin(&mut self, pending: Pending) -> Result<(), Failure> {
        let path = self.batch_path(&pending.id);
        let text = serde_json::to_vec(&pending).expect("text and numbers are JSON");
        fs::create_dir_all(self.dir.join(BATCHES))
            .map_err(|error| Failure::Unwritten { path: path.clone(), error })?;
        self.replace(&path, &text)?;
        self.pending.push(pending);
        Ok(())
    }

    /// A batch is over, and nothing of it is needed any more.
    pub(super) fn end(&mut self, id: &str) -> Result<(), Failure> {
        self.pending.retain(|pending| pending.id != id);
        let path = self.batch_path(id);
        or_none(fs::remove_file(&path)).map(drop).map_err(|error| Failure::Unwritten { path, error })
    }

    fn batch_path(&self, id: &str) -> PathBuf {
        self.dir.join(BATCHES).join(format!("{id}.json"))
    }

    /// Writes a file as a whole or not at all.
    fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        let written = tempfile::NamedTempFile::new_in(&self.dir).and_then(|mut file| {
            file.write_all(bytes)?;
            file.as_file().sync_all()?;
            file.persist(path).map_err(|error| error.error)
        });
        written.map(drop).map_err(|error| Failure::Unwritten { path: path.to_owned(), error })
    }
}

fn add(lines: &mut Vec<u8>, line: &Line) {
    serde_json::to_writer(&mut *lines, line).expect("text and numbers are JSON");
    lines.push(b'\n');
}

/// What is not there is none.
fn or_none<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
