//! `abide preprocess`: a folder of scans to web images and pages, in this process.

pub(super) mod estimate;
mod export;
pub(super) mod folder;
mod progress;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path as FilePath, PathBuf};
use std::time::Duration;

use abide_blob::{BlobError, Bucket, Key};
use abide_preprocess::Service;
use abide_preprocess::calls::{InputsAnswer, StatusAnswer, TasksAnswer};
use abide_preprocess::file::{InputEnd, Place};
use futures_util::{StreamExt, TryStreamExt, stream};
use indicatif::{HumanBytes, HumanDuration};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::cli::{PreprocessArgs, PresetArg};
use crate::config::Config;
use crate::failure::Failure;
use crate::host::{Host, Listen, runtime, told_to_stop};
use crate::output::Output;
use crate::reach::{Client, Path, ReachError};
use crate::services::{Hosted, preprocess as service};
use estimate::Estimate;
use export::Exporter;
use folder::Folder;
use progress::Progress;

/// What is needed to go on after a stop, in the folder of results.
const STATE_DIR: &str = ".abide";
/// How often the batch is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// Past this, it is said what the faster preset would take.
const LONG: Duration = Duration::from_secs(10 * 60);

/// Files that are put into staging at the same time.
const STAGED_AT_ONCE: usize = 8;

/// How an input ended that was not converted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Left {
    pub(super) file: String,
    pub(super) reason: String,
}

#[derive(Debug, Serialize)]
struct Summary {
    batch: String,
    out: String,
    converted: u64,
    passed_through: Vec<Left>,
    skipped: Vec<Left>,
    failed: Vec<Left>,
    written: u64,
    written_bytes: u64,
}

/// Preprocesses a folder.
pub(crate) fn run(mut config: Config, args: &PreprocessArgs, output: Output) -> Result<(), Failure> {
    let folder = Folder::read(&args.dir)?;
    let out = out_dir(args, &folder)?;
    config.launcher.preset = match args.preset {
        PresetArg::Default => "default",
        PresetArg::Fast => "fast",
    };
    let estimate = Estimate::of(&folder, &out, config.launcher.in_flight)?;
    say(&folder, &estimate, args.preset, output);
    estimate.check(&out)?;
    if args.dry_run || folder.files.is_empty() {
        return all_done(folder.unusable.len());
    }
    // For everybody who may look at what is made; what is needed to go on is ours.
    std::fs::create_dir_all(&out).map_err(|error| Failure::Input { path: out.clone(), error })?;
    config.store.data_dir = out.join(STATE_DIR);
    config.buckets.kind = "local";
    config.launcher.kind = "local";
    config.launcher.credentials = "presigned";
    config.preprocess.orchestrator_url = String::new();
    config.preprocess.worker_url = String::new();
    // What is made is here, where no CDN finds it.
    config.preprocess.cdn_api_url = String::new();
    config.preprocess.cdn_public_url = String::new();
    let how = (config.launcher.preset, config.preprocess.task_attempts);
    runtime()?.block_on(async {
        let told = told_to_stop().map_err(Failure::System)?;
        let mut hosted = Hosted::only(abide_engine::Registry::new());
        let service = service::begin(&mut hosted, service::setup(&config)?, String::new())?;
        let listen = Listen { address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), flag: "--out" };
        let host = Host::start(&config, hosted, listen).await?;
        let client = Client::new(host.address(), host.token())?;
        let done = tokio::select! {
            done = work(&client, &service, &folder, &out, how, output) => done.map(Some),
            () = told => Ok(None),
        };
        host.stop().await;
        match done? {
            Some(summary) => finish(&summary, output),
            None => Err(Failure::Interrupted),
        }
    })
}

fn out_dir(args: &PreprocessArgs, folder: &Folder) -> Result<PathBuf, Failure> {
    let beside = || {
        let name = folder.root.file_name().map_or("scans".into(), |name| name.to_string_lossy().into_owned());
        folder.root.with_file_name(format!("{name}-web"))
    };
    let out = args.out.clone().unwrap_or_else(beside);
    let unusable = |error| Failure::Input { path: out.clone(), error };
    let absolute = std::path::absolute(&out).map_err(unusable)?;
    let real = absolute.canonicalize().unwrap_or(absolute);
    if real.starts_with(&folder.root) || folder.root.starts_with(&real) {
        let message = format!(
            "{} and {} are in each other, and nothing is written to a source: choose another --out",
            real.display(),
            folder.root.display()
        );
        return Err(Failure::Unusable(message));
    }
    Ok(real)
}

