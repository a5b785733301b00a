//! `abide backup` and `abide restore`: a copy of the store, and the way back. Bytes of files are beside the store, and are said.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path as FilePath, PathBuf};

use abide_links::event::SYNC;
use abide_links::sync::BACKEND;
use abide_sqlite::OwnRow;
use indicatif::HumanBytes;
use serde::Serialize;
use serde_json::{Value, json};

use super::collection::print::count;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{Output, displayed};
use crate::reach::{self, Missing, Path};
use crate::services::{downloads, entities, preprocess};

#[derive(Serialize)]
struct Restored<'a> {
    #[serde(serialize_with = "displayed")]
    data_dir: &'a FilePath,
    bytes: u64,
}

/// A directory with bytes that no copy of the store has.
#[derive(Debug, Serialize)]
struct Beside {
    what: &'static str,
    #[serde(serialize_with = "displayed")]
    dir: PathBuf,
    files: u64,
    bytes: u64,
}

impl Beside {
    /// Those that have any.
    fn of(config: &Config) -> Vec<Beside> {
        let buckets = preprocess::local_dir(config);
        let places = [
            ("files of entities", Some(entities::blobs_dir(&config.store.data_dir))),
            ("images, and what is being converted", buckets),
            ("downloads", Some(downloads::dir(config))),
        ];
        let beside = places.into_iter().filter_map(|(what, dir)| {
            let dir = dir?;
            let (files, bytes) = extent(&dir);
            Some(Beside { what, dir, files, bytes })
        });
        beside.filter(|beside| beside.files > 0).collect()
    }
}

/// Files below a directory, and their bytes. What cannot be looked into has none.
fn extent(dir: &FilePath) -> (u64, u64) {
    let (mut files, mut bytes, mut open) = (0, 0, vec![dir.to_owned()]);
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(found) if found.is_dir() => open.push(entry.path()),
                Ok(found) => {
                    files += 1;
                    bytes += found.len();
                }
                Err(_) => {}
            }
        }
    }
    (files, bytes)
}

/// Copies the store to `file`.
pub(crate) fn backup(config: &Config, file: &FilePath, output: Output) -> Result<(), Failure> {
    let file = std::path::absolute(file).map_err(|error| Failure::Input { path: file.to_owned(), error })?;
    let Some(path) = file.to_str() else {
        let message =
            format!("{} is not UTF-8, which a server cannot be told: give another name", file.display());
        return Err(Failure::Unusable(message));
    };
    let body = json!({ "path": path }).to_string();
    let mut document: Value = reach::with(config, Missing::Refuse, async |client| {
        Ok(client.post_text(&Path::v1(["backup"]), body).await?)
    })?;
    let bytes = document["bytes"].as_u64().unwrap_or_default();
    let mut text = format!("\u{2713} Backup of {} in {}\n", HumanBytes(bytes), file.display());
    let beside = Beside::of(config);
    if !beside.is_empty() {
        text.push_str("Not in it, and to be copied after it:\n");
    }
    for Beside { what, dir, files, bytes } in &beside {
        let files = count(*files as usize, "file", "files");
        text.push_str(&format!("  {}: {what} ({files}, {})\n", dir.display(), HumanBytes(*bytes)));
    }
    document["not_in_it"] = json!(beside);
    output.data(&text, &document)
}

/// A log that was restored is another one: what clients got after the backup is not in it, and they must notice.
const NOT_IN_A_COPY: [OwnRow; 1] = [OwnRow { kind: SYNC, key: BACKEND }];

/// Puts the backup `file` into the data directory.
pub(crate) fn restore(config: &Config, file: &FilePath, output: Output) -> Result<(), Failure> {
    let data_dir = &config.store.data_dir;
    if file.is_dir() {
        let error = ErrorKind::IsADirectory.into();
        return Err(Failure::Input { path: file.to_owned(), error });
    }
    let done = abide_sqlite::restore(file, data_dir, &NOT_IN_A_COPY)?;
    let mut text = format!("\u{2713} Restored {} into {}\n", HumanBytes(done.bytes), data_dir.display());
    if Beside::of(config).is_empty() {
        text.push_str(
            "Files are in no backup: copy the directories that were beside the store to where they were\n",
        );
    }
    output.data(&text, &Restored { data_dir, bytes: done.bytes })
}
