//! A part: what has arrived of a file, and what is known of the file it is a part of.
//!
//! A part is locked while it is open, so that two attempts never write it at once. Only its first `durable` bytes are
//! trusted by the next run: those were synced before the notes said so.

use super::disk::{doing, hex, open_options, read_bounded, remove, sync_dir, write_durably, write_whole};
use super::error::DownloadError;
use super::file_name::marked;
use super::folder::Folder;
use super::plan::Validators;
use super::record::Record;
use super::{Downloaded, Saved};
use crate::limits::{CHECKPOINT_BYTES, CHUNK_BYTES, RECORD_BYTES};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// An open part.
#[derive(Debug)]
pub(super) struct Part {
    folder: Folder,
    file: File,
    len: u64,
    hasher: Sha256,
    notes: Notes,
    /// Whether the disk has notes.
    has_notes: bool,
    /// Bytes that the disk had room for when the part was opened.
    room: u64,
    /// Whether the disk still has what was there before the file that the notes are of.
    is_to_be_emptied: bool,
}

/// What the reply that began the file said.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Notes {
    /// What was asked for.
    pub(super) url: String,
    /// Where it came from after redirects.
    pub(super) final_url: String,
    pub(super) status: u16,
    pub(super) validators: Validators,
    pub(super) content_type: Option<String>,
    pub(super) content_encoding: Option<String>,
    /// The name the file should get.
    pub(super) file: String,
    /// Bytes in all, if the server said.
    pub(super) total: Option<u64>,
    /// Bytes that were synced.
    pub(super) durable: u64,
    /// What is known once they are all.
    #[serde(flatten)]
    pub(super) whole: Option<Whole>,
    /// Who asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) asked_by: Option<String>,
    /// How notes said so before they had what is known then.
    #[serde(default, skip_serializing)]
    pub(super) is_complete: bool,
}

/// What is known of a file of which nothing is missing. With it the notes have all that a record has, and become the
/// record by a new name: a file made and removed again for each download is what file systems are slowest at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Whole {
    pub(super) size: u64,
    pub(super) sha256: String,
    /// When its last byte was written.
    pub(super) mtime_ms: i64,
}

impl Part {
    /// Opens the part of `url`: with what is durable of it, or empty.
    pub(super) fn open(folder: &Folder, url: &str) -> Result<Part, DownloadError> {
        let file = open_locked(&folder.part_path())?;
        let written = read_bounded(&folder.notes_path(), RECORD_BYTES)?;
        let part = Part {
            folder: folder.clone(),
            file,
            len: 0,
            hasher: Sha256::new(),
            notes: Notes::default(),
            has_notes: written.is_some(),
            room: folder.room()?,
            is_to_be_emptied: false,
        };
        match written {
            Some(bytes) => match serde_json::from_slice::<Notes>(&bytes) {
                Ok(notes) if notes.url == url => part.take_up(notes),
                Ok(_) | Err(_) => part.clear(),
            },
            None => Ok(part),
        }
    }

    /// Bytes that are there.
    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    /// What is known of the file.
    pub(super) const fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Now it is known how many bytes it has in the end.
    pub(super) fn is_to_have(&mut self, total: u64) {
        self.notes.total = Some(total);
    }

    /// The same, for whoever asks now.
    pub(super) fn asked_for_by(mut self, asked_by: Option<String>) -> Part {
        self.notes.asked_by = asked_by;
        self
    }

    /// Empties it.
    pub(super) fn clear(mut self) -> Result<Part, DownloadError> {
        self.begin(Notes::default());
        self.emptied()
    }

    /// Becomes that of a file of which `notes` are known. Its first bytes find it emptied.
    pub(super) fn begin(&mut self, notes: Notes) {
        self.notes = notes;
        (self.len, self.hasher, self.is_to_be_emptied) = (0, Sha256::new(), true);
    }

    /// Whether so many bytes are written in one go, and there was room for them when it was opened.
    pub(super) const fn has_room_for_all(&self, bytes: u64) -> bool {
        bytes <= CHUNK_BYTES as u64 && bytes <= self.room
    }

