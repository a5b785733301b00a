//! Stores that break one promise each, and the checker that must notice.

use abide_core::commit::Commit;
use abide_core::event::Consumes;
use abide_core::limit::LimitPolicy;
use abide_core::object::Fence;
use abide_core::time::Time;
use abide_sim::{Failure, Plan, Report, run_on, shrink};
use abide_store::memory::MemoryStore;
use abide_store::read::Load;
use abide_store::write::Receipt;
use abide_store::{Answer, Batch, Read, Reader, Store, StoreError, Write, Written};

/// How a store is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Accepts every commit, whatever it names.
    DropsTheFence,
    /// Says that it has applied a commit and has not, now and then.
    ForgetsCommits,
    /// Does not keep the reply of a call with a key.
    ForgetsReplies,
    /// Loses every alarm that is set by a turn that an alarm woke.
    LosesAlarms,
    /// Forgets policies of limits.
    ForgetsLimits,
    /// Loses a message now and then.
    LosesMessages,
    /// Starts the jobs of paused queues.
    IgnoresPauses,
    /// Calls leases lost that are not.
    LosesLeases,
    /// Gives nothing to a claim now and then, and says that there is nothing.
    Starves,
    /// Gives other jobs to a claim that is repeated.
    ForgetsClaims,
}

struct Broken {
    inner: MemoryStore,
    fault: Fault,
    commits: u64,
}

impl Broken {
    fn new(inner: MemoryStore, fault: Fault) -> Broken {
        Broken { inner, fault, commits: 0 }
    }

    /// The fence that holds now.
    fn present(&mut self, now: Time, commit: &Commit) -> Fence {
        let load = Load { object: commit.object.clone(), wants: Vec::new(), reply_for: None };
        let Ok(Answer::Load(loaded)) = Reader::read(&mut self.inner, now, &Read::Load(load)) else {
            return commit.fence;
        };
        match loaded.header {
            Some(header) => {
                let (incarnation, version, by) = (header.incarnation, header.version, header.by);
                Fence::At { incarnation, version, by }
            }
            None => Fence::Absent { begin: commit.fence.incarnation() },
        }
    }

    fn spoil(&mut self, now: Time, write: &Write) -> Option<Write> {
        let mut write = write.clone();
        match (self.fault, &mut write) {
            (Fault::DropsTheFence, Write::Commit(commit)) => commit.fence = self.present(now, commit),
            (Fault::ForgetsCommits, Write::Commit(commit)) => {
                self.commits += 1;
                let keeps = !self.commits.is_multiple_of(40) || !matches!(commit.fence, Fence::At { .. });
                return keeps.then_some(write);
            }
            (Fault::ForgetsReplies, Write::Commit(commit)) => commit.keyed_reply = None,
            (Fault::LosesAlarms, Write::Commit(commit)) => {
                if matches!(commit.consumes, Consumes::Alarm { .. }) {
                    commit.alarms.clear();
                }
            }
            (Fault::LosesMessages, Write::Commit(commit)) => {
                self.commits += 1;
                if self.commits.is_multiple_of(20) {
                    commit.messages.pop();
                }
            }
            (Fault::ForgetsLimits, Write::SetLimit { policy, .. }) => *policy = Some(LimitPolicy::default()),
            (Fault::IgnoresPauses, Write::SetPaused { paused, .. }) => *paused = false,
            (Fault::IgnoresPauses, Write::SetQueue { policy, .. }) => policy.paused = false,
            (Fault::LosesLeases, Write::Finish { lease, .. }) => lease.attempt += 1,
            (Fault::Starves, Write::Claim(claim)) => {
                self.commits += 1;
                if self.commits.is_multiple_of(3) {
                    claim.kinds.clear();
                }
            }
            (Fault::ForgetsClaims, Write::Claim(claim)) => claim.key = None,
            _ => {}
        }
        Some(write)
    }
}

