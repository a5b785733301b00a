//! The checkers: each watches every batch that the store applied and keeps what must follow from it.

mod alarms;
mod calls;
mod end;
mod inboxes;
mod jobs;
mod limits;
mod lives;
mod starving;
mod tickets;

pub(crate) use calls::{Calls, Promise};
pub(crate) use end::{check_end, what_is_left};

use crate::counts::Counts;
use crate::outcome::Violation;
use abide_core::commit::{Commit, Ending};
use abide_core::dead::{DeadId, DeadLetter};
use abide_core::event::{Consumes, EventRef, MessageBody};
use abide_core::time::Time;
use abide_store::write::{Batch, EventFate, FailEvent, Written};
use abide_store::{Answer, Read, Reader, Write};
use alarms::Alarms;
use inboxes::Inboxes;
use jobs::Jobs;
use limits::Limits;
use lives::Lives;
use starving::Starving;
use std::collections::BTreeMap;
use tickets::Tickets;

/// Asks the store something for a checker. A store that cannot answer keeps no promise.
pub(crate) fn ask(reader: &mut dyn Reader, now: Time, read: &Read) -> Result<Answer, Violation> {
    let answer = reader.read(now, read);
    answer.map_err(|error| Violation { promise: "the store answers", what: format!("{read:?}: {error}") })
}

/// What is known of the world from the batches that were applied.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    pub(crate) lives: Lives,
    pub(crate) inboxes: Inboxes,
    pub(crate) alarms: Alarms,
    pub(crate) jobs: Jobs,
    pub(crate) limits: Limits,
    starving: Starving,
    pub(crate) tickets: Tickets,
    /// Dead letters that people want to forget, and those that they did.
    pub(crate) unwanted: BTreeMap<DeadId, DeadLetter>,
    pub(crate) forgotten: Vec<DeadLetter>,
}

impl Checks {
    /// A batch was applied: holds the store's answers to what its earlier answers promised.
    pub(crate) fn observe(
        &mut self,
        writes: &[Write],
        batch: &Batch,
        reader: &mut dyn Reader,
        counts: &mut Counts,
    ) -> Result<(), Violation> {
        self.inboxes.arrived(&batch.woken.messages);
        for (write, written) in writes.iter().zip(&batch.written) {
            self.observe_one(write, written, batch.at, reader, counts)?;
        }
        let replays = writes.iter().any(|write| matches!(write, Write::ReplayDead { .. }));
        for message in &batch.woken.messages {
            if let MessageBody::Outcome(outcome) = &message.body {
                self.jobs.outcome_sent(outcome, replays)?;
            }
        }
        for (ticket, resolution) in &batch.woken.tickets {
            self.tickets.resolved(ticket, resolution, counts)?;
        }
        self.inboxes.check_sent(&batch.woken.messages)?;
        self.lives.check_touched(reader, batch.at)?;
        self.jobs.check_touched(reader, batch.at, counts)?;
        if let (Some(Write::Claim(claim)), Some(Written::Claimed(claimed))) =
            (writes.last(), batch.written.last())
        {
            let claim = (claim, claimed, batch.at);
            self.starving.check(claim, &self.jobs, &self.limits, reader, counts)?;
        }
        Ok(())
    }

    fn observe_one(
        &mut self,
        write: &Write,
        written: &Written,
        at: Time,
        reader: &mut dyn Reader,
        counts: &mut Counts,
    ) -> Result<(), Violation> {
        match (write, written) {
            (Write::Commit(commit), Written::Committed(Ok(receipt))) => {
                self.lives.committed(commit, receipt, counts)?;
                self.committed(commit, at, counts)?;
                self.jobs.enqueued(&receipt.jobs, Some(commit), counts)
            }
            (Write::Commit(commit), Written::Committed(Err(refused))) => {
                self.lives.refused(commit, refused, counts)
            }
            (Write::FailEvent(FailEvent { event, .. }), Written::EventFailed(fate)) => {
                self.event_failed(event, *fate, counts);
                Ok(())
            }
            (Write::CountCrash { event }, Written::EventFailed(fate)) => {
                if *fate != EventFate::Gone {
                    counts.one("event: counted as a crash");
                }
                if let EventFate::Dead(_) = fate {
                    self.event_failed(event, *fate, counts);
                }
                Ok(())
            }
            (Write::ReplayDead { .. }, Written::Dead(true)) => {
                counts.one("event: dead letter replayed");
                self.inboxes.replayed();
                self.alarms.read_again(reader, at)
            }
            (Write::DropDead { id }, Written::Dead(true)) => {
                counts.one("event: dead letter forgotten");
                self.forgotten.extend(self.unwanted.remove(id));
                Ok(())
            }
            // It starts nothing.
            (Write::Claim(claim), Written::Claimed(claimed)) if self.jobs.is_repeated(claim) => {
                self.jobs.claimed_again(claim, claimed, counts)
            }
            (write, written) => {
                self.jobs.observe(write, written, counts)?;
                self.limits.observe(write, written, at, &mut self.jobs, reader, counts)
            }
        }
    }

    fn committed(&mut self, commit: &Commit, at: Time, counts: &mut Counts) -> Result<(), Violation> {
        match &commit.consumes {
            Consumes::Call => {}
            Consumes::Message(id) => {
                counts.one("event: message consumed");
                self.inboxes.consumed(*id, &commit.object)?;
            }
            Consumes::Alarm { name, set_version } => {
                counts.one("event: alarm fired");
                self.alarms.fired(commit, name, *set_version, at)?;
            }
            Consumes::Entries { .. } => counts.one("event: entries consumed"),
        }
        if !commit.cancels.is_empty() {
            self.jobs.touch_waiting();
        }
        self.inboxes.sent(commit);
        self.alarms.written(commit);
        self.tickets.written(commit);
        if commit.ending == Ending::Deleted {
            let life = commit.fence.incarnation();
            self.inboxes.ended(life);
            self.jobs.owner_ended(life);
        }
        Ok(())
    }

    fn event_failed(&mut self, event: &EventRef, fate: EventFate, counts: &mut Counts) {
        let retried = match event {
            EventRef::Message(_) => "event: message retried",
            EventRef::Alarm { .. } => "event: alarm retried",
            EventRef::Entries { .. } => "event: entries retried",
        };
        match fate {
            EventFate::Retried => counts.one(retried),
            EventFate::Dead(_) => counts.one("event: dead letter"),
            EventFate::Gone => {}
        }
        match event {
            EventRef::Message(id) => self.inboxes.failed(*id, fate),
            EventRef::Alarm { incarnation, name, .. } => self.alarms.failed(*incarnation, name, fate),
            EventRef::Entries { .. } => {}
        }
    }
}
