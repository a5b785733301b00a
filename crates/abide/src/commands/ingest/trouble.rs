//! Why nothing moves: jobs of a batch that are tried again know what went wrong the last time.

use std::collections::BTreeSet;

use abide_core::object::ObjectKey;
use abide_pipeline::contract::StatusAnswer;
use serde::Deserialize;

use crate::reach::{Client, Path, ReachError};

/// Looks without anything new after which jobs are asked.
const QUIET_LOOKS: u32 = 20;
/// Jobs of a queue and state that are looked at.
const JOBS: usize = 50;
/// Reasons that are told.
const TOLD: usize = 5;

/// What keeps a batch from going on.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    last: Option<StatusAnswer>,
    quiet: u32,
    told: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Jobs {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    failures: u32,
    reason: Option<String>,
    owner: Option<Owner>,
}

#[derive(Deserialize)]
struct Owner {
    object: ObjectKey,
}

impl Job {
    /// Whether it is of a batch, or of a request of that to the organizer.
    fn is_of(&self, batch: &str) -> bool {
        let name = self.owner.as_ref().map(|owner| owner.object.name.as_str());
        let rest = name.and_then(|name| name.strip_prefix(batch));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    }
}

impl Trouble {
    /// Why a batch that has been quiet for a while waits, unless that was told.
    pub(super) async fn look(&mut self, client: &Client, batch: &str, now: &StatusAnswer) -> Option<String> {
        if self.last.as_ref() != Some(now) {
            (self.last, self.quiet) = (Some(now.clone()), 0);
        }
        self.quiet += 1;
        if !self.quiet.is_multiple_of(QUIET_LOOKS) || self.told.len() == TOLD {
            return None;
        }
        // Whatever is wrong with the server, the next look meets it.
        let reasons = reasons(client, batch).await.ok()?;
        reasons.into_iter().find(|reason| self.told.insert(reason.clone()))
    }
}

async fn reasons(client: &Client, batch: &str) -> Result<Vec<String>, ReachError> {
    let mut reasons = Vec::new();
    for queue in [abide_organize::jobs::QUEUE, abide_pipeline::orders::QUEUE] {
        // One that waits to be tried again knows why, also if that does not count against it; one that runs may be at it for the
        // first time, and what it knows is that its process was stopped before.
        for (state, failures) in [("scheduled", 0), ("running", 1)] {
            let path = Path::v1(["jobs"]).with("queue", Some(queue)).with("state", Some(state));
            let jobs: Jobs = client.get(&path.with("limit", Some(JOBS))).await?;
            let failed = jobs.jobs.into_iter().filter(|job| job.failures >= failures && job.is_of(batch));
            reasons.extend(failed.filter_map(|job| job.reason));
        }
    }
    Ok(reasons)
}