impl Store for Broken {
    fn write(&mut self, now: Time, batch: &[Write]) -> Result<Batch, StoreError> {
        let mut applied = Vec::new();
        let mut lies = Vec::new();
        for (place, write) in batch.iter().enumerate() {
            match (self.spoil(now, write), write) {
                (Some(write), _) => applied.push(write),
                (None, Write::Commit(commit)) => {
                    let version = Some(commit.fence.version_after());
                    lies.push((place, Written::Committed(Ok(Receipt { version, jobs: Vec::new() }))));
                }
                (None, _) => lies.push((place, Written::Set)),
            }
        }
        let mut result = self.inner.write(now, &applied)?;
        for (place, lie) in lies {
            result.written.insert(place, lie);
        }
        Ok(result)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.inner.reader()
    }

    fn reopen(&mut self) -> Result<(), StoreError> {
        self.inner.reopen()
    }
}

fn run_broken(fault: Fault, seed: u64, plan: &Plan) -> Result<Report, Failure> {
    run_on(seed, plan, &mut Broken::new(MemoryStore::new(), fault), &|| Ok(()))
}

fn first_failure(fault: Fault) -> Option<Failure> {
    (1..=60).find_map(|seed| run_broken(fault, seed, &Plan::default()).err())
}

#[track_caller]
fn check(fault: Fault, promises: &[&str]) {
    let failure = first_failure(fault);
    let promise = failure.as_ref().map(|failure| failure.violation.promise);
    assert!(promise.is_some_and(|promise| promises.contains(&promise)), "{fault:?}: {failure:?}");
}

#[test]
fn a_dropped_fence_is_seen() {
    check(Fault::DropsTheFence, &["one writer per object", "a commit is refused only if it must be"]);
}

#[test]
fn an_acknowledgement_without_a_commit_is_seen() {
    // Which is seen first is chance.
    let lost = [
        // It is missing after the batch.
        "nothing acknowledged is lost",
        // A commit behind it, in the same batch, names the version that it made.
        "a commit is refused only if it must be",
        // One of another engine names the version before it, and is accepted.
        "one writer per object",
        // What it sent never came.
        "no message is lost",
    ];
    check(Fault::ForgetsCommits, &lost);
}

#[test]
fn a_forgotten_reply_is_seen() {
    let once = ["a call with a key takes effect once", "a call takes effect at most once"];
    check(Fault::ForgetsReplies, &once);
}

#[test]
fn a_lost_alarm_is_seen() {
    check(Fault::LosesAlarms, &["when faults stop, everything finishes or is a dead letter"]);
}

#[test]
fn a_forgotten_limit_is_seen() {
    check(Fault::ForgetsLimits, &["concurrency is never passed", "a rate is never passed"]);
}

#[test]
fn a_lost_message_is_seen() {
    check(Fault::LosesMessages, &["no message is lost"]);
}

#[test]
fn an_ignored_pause_is_seen() {
    check(Fault::IgnoresPauses, &["a paused queue starts nothing"]);
}

#[test]
fn a_lease_that_is_called_lost_is_seen() {
    check(Fault::LosesLeases, &["a lease that is held can finish"]);
}

#[test]
fn a_claim_that_is_sent_away_empty_is_seen() {
    check(Fault::Starves, &["no key starves another"]);
}

#[test]
fn a_forgotten_claim_is_seen() {
    check(Fault::ForgetsClaims, &["a claim that is repeated gives what is held of it"]);
}

#[test]
fn a_failing_seed_is_made_small_and_fails_again_as_it_did() {
    let run = |seed: u64, plan: &Plan| run_broken(Fault::LosesMessages, seed, plan);
    let found = first_failure(Fault::LosesMessages).unwrap();
    let small = shrink(found.clone(), run);
    let (whole, left) = (Plan::default(), &small.plan);
    assert!(left.faults.len() < whole.faults.len() && left.work.len() < whole.work.len(), "{small}");
    // With less going on it may take longer to fail; with fewer steps it does not.
    let long = run(small.seed, &Plan { steps: whole.steps, ..*small.plan.clone() }).unwrap_err();
    assert!(left.steps < whole.steps && small.events <= long.events, "{small}");
    assert_eq!(small.violation.promise, found.violation.promise);
    assert_eq!(run(small.seed, &small.plan), Err(small));
}
