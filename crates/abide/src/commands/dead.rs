//! `abide dead`: what used up its attempts.

use abide_core::name::UniqueKey;
use abide_core::time::Time;
use abide_store::view::JobView;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cli::{DeadCommand, DeadFilter, DeadRef, ReplayArgs};
use crate::columns::columns;
use crate::config::Config;
use crate::document::Document;
use crate::failure::Failure;
use crate::output::{Output, cell, instant};
use crate::reach::{self, Client, Listed, Missing, Path, ReachError};

/// Letters or jobs that are replayed with one request.
const PAGE: usize = 1_000;

#[derive(Deserialize)]
struct Letter {
    id: i64,
    kind: String,
    name: String,
    event: String,
    error: String,
    failures: u32,
    died_at: Time,
}

/// What one request replayed.
#[derive(Deserialize)]
struct ReplayedPage {
    /// Letters, or jobs.
    #[serde(alias = "retried")]
    ids: Vec<i64>,
    next: Option<i64>,
}

#[derive(Serialize)]
struct DeadDocument {
    letters: Vec<Document>,
    jobs: Vec<Document>,
    /// Whether there are more of either.
    more: bool,
}

#[derive(Serialize)]
struct Replayed {
    replayed: usize,
}

/// Does what was asked.
pub(crate) fn run(config: &Config, command: &DeadCommand, output: Output) -> Result<(), Failure> {
    match command {
        DeadCommand::List { limit, which } => list(config, &Lists::of(which), usize::from(*limit), output),
        DeadCommand::Replay(args) => {
            let replayed =
                reach::with(config, Missing::Refuse, async |client| Ok(replay(client, args).await?))?;
            output.data(&format!("\u{2713} Replayed {replayed}\n"), &Replayed { replayed })
        }
    }
}

/// The lists that hold dead letters, as far as they are asked for.
struct Lists {
    letters: Option<Path>,
    jobs: Option<Path>,
}

impl Lists {
    fn of(which: &DeadFilter) -> Lists {
        let DeadFilter { object, event, queue, job_kind } = which;
        let of_objects = object.is_some() || event.is_some();
        let of_jobs = queue.is_some() || job_kind.is_some();
        let (kind, name) = match object.as_deref().map(|object| object.split_once('/')) {
            Some(Some((kind, name))) => (Some(kind), Some(name)),
            Some(None) => (object.as_deref(), None),
            None => (None, None),
        };
        let letters = Path::v1(["dead"]).with("kind", kind).with("name", name).with("event", event.as_ref());
        let jobs = Path::v1(["jobs"])
            .with("state", Some("failed"))
            .with("queue", queue.as_ref())
            .with("kind", job_kind.as_ref());
        Lists { letters: (!of_jobs).then_some(letters), jobs: (!of_objects).then_some(jobs) }
    }
}

fn list(config: &Config, lists: &Lists, limit: usize, output: Output) -> Result<(), Failure> {
    let document = reach::with(config, Missing::Refuse, async |client| {
        let listed = async |path: &Option<Path>| match path {
            Some(path) => reach::list(client, path, limit).await,
            None => Ok::<_, ReachError>(Listed::default()),
        };
        let (letters, jobs) = (listed(&lists.letters).await?, listed(&lists.jobs).await?);
        let more = letters.next.is_some() || jobs.next.is_some();
        Ok(DeadDocument { letters: letters.items, jobs: jobs.items, more })
    })?;
    let letters: Vec<Letter> = document.letters.iter().map(Document::decode).collect::<Result<_, _>>()?;
    let jobs: Vec<JobView> = document.jobs.iter().map(Document::decode).collect::<Result<_, _>>()?;
    let of_letter = |letter: &Letter| {
        [
            letter.id.to_string(),
            cell(&format!("{}/{}", letter.kind, letter.name), 80),
            letter.event.clone(),
            letter.failures.to_string(),
            instant(letter.died_at),
            cell(&letter.error, 80),
        ]
    };
    let of_job = |job: &JobView| {
        [
            format!("job:{}", job.job),
            cell(job.unique_key.as_ref().map_or_else(|| job.queue.as_str(), UniqueKey::as_str), 80),
            job.kind.to_string(),
            job.failures.to_string(),
            instant(job.updated_at),
            job.reason.as_deref().map_or_else(String::new, |reason| cell(reason, 80)),
        ]
    };
    let rows: Vec<_> = letters.iter().map(of_letter).chain(jobs.iter().map(of_job)).collect();
    output.data(&columns(["ID", "OF", "WHAT", "FAILURES", "DIED", "ERROR"], &rows), &document)?;
    if document.more {
        output.note(
            "there are more: --limit shows up to 1000 of each, `abide job list --state failed` all jobs",
        );
    }
    Ok(())
}

/// Says how many were replayed.
async fn replay(client: &Client, args: &ReplayArgs) -> Result<usize, ReachError> {
    if !args.ids.is_empty() {
        for id in &args.ids {
            let path = match id {
                DeadRef::Letter(id) => Path::v1(["dead", &id.to_string(), "replay"]),
                DeadRef::Job(job) => Path::v1(["jobs", &job.to_string(), "retry"]),
            };
            client.act::<Value>(&path).await?;
        }
        return Ok(args.ids.len());
    }
    let Lists { letters, jobs } = Lists::of(&args.which);
    let mut replayed = 0;
    for (list, verb) in [(letters, "replay"), (jobs, "retry")] {
        if let Some(list) = list {
            replayed += replay_all(client, &list.then(verb)).await?;
        }
    }
    Ok(replayed)
}

/// Has everything on a list replayed, page by page.
async fn replay_all(client: &Client, path: &Path) -> Result<usize, ReachError> {
    let mut replayed = 0;
    let mut after = None;
    loop {
        let path = path.clone().with("limit", Some(PAGE)).with("after", after);
        let page: ReplayedPage = client.act(&path).await?;
        replayed += page.ids.len();
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(replayed),
        }
    }
}
