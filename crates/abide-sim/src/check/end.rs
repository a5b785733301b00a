//! The end: everything is finished or a dead letter, and the objects' own rows say that nothing went wrong.

use super::{Calls, Checks, ask};
use crate::kinds::account::FIRST_BALANCE;
use crate::outcome::{Violation, holds};
use abide_core::dead::{DeadEvent, DeadLetter};
use abide_core::job::{JobId, JobOutcome};
use abide_core::json::Json;
use abide_core::object::{Incarnation, ObjectKey};
use abide_core::time::Time;
use abide_store::read::{Got, Load, Want};
use abide_store::view::ObjectView;
use abide_store::{Answer, Read, Reader};
use std::collections::{BTreeMap, BTreeSet};

/// Later than anything that the world puts off.
const LATER_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// What is still to be done, in words; none if all is finished or a dead letter.
pub(crate) fn what_is_left(
    checks: &Checks,
    reader: &mut dyn Reader,
    now: Time,
) -> Result<Option<String>, Violation> {
    let later = now.plus_ms(LATER_MS);
    if let Some(left) = checks.inboxes.left().or_else(|| checks.alarms.left(now)) {
        return Ok(Some(left));
    }
    for read in [
        Read::Inboxes { after: None, limit: 1 },
        Read::MessagesDue { limit: 1 },
        Read::AlarmsDue { after: None, limit: 1 },
        Read::Followers { after: None, limit: 1 },
    ] {
        let left = match ask(reader, later, &read)? {
            Answer::Inboxes(objects) | Answer::Followers(objects) => objects.first().map(ToString::to_string),
            Answer::MessagesDue(messages) => messages.first().map(|message| format!("{message:?}")),
            Answer::AlarmsDue(alarms) => alarms.first().map(|alarm| format!("{alarm:?}")),
            other => Some(format!("an answer of the wrong kind: {other:?}")),
        };
        if let Some(left) = left {
            return Ok(Some(format!("{read:?} finds {left}")));
        }
    }
    let running = checks.jobs.all().find(|(_, job)| !job.state.is_over());
    if let Some((id, _)) = running {
        let view = ask(reader, now, &Read::Job(id))?;
        let why = ask(reader, now, &Read::Why(id))?;
        return Ok(Some(format!("job {id} is not over: {view:?} because {why:?}")));
    }
    Ok(None)
}

/// Everything that can be told from what is left in the store.
pub(crate) fn check_end(
    checks: &Checks,
    calls: &Calls,
    reader: &mut dyn Reader,
    now: Time,
) -> Result<(), Violation> {
    let mut end = End::read(reader, now)?;
    end.dead.extend(checks.forgotten.iter().cloned());
    end.check_wrongs()?;
    end.check_counters(calls)?;
    end.check_accounts()?;
    end.check_couriers()?;
    end.check_outcomes(checks)?;
    end.check_tickets(checks, calls)?;
    end.check_followers()
}

/// The store as it is at the end.
struct End {
    objects: BTreeMap<ObjectKey, (ObjectView, BTreeMap<String, Json>)>,
    dead: Vec<DeadLetter>,
}

impl End {
    fn read(reader: &mut dyn Reader, now: Time) -> Result<End, Violation> {
        let mut objects = BTreeMap::new();
        let list = Read::Objects { kind: None, after: None, limit: 1_000 };
        if let Answer::Objects(views) = ask(reader, now, &list)? {
            for view in views {
                let rows = rows_of(reader, now, &view.object)?;
                objects.insert(view.object.clone(), (view, rows));
            }
        }
        let Answer::Dead(dead) = ask(reader, now, &Read::Dead { after: None, limit: 1_000 })? else {
            return holds("the store answers", false, || "dead letters cannot be listed".into())
                .map(|()| End { objects, dead: Vec::new() });
        };
        Ok(End { objects, dead })
    }

