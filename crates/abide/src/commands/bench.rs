//! `abide bench`: measures this machine, or serves something to put load on.

use std::path::Path;
use std::time::Duration;

use abide_engine::worker::done;
use abide_engine::{JobContext, Registry};

use crate::bench::preprocess::{self, Extent, Rival};
use crate::bench::{self, Figures, Thoroughness, downloads, sync};
use crate::cli::{BenchFlags, BenchPart, DownloadsBench, PreprocessBench, SyncBench};
use crate::config::Config;
use crate::counter::Counter;
use crate::failure::Failure;
use crate::host;
use crate::output::Output;
use crate::services::Hosted;

/// Does what the flags say.
pub(crate) fn run(config: Config, flags: &BenchFlags, output: Output) -> Result<(), Failure> {
    if flags.serve.is_some() {
        return serve(&config, output);
    }
    match &flags.part {
        Some(BenchPart::Preprocess(flags)) => return preprocess(config, flags, output),
        Some(BenchPart::Sync(flags)) => return sync(&config.store.data_dir, flags, output),
        Some(BenchPart::Downloads(flags)) => return downloads(&config.store.data_dir, flags, output),
        None => {}
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::System)?;
    if let Some(task) = flags.child {
        return Ok(runtime.block_on(bench::run_child(task, &config.store.data_dir))?);
    }
    let measured = Duration::from_secs(flags.seconds);
    let thoroughness = Thoroughness { measured, idle_seconds: flags.idle_seconds };
    let figures = runtime.block_on(in_scratch(&config.store.data_dir, thoroughness, output))?;
    output.data(&figures.table(), &figures)
}

/// Measures conversions in a directory of their own that is removed afterwards.
fn preprocess(config: Config, flags: &PreprocessBench, output: Output) -> Result<(), Failure> {
    if let Some(preset) = flags.child {
        return Ok(preprocess::run_child(preset, &flags.files)?);
    }
    let sharp = if flags.no_sharp { Rival::Left } else { Rival::IfThere };
    let extent = Extent { images: flags.images, percent: flags.scale, sharp };
    // Contenders run in directories of their own, so that what they are given must not depend on it.
    let scratch = std::path::absolute(&config.store.data_dir).map_err(bench::BenchError::Io)?;
    let scratch = scratch.join(format!("run-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).map_err(bench::BenchError::Io)?;
    let tell = |phase: &str| output.message(phase, &phase);
    let measured = preprocess::run(&scratch, extent, tell).map_err(Failure::from).and_then(|rows| {
        tell("tasks that do nothing");
        let tasks = preprocess::tasks::run(config, &scratch, flags.tasks)?;
        Ok(preprocess::Rows { rows, tasks })
    });
    std::fs::remove_dir_all(&scratch).map_err(bench::BenchError::Io)?;
    let rows = measured?;
    output.data(&rows.table(), &rows)
}

/// Measures sync in a directory of its own that is removed afterwards.
fn sync(dir: &Path, flags: &SyncBench, output: Output) -> Result<(), Failure> {
    let SyncBench { clients, pushes, events, idle } = *flags;
    let extent = sync::Extent { clients, pushes, events, idle };
    let scratch = dir.join(format!("run-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).map_err(bench::BenchError::Io)?;
    let measured = sync::run(&scratch, extent, |phase| output.message(phase, &phase));
    let figures = host::runtime()?.block_on(measured);
    std::fs::remove_dir_all(&scratch).map_err(bench::BenchError::Io)?;
    let figures = figures?;
    output.data(&figures.table(), &figures)
}

/// Measures downloads in a directory of its own that is removed afterwards.
fn downloads(dir: &Path, flags: &DownloadsBench, output: Output) -> Result<(), Failure> {
    let DownloadsBench { lines, files } = *flags;
    let scratch = std::path::absolute(dir).map_err(bench::BenchError::Io)?;
    let scratch = scratch.join(format!("run-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).map_err(bench::BenchError::Io)?;
    let extent = downloads::Extent { lines, files };
    let measured = downloads::run(&scratch, extent, |phase| output.message(phase, &phase));
    let figures = host::runtime()?.block_on(measured);
    std::fs::remove_dir_all(&scratch).map_err(bench::BenchError::Io)?;
    let figures = figures?;
    output.data(&figures.table(), &figures)
}

/// Runs the bench in a directory of its own that is removed afterwards.
async fn in_scratch(dir: &Path, thoroughness: Thoroughness, output: Output) -> Result<Figures, Failure> {
    let scratch = dir.join(format!("run-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).map_err(bench::BenchError::Io)?;
    let figures = bench::run(&scratch, thoroughness, |phase| output.message(phase, &phase)).await;
    std::fs::remove_dir_all(&scratch).map_err(bench::BenchError::Io)?;
    Ok(figures?)
}

/// Serves the counter and the queue whose jobs do nothing.
fn serve(config: &Config, output: Output) -> Result<(), Failure> {
    let mut registry = Registry::new();
    registry.object(Counter)?;
    registry.worker("bench", "noop", config.jobs.workers, |_: JobContext| async { done(&()) })?;
    host::run(config, Hosted::only(registry), "--serve", output)
}
