//! `abide preprocess`: a folder of scans to web images and pages, in this process.

mod batch;
pub(super) mod estimate;
mod export;
pub(super) mod folder;
mod ledger;
mod plan;
mod progress;
mod results;
mod summary;
mod work;

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path as FilePath, PathBuf};
use std::time::Duration;

use abide_preprocess::{Originals, Setup, machine_memory_mb};
use abide_sqlite::{DataDir, OpenError};
use indicatif::{HumanBytes, HumanDuration};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::Instant;

pub(super) use batch::{convert, ends};

use crate::cli::{PreprocessArgs, PresetArg};
use crate::config::Config;
use crate::failure::Failure;
use crate::host::{Host, Listen, interrupted, runtime};
use crate::output::{Output, counted, in_a_line};
use crate::reach::Client;
use crate::services::{Hosted, preprocess as service};
use estimate::{Estimate, free_bytes};
use folder::{File, Folder, real};
use ledger::Ledger;
use plan::{How, Plan};
use results::Results;
use summary::{Ran, Summary, partly};
use work::Work;

/// What is needed to go on after a stop, in the folder of results.
const STATE_DIR: &str = ".abide";
/// Past this, it is said what the faster preset would take.
const LONG: Duration = Duration::from_secs(10 * 60);
/// Files of others that are named before anything is begun.
const NAMED: usize = 10;
/// What has to stay free while it works, and how often that is looked at.
const FLOOR_BYTES: u64 = 16 << 20;
const LOOK_AT_ROOM: Duration = Duration::from_secs(1);

/// How long one file may take: a TIFF and a document, whatever their pages are, more for each mebibyte, and at most.
const VOLUME_MS: i64 = 10 * 60 * 1_000;
const DOCUMENT_MS: i64 = 60 * 60 * 1_000;
const PER_MEBIBYTE_MS: i64 = 20 * 1_000;
const MOST_MS: i64 = 24 * 60 * 60 * 1_000;

/// Memory of a worker that conversions make use of.
const MOST_MEMORY_MB: u32 = 4_096;

/// A file that was not converted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Left {
    pub(super) file: String,
    pub(super) reason: String,
}

impl Left {
    /// One line about it, whatever is in its name.
    fn line(&self, what: &str) -> String {
        format!("{what}: {}: {}", in_a_line(&self.file), in_a_line(&self.reason))
    }
}

/// Preprocesses a folder: what no earlier run did.
pub(crate) fn run(mut config: Config, args: &PreprocessArgs, output: Output) -> Result<(), Failure> {
    let began = Instant::now();
    let dir = args.dir.display();
    if !args.dir.is_dir() {
        let is = if args.dir.exists() { "no folder: name the one that it is in" } else { "not there" };
        return Err(Failure::Unusable(format!("{dir} is {is}")));
    }
    let folder = Folder::read(&args.dir)?;
    let results = Results { out: out_dir(args, &folder)?, overwrite: args.overwrite };
    settle(&mut config, args, &results.out);
    give_time(&mut config, &folder);
    give_memory(&mut config);
    let state = &config.store.data_dir;
    if let Some(owner) = DataDir::owner(state) {
        return Err(Failure::OutInUse { out: results.out, pid: Some(owner.pid) });
    }
    let how = How::of(&config);
    let mut ledger = Ledger::read(state, how.by.clone(), |made| results.is_ours(made))?;
    is_its_folder(&folder, &ledger, &results)?;
    let plan = Plan::of(&folder, &ledger, &how, &results);
    let todo = plan.todo(&folder);
    let is_made = |file: &File| is_made(state, &ledger, &how, file);
    let estimate = runtime()?.block_on(Estimate::of_rest(&config, &todo, &results.out, is_made))?;
    say(&folder, &plan, &estimate, args.preset, output);
    nothing_of_others(&plan, &results, &ledger)?;
    if !plan.is_empty() {
        estimate.check(&results.out)?;
    }
    if args.dry_run {
        return partly(folder.unusable.len() + folder.closed.len(), 0);
    }
    let mut ran = if plan.is_empty() && ledger.pending.is_empty() {
        Ran::default()
    } else {
        // For everybody who may look at what is made; what is needed to go on is ours.
        fs::create_dir_all(&results.out)
            .map_err(|error| Failure::Unwritten { path: results.out.clone(), error })?;
        let written =
            runtime()?.block_on(convert_all(&config, &folder, &how, &results, &mut ledger, output))?;
        Ran { written, ..Ran::default() }
    };
    ran.already_done = plan.converted;
    work::look_after_gone(&folder, &mut ledger, &results, args.prune, &mut ran)?;
    ran.took = began.elapsed();
    Summary::of(&folder, &ledger, results.out.display().to_string(), ran).finish(output)
}

/// Everything is in the folder of results, and nobody outside is told of it.
fn settle(config: &mut Config, args: &PreprocessArgs, out: &FilePath) {
    config.launcher.preset = match args.preset {
        PresetArg::Default => "default",
        PresetArg::Fast => "fast",
    };
    config.store.data_dir = out.join(STATE_DIR);
    config.buckets.kind = "local";
    config.buckets.dir = String::new();
    config.launcher.kind = "local";
    config.launcher.credentials = "presigned";
    config.preprocess.orchestrator_url = String::new();
    config.preprocess.worker_url = String::new();
    // What is made is here, where no CDN finds it.
    config.preprocess.cdn_api_url = String::new();
    config.preprocess.cdn_public_url = String::new();
}

