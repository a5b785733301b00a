//! `abide queue retry-failed`: fresh attempts for what failed.

use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::failure::Failure;
use crate::output::{Output, counted};
use crate::reach::{self, Missing, Path};

/// Jobs on one page.
const PAGE: usize = 1_000;
/// Jobs that a person is shown.
const SHOWN: usize = 100;

/// Whether anything is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Only says which.
    DryRun,
    /// Retries them.
    Retry,
}

#[derive(Deserialize)]
struct JobPage {
    jobs: Vec<FailedJob>,
    next: Option<i64>,
}

#[derive(Deserialize)]
struct RetriedPage {
    retried: Vec<i64>,
    next: Option<i64>,
}

/// A job that failed.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct FailedJob {
    job: i64,
    #[serde(rename(serialize = "artifact_id"))]
    unique_key: Option<String>,
    #[serde(rename(serialize = "attempts"))]
    failures: u32,
    reason: Option<String>,
}

/// What was found and done.
#[derive(Default, Serialize)]
struct Retried {
    failed: usize,
    retried: usize,
    /// The newest of them.
    jobs: Vec<FailedJob>,
}

/// Retries the failed jobs of a queue.
pub(super) fn run(config: &Config, queue: &str, mode: Mode, output: Output) -> Result<(), Failure> {
    let retried = reach::with(config, Missing::Refuse, async |client| {
        let mut retried = Retried::default();
        let mut after = None;
        loop {
            let path = Path::v1(["jobs"])
                .with("state", Some("failed"))
                .with("queue", Some(queue))
                .with("limit", Some(PAGE))
                .with("after", after);
            let page: JobPage = client.get(&path).await?;
            retried.failed += page.jobs.len();
            let next = match mode {
                Mode::DryRun => page.next,
                Mode::Retry => {
                    // Jobs may have failed since the page was read: it goes on behind those that were retried.
                    let RetriedPage { retried: of_page, next } = client.act(&path.then("retry")).await?;
                    retried.retried += of_page.len();
                    next
                }
            };
            let room = SHOWN.saturating_sub(retried.jobs.len());
            retried.jobs.extend(page.jobs.into_iter().take(room));
            match next {
                Some(next) => after = Some(next),
                None => return Ok(retried),
            }
        }
    })?;
    output.data(&text(&retried, mode), &retried)
}

fn text(found: &Retried, mode: Mode) -> String {
    let Retried { failed, retried, jobs } = found;
    if *failed == 0 {
        return "No failed jobs to retry\n".to_owned();
    }
    let mut text = format!("Found {}:\n", counted(*failed as u64, "failed job"));
    for FailedJob { job, unique_key, failures, .. } in jobs {
        let name = unique_key.clone().unwrap_or_else(|| format!("job {job}"));
        text.push_str(&format!("  - {name} (attempts: {failures})\n"));
    }
    if *failed > jobs.len() {
        text.push_str(&format!("  and {} more\n", failed - jobs.len()));
    }
    match mode {
        Mode::DryRun => text.push_str("\u{2713} Dry run complete (no changes made)\n"),
        Mode::Retry => text.push_str(&format!("\u{2713} Retried {}\n", counted(*retried as u64, "job"))),
    }
    text
}
