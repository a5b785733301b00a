//! `abide worker`: one task of preprocessing, as its environment says.

use std::io::{self, Write};
use std::path::PathBuf;

use abide_preprocess::worker::{Assignment, BadAssignment, Trial, Tried, Work, run as run_worker};

use crate::cli::WorkerTask;
use crate::failure::Failure;

/// What a trial finds in its environment: what is tried, as JSON.
pub(super) const TRIAL: &str = "TRIAL";
/// How often a directory is removed.
const TRIES: u32 = 100;

/// Does one task and says how it went, to whoever launched it.
pub(crate) fn run(task: Option<WorkerTask>) -> Result<(), Failure> {
    let named = match task {
        None => None,
        Some(WorkerTask::Tiff) => Some(Work::Tiff),
        Some(WorkerTask::Pdf) => Some(Work::Pdf),
        Some(WorkerTask::Image) => Some(Work::Image),
        Some(WorkerTask::Trial) => return try_file(),
    };
    if has_lifeline() {
        std::thread::spawn(|| end_with_launcher(None));
    }
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::System)?;
    runtime.block_on(async {
        let unusable = |bad: BadAssignment| Failure::Worker(bad.into());
        let assignment = Assignment::read(|name| std::env::var(name).ok()).map_err(unusable)?;
        let work = named.map_or_else(|| assignment.work(), Ok).map_err(unusable)?;
        run_worker(work, assignment).await.map_err(Failure::Worker)
    })
}

/// Tries a file and tells of it line by line.
fn try_file() -> Result<(), Failure> {
    let unusable = || Failure::Unusable(format!("{TRIAL} does not say what is to be tried"));
    let text = std::env::var(TRIAL).map_err(|_| unusable())?;
    let trial: Trial = serde_json::from_str(&text).map_err(|_| unusable())?;
    if has_lifeline() {
        let dir = trial.dir.clone();
        std::thread::spawn(|| end_with_launcher(Some(dir)));
    }
    trial.run(|tried: Tried| {
        // Nobody may be left to hear it, and then this process ends anyway.
        serde_json::to_string(&tried).map(|line| writeln!(io::stdout(), "{line}")).ok();
    });
    Ok(())
}

fn has_lifeline() -> bool {
    std::env::var("LIFELINE").is_ok_and(|lifeline| lifeline == "stdin")
}

/// Ends this process when whoever started it is gone, and with it the other end of our standard input. Its task is begun
/// again by whoever comes after, and what is written here would only be in the way; so would a directory that nobody comes back to.
fn end_with_launcher(dir: Option<PathBuf>) {
    let ended = io::copy(&mut io::stdin(), &mut io::sink());
    tracing::debug!(target: "preprocess", ?ended, "the launcher is gone");
    if let Some(dir) = dir {
        // A page may be put into it meanwhile.
        (0..TRIES).find(|_| std::fs::remove_dir_all(&dir).is_ok());
    }
    std::process::exit(1);
}
