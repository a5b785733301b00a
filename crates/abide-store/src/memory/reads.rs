//! The reading verbs about objects and their events, and the one place that gives each read to its verb.

use super::state::State;
use crate::read::{Answer, FollowPage, Got, Header, Load, Loaded, LogPage, Read, Timers, Want, first_key};
use abide_core::log::{LogEntry, PageBytes, Seq};
use abide_core::object::{Incarnation, ObjectKey};
use abide_core::time::{Time, earliest};
use std::collections::BTreeSet;
use std::ops::Bound;

impl State {
    pub(super) fn read(&self, now: Time, read: &Read) -> Answer {
        let now = self.now.max(now);
        match read {
            Read::Load(load) => Answer::Load(self.load(load, now)),
            Read::Inboxes { after, limit } => Answer::Inboxes(self.messages.inboxes(after.as_ref(), *limit)),
            Read::Messages { to, after, limit } => Answer::Messages(self.messages.of(to, *after, *limit)),
            Read::MessagesDue { limit } => Answer::MessagesDue(self.messages.due(now, *limit)),
            Read::AlarmsDue { after, limit } => {
                Answer::AlarmsDue(self.alarms.due(now, after.as_ref(), *limit))
            }
            Read::Timers { after } => Answer::Timers(self.timers(*after)),
            Read::Followers { after, limit } => {
                Answer::Followers(self.followers(after.as_ref(), *limit, now))
            }
            Read::Entries { follower, limit } => Answer::Entries(self.entries(follower, *limit, now)),
            Read::Log { object, after, limit } => Answer::Log(self.log_page(object, *after, *limit)),
            Read::Ticket(ticket) => Answer::Ticket(self.ticket_view(ticket, now)),
            Read::Job(job) => Answer::Job(self.jobs.get(job).map(|job| Box::new(job.view_with_attempts()))),
            Read::Jobs(filter) => Answer::Jobs(self.job_page(filter)),
            Read::Why(job) => Answer::Why(self.why_facts(*job, now).map(Box::new)),
            Read::Queues => Answer::Queues(self.queue_views()),
            Read::Limits { after, limit } => Answer::Limits(self.limit_views(after.as_ref(), *limit, now)),
            Read::Objects { kind, after, limit } => {
                Answer::Objects(self.object_views(kind.as_ref(), after.as_ref(), *limit))
            }
            Read::NewestObjects { limit } => Answer::Objects(self.newest_object_views(*limit)),
            Read::Object(key) => Answer::Object(self.object_view(key)),
            Read::Dead { after, limit } => {
                let letters = self.dead.values().filter(|letter| after.is_none_or(|after| letter.id > after));
                Answer::Dead(letters.take(*limit).cloned().collect())
            }
            Read::Workers => Answer::Workers(self.workers.values().cloned().collect()),
        }
    }

    fn load(&self, load: &Load, now: Time) -> Loaded {
        let object = self.objects.get(&load.object);
        let header = object.map(|object| Header {
            incarnation: object.incarnation,
            version: object.version,
            by: object.by,
            log_head: object.log_head,
            turn_at: object.turn_at,
        });
        let life = header.map(|header| header.incarnation);
        let got = load.wants.iter().map(|want| self.get(life, want)).collect();
        let kept = load.reply_for.as_ref().and_then(|key| self.kept_reply(&load.object, key, now));
        Loaded { header, got, kept }
    }

    fn get(&self, life: Option<Incarnation>, want: &Want) -> Got {
        let rows = life.and_then(|life| self.rows.get(&life));
        match want {
            Want::Row(key) => Got::Row(rows.and_then(|rows| rows.get(key)).cloned()),
            Want::Alarm(name) => {
                Got::Alarm(life.and_then(|life| self.alarms.get(life, name)).map(|alarm| alarm.at))
            }
            Want::Scan { prefix, from, limit } => {
                let from = first_key(prefix, from.as_deref());
                let mut rest = rows
                    .into_iter()
                    .flat_map(|rows| rows.range::<str, _>((Bound::Included(from), Bound::Unbounded)))
                    .take_while(|(key, _)| key.starts_with(prefix.as_str()));
                let rows = rest.by_ref().take(*limit).map(|(key, row)| (key.clone(), row.clone())).collect();
                Got::Scan { rows, end: rest.next().is_none() }
            }
        }
    }

    fn timers(&self, after: Time) -> Timers {
        let behind = self.follows.iter().filter(|((_, source), follow)| self.is_behind(follow, source));
        let follow_at = behind.filter_map(|(_, follow)| follow.due_at).filter(|at| *at > after).min();
        let scheduled_at = self.scheduled.first().map(|(run_at, _)| *run_at);
        Timers {
            alarm_at: self.alarms.first_due(after),
            message_at: earliest(self.messages.first_due(after), follow_at),
            job_at: earliest(scheduled_at, self.limits.first_opening()),
            lease_at: self.leases.first().map(|(expires_at, _)| *expires_at),
            prune_at: self.first_end_of_retention(),
            sweep: !self.unswept.is_empty(),
        }
    }

    fn followers(&self, after: Option<&ObjectKey>, limit: usize, now: Time) -> Vec<ObjectKey> {
        let behind =
            self.follows.iter().filter(|((_, source), follow)| self.wants_entries(follow, source, now));
        let followers: BTreeSet<&ObjectKey> = behind.map(|(_, follow)| &follow.follower).collect();
        let rest = followers.into_iter().filter(|follower| after.is_none_or(|after| *follower > after));
        rest.take(limit).cloned().collect()
    }

    fn entries(&self, follower: &ObjectKey, limit: usize, now: Time) -> Vec<FollowPage> {
        let Some(object) = self.objects.get(follower) else { return Vec::new() };
        let behind = self.follows.iter().filter(|((life, source), follow)| {
            *life == object.incarnation && self.wants_entries(follow, source, now)
        });
        let page = |((incarnation, source), follow): (&(Incarnation, ObjectKey), &super::follows::Follow)| {
            let source_incarnation = self.objects.get(source)?.incarnation;
            Some(FollowPage {
                incarnation: *incarnation,
                source: source.clone(),
                source_incarnation,
                cursor: follow.cursor,
                entries: self.log_after(source_incarnation, follow.cursor, limit),
                failures: follow.failures,
                crashes: follow.crashes,
            })
        };
        behind.filter_map(page).collect()
    }

    fn log_page(&self, object: &ObjectKey, after: Seq, limit: usize) -> Option<LogPage> {
        let object = self.objects.get(object)?;
        let entries = self.log_after(object.incarnation, after, limit);
        Some(LogPage { incarnation: object.incarnation, head: object.log_head, entries })
    }

    fn log_after(&self, life: Incarnation, after: Seq, limit: usize) -> Vec<LogEntry> {
        let log = self.logs.get(&life).into_iter().flatten();
        let mut page = PageBytes::default();
        let next = log.filter(|entry| entry.seq > after).take(limit);
        next.take_while(|entry| page.takes(entry)).cloned().collect()
    }
}
