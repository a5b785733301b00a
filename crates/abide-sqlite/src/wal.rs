//! The log of writes as a file: it is laid out ahead of what is written to it.
//!
//! A log that grows with each batch makes each sync take more than twice as long, because the disk must learn its new
//! length too. So it grows by leaps, with zeros, which are no entries of it. SQLite writes over them, and once the log
//! has been carried over it begins again at the front: from then on it does not grow any more.

use crate::open::Place;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;

/// The least that is laid out at once, and the most.
const LEAST: u64 = 128 * 1024;
const MOST: u64 = 2 * 1024 * 1024;
/// A log of this length is carried over before it is used up.
const ENOUGH: u64 = 18 * 1024 * 1024;

/// The file, on the machine's own file system. Others see to theirs themselves.
#[derive(Debug, Default)]
pub(crate) struct Wal {
    file: Option<File>,
    /// How long it was when it was last laid out: longer if SQLite has used that up, shorter if it was cut.
    laid_out: u64,
}

impl Wal {
    /// The log of a store that was opened.
    pub(crate) fn of(place: &Place) -> Wal {
        let file = place.wal().and_then(|path| OpenOptions::new().write(true).open(path).ok());
        Wal { file, laid_out: 0 }
    }

    /// How long it is.
    pub(crate) fn bytes(&self) -> u64 {
        self.file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |found| found.len())
    }

    /// Lays out more if what was laid out is used up. To be called by the one who writes to it, between two batches.
    pub(crate) fn lay_out(&mut self, bytes: u64) {
        let Some(file) = self.file.as_ref().filter(|_| bytes != self.laid_out && bytes < ENOUGH) else {
            return;
        };
        let zeros = vec![0; usize::try_from(bytes.clamp(LEAST, MOST)).unwrap_or(0)];
        // Only for speed: a disk that has no more room says so when it is needed.
        drop(file.write_all_at(&zeros, bytes));
        self.laid_out = self.bytes();
    }
}
