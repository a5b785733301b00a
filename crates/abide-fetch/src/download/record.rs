//! The record of a file that was downloaded: what a second run compares.

use super::Saved;
use super::disk::{doing, hex, open_options, read_bounded, write_whole};
use super::error::DownloadError;
use super::file_name::is_safe_name;
use super::folder::Folder;
use super::part::{Notes, Whole, mtime_ms};
use super::plan::Validators;
use crate::limits::{CHUNK_BYTES, RECORD_BYTES};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};

/// What is known of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// What was asked for.
    pub(super) url: String,
    /// Where it came from after redirects.
    pub(super) final_url: String,
    /// Its name in the directory.
    pub(super) file: String,
    pub(super) size: u64,
    pub(super) sha256: String,
    /// When it was written; a file with another time is hashed before it is believed to be the same.
    pub(super) mtime_ms: i64,
    pub(super) validators: Validators,
    pub(super) content_type: Option<String>,
    pub(super) content_encoding: Option<String>,
    /// Who had asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) asked_by: Option<String>,
}

impl Record {
    /// What the notes of a whole file say, which is now `file`.
    pub(super) fn of_whole(notes: &Notes, whole: Whole, file: String) -> Record {
        Record {
            url: notes.url.clone(),
            final_url: notes.final_url.clone(),
            file,
            size: whole.size,
            sha256: whole.sha256,
            mtime_ms: whole.mtime_ms,
            validators: notes.validators.clone(),
            content_type: notes.content_type.clone(),
            content_encoding: notes.content_encoding.clone(),
            asked_by: notes.asked_by.clone(),
        }
    }

    /// The record of what `url` gave before. One that cannot be read counts as none: the file is fetched again.
    pub(super) fn of_url(folder: &Folder, url: &str) -> Result<Option<Record>, DownloadError> {
        let Some(bytes) = read_bounded(&folder.record_path(), RECORD_BYTES)? else { return Ok(None) };
        let record = serde_json::from_slice::<Record>(&bytes).ok();
        // The name was made safe before it was written; one that is not has been tampered with.
        Ok(record.filter(|record| record.url == url && is_safe_name(&record.file)))
    }

    /// The same, if its file is still there as it was recorded.
    pub(super) fn of_intact_file(folder: &Folder, url: &str) -> Result<Option<Record>, DownloadError> {
        let Some(record) = Record::of_url(folder, url)? else { return Ok(None) };
        let path = folder.dir.join(&record.file);
        let Ok(file) = open_options().read(true).open(&path) else { return Ok(None) };
        let found = doing("looking at", &path, file.metadata())?;
        let is_intact = found.is_file()
            && found.len() == record.size
            && (mtime_ms(&found) == record.mtime_ms
                || doing("reading", &path, sha256(file))? == record.sha256);
        Ok(is_intact.then_some(record))
    }

    /// Puts it down. If power fails soon after, it may be lost, and the file is fetched again: what it records is on disk by
    /// itself, and syncing a record would cost as much again as syncing its file.
    pub(super) fn write(&self, folder: &Folder) -> Result<(), DownloadError> {
        let path = folder.record_path();
        let text = doing("writing", &path, serde_json::to_vec(self).map_err(io::Error::from))?;
        write_whole(&path, &text)
    }

    pub(super) fn saved(&self, folder: &Folder, status: u16, resumed_from: u64) -> Saved {
        Saved {
            path: folder.dir.join(&self.file),
            size: self.size,
            sha256: self.sha256.clone(),
            status,
            url: self.final_url.clone(),
            etag: self.validators.etag.clone(),
            last_modified: self.validators.last_modified.clone(),
            content_type: self.content_type.clone(),
            content_encoding: self.content_encoding.clone(),
            resumed_from,
            asked_by: self.asked_by.clone(),
        }
    }
}

fn sha256(mut file: File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hasher.finalize())),
            read => hasher.update(&buffer[..read]),
        }
    }
}
