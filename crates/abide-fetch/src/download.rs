//! A file out of a URL: streamed to a part file, resumed after an interruption, synced, put in place whole.
//!
//! Beside the files a directory holds `.abide/`, with a part and its notes for each download that is not finished, and a
//! record (validators, size, SHA-256) of each that is. Running a finished download again asks the server whether anything
//! has changed.

mod dir_sync;
mod disk;
mod error;
mod file_name;
mod folder;
mod part;
mod plan;
mod record;
mod run;

pub use error::DownloadError;
pub use file_name::{file_name, safe_name};

use crate::error::FetchError;
use crate::fetcher::Fetcher;
use crate::limits::{DISK_FLOOR_BYTES, DOWNLOAD_BYTES, DOWNLOAD_MS};
use disk::{hex, on_disk};
use folder::Folder;
use part::Part;
use record::Record;
use run::{Found, Run};
use sha2::{Digest, Sha256};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;
use tracing::Instrument;

/// A file to download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    /// From where.
    pub url: String,
    /// Into which directory. It is made if it is not there.
    pub dir: PathBuf,
    /// The file's name without its extension, made safe; the reply's or the URL's own name if none.
    pub stem: Option<String>,
    /// Only this content type: `application/pdf`, `image/*`.
    pub content_type: Option<String>,
    /// At most so many bytes.
    pub bytes_max: u64,
    /// At most so long for one attempt.
    pub total_ms: u64,
    /// So many bytes stay free on the disk.
    pub disk_floor: u64,
    /// Who asks: recorded with the file, for whoever asks again.
    pub asked_by: Option<String>,
    /// Who found the URL, for whoever follows traces.
    pub resolver: Option<String>,
}

/// How a download ended well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Downloaded {
    /// The file is on disk.
    Saved(Saved),
    /// The file of an earlier run is what the server still has.
    NotModified(Saved),
}

/// A file on disk and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// Where.
    pub path: PathBuf,
    /// Bytes.
    pub size: u64,
    /// Of its bytes, in hexadecimal.
    pub sha256: String,
    /// The status of the reply that brought its last byte.
    pub status: u16,
    /// The URL after redirects.
    pub url: String,
    /// The server's name for this version.
    pub etag: Option<String>,
    /// When the server says it was changed.
    pub last_modified: Option<String>,
    /// What the server says it is.
    pub content_type: Option<String>,
    /// How the bytes are coded, if the server coded them although it was asked not to.
    pub content_encoding: Option<String>,
    /// Bytes that were on disk before this run.
    pub resumed_from: u64,
    /// Who had asked when it came, if that is known.
    pub asked_by: Option<String>,
}

/// How far a download is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that have come, with those of earlier runs.
    pub bytes: u64,
    /// Bytes in all, if the server says.
    pub total: Option<u64>,
    /// Whether everything has come: the host is not asked for anything more, and the file is only to be put in its place.
    pub has_arrived: bool,
    /// From the last request to the head of its reply.
    pub latency: Duration,
}

/// Makes the directory that downloads go to, if need be, or says why files cannot be saved there.
pub fn make_dir(dir: &Path) -> Result<(), DownloadError> {
    Folder::open(dir, "", 0).map(drop)
}

impl Download {
    /// A download with the usual bounds and the file's own name.
    #[must_use]
    pub fn new(url: impl Into<String>, dir: impl Into<PathBuf>) -> Download {
        Download {
            url: url.into(),
            dir: dir.into(),
            stem: None,
            content_type: None,
            bytes_max: DOWNLOAD_BYTES,
            total_ms: DOWNLOAD_MS,
            disk_floor: DISK_FLOOR_BYTES,
            asked_by: None,
            resolver: None,
        }
    }

    /// Runs it to its end.
    pub async fn run(&self, fetcher: &Fetcher) -> Result<Downloaded, DownloadError> {
        self.run_until(fetcher, std::future::pending(), |_| {}).await
    }

    /// Runs it to its end, or until `stop` resolves: what has arrived is kept for the next run.
    pub async fn run_until(
        &self,
        fetcher: &Fetcher,
        stop: impl Future<Output = ()> + Send,
        mut progress: impl FnMut(Progress) + Send,
    ) -> Result<Downloaded, DownloadError> {
        fetcher.guard().url(&self.url).map_err(FetchError::from)?;
        let (dir, key, url, floor) = (self.dir.clone(), self.key(), self.url.clone(), self.disk_floor);
        let looked = on_disk(move || {
            let folder = Folder::open(&dir, &key, floor)?;
            if folder.has_nothing() {
                folder.check_writable()?;
                return Ok(Found::Nothing(folder));
            }
            let part = Part::open(&folder, &url)?;
            let record = Record::of_intact_file(&folder, &url)?;
            Ok(Found::Something(Box::new(part), record))
        });
        let found = looked.instrument(tracing::info_span!(target: "fetch", "prepare")).await?;
        let stop = pin!(stop);
        Run { download: self, fetcher, stop, progress: &mut progress }.passes(found).await
    }

    /// Names the part and the record: of this URL under this name.
    fn key(&self) -> String {
        let mut hasher = Sha256::new();
        hasher.update(self.url.as_bytes());
        if let Some(stem) = &self.stem {
            hasher.update([0]);
            hasher.update(stem.as_bytes());
        }
        hex(&hasher.finalize())[..16].to_owned()
    }
}