    /// Leaves nothing of what was there before the file that the notes are of. Notes about other bytes are gone first.
    pub(super) fn emptied(mut self) -> Result<Part, DownloadError> {
        if self.has_notes {
            remove(&self.folder.notes_path())?;
            sync_dir(&self.folder.notes_dir)?;
            self.has_notes = false;
        }
        self.folder.check_room(self.notes.total.unwrap_or(0))?;
        self.empty()?;
        self.is_to_be_emptied = false;
        Ok(self)
    }

    /// Leaves nothing in the part's file. One that a run put in its place, and ended before it could note that, stays there
    /// as it is, and the part gets another file.
    fn empty(&mut self) -> Result<(), DownloadError> {
        let path = self.folder.part_path();
        let found = doing("looking at", &path, self.file.metadata())?;
        if found.nlink() > 1 {
            remove(&path)?;
            self.file = open_locked(&path)?;
        } else if found.len() > 0 {
            let emptied = self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0)));
            doing("emptying", &path, emptied)?;
        }
        Ok(())
    }

    /// Writes behind what is there, and syncs now and then.
    pub(super) fn append(self, bytes: &[u8]) -> Result<Part, DownloadError> {
        let mut part = if self.is_to_be_emptied { self.emptied()? } else { self };
        part.folder.check_room(bytes.len() as u64)?;
        doing("writing", &part.folder.part_path(), part.file.write_all(bytes))?;
        part.hasher.update(bytes);
        part.len += bytes.len() as u64;
        if part.len - part.notes.durable >= CHECKPOINT_BYTES { part.checkpoint() } else { Ok(part) }
    }

    /// Writes behind what is there and makes it durable, if that is more than is durable already.
    pub(super) fn keep(self, bytes: &[u8]) -> Result<Part, DownloadError> {
        let part = self.append(bytes)?;
        if part.len > part.notes.durable { part.checkpoint() } else { Ok(part) }
    }

    /// Makes what is there durable.
    pub(super) fn checkpoint(mut self) -> Result<Part, DownloadError> {
        doing("syncing", &self.folder.part_path(), self.file.sync_data())?;
        self.notes.durable = self.len;
        let dir = self.folder.notes_dir.clone();
        self.write_notes(|path, notes| write_durably(&dir, path, notes))?;
        Ok(self)
    }

    /// Puts a file of which nothing is missing in its place.
    pub(super) fn finish(self, resumed_from: u64) -> Result<Saved, DownloadError> {
        let (part, whole) = match self.notes.whole.clone() {
            Some(whole) => (self, whole),
            None => self.complete()?,
        };
        part.install(whole, resumed_from)
    }

    /// Notes that nothing is missing. If power fails before the notes are on disk, the file is fetched again.
    fn complete(mut self) -> Result<(Part, Whole), DownloadError> {
        doing("syncing", &self.folder.part_path(), self.file.sync_all())?;
        let found = doing("looking at", &self.folder.part_path(), self.file.metadata())?;
        let sha256 = hex(&self.hasher.clone().finalize());
        let whole = Whole { size: self.len, sha256, mtime_ms: mtime_ms(&found) };
        self.notes.durable = self.len;
        self.notes.whole = Some(whole.clone());
        self.write_notes(write_whole)?;
        Ok((self, whole))
    }

    /// Puts it under its name and records it. Each step may be the last before a crash: the next run takes up there.
    fn install(self, whole: Whole, resumed_from: u64) -> Result<Saved, DownloadError> {
        let earlier = Record::of_url(&self.folder, &self.notes.url)?;
        let file = match earlier {
            Some(record) => self.put_over(record.file)?,
            None => self.put_beside()?,
        };
        sync_dir(&self.folder.dir)?;
        let is_as_noted = file == self.notes.file;
        let record = Record::of_whole(&self.notes, whole, file);
        if is_as_noted {
            let (notes, path) = (self.folder.notes_path(), self.folder.record_path());
            doing("renaming to", &path, fs::rename(notes, &path))?;
        } else {
            record.write(&self.folder)?;
        }
        let saved = record.saved(&self.folder, self.notes.status, resumed_from);
        self.remove()?;
        Ok(saved)
    }

    /// The server has nothing newer than the file of `record`.
    pub(super) fn keep_old(self, record: Record) -> Result<Downloaded, DownloadError> {
        let saved = record.saved(&self.folder, 304, 0);
        self.remove()?;
        Ok(Downloaded::NotModified(saved))
    }

    /// Removes it and its notes.
    pub(super) fn remove(self) -> Result<(), DownloadError> {
        remove(&self.folder.notes_path())?;
        remove(&self.folder.part_path())
    }

    /// Goes on behind the bytes that are durable, if they are all still there.
    fn take_up(mut self, notes: Notes) -> Result<Part, DownloadError> {
        let path = self.folder.part_path();
        let found = doing("looking at", &path, self.file.metadata())?;
        let is_usable =
            notes.whole.is_some() || notes.is_complete || notes.validators.for_resuming().is_some();
        if found.len() < notes.durable || !is_usable {
            return self.clear();
        }
        if found.len() > notes.durable {
            doing("cutting", &path, self.file.set_len(notes.durable))?;
        }
        let mut buffer = vec![0; CHUNK_BYTES];
        doing("reading", &path, self.file.seek(SeekFrom::Start(0)))?;
        loop {
            match doing("reading", &path, self.file.read(&mut buffer))? {
                0 => break,
                read => self.hasher.update(&buffer[..read]),
            }
        }
        (self.len, self.notes) = (notes.durable, notes);
        if self.notes.is_complete && self.notes.whole.is_none() {
            return self.complete().map(|(part, _)| part);
        }
        Ok(self)
    }

    /// Puts a newer version over the file that this download made before.
    fn put_over(&self, file: String) -> Result<String, DownloadError> {
        let path = self.folder.dir.join(&file);
        doing("renaming to", &path, fs::rename(self.folder.part_path(), &path))?;
        Ok(file)
    }

    /// Puts it under its name, or, if something else has that name, under one with this download's mark.
    fn put_beside(&self) -> Result<String, DownloadError> {
        let part = self.folder.part_path();
        let path = self.folder.dir.join(&self.notes.file);
        match fs::hard_link(&part, &path) {
            Ok(()) => return Ok(self.notes.file.clone()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if is_at(&self.file, &path) {
                    return Ok(self.notes.file.clone());
                }
            }
            // A file system without hard links: looking first leaves a gap, which only another program could use.
            Err(_) if fs::symlink_metadata(&path).is_err() => {
                doing("renaming to", &path, fs::rename(&part, &path))?;
                return Ok(self.notes.file.clone());
            }
            Err(_) => {}
        }
        self.put_over(marked(&self.notes.file, &self.folder.key))
    }

    fn write_notes(
        &mut self,
        write: impl Fn(&Path, &[u8]) -> Result<(), DownloadError>,
    ) -> Result<(), DownloadError> {
        let path = self.folder.notes_path();
        let text = doing("writing", &path, serde_json::to_vec(&self.notes).map_err(io::Error::from))?;
        self.has_notes = true;
        write(&path, &text)
    }
}

/// The file at `path`, made if need be, for nobody else.
fn open_locked(path: &Path) -> Result<File, DownloadError> {
    let opened = open_options().read(true).write(true).create(true).truncate(false).open(path);
    let file = doing("opening", path, opened)?;
    let busy = || DownloadError::Busy { path: path.to_owned() };
    match file.try_lock() {
        Ok(()) if is_at(&file, path) => Ok(file),
        Ok(()) | Err(TryLockError::WouldBlock) => Err(busy()),
        Err(TryLockError::Error(error)) => doing("locking", path, Err(error)),
    }
}

/// Whether `path` is where `file` is.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(found)) => open.dev() == found.dev() && open.ino() == found.ino(),
        (Ok(_) | Err(_), Ok(_) | Err(_)) => false,
    }
}

/// When a file was last changed.
pub(super) fn mtime_ms(found: &fs::Metadata) -> i64 {
    found.mtime().saturating_mul(1_000).saturating_add(found.mtime_nsec() / 1_000_000)
}