/// Before it starts: what there is, what it needs and how long it will take.
fn say(folder: &Folder, estimate: &Estimate, preset: PresetArg, output: Output) {
    let Estimate { needed_bytes, free_bytes, .. } = *estimate;
    let time = estimate.time(preset);
    let mut text = format!(
        "{} files, {}; {} to convert\ndisk: about {} needed, {} free\ntime: about {}",
        folder.files.len(),
        HumanBytes(folder.bytes),
        folder.convertible().count(),
        HumanBytes(needed_bytes),
        HumanBytes(free_bytes),
        HumanDuration(time),
    );
    if preset == PresetArg::Default && time > LONG {
        let fast = HumanDuration(estimate.time(PresetArg::Fast));
        text.push_str(&format!("; --preset fast would take about {fast}, for larger files"));
    }
    let document = json!({
        "files": folder.files.len(),
        "bytes": folder.bytes,
        "to_convert": folder.convertible().count(),
        "needed_bytes": needed_bytes,
        "free_bytes": free_bytes,
        "estimated_seconds": time.as_secs_f64(),
        "estimated_seconds_fast": estimate.time(PresetArg::Fast).as_secs_f64(),
    });
    output.message(&text, &document);
    for (what, left) in [("skipped", &folder.skipped), ("cannot be used", &folder.unusable)] {
        for left in left {
            output.message(&format!("{what}: {}: {}", left.file, left.reason), left);
        }
    }
}

/// Brings the folder's files to staging, starts the batch or finds it, and waits until it is done.
async fn work(
    client: &Client,
    service: &Service,
    folder: &Folder,
    out: &FilePath,
    (preset, attempts): (&str, u32),
    output: Output,
) -> Result<Summary, Failure> {
    let batch = folder.batch_id(preset);
    try_again(client, &batch, attempts).await?;
    let mut exporter = Exporter::new(service, folder, &batch, out).await;
    let status = tokio::select! {
        status = convert(client, &service.buckets().staging, folder, &batch, output) => status?,
        never = exporter.keep_up() => match never {},
    };
    exporter.export().await?;
    let (written, written_bytes) = exporter.written();
    let (passed_through, mut failed) = ends(client, &batch, folder).await?;
    for left in [&folder.unusable, &folder.closed] {
        failed.extend_from_slice(left);
    }
    Ok(Summary {
        batch: batch.clone(),
        out: out.display().to_string(),
        converted: status.inputs.converted,
        passed_through,
        skipped: folder.skipped.clone(),
        failed,
        written,
        written_bytes,
    })
}

