//! `abide dead`: what used up its attempts.

use abide_core::time::Time;
use abide_store::view::JobView;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cli::{DeadCommand, DeadRef};
use crate::columns::columns;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{Output, decoded, instant, shortened};
use crate::reach::{self, Client, Missing, Path, ReachError};

/// Letters or jobs on one page of a replay of all.
const PAGE: usize = 1_000;

#[derive(Deserialize)]
struct LetterPage {
    dead: Vec<Letter>,
}

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

#[derive(Deserialize)]
struct JobPage {
    jobs: Vec<JobView>,
}

#[derive(Serialize)]
struct DeadDocument {
    letters: Value,
    jobs: Value,
}

#[derive(Serialize)]
struct Replayed {
    replayed: u64,
}

/// Does what was asked.
pub(crate) fn run(config: &Config, command: &DeadCommand, output: Output) -> Result<(), Failure> {
    match command {
        DeadCommand::List { limit } => list(config, usize::from(*limit), output),
        DeadCommand::Replay { ids, all } => {
            let replayed = reach::with(config, Missing::Refuse, async |client| {
                if *all {
                    return Ok(replay_all(client).await?);
                }
                for id in ids {
                    replay(client, *id).await?;
                }
                Ok(ids.len() as u64)
            })?;
            output.data(&format!("\u{2713} Replayed {replayed}\n"), &Replayed { replayed })
        }
    }
}

fn letters(limit: usize) -> Path {
    Path::v1(["dead"]).with("limit", Some(limit))
}

fn failed_jobs(limit: usize) -> Path {
    Path::v1(["jobs"]).with("state", Some("failed")).with("limit", Some(limit))
}

fn list(config: &Config, limit: usize, output: Output) -> Result<(), Failure> {
    let document = reach::with(config, Missing::Refuse, async |client| {
        let letters: Value = client.get(&letters(limit)).await?;
        let jobs: Value = client.get(&failed_jobs(limit)).await?;
        Ok(DeadDocument { letters: letters["dead"].clone(), jobs: jobs["jobs"].clone() })
    })?;
    let letters: Vec<Letter> = decoded(&document.letters)?;
    let jobs: Vec<JobView> = decoded(&document.jobs)?;
    let of_letter = |letter: &Letter| {
        [
            letter.id.to_string(),
            format!("{}/{}", letter.kind, letter.name),
            letter.event.clone(),
            letter.failures.to_string(),
            instant(letter.died_at),
            shortened(&letter.error, 80),
        ]
    };
    let of_job = |job: &JobView| {
        [
            format!("job:{}", job.job),
            job.unique_key.as_ref().map_or_else(|| job.queue.to_string(), ToString::to_string),
            job.kind.to_string(),
            job.failures.to_string(),
            instant(job.updated_at),
            job.reason.as_deref().map_or_else(String::new, |reason| shortened(reason, 80)),
        ]
    };
    let rows: Vec<_> = letters.iter().map(of_letter).chain(jobs.iter().map(of_job)).collect();
    output.data(&columns(["ID", "OF", "WHAT", "FAILURES", "DIED", "ERROR"], &rows), &document)
}

async fn replay(client: &Client, id: DeadRef) -> Result<(), ReachError> {
    let path = match id {
        DeadRef::Letter(id) => Path::v1(["dead", &id.to_string(), "replay"]),
        DeadRef::Job(job) => Path::v1(["jobs", &job.to_string(), "retry"]),
    };
    client.act::<Value>(&path).await.map(drop)
}

/// Replays what is there now. What dies again meanwhile has a new place in the list and is not replayed twice.
async fn replay_all(client: &Client) -> Result<u64, ReachError> {
    let mut replayed = 0;
    let mut after = None;
    loop {
        let page: LetterPage = client.get(&letters(PAGE).with("after", after)).await?;
        let Some(last) = page.dead.last() else { break };
        after = Some(last.id);
        for letter in &page.dead {
            replayed += counted(replay(client, DeadRef::Letter(letter.id)).await)?;
        }
    }
    let mut after = None;
    loop {
        let page: JobPage = client.get(&failed_jobs(PAGE).with("after", after)).await?;
        let Some(last) = page.jobs.last() else { break };
        after = Some(last.job.0);
        for job in &page.jobs {
            replayed += counted(replay(client, DeadRef::Job(job.job.0)).await)?;
        }
    }
    Ok(replayed)
}

/// One that somebody else replayed first does not count.
fn counted(replayed: Result<(), ReachError>) -> Result<u64, ReachError> {
    match replayed {
        Ok(()) => Ok(1),
        Err(ReachError::Refused { .. }) => Ok(0),
        Err(other) => Err(other),
    }
}
