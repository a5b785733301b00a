//! A file that is read by its ranges.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::error::MediaError;

/// A file, read by ranges so that a conversion holds no more of its input than it works on.
pub(crate) struct Input {
    file: File,
    path: PathBuf,
    length: u64,
}

impl Input {
    pub(crate) fn open(path: &Path) -> Result<Input, MediaError> {
        let failed = |source| MediaError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        Ok(Input { file, path: path.to_owned(), length })
    }

    pub(crate) fn len(&self) -> u64 {
        self.length
    }

    /// The range, which must lie within the file: that is checked before anything is allocated.
    pub(crate) fn read(&self, offset: u64, length: u64) -> Result<Vec<u8>, MediaError> {
        if offset.checked_add(length).is_none_or(|end| end > self.length) {
            let what =
                format!("it ends at byte {}, before the {length} bytes that begin at {offset}", self.length);
            return Err(MediaError::damaged(what));
        }
        let mut buffer = vec![0; length as usize];
        let read = self.file.read_exact_at(&mut buffer, offset);
        read.map_err(|source| MediaError::Io { path: self.path.clone(), source })?;
        Ok(buffer)
    }

    pub(crate) fn read_all(&self) -> Result<Vec<u8>, MediaError> {
        self.read(0, self.length)
    }
}