/// Has tasks done anew that used up their attempts in a former run: what was in their way, such as a full disk, may be gone.
/// Those that failed for what their files are used up none.
async fn try_again(client: &Client, batch: &str, attempts: u32) -> Result<(), Failure> {
    let status: Option<StatusAnswer> = client.find(&Path::of(["preprocess", "status", batch])).await?;
    if !status.is_some_and(|status| status.status == "DONE" && status.inputs.failed > 0) {
        return Ok(());
    }
    let mut after: Option<String> = None;
    loop {
        let tasks = Path::of(["preprocess", "batches", batch, "tasks"]).with("status", Some("failed"));
        let page: TasksAnswer = client.get(&tasks.with("after", after.as_deref())).await?;
        for task in page.tasks.iter().filter(|task| task.retry_count + 1 >= attempts) {
            let retry = Path::of(["preprocess", "batches", batch, "tasks", &task.task_id, "retry"]);
            match client.post::<Value>(&retry, &json!({})).await {
                // A later phase may have gone on without it.
                Ok(_) | Err(ReachError::Refused { status: 409, .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(()),
        }
    }
}

/// Starts the batch of a folder or finds it, and waits until it is done.
pub(super) async fn convert(
    client: &Client,
    staging: &Bucket,
    folder: &Folder,
    batch: &str,
    output: Output,
) -> Result<StatusAnswer, Failure> {
    let path = Path::of(["preprocess", "status", batch]);
    let known: Option<StatusAnswer> = client.find(&path).await?;
    let failed = match known {
        Some(known) if known.status != "ERROR" => None,
        known => {
            let message = stage(staging, folder, batch).await?;
            client.post::<Value>(&Path::of(["preprocess", "queue"]), &message).await?;
            known
        }
    };
    let mut progress = Progress::new(output);
    let status = loop {
        // One that begins anew is gone for a moment, or still what it was.
        let status =
            client.find::<StatusAnswer>(&path).await?.filter(|status| Some(status) != failed.as_ref());
        let Some(status) = status else {
            tokio::time::sleep(LOOK).await;
            continue;
        };
        progress.show(&status);
        match status.status.as_str() {
            "DONE" | "ERROR" => break status,
            _ => tokio::time::sleep(LOOK).await,
        }
    };
    progress.end();
    match status.error {
        Some(error) => Err(Failure::Unusable(format!("the batch ended with an error: {error}"))),
        None => Ok(status),
    }
}

/// Files and manifest to staging. Files are referred to, not copied: their owner does not even see it.
async fn stage(staging: &Bucket, folder: &Folder, batch: &str) -> Result<Value, Failure> {
    let puts: Vec<_> = folder
        .files
        .iter()
        .map(|file| async move {
            let key = Key::new(&folder.key(batch, file)).map_err(BlobError::from)?;
            let there = staging.head(&key).await.is_ok_and(|found| found.bytes == file.bytes);
            if !there {
                staging.put_reference(&key, &folder.root.join(&file.path), file.content_type).await?;
            }
            Ok::<(), BlobError>(())
        })
        .collect();
    stream::iter(puts).buffered(STAGED_AT_ONCE).try_collect::<()>().await?;
    let manifest = folder.manifest(batch).to_string();
    let key = format!("manifests/{batch}.json");
    let manifest_key = Key::new(&key).map_err(BlobError::from)?;
    staging.put(&manifest_key, manifest.into(), "application/json").await?;
    Ok(json!({
        "batch_id": batch,
        "manifest_r2_key": key,
        "r2_prefix": format!("staging/{batch}/"),
        "uploader": "abide preprocess",
        "root_path": folder.root.display().to_string(),
        "total_files": folder.files.len(),
        "total_bytes": folder.bytes,
        "metadata": {},
        // Whoever runs this command goes on with what is made.
        "deliver": false,
        // The same folder gives the same refs, wherever it is preprocessed.
        "stable_assets": true,
    }))
}

/// Inputs that were not converted, each with its reason.
pub(super) async fn ends(
    client: &Client,
    batch: &str,
    folder: &Folder,
) -> Result<(Vec<Left>, Vec<Left>), Failure> {
    let (mut passed_through, mut failed) = (Vec::new(), Vec::new());
    let mut after: Option<Place> = None;
    let mut files = folder.files.iter();
    loop {
        let path = Path::of(["preprocess", "batches", batch, "inputs"]);
        let page: InputsAnswer = client.get(&path.with("after", after.as_ref().map(Place::as_str))).await?;
        for input in page.inputs {
            // Inputs are in the order of the manifest, which is the folder's.
            let file = files.next().map_or(input.file_name, |file| file.path.clone());
            match input.end {
                InputEnd::PassedThrough { reason } => passed_through.push(Left { file, reason }),
                InputEnd::Failed { reason } => failed.push(Left { file, reason }),
                InputEnd::Converted | InputEnd::Open => {}
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok((passed_through, failed)),
        }
    }
}

fn finish(summary: &Summary, output: Output) -> Result<(), Failure> {
    let mut text = format!(
        "converted       {:>8}\npassed through  {:>8}\nskipped         {:>8}\nfailed          {:>8}\nwritten         {:>8}  {} in {}\n",
        summary.converted,
        summary.passed_through.len(),
        summary.skipped.len(),
        summary.failed.len(),
        summary.written,
        HumanBytes(summary.written_bytes),
        summary.out,
    );
    let named = [
        ("passed through", &summary.passed_through),
        ("skipped", &summary.skipped),
        ("failed", &summary.failed),
    ];
    for (title, left) in named {
        for Left { file, reason } in left {
            text.push_str(&format!("{title}: {file}: {reason}\n"));
        }
    }
    output.data(&text, summary)?;
    all_done(summary.failed.len())
}

fn all_done(failed: usize) -> Result<(), Failure> {
    match failed {
        0 => Ok(()),
        failed => Err(Failure::Partly(format!("{failed} files failed, each with its reason above"))),
    }
}
