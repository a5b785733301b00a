//! Retention: what is removed when its time is over.

use super::jobs::{Job, Taken};
use super::state::State;
use super::tickets::{TicketState, kept_until};
use crate::write::Removed;
use abide_core::job::{JobId, JobState};
use abide_core::name::QueueName;
use abide_core::time::{Time, earliest};

impl State {
    pub(super) fn prune(&mut self, max: usize) -> Removed {
        let mut count = self.prune_jobs(max);
        count += self.prune_keys(max - count);
        count += self.prune_replies(max - count);
        count += self.prune_tickets(max - count);
        Removed { count, more: self.first_end_of_retention().is_some_and(|at| at <= self.now) }
    }

    fn prune_jobs(&mut self, max: usize) -> usize {
        let past = self.jobs.values().filter(|job| self.is_past(self.retained_until(job)));
        let past: Vec<JobId> = past.map(|job| job.id).take(max).collect();
        for id in &past {
            self.jobs.remove(id);
        }
        past.len()
    }

    fn prune_keys(&mut self, max: usize) -> usize {
        let past = self.unique.iter().filter(|(_, taken)| self.is_past(self.key_kept_until(taken)));
        let past: Vec<_> = past.map(|(key, _)| key.clone()).take(max).collect();
        for key in &past {
            self.unique.remove(key);
        }
        past.len()
    }

    fn prune_replies(&mut self, max: usize) -> usize {
        let past = self.replies.iter().filter(|(_, kept)| kept_until(kept.kept_at) <= self.now);
        let past: Vec<_> = past.map(|(key, _)| key.clone()).take(max).collect();
        for key in &past {
            self.replies.remove(key);
        }
        past.len()
    }

    fn prune_tickets(&mut self, max: usize) -> usize {
        let past = self.tickets.iter().filter(|(_, ticket)| self.is_past(ticket_kept_until(ticket)));
        let past: Vec<_> = past.map(|(ticket, _)| ticket.clone()).take(max).collect();
        for ticket in &past {
            self.tickets.remove(ticket);
        }
        past.len()
    }

    fn is_past(&self, until: Option<Time>) -> bool {
        until.is_some_and(|until| until <= self.now)
    }

    /// How long a job is kept: none if for ever, or while it is not over.
    pub(super) fn retained_until(&self, job: &Job) -> Option<Time> {
        let policy = self.queues.get(&job.queue)?;
        let retain_ms = match job.state {
            JobState::Scheduled | JobState::Ready | JobState::Running => None,
            JobState::Done | JobState::Skipped | JobState::Cancelled => policy.retain_ms,
            JobState::Failed => policy.retain_failed_ms,
        };
        Some(job.finished_at?.plus_ms(retain_ms?))
    }

    /// How long a unique key is kept: none if for ever, or while its job is not over.
    pub(super) fn key_kept_until(&self, taken: &Taken) -> Option<Time> {
        let policy = self.queues.get(&taken.queue)?;
        Some(taken.ended_at?.plus_ms(policy.forget_keys_after_ms?))
    }

    /// When the first thing of a queue is past its retention.
    pub(super) fn first_end_of_retention_in(&self, queue: &QueueName) -> Option<Time> {
        let jobs = self.jobs.values().filter(|job| job.queue == *queue);
        let keys = self.unique.values().filter(|taken| taken.queue == *queue);
        let jobs = jobs.filter_map(|job| self.retained_until(job)).min();
        earliest(jobs, keys.filter_map(|taken| self.key_kept_until(taken)).min())
    }

    /// When the first thing of all is past its retention.
    pub(super) fn first_end_of_retention(&self) -> Option<Time> {
        let queues = self.queues.keys().filter_map(|queue| self.first_end_of_retention_in(queue)).min();
        let replies = self.replies.values().map(|kept| kept_until(kept.kept_at)).min();
        let tickets = self.tickets.values().filter_map(ticket_kept_until).min();
        earliest(earliest(queues, replies), tickets)
    }
}

fn ticket_kept_until(ticket: &TicketState) -> Option<Time> {
    match ticket {
        TicketState::Open(_) => None,
        TicketState::Resolved(_, at) => Some(kept_until(*at)),
    }
}
