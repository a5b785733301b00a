//! The data directory: one process owns it, and others can find out who and where.

use crate::error::OpenError;
use crate::open::{FILE, create_dir};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The lock file in the data directory.
const LOCK: &str = "abide.lock";

/// Tries before a lock counts as held by an owner.
const TRIES: usize = 100;
/// Tries while only those who ask for the owner hold it, each for an instant.
const PATIENCE: usize = 1_000_000;

/// A data directory that this process owns as long as this value lives.
#[derive(Debug)]
pub struct DataDir {
    dir: PathBuf,
    lock: File,
    owner: OwnerInfo,
}

/// Who owns a data directory. Readable by its user alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerInfo {
    /// The process.
    pub pid: u32,
    /// Where it listens, if it does.
    pub address: Option<String>,
    /// What lets commands of the same user in.
    pub token: String,
}

impl DataDir {
    /// Takes the directory, which is created if there is none.
    pub fn open(dir: &Path) -> Result<DataDir, OpenError> {
        create_dir(dir)?;
        let path = dir.join(LOCK);
        let io = |error: io::Error| OpenError::of_io(&path, &error);
        let mut lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(io)?;
        if !take(&lock).map_err(io)? {
            let owner = read_owner(&mut lock).map_err(io)?;
            let (pid, address) = owner.map_or((None, None), |owner| (Some(owner.pid), owner.address));
            return Err(OpenError::Locked { dir: dir.into(), pid, address });
        }
        let token = draw_token()
            .map_err(|error| OpenError::Other { path: path.clone(), reason: error.to_string() })?;
        let owner = OwnerInfo { pid: std::process::id(), address: None, token };
        write_owner(&mut lock, &owner).map_err(io)?;
        Ok(DataDir { dir: dir.into(), lock, owner })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// What lets commands of the same user in.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.owner.token
    }

    /// Says where this process listens.
    pub fn set_address(&mut self, address: impl Into<String>) -> Result<(), OpenError> {
        self.owner.address = Some(address.into());
        write_owner(&mut self.lock, &self.owner)
            .map_err(|error| OpenError::of_io(self.dir.join(LOCK), &error))
    }

    /// Who owns the directory now; none if nobody does.
    #[must_use]
    pub fn owner(dir: &Path) -> Option<OwnerInfo> {
        let mut lock = File::open(dir.join(LOCK)).ok()?;
        match lock.try_lock_shared() {
            Ok(()) => None,
            Err(_) => read_owner(&mut lock).ok().flatten(),
        }
    }
}

/// Whether a directory holds a store.
#[must_use]
pub fn has_data(dir: &Path) -> bool {
    dir.join(FILE).symlink_metadata().is_ok()
}

impl Drop for DataDir {
    /// Closing the file would do, but for a child that was just forked and still has it open.
    fn drop(&mut self) {
        // If it fails, the file is closed all the same.
        drop(self.lock.unlock());
    }
}

fn take(lock: &File) -> io::Result<bool> {
    let mut owned = 0;
    for _ in 0..PATIENCE {
        match lock.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Whoever asks shares it; an owner does not.
        if lock.try_lock_shared().is_err() {
            owned += 1;
            if owned == TRIES {
                return Ok(false);
            }
        }
        std::thread::yield_now();
    }
    Ok(false)
}

fn draw_token() -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// One write, so that whoever reads at the same time finds a whole value; what is left of a longer one comes after it.
fn write_owner(lock: &mut File, owner: &OwnerInfo) -> io::Result<()> {
    let mut text = serde_json::to_vec(owner)?;
    text.push(b'\n');
    lock.rewind()?;
    lock.write_all(&text)?;
    lock.set_len(text.len() as u64)
}

fn read_owner(lock: &mut File) -> io::Result<Option<OwnerInfo>> {
    let mut text = Vec::new();
    lock.rewind()?;
    lock.read_to_end(&mut text)?;
    let first = serde_json::Deserializer::from_slice(&text).into_iter().next();
    Ok(first.and_then(Result::ok))
}
