//! What a folder will need: room on the disk, and time. What headers of its files say comes first; how long that takes is what some
//! of its pages took that were made to try it.

mod headers;
mod speed;
mod trial;

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use super::folder::{File, Folder};
use crate::cli::PresetArg;
use crate::config::Config;
use crate::failure::Failure;
use headers::LookedAt;
use speed::Each;
use trial::Found;

/// What starting a worker and moving its bytes takes, beside pixels.
const PER_WORKER: Duration = Duration::from_millis(60);
/// Room for what is needed to go on, and for others.
const SPARE_BYTES: u64 = 64 << 20;

/// What a folder will need.
#[derive(Debug)]
pub(in crate::commands) struct Estimate {
    pub(in crate::commands) needed_bytes: u64,
    /// Of these, without what is only guessed: documents may be anything.
    least_bytes: u64,
    pub(in crate::commands) free_bytes: u64,
    time: Each<Duration>,
    /// Files of which pages were made to see how long that takes.
    pub(in crate::commands) tried: usize,
}

impl Estimate {
    /// That of a folder whose files are kept with what is made of them.
    pub(in crate::commands) async fn of(
        config: &Config,
        folder: &Folder,
        out: &Path,
    ) -> Result<Estimate, Failure> {
        let made = Estimate::of_rest(config, folder, out, |_| false).await?;
        let place = place_of(out);
        let there = fs::metadata(place).map_err(|error| Failure::Input { path: place.to_owned(), error })?;
        let copies = if there.dev() == folder.device { 0 } else { folder.bytes };
        let least_bytes = made.least_bytes + copies;
        Ok(Estimate { needed_bytes: made.needed_bytes + copies, least_bytes, ..made })
    }

    /// Computed from headers of some files and the time that pages of a few take, for a folder whose files are referred to wherever
    /// they are, and of which some images are made already and want their smaller copies.
    pub(super) async fn of_rest(
        config: &Config,
        folder: &Folder,
        out: &Path,
        is_made: impl Fn(&File) -> bool,
    ) -> Result<Estimate, Failure> {
        let place = place_of(out);
        let unreadable = |error| Failure::Input { path: place.to_owned(), error };
        let looked_at = LookedAt::of(folder, is_made);
        let (time, tried) = time(config, folder, &looked_at).await?;
        Ok(Estimate {
            needed_bytes: looked_at.made_bytes() + SPARE_BYTES,
            least_bytes: looked_at.least_bytes() + SPARE_BYTES,
            free_bytes: free_bytes(place).map_err(unreadable)?,
            time,
            tried,
        })
    }

    pub(in crate::commands) fn time(&self, preset: PresetArg) -> Duration {
        match preset {
            PresetArg::Default => self.time.default,
            PresetArg::Fast => self.time.fast,
        }
    }

    /// Whether there may be too little room, and nobody knows before it is tried.
    pub(super) fn may_not_fit(&self) -> bool {
        self.needed_bytes > self.free_bytes && self.least_bytes <= self.free_bytes
    }

    /// Refuses what would fill the disk, whatever is in documents.
    pub(in crate::commands) fn check(&self, out: &Path) -> Result<(), Failure> {
        if self.least_bytes <= self.free_bytes {
            return Ok(());
        }
        let (needed, free) = (self.needed_bytes, self.free_bytes);
        Err(Failure::NoRoom { path: out.to_owned(), needed, free })
    }
}

/// The folder that is there, of those that a path leads through.
fn place_of(out: &Path) -> &Path {
    out.ancestors().find(|place| place.exists()).unwrap_or(out)
}

/// What is free where a path is.
pub(super) fn free_bytes(path: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(path)?;
    Ok(disk.f_bavail * disk.f_frsize)
}

/// How long everything takes, and how many files were tried to know that.
async fn time(
    config: &Config,
    folder: &Folder,
    looked_at: &LookedAt<'_>,
) -> Result<(Each<Duration>, usize), Failure> {
    if looked_at.some.is_empty() {
        return Ok((Each::default(), 0));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let at_once = config.launcher.in_flight.clamp(1, cores) as f64;
    let per_pixel = speed::per_pixel();
    let found = Found::by_trial(config, folder, looked_at, per_pixel, at_once).await?;
    let seconds = found.seconds(looked_at, per_pixel, at_once);
    let time = seconds.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
    Ok((time, found.tried))
}
