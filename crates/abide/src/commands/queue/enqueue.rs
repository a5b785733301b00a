//! `abide queue enqueue` and `abide queue import`: artifacts in.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read};
use std::path::Path as FilePath;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use abide_core::name::QueueName;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::batches::{Batch, Entered, Gathering};
use super::lines::{Lines, job_of};
use crate::cli::{EnqueueArgs, ImportArgs};
use crate::config::Config;
use crate::document::Fields;
use crate::failure::Failure;
use crate::host::runtime;
use crate::output::{Output, import_complete};
use crate::reach::{self, Client, Missing, Path, ReachError, Way};

/// Batches that wait to be sent while the next is read: memory stays bounded however long the file is.
const BATCHES_WAITING: usize = 2;
/// How long lines of a pipe wait for more of them.
const PAUSE: Duration = Duration::from_secs(1);
/// Bytes read from the file at a time.
const READ_BYTES: usize = 256 * 1024;

/// What became of the lines of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
struct Imported {
    new: u64,
    duplicate: u64,
    errors: u64,
}

#[derive(Serialize)]
struct BadLine<'a> {
    line: u64,
    reason: &'a str,
}

#[derive(Serialize)]
struct EnqueuedDocument<'a> {
    artifact_id: &'a str,
    job: i64,
    duplicate: bool,
}

/// Enters one artifact, or a file.
pub(super) fn enqueue(config: &Config, args: &EnqueueArgs, output: Output) -> Result<(), Failure> {
    match (&args.input, &args.id) {
        (Some(input), _) => lines_of(config, input, &args.queue, None, output),
        (None, id) => {
            let id = id.as_deref().expect("the command line has an id or a file");
            one(config, id, args.artifact.as_deref().unwrap_or("{}"), &args.queue, output)
        }
    }
}

/// Enters a file.
pub(super) fn import(config: &Config, args: &ImportArgs, output: Output) -> Result<(), Failure> {
    lines_of(config, &args.file, &args.queue, args.limit, output)
}

fn one(config: &Config, id: &str, artifact: &str, queue: &str, output: Output) -> Result<(), Failure> {
    let job = job_of(&with_id(id, artifact)?, &QueueName::new(queue)?).map_err(Failure::Artifact)?;
    let mut gathering = Gathering::new(config.server.max_body_bytes);
    gathering.add(1, &job);
    let body = gathering.take().expect("a job was added").body(0..1);
    let enter = async |client: &Client| client.post_text(&jobs(), body.clone()).await;
    let entered: Entered = reach::ask(config, Missing::Create, enter)?;
    let answer = &entered.jobs[0];
    let text = match answer.duplicate {
        false => format!("\u{2713} Enqueued: {id}\n"),
        true => format!("\u{24d8} Already queued (idempotent): {id}\n"),
    };
    let document = EnqueuedDocument { artifact_id: id, job: answer.job, duplicate: answer.duplicate };
    output.data(&text, &document)
}

/// The artifact with its id in it, and otherwise as it was written.
fn with_id(id: &str, artifact: &str) -> Result<String, Failure> {
    let Fields(fields) = serde_json::from_str(artifact).map_err(|error: serde_json::Error| {
        let reason = match artifact.trim_start().starts_with('{') {
            true => error.to_string().replace(" at line 1 column ", " at column "),
            false => "it is not a JSON object".to_owned(),
        };
        Failure::Artifact(format!("{artifact}: {reason}"))
    })?;
    let mut text = format!("{{\"artifact_id\":{}", Value::from(id));
    for (name, value) in fields {
        let value = value.as_str();
        if name != "artifact_id" && name != "id" {
            text.push_str(&format!(",{}:{value}", Value::from(name)));
        } else if serde_json::from_str::<Value>(value).ok().as_ref().and_then(Value::as_str) != Some(id) {
            return Err(Failure::Artifact(format!("its {name} is {value}, and the command names {id:?}")));
        }
    }
    text.push('}');
    Ok(text)
}

fn lines_of(
    config: &Config,
    input: &FilePath,
    queue: &str,
    limit: Option<u64>,
    output: Output,
) -> Result<(), Failure> {
    let queue = QueueName::new(queue)?;
    let (reader, bytes) = open(input)?;
    let bar = bar(bytes, output);
    let reader = BufReader::with_capacity(READ_BYTES, bar.wrap_read(reader));
    let lines = Lines::new(reader, queue, limit);
    let runtime = runtime()?;
    let imported = runtime.block_on(async {
        let mut way = Way::open(config, Missing::Create).await?;
        let entered = enter(&mut way, lines, config.server.max_body_bytes, &bar, output).await;
        way.close().await;
        entered?.map_err(|error| Failure::Input { path: input.to_owned(), error })
    });
    // Who still reads, because a batch failed, may wait for more of a pipe for ever.
    runtime.shutdown_background();
    bar.finish_and_clear();
    let imported = imported?;
    let Imported { new, duplicate, errors } = imported;
    output.data(&import_complete(new, duplicate, 0, errors), &imported)?;
    match errors {
        0 => Ok(()),
        1 => Err(Failure::Partly("1 line was not entered".to_owned())),
        errors => Err(Failure::Partly(format!("{errors} lines were not entered"))),
    }
}

