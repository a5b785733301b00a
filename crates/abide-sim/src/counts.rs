//! How often each fault and transition happened.

use std::collections::BTreeMap;
use std::fmt;

/// Counts by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts(BTreeMap<&'static str, u64>);

impl Counts {
    /// One more.
    pub(crate) fn one(&mut self, name: &'static str) {
        self.many(name, 1);
    }

    /// So many more.
    pub(crate) fn many(&mut self, name: &'static str, count: u64) {
        if count > 0 {
            *self.0.entry(name).or_default() += count;
        }
    }

    /// How often.
    #[must_use]
    pub fn of(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Counts) {
        for (name, count) in &other.0 {
            self.many(name, *count);
        }
    }

    /// What should happen in every seed and did not.
    pub(crate) fn missing_in_seed(&self) -> impl Iterator<Item = &'static str> {
        IN_EVERY_SEED.iter().copied().filter(|name| self.of(name) == 0)
    }

    /// What should have happened and did not.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        EXPECTED.iter().copied().filter(|name| self.of(name) == 0).collect()
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, count) in &self.0 {
            writeln!(f, "{count:>10}  {name}")?;
        }
        Ok(())
    }
}

/// What must happen in every seed: the faults go on until it has.
pub(crate) const IN_EVERY_SEED: &[&str] = &[
    "commit: accepted",
    "commit: refused, moved",
    "commit: speculation discarded",
    "event: message consumed",
];

/// What must happen at least once in a run of many seeds, or the simulation does not test what it says.
pub const EXPECTED: &[&str] = &[
    "fault: ambiguous, applied",
    "fault: ambiguous, not applied",
    "fault: clock differs",
    "fault: clock jumped back",
    "fault: clock jumped forward",
    "fault: clock moved a little",
    "fault: crash",
    "fault: crash after durable",
    "fault: crash before durable",
    "fault: crash in a turn",
    "fault: disk failed",
    "fault: disk full",
    "fault: drain",
    "fault: page unreadable",
    "fault: pause",
    "fault: power loss",
    "fault: power loss in a batch",
    "fault: read failed",
    "fault: store damaged",
    "fault: store full",
    "fault: store read-only",
    "fault: store stalled",
    "fault: store unavailable",
    "fault: sync failed",
    "fault: write rejected",
    "fault: write of a dead engine arrived late",
    "fault: write of a paused engine arrived",
    "inside: ended twice",
    "inside: failed",
    "inside: slow worker",
    "outside: answer to a claim lost",
    "outside: claim repeated",
    "outside: dead worker",
    "outside: finish repeated",
    "outside: finish stale",
    "outside: finish with a false token",
    "outside: heartbeat",
    "outside: late finish",
    "claim: left a job that its keys hold back",
    "call: answered",
    "call: failed",
    "call: engine was stopping",
    "call: failed with the store",
    "call: outcome unknown",
    "call: overloaded",
    "call: refused",
    "call: repeated under its key",
    "commit: accepted",
    "commit: object began again",
    "commit: object deleted",
    "commit: refused, event gone",
    "commit: refused, moved",
    "commit: speculation discarded",
    "event: alarm fired",
    "event: alarm retried",
    "event: counted as a crash",
    "event: dead letter",
    "event: dead letter forgotten",
    "event: dead letter replayed",
    "event: entries consumed",
    "event: entries retried",
    "event: message consumed",
    "event: message retried",
    "job: cancelled",
    "job: claimed",
    "job: cooled down",
    "job: pruned",
    "job: done",
    "job: duplicate",
    "job: failed",
    "job: handed back",
    "job: lease disowned",
    "job: lease expired",
    "job: lease voided",
    "job: ready",
    "job: refunded",
    "job: retried by hand",
    "job: running",
    "job: scheduled again",
    "job: skipped",
    "limit: claim at full concurrency",
    "limit: claim at full rate",
    "ticket: gone",
    "ticket: resolved",
    "why: another answer after the cause was removed",
    "why: backing off",
    "why: concurrency",
    "why: cooling down",
    "why: no worker",
    "why: paused",
    "why: rate",
    "why: scheduled",
    "why: started after the cause was removed",
    "why: waiting",
];
