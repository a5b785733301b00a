//! Files that are being uploaded: their id is known only at their end.

use std::io;
use std::path::{Path, PathBuf};
use tokio::fs::File;
use tokio::io::AsyncWriteExt;

/// A file that grows.
pub(crate) struct Spool {
    file: File,
    path: Removed,
}

/// A path whose file is removed with it.
pub(crate) struct Removed(PathBuf);

impl Removed {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Removed {
    fn drop(&mut self) {
        // What cannot be removed now is removed at the next start.
        drop(std::fs::remove_file(&self.0));
    }
}

impl Spool {
    /// Makes the directory, and removes what a former process left in it.
    pub(crate) fn clear(directory: &Path) -> io::Result<()> {
        std::fs::create_dir_all(directory)?;
        for entry in std::fs::read_dir(directory)? {
            std::fs::remove_file(entry?.path())?;
        }
        Ok(())
    }

    /// Begins a file with these bytes.
    pub(crate) async fn begin(directory: &Path, bytes: &[u8]) -> io::Result<Spool> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let path = directory.join(format!("{:032x}", u128::from_be_bytes(random)));
        let file = File::options().write(true).create_new(true).open(&path).await?;
        let mut spool = Spool { file, path: Removed(path) };
        spool.write(bytes).await?;
        Ok(spool)
    }

    /// Writes more.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes).await
    }

    /// Ends the file.
    pub(crate) async fn finish(mut self) -> io::Result<Removed> {
        self.file.flush().await?;
        Ok(self.path)
    }
}
