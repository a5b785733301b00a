//! Files: work that blocks, and the few calls that make a write durable.

use super::dir_sync;
use super::error::DownloadError;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Runs `work` where blocking is allowed.
pub(super) async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DownloadError> + Send + 'static,
) -> Result<T, DownloadError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(DownloadError::Stopped),
    }
}

/// Names what was tried when it fails.
pub(super) fn doing<T>(doing: &'static str, path: &Path, result: io::Result<T>) -> Result<T, DownloadError> {
    result.map_err(|source| DownloadError::Disk { doing, path: path.to_owned(), source })
}

/// How files are opened here: a symbolic link in the last place is never followed.
pub(super) fn open_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(libc::O_NOFOLLOW);
    options
}

/// Makes the entries of a directory durable.
pub(super) fn sync_dir(dir: &Path) -> Result<(), DownloadError> {
    doing("syncing", dir, dir_sync::sync(dir))
}

/// Puts `bytes` at `path` in `dir` whole or not at all, also if power fails, and durably.
pub(super) fn write_durably(dir: &Path, path: &Path, bytes: &[u8]) -> Result<(), DownloadError> {
    put(path, bytes, File::sync_all)?;
    sync_dir(dir)
}

/// Puts `bytes` at `path` whole or not at all. If power fails they may be lost.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), DownloadError> {
    put(path, bytes, |_| Ok(()))
}

/// Writes a neighbour and renames it.
fn put(path: &Path, bytes: &[u8], settle: impl Fn(&File) -> io::Result<()>) -> Result<(), DownloadError> {
    let new = path.with_added_extension("new");
    let written = open_options()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&new)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| settle(&file)));
    doing("writing", &new, written)?;
    doing("renaming", &new, fs::rename(&new, path))
}

/// The bytes at `path`, at most `bound`; nothing if there is no such file.
pub(super) fn read_bounded(path: &Path, bound: u64) -> Result<Option<Vec<u8>>, DownloadError> {
    let file = match open_options().read(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return doing("reading", path, Err(error)),
    };
    let mut bytes = Vec::new();
    doing("reading", path, file.take(bound).read_to_end(&mut bytes))?;
    Ok(Some(bytes))
}

/// Removes a file; one that is not there is fine.
pub(super) fn remove(path: &Path) -> Result<(), DownloadError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => doing("removing", path, Err(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
