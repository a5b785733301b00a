//! No key starves another: a claim that gives less than it was asked for leaves nothing that could run.

use super::ask;
use super::jobs::Jobs;
use super::limits::Limits;
use crate::counts::Counts;
use crate::outcome::{Violation, holds};
use abide_core::job::{JobId, JobState};
use abide_core::time::Time;
use abide_core::why::why;
use abide_store::write::{Claim, Claimed};
use abide_store::{Answer, Read, Reader};

/// Jobs that are looked at after one claim: all of them come round.
const LOOKS: usize = 2;

/// Where the next look begins.
#[derive(Debug)]
pub(crate) struct Starving {
    after: JobId,
}

impl Default for Starving {
    fn default() -> Starving {
        Starving { after: JobId(0) }
    }
}

impl Starving {
    /// The last write of a batch was this claim: each job that it might have given is held back by a cause that the world
    /// knows of as well.
    pub(super) fn check(
        &mut self,
        (claim, claimed, at): (&Claim, &Claimed, Time),
        jobs: &Jobs,
        limits: &Limits,
        reader: &mut dyn Reader,
        counts: &mut Counts,
    ) -> Result<(), Violation> {
        let repeats = claim.key.is_some() && !claimed.leases.is_empty();
        if claimed.more || claimed.leases.len() >= claim.max || repeats {
            return Ok(());
        }
        let waiting: Vec<JobId> = jobs.waiting().collect();
        let begin = waiting.partition_point(|id| *id <= self.after);
        let (before, after) = waiting.split_at(begin);
        for id in after.iter().chain(before).take(LOOKS) {
            self.after = *id;
            let Answer::Why(Some(facts)) = ask(reader, at, &Read::Why(*id))? else { continue };
            let is_asked = claim.queues.contains(&facts.queue) && claim.kinds.contains(&facts.kind);
            if facts.state != JobState::Ready || !is_asked {
                continue;
            }
            counts.one("claim: left a job that its keys hold back");
            let causes = why(&facts);
            holds("no key starves another", causes.iter().any(|cause| limits.confirm(cause, at)), || {
                format!("job {id} was not claimed because of {causes:?}: the world knows of nothing like it")
            })?;
        }
        Ok(())
    }
}