fn open(input: &FilePath) -> Result<(Box<dyn Read + Send>, Option<u64>), Failure> {
    if input == FilePath::new("-") {
        return Ok((Box::new(io::stdin()), None));
    }
    let failed = |error| Failure::Input { path: input.to_owned(), error };
    let file = File::open(input).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    if found.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    }
    Ok((Box::new(file), found.is_file().then_some(found.len())))
}

/// Reads in a thread of its own while batches are on their way.
async fn enter<R: io::BufRead + Send + 'static>(
    way: &mut Way<'_>,
    lines: Lines<R>,
    body_max: usize,
    bar: &ProgressBar,
    output: Output,
) -> Result<io::Result<Imported>, Failure> {
    let (sender, mut batches) = mpsc::channel::<Batch>(BATCHES_WAITING);
    let gathering = Arc::new(Mutex::new(Gathering::new(body_max)));
    let (shared, shown) = (Arc::clone(&gathering), bar.clone());
    let reading = tokio::task::spawn_blocking(move || {
        gather(lines, &shared, &sender, |line, reason| say_bad(line, reason, &shown, output))
    });
    let mut imported = Imported::default();
    let mut pause = interval_at(Instant::now() + PAUSE, PAUSE);
    pause.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let batch = tokio::select! {
            biased;
            batch = batches.recv() => match batch {
                Some(batch) => Some(batch),
                None => break,
            },
            _ = pause.tick() => gathered(&gathering, &mut batches),
        };
        if let Some(batch) = batch {
            send(way, &batch, &mut imported, |line, reason| say_bad(line, reason, bar, output)).await?;
        }
    }
    let errors = reading.await.expect("reading lines does not panic");
    Ok(errors.map(|errors| Imported { errors: imported.errors + errors, ..imported }))
}

/// Gathers batches of all lines, and says how many were bad.
fn gather<R: io::BufRead>(
    mut lines: Lines<R>,
    gathering: &Mutex<Gathering>,
    sender: &mpsc::Sender<Batch>,
    say_bad: impl Fn(u64, &str),
) -> io::Result<u64> {
    let mut errors = 0;
    while let Some(line) = lines.next()? {
        match line.job {
            Ok(job) => {
                // Locked until a full batch is on its way: what comes after it is not taken before it.
                let mut gathering = gathering.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(full) = gathering.add(line.number, &job)
                    && sender.blocking_send(full).is_err()
                {
                    return Ok(errors);
                }
            }
            Err(reason) => {
                errors += 1;
                say_bad(line.number, &reason);
            }
        }
    }
    if let Some(last) = gathering.lock().unwrap_or_else(PoisonError::into_inner).take() {
        // Nobody waits for it only if an earlier one failed, which is said there.
        drop(sender.blocking_send(last));
    }
    Ok(errors)
}

/// The next batch while its lines come slowly: what is on its way, or else what has gathered so far. None if more is coming now.
fn gathered(gathering: &Mutex<Gathering>, batches: &mut mpsc::Receiver<Batch>) -> Option<Batch> {
    let mut gathering = gathering.try_lock().ok()?;
    batches.try_recv().ok().or_else(|| gathering.take())
}

fn say_bad(line: u64, reason: &str, bar: &ProgressBar, output: Output) {
    let text = format!("line {line}: {reason}");
    bar.suspend(|| output.message(&text, &BadLine { line, reason }));
}

/// Sends a batch. A server that refuses it for one of its jobs takes none of them, so the halves are sent, and theirs,
/// until only what it refuses is left out.
async fn send(
    way: &mut Way<'_>,
    batch: &Batch,
    imported: &mut Imported,
    say_bad: impl Fn(u64, &str),
) -> Result<(), Failure> {
    let all = 0..batch.len();
    let mut parts = vec![all];
    while let Some(part) = parts.pop() {
        let enter =
            async |client: &Client| client.post_text::<Entered>(&jobs(), batch.body(part.clone())).await;
        match way.ask(enter).await {
            Ok(entered) => {
                let duplicate = entered.jobs.iter().filter(|job| job.duplicate).count() as u64;
                imported.duplicate += duplicate;
                imported.new += entered.jobs.len() as u64 - duplicate;
            }
            Err(Failure::Reach(ReachError::Refused { code, message, .. })) if is_about_jobs(&code) => {
                match part.len() {
                    1 => {
                        imported.errors += 1;
                        let reason = message.strip_prefix("jobs[0]: ").unwrap_or(&message);
                        say_bad(batch.line(part.start), reason);
                    }
                    jobs => {
                        let middle = part.start + jobs / 2;
                        parts.extend([middle..part.end, part.start..middle]);
                    }
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Where jobs are entered. Each of these has a key of its own, so that entering it again does not make another.
fn jobs() -> Path {
    Path::v1(["jobs"])
}

/// Whether a server refuses because of what was sent, and not because of how it is.
fn is_about_jobs(code: &str) -> bool {
    matches!(code, "bad_request" | "too_large" | "store_rejected")
}

fn bar(bytes: Option<u64>, output: Output) -> ProgressBar {
    let target = match output {
        Output::Text if io::stderr().is_terminal() => ProgressDrawTarget::stderr(),
        Output::Text | Output::Json => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(bytes, target);
    let style = match bytes {
        Some(_) => "{bar:30} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left",
        None => "{bytes} {bytes_per_sec}",
    };
    bar.with_style(ProgressStyle::with_template(style).expect("a template of known keys"))
}
