//! `abide backup` and `abide restore`: a copy of the store, and the way back.

use std::path::Path as FilePath;

use abide_links::event::SYNC;
use abide_links::sync::BACKEND;
use abide_sqlite::OwnRow;
use indicatif::HumanBytes;
use serde::Serialize;
use serde_json::{Value, json};

use crate::config::Config;
use crate::failure::Failure;
use crate::output::{Output, displayed};
use crate::reach::{self, Missing, Path};

#[derive(Serialize)]
struct Restored<'a> {
    #[serde(serialize_with = "displayed")]
    data_dir: &'a FilePath,
    bytes: u64,
}

/// Copies the store to `file`.
pub(crate) fn backup(config: &Config, file: &FilePath, output: Output) -> Result<(), Failure> {
    let file = std::path::absolute(file).map_err(|error| Failure::Input { path: file.to_owned(), error })?;
    let body = json!({ "path": file }).to_string();
    let document: Value = reach::with(config, Missing::Refuse, async |client| {
        Ok(client.post_text(&Path::v1(["backup"]), body).await?)
    })?;
    let bytes = document["bytes"].as_u64().unwrap_or_default();
    output.data(&format!("\u{2713} Backup of {} in {}\n", HumanBytes(bytes), file.display()), &document)
}

/// A log that was restored is another one: what clients got after the backup is not in it, and they must notice.
const NOT_IN_A_COPY: [OwnRow; 1] = [OwnRow { kind: SYNC, key: BACKEND }];

/// Puts the backup `file` into the data directory.
pub(crate) fn restore(config: &Config, file: &FilePath, output: Output) -> Result<(), Failure> {
    let data_dir = &config.store.data_dir;
    let done = abide_sqlite::restore(file, data_dir, &NOT_IN_A_COPY)?;
    let text = format!("\u{2713} Restored {} into {}\n", HumanBytes(done.bytes), data_dir.display());
    output.data(&text, &Restored { data_dir, bytes: done.bytes })
}
