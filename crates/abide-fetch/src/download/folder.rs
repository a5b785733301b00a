//! The directory that downloads go to, and the places of one of them in it.

use super::disk::{doing, sync_dir};
use super::error::DownloadError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where one download keeps its things. Every name in it is a single component: nothing leads out of the directory.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    /// Where files go.
    pub(super) dir: PathBuf,
    /// Where parts and records are.
    pub(super) notes_dir: PathBuf,
    /// Names this download.
    pub(super) key: String,
    /// Bytes that stay free.
    disk_floor: u64,
}

/// Places that hold a system rather than files of a person.
const SYSTEM_DIRS: [&str; 5] = ["/etc", "/sys", "/proc", "/boot", "/dev"];

impl Folder {
    /// Makes the directory if need be and looks whether it can be used.
    pub(super) fn open(dir: &Path, key: &str, disk_floor: u64) -> Result<Folder, DownloadError> {
        // Before anything is made there, and again where links lead to.
        not_of_the_system(dir)?;
        doing("making", dir, fs::create_dir_all(dir))?;
        let dir = doing("finding", dir, fs::canonicalize(dir))?;
        not_of_the_system(&dir)?;
        let notes_dir = dir.join(".abide");
        match fs::symlink_metadata(&notes_dir) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(DownloadError::Path { path: notes_dir, why: "it is not a directory" }),
            Err(_) => {
                doing("making", &notes_dir, fs::create_dir_all(&notes_dir))?;
                sync_dir(&dir)?;
            }
        }
        Ok(Folder { dir, notes_dir, key: key.to_owned(), disk_floor })
    }

    /// Looks whether the disk has room for so many bytes.
    pub(super) fn check_room(&self, bytes: u64) -> Result<(), DownloadError> {
        let free = self.free()?;
        if free >= bytes.saturating_add(self.disk_floor) {
            return Ok(());
        }
        Err(DownloadError::NoRoom { path: self.dir.clone(), free, needed: bytes, floor: self.disk_floor })
    }

    /// Bytes that a file may take now.
    pub(super) fn room(&self) -> Result<u64, DownloadError> {
        Ok(self.free()?.saturating_sub(self.disk_floor))
    }

    fn free(&self) -> Result<u64, DownloadError> {
        let found = doing("looking at", &self.dir, rustix::fs::statvfs(&self.dir).map_err(io::Error::from))?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    /// Looks whether files can be made here. It is looked at before a host is asked for what could not be kept.
    pub(super) fn check_writable(&self) -> Result<(), DownloadError> {
        let writable = rustix::fs::access(&self.notes_dir, rustix::fs::Access::WRITE_OK);
        doing("writing to", &self.notes_dir, writable.map_err(io::Error::from))
    }

    /// Whether no earlier run of this download left anything.
    pub(super) fn has_nothing(&self) -> bool {
        [self.part_path(), self.notes_path(), self.record_path()]
            .iter()
            .all(|path| matches!(fs::symlink_metadata(path), Err(error) if error.kind() == io::ErrorKind::NotFound))
    }

    /// What has arrived of the file.
    pub(super) fn part_path(&self) -> PathBuf {
        self.notes_dir.join(format!("{}.part", self.key))
    }

    /// What is known of the part.
    pub(super) fn notes_path(&self) -> PathBuf {
        self.notes_dir.join(format!("{}.part.json", self.key))
    }

    /// What is known of the file.
    pub(super) fn record_path(&self) -> PathBuf {
        self.notes_dir.join(format!("{}.json", self.key))
    }
}

fn not_of_the_system(dir: &Path) -> Result<(), DownloadError> {
    match SYSTEM_DIRS.iter().any(|system| dir.starts_with(system)) {
        true => Err(DownloadError::Path { path: dir.to_owned(), why: "it belongs to the system" }),
        false => Ok(()),
    }
}