/// A volume of many pages takes longer than a scan, and somebody waits who wants it: time for a task grows with the largest file.
fn give_time(config: &mut Config, folder: &Folder) {
    let of = |is_its: fn(&str) -> bool| {
        let largest =
            folder.files.iter().filter(|file| is_its(file.content_type)).map(|file| file.bytes).max();
        let mebibytes = i64::try_from(largest.unwrap_or(0) >> 20).unwrap_or(i64::MAX);
        mebibytes.saturating_add(1).saturating_mul(PER_MEBIBYTE_MS)
    };
    let tasks = &mut config.preprocess;
    for (timeout_ms, least_ms, more_ms) in [
        (&mut tasks.task_timeout_tiff_ms, VOLUME_MS, of(|kind| kind == "image/tiff")),
        (&mut tasks.task_timeout_pdf_ms, DOCUMENT_MS, of(|kind| kind == "application/pdf")),
    ] {
        *timeout_ms = (*timeout_ms).max(least_ms.saturating_add(more_ms).min(MOST_MS));
    }
}

/// A large sheet wants more memory than a scan: each worker may hold its share of half of what this machine has.
fn give_memory(config: &mut Config) {
    let Some(machine_mb) = machine_memory_mb() else { return };
    let in_flight = u64::try_from(config.launcher.in_flight.max(1)).unwrap_or(u64::MAX);
    let share_mb = u32::try_from(machine_mb / 2 / in_flight).unwrap_or(u32::MAX).min(MOST_MEMORY_MB);
    let tasks = &mut config.preprocess;
    for memory_mb in [&mut tasks.memory_tiff_mb, &mut tasks.memory_pdf_mb, &mut tasks.memory_image_mb] {
        *memory_mb = (*memory_mb).max(share_mb);
    }
}

/// Starts what converts files, and has it convert those that are to be converted.
async fn convert_all(
    config: &Config,
    folder: &Folder,
    how: &How,
    results: &Results,
    ledger: &mut Ledger,
    output: Output,
) -> Result<export::Written, Failure> {
    let (out, state) = (&results.out, &config.store.data_dir);
    let told = interrupted(output, config.server.drain_ms).map_err(Failure::System)?;
    let mut hosted = Hosted::only(abide_engine::Registry::new());
    let setup = service::setup(config).map_err(|failure| of_state(failure, out, state))?;
    // What is archived is brought to its place, and gone with the batch.
    let setup = Setup { originals: Originals::Referred, ..setup };
    let service = service::begin(&mut hosted, setup, String::new())?;
    let listen = Listen { address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), flag: "--out" };
    let host = Host::start(config, hosted, listen).await.map_err(|failure| of_state(failure, out, state))?;
    let client = Client::new(host.address(), host.token())?;
    let attempts = config.preprocess.task_attempts;
    let work = Work { client: &client, service: &service, folder, how, results, attempts, output };
    let done = tokio::select! {
        done = work.all(ledger) => done,
        full = room_runs_out(out) => Err(full),
        () = told => Err(Failure::Interrupted),
    };
    // Whoever is told to stop lets workers finish that are at it, and they call back while there is somebody to call.
    let patience = match &done {
        Err(Failure::Interrupted) => Duration::from_millis(config.server.drain_ms),
        Ok(_) | Err(_) => Duration::ZERO,
    };
    service.wind_down(patience).await;
    host.stop().await;
    done.map_err(
        |failure| if failure.is_about_room() { Failure::Full { path: out.clone() } } else { failure },
    )
}

/// Ends when there is hardly any room left: better than when there is none.
async fn room_runs_out(out: &FilePath) -> Failure {
    loop {
        tokio::time::sleep(LOOK_AT_ROOM).await;
        if free_bytes(out).is_ok_and(|free| free < FLOOR_BYTES) {
            return Failure::Full { path: out.to_owned() };
        }
    }
}

/// What is said of a data directory, of the one that nobody knows to be there.
fn of_state(failure: Failure, out: &FilePath, state: &FilePath) -> Failure {
    match failure {
        Failure::DataDir(OpenError::Locked { pid, .. }) => Failure::OutInUse { out: out.to_owned(), pid },
        Failure::DataDir(OpenError::Corrupt { reason, .. }) => {
            Failure::OutState { dir: state.to_owned(), reason }
        }
        other => other,
    }
}

