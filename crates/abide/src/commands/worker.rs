//! `abide worker`: one task of preprocessing, as its environment says.

use abide_preprocess::worker::{Assignment, BadAssignment, Work, run as run_worker};

use crate::cli::WorkerTask;
use crate::failure::Failure;

/// Does one task and says how it went, to whoever launched it.
pub(crate) fn run(task: Option<WorkerTask>) -> Result<(), Failure> {
    let named = task.map(|task| match task {
        WorkerTask::Tiff => Work::Tiff,
        WorkerTask::Pdf => Work::Pdf,
        WorkerTask::Image => Work::Image,
    });
    if std::env::var("LIFELINE").is_ok_and(|lifeline| lifeline == "stdin") {
        std::thread::spawn(end_with_launcher);
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

/// Ends this process when whoever started it is gone, and with it the other end of our standard input. Its task is begun
/// again by whoever comes after, and what is written here would only be in the way.
fn end_with_launcher() {
    let ended = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    tracing::debug!(target: "preprocess", ?ended, "the launcher is gone");
    std::process::exit(1);
}
