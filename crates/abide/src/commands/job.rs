//! `abide job`: looking at jobs and cancelling them.

use std::time::Duration;

use abide_core::time::Time;
use abide_store::view::JobView;
use indicatif::HumanDuration;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cli::{JobCommand, JobListArgs};
use crate::columns::columns;
use crate::config::Config;
use crate::document::Document;
use crate::failure::Failure;
use crate::output::{Output, cell, instant};
use crate::reach::{self, Far, Missing, Path};

#[derive(Serialize)]
struct JobPage {
    jobs: Vec<Document>,
    next: Option<Value>,
}

#[derive(Deserialize)]
struct Why {
    causes: Vec<Cause>,
}

#[derive(Deserialize)]
struct Cause {
    sentence: String,
}

/// Does what was asked.
pub(crate) fn run(config: &Config, command: &JobCommand, output: Output) -> Result<(), Failure> {
    match command {
        JobCommand::List(args) => list(config, args, output),
        JobCommand::Show { job } => show(config, *job, output),
        JobCommand::Why { job } => why(config, *job, output),
        JobCommand::Cancel { job } => cancel(config, *job, output),
    }
}

fn list(config: &Config, args: &JobListArgs, output: Output) -> Result<(), Failure> {
    let ms = |at: Option<Time>| at.map(|at| at.0);
    let number = |after: &String| after.parse::<i64>().is_ok();
    if let Some(after) = args.page.after.as_ref().filter(|after| !number(after)) {
        let message = format!("--after is {after:?}: give the number of a job, as the page before said");
        return Err(Failure::Unusable(message));
    }
    let path = Path::v1(["jobs"])
        .with("state", args.state.as_ref())
        .with("queue", args.queue.as_ref())
        .with("kind", args.kind.as_ref())
        .with("owner", args.owner.as_ref())
        .with("limit_key", args.limit_key.as_ref())
        .with("unique_prefix", args.key_prefix.as_ref())
        .with("created_from", ms(args.created_from))
        .with("created_until", ms(args.created_until))
        .with("finished_from", ms(args.finished_from))
        .with("finished_until", ms(args.finished_until))
        .with("after", args.page.after.as_ref());
    let most = usize::from(args.page.limit);
    let listed = reach::with(config, Missing::Refuse, async |client| {
        Ok(reach::list_far(client, &path, most, Far::FullPages).await?)
    })?;
    let jobs: Vec<JobView> = listed.items.iter().map(Document::decode).collect::<Result<_, _>>()?;
    let row = |job: &JobView| {
        [
            job.job.to_string(),
            job.queue.to_string(),
            job.kind.to_string(),
            job.state.to_string(),
            job.attempt.to_string(),
            job.unique_key.as_ref().map_or_else(|| "-".to_owned(), |key| cell(key.as_str(), 40)),
            instant(job.updated_at),
            job.reason.as_deref().map_or_else(String::new, |reason| cell(reason, 60)),
        ]
    };
    let rows: Vec<_> = jobs.iter().map(row).collect();
    let text =
        columns(["JOB", "QUEUE", "KIND", "STATE", "ATTEMPT", "UNIQUE KEY", "UPDATED", "REASON"], &rows);
    let page = JobPage { jobs: listed.items, next: listed.next };
    output.data(&text, &page)?;
    match page.next {
        Some(next) if jobs.len() < most => {
            output.note(&format!("looked for them down to job {next}; more: --after {next}"));
        }
        Some(next) => output.note(&format!("more: --after {next}")),
        None => {}
    }
    Ok(())
}

fn show(config: &Config, job: i64, output: Output) -> Result<(), Failure> {
    let document: Document = reach::with(config, Missing::Refuse, async |client| {
        Ok(client.get(&Path::v1(["jobs", &job.to_string()])).await?)
    })?;
    output.data(&whole(&document.decode()?), &document)
}

/// Everything about a job, a line for each thing that is known.
fn whole(job: &JobView) -> String {
    let text = |text: &dyn ToString| Some(text.to_string());
    let at = |at: Time| Some(instant(at));
    let lines = [
        ("job", text(&job.job)),
        ("queue", text(&job.queue)),
        ("kind", text(&job.kind)),
        ("state", text(&job.state)),
        ("priority", text(&job.priority)),
        ("unique key", job.unique_key.as_ref().map(ToString::to_string)),
        (
            "limits",
            (!job.limit_keys.is_empty())
                .then(|| job.limit_keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
        ),
        ("owner", job.owner.as_ref().map(|owner| owner.object.to_string())),
        ("failures", text(&format!("{} of {}", job.failures, job.max_attempts))),
        ("run at", at(job.run_at)),
        ("created", at(job.created_at)),
        ("finished", job.finished_at.and_then(at)),
        ("worker", job.worker.as_ref().map(ToString::to_string)),
        ("progress", job.progress.as_ref().map(|note| note.as_str().to_owned())),
        ("reason", job.reason.clone()),
        ("result", job.result.as_ref().map(|result| result.as_str().to_owned())),
        ("payload", Some(job.payload.as_str().to_owned())),
    ];
    // What goes on below stands under its beginning, so that nothing passes for another line.
    let indented = |value: String| value.replace('\n', &format!("\n{:12}", ""));
    let line = |(name, value): (&str, Option<String>)| Some(format!("{name:<11} {}\n", indented(value?)));
    let mut shown: String = lines.into_iter().filter_map(line).collect();
    if !job.attempts.is_empty() {
        let row = |attempt: &abide_core::job::Attempt| {
            [
                attempt.attempt.to_string(),
                cell(attempt.worker.as_str(), 40),
                instant(attempt.started_at),
                took(attempt.ended_at.since(attempt.started_at)),
                attempt.end.as_str().to_owned(),
                attempt.reason.clone().unwrap_or_default(),
            ]
        };
        let rows: Vec<_> = job.attempts.iter().map(row).collect();
        shown.push('\n');
        shown.push_str(&columns(["ATTEMPT", "WORKER", "STARTED", "TOOK", "END", "REASON"], &rows));
    }
    shown
}

/// How long something took, as exactly as a person wants it.
fn took(ms: i64) -> String {
    match ms {
        ..1_000 => format!("{ms} ms"),
        1_000..120_000 => format!("{:.1} s", ms as f64 / 1e3),
        120_000.. => HumanDuration(Duration::from_millis(ms.unsigned_abs())).to_string(),
    }
}

fn why(config: &Config, job: i64, output: Output) -> Result<(), Failure> {
    let document: Document = reach::with(config, Missing::Refuse, async |client| {
        Ok(client.get(&Path::v1(["jobs", &job.to_string(), "why"])).await?)
    })?;
    let Why { causes } = document.decode()?;
    let text: String =
        causes.iter().map(|cause| format!("{}\n", cause.sentence.replace('\n', " "))).collect();
    output.data(&text, &document)
}

fn cancel(config: &Config, job: i64, output: Output) -> Result<(), Failure> {
    let document: Value = reach::with(config, Missing::Refuse, async |client| {
        Ok(client.act(&Path::v1(["jobs", &job.to_string(), "cancel"])).await?)
    })?;
    let state = document["state"].as_str().unwrap_or_default();
    let text = match state {
        "running" => {
            format!("\u{2713} Job {job} is asked to stop; it is cancelled when its worker answers\n")
        }
        _ => format!("\u{2713} Job {job} is cancelled\n"),
    };
    output.data(&text, &document)
}