fn out_dir(args: &PreprocessArgs, folder: &Folder) -> Result<PathBuf, Failure> {
    let beside = || {
        let name = folder.root.file_name().map_or("scans".into(), |name| name.to_string_lossy().into_owned());
        folder.root.with_file_name(format!("{name}-web"))
    };
    let out = args.out.clone().unwrap_or_else(beside);
    let real = real(&out).map_err(|error| Failure::Input { path: out.clone(), error })?;
    if real.starts_with(&folder.root) || folder.root.starts_with(&real) {
        let message = format!(
            "{} and {} are in each other, and nothing is written to a source: choose another --out",
            real.display(),
            folder.root.display()
        );
        return Err(Failure::Unusable(message));
    }
    if real.exists() && !real.is_dir() {
        return Err(Failure::Unusable(format!("{} is no folder: choose another --out", real.display())));
    }
    Ok(real)
}

/// Results of one folder are not mixed with those of another.
fn is_its_folder(folder: &Folder, ledger: &Ledger, results: &Results) -> Result<(), Failure> {
    let is_known = |file: &File| {
        let entry = ledger.entries.get(&file.path);
        entry
            .is_some_and(|entry| entry.seen.bytes == file.bytes && entry.seen.modified_ms == file.modified_ms)
    };
    match &ledger.root {
        Some(root) if *root != folder.root.display().to_string() => {
            if ledger.sources().is_empty() || folder.files.iter().any(is_known) {
                return Ok(());
            }
            Err(Failure::Unusable(format!(
                "{} holds results of {root}, and nothing of that is in {}: choose another --out",
                results.out.display(),
                folder.root.display()
            )))
        }
        _ => Ok(()),
    }
}

/// Nothing is begun that would be in the way of files that we did not write.
fn nothing_of_others(plan: &Plan, results: &Results, ledger: &Ledger) -> Result<(), Failure> {
    let foreign = if results.overwrite { Vec::new() } else { results.foreign(&plan.fresh, ledger) };
    if foreign.is_empty() {
        return Ok(());
    }
    let more = match foreign.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Err(Failure::Unusable(format!(
        "{} holds files that this command did not write and would replace: {}{more}; move them away, choose another --out, or \
         say --overwrite",
        results.out.display(),
        foreign[..foreign.len().min(NAMED)].join(", "),
    )))
}

/// Whether a run that was stopped made the image of a file, or of its first page.
fn is_made(state: &FilePath, ledger: &Ledger, how: &How, file: &File) -> bool {
    let seen = how.seen(file);
    let stem = file.path.rsplit_once('.').map_or(file.path.as_str(), |(stem, _)| stem);
    ledger.pending.iter().filter(|batch| batch.files.get(&file.path) == Some(&seen)).any(|batch| {
        let staged = state.join("buckets/staging/staging").join(&batch.id);
        ["", "-p0001"].iter().any(|page| staged.join(format!("{stem}{page}.jpg")).exists())
    })
}

/// Before it starts: what there is, what it needs and how long it will take.
fn say(folder: &Folder, plan: &Plan, estimate: &Estimate, preset: PresetArg, output: Output) {
    let Estimate { needed_bytes, free_bytes, .. } = *estimate;
    let time = estimate.time(preset);
    let to_convert = plan.begun.iter().chain(&plan.fresh).filter(|file| file.is_convertible()).count();
    let mut text = format!("{}, {}; ", counted(folder.files.len() as u64, "file"), HumanBytes(folder.bytes));
    text.push_str(&match (to_convert, plan.converted) {
        (0, 0) => "nothing to convert".to_owned(),
        (0, done) => format!("{done} already done, nothing to convert"),
        (to_convert, 0) => format!("{to_convert} to convert"),
        (to_convert, done) => format!("{to_convert} to convert, {done} already done"),
    });
    if !plan.begun.is_empty() {
        text.push_str(&format!(
            "; a run that was stopped began with {}",
            counted(plan.begun.len() as u64, "file")
        ));
    }
    if to_convert > 0 {
        text.push_str(&format!(
            "\ndisk: about {} needed, {} free\ntime: about {}",
            HumanBytes(needed_bytes),
            HumanBytes(free_bytes),
            HumanDuration(time.max(Duration::from_secs(1))),
        ));
        if estimate.tried > 0 {
            text.push_str(&format!(" ({} tried)", counted(estimate.tried as u64, "file")));
        }
        if preset == PresetArg::Default && time > LONG {
            let fast = HumanDuration(estimate.time(PresetArg::Fast));
            text.push_str(&format!("; --preset fast would take about {fast}, for larger files"));
        }
        if estimate.may_not_fit() {
            text.push_str(
                "\nthe room may not be enough: what pages of documents take is a guess. Without room it stops, and goes on when there is \
                 some",
            );
        }
    }
    let document = json!({
        "files": folder.files.len(),
        "bytes": folder.bytes,
        "to_convert": to_convert,
        "already_done": plan.converted,
        "begun": plan.begun.len(),
        "needed_bytes": needed_bytes,
        "free_bytes": free_bytes,
        "estimated_seconds": time.as_secs_f64(),
        "estimated_seconds_fast": estimate.time(PresetArg::Fast).as_secs_f64(),
        "tried_files": estimate.tried,
    });
    output.message(&text, &document);
    let cannot = [
        ("skipped", &folder.skipped),
        ("cannot be used", &folder.unusable),
        ("cannot be used", &folder.closed),
    ];
    for (what, left) in cannot {
        for left in left {
            output.message(&left.line(what), left);
        }
    }
}