    fn of_kind<'a>(
        &'a self,
        kind: &'a str,
    ) -> impl Iterator<Item = (&'a ObjectKey, &'a BTreeMap<String, Json>)> {
        let is_it = move |key: &&ObjectKey| key.kind.as_str() == kind;
        self.objects.iter().filter(move |(key, _)| is_it(key)).map(|(key, (_, rows))| (key, rows))
    }

    fn check_wrongs(&self) -> Result<(), Violation> {
        for (object, (_, rows)) in &self.objects {
            let wrong = rows.iter().find(|(key, _)| key.starts_with("wrong/"));
            holds("handlers see what they should", wrong.is_none(), || format!("{object} notes {wrong:?}"))?;
        }
        Ok(())
    }

    fn check_counters(&self, calls: &Calls) -> Result<(), Violation> {
        let dead = format!("{:?}", self.dead);
        for object in calls.counters() {
            let rows = self.objects.get(&object).map(|(_, rows)| rows.clone()).unwrap_or_default();
            let tags = numbers(&rows, "tag/").map(|(tag, times)| (tag.to_owned(), times)).collect();
            calls.check_counter(&object, number(&rows, "count").unwrap_or(0), &tags, &dead)?;
        }
        Ok(())
    }

    fn check_accounts(&self) -> Result<(), Violation> {
        let accounts: Vec<i64> = self
            .of_kind("account")
            .map(|(_, rows)| number(rows, "balance").unwrap_or(FIRST_BALANCE))
            .collect();
        let lost: i64 = self
            .dead
            .iter()
            .filter(|letter| letter.object.kind.as_str() == "account")
            .filter_map(|letter| match &letter.event {
                DeadEvent::Message { body, .. } => body.decode::<crate::kinds::account::Deposit>().ok(),
                DeadEvent::Outcome { .. } | DeadEvent::Alarm { .. } | DeadEvent::Entries { .. } => None,
            })
            .map(|deposit| deposit.amount)
            .sum();
        let (sum, whole) = (accounts.iter().sum::<i64>() + lost, accounts.len() as i64 * FIRST_BALANCE);
        holds("money is neither made nor lost", sum == whole, || {
            format!("{} accounts have {accounts:?}, and {lost} is in dead letters", accounts.len())
        })
    }

    fn check_couriers(&self) -> Result<(), Violation> {
        for (object, rows) in self.of_kind("courier") {
            let twice = numbers(rows, "got/").chain(numbers(rows, "thanked/")).find(|(_, times)| *times != 1);
            holds("messages are processed exactly once", twice.is_none(), || {
                format!("{object} got {twice:?} times")
            })?;
        }
        Ok(())
    }

    /// Outcomes that died on their way, by owner and job.
    fn dead_outcomes(&self) -> Vec<(Incarnation, JobOutcome)> {
        let outcomes = self.dead.iter().filter_map(|letter| match &letter.event {
            DeadEvent::Outcome { body } => Some((letter.incarnation?, body.decode().ok()?)),
            DeadEvent::Message { .. } | DeadEvent::Alarm { .. } | DeadEvent::Entries { .. } => None,
        });
        outcomes.collect()
    }

    fn check_outcomes(&self, checks: &Checks) -> Result<(), Violation> {
        let dead = self.dead_outcomes();
        for (object, rows) in self.of_kind("boss") {
            let sum: i64 = numbers(rows, "outcome/").map(|(_, times)| times).sum();
            let ended = number(rows, "ended").unwrap_or(0);
            holds("counters equal what they count", sum == ended, || {
                format!("{object} counts {ended} outcomes and notes {sum}")
            })?;
        }
        for (id, job) in checks.jobs.all() {
            let Some((owner, life)) = &job.owner else { continue };
            if !checks.lives.is_alive(owner, *life) {
                continue;
            }
            let noted = self.outcomes_noted(owner, id);
            let died = dead.iter().filter(|(of, outcome)| of == life && outcome.job == id).count() as i64;
            let ends = i64::from(job.ends);
            holds("an owner sees one outcome for each end of a job", noted + died == ends, || {
                format!("job {id} ended {ends} times; {owner} noted {noted} outcomes and {died} died")
            })?;
            let sent = job.ends..=job.ends + job.replays;
            holds(
                "an owner is sent one outcome for each end of a job",
                sent.contains(&job.outcomes),
                || format!("job {id} ended {ends} times and {} outcomes were sent", job.outcomes),
            )?;
        }
        Ok(())
    }

    fn outcomes_noted(&self, owner: &ObjectKey, job: JobId) -> i64 {
        let rows = self.objects.get(owner).map(|(_, rows)| rows);
        rows.and_then(|rows| number(rows, &format!("outcome/{:06}", job.0))).unwrap_or(0)
    }

    fn check_tickets(&self, checks: &Checks, calls: &Calls) -> Result<(), Violation> {
        for ticket in calls.tickets() {
            holds("nothing acknowledged is lost", checks.tickets.is_known(ticket), || {
                format!("a caller was given {ticket}, which nobody opened")
            })?;
        }
        let died: BTreeSet<String> = self
            .dead_outcomes()
            .into_iter()
            .filter_map(|(_, outcome)| Some(outcome.unique_key?.as_str().strip_prefix("ticket/")?.to_owned()))
            .collect();
        let open = checks.tickets.open().find(|ticket| !died.contains(ticket.as_str()));
        holds("every ticket is answered", open.is_none(), || format!("{open:?} is open still"))
    }

    fn check_followers(&self) -> Result<(), Violation> {
        for (object, rows) in self.of_kind("follower") {
            for name in rows.keys().filter_map(|key| key.strip_prefix("follows/")) {
                let scribe = self
                    .objects
                    .iter()
                    .find(|(key, _)| key.kind.as_str() == "scribe" && key.name.as_str() == name);
                let Some((source, (view, _))) = scribe else { continue };
                let at = number(rows, &format!("at/{name}/{}", view.incarnation.0)).unwrap_or(0);
                let is_stalled = self.dead.iter().any(|letter| {
                    letter.object == *object
                        && matches!(&letter.event, DeadEvent::Entries { source: of } if of == source)
                });
                holds("a follower reads the whole log", at == view.log_head.0 || is_stalled, || {
                    format!("{object} is at {at} of {source}, whose head is {}", view.log_head.0)
                })?;
            }
        }
        Ok(())
    }
}

fn rows_of(
    reader: &mut dyn Reader,
    now: Time,
    object: &ObjectKey,
) -> Result<BTreeMap<String, Json>, Violation> {
    let want = Want::Scan { prefix: String::new(), from: None, limit: 100_000 };
    let load = Load { object: object.clone(), wants: vec![want], reply_for: None };
    let Answer::Load(loaded) = ask(reader, now, &Read::Load(load))? else { return Ok(BTreeMap::new()) };
    let got = loaded.got.into_iter().flat_map(|got| match got {
        Got::Scan { rows, .. } => rows,
        Got::Row(_) | Got::Alarm(_) => Vec::new(),
    });
    Ok(got.map(|(key, row)| (key, row.value)).collect())
}

fn number(rows: &BTreeMap<String, Json>, key: &str) -> Option<i64> {
    rows.get(key)?.decode().ok()
}

fn numbers<'a>(rows: &'a BTreeMap<String, Json>, prefix: &'a str) -> impl Iterator<Item = (&'a str, i64)> {
    rows.iter().filter_map(move |(key, value)| Some((key.strip_prefix(prefix)?, value.decode().ok()?)))
}
