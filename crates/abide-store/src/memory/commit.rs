//! Commits: a turn's one value, applied whole or not at all.

use super::messages::Draft;
use super::objects::Object;
use super::state::State;
use crate::write::{Receipt, Refused, Woken};
use abide_core::commit::{AlarmWrite, Commit, Ending};
use abide_core::event::{Consumes, DueAlarm, MessageBody, Sender};
use abide_core::job::Owner;
use abide_core::log::{LogEntry, Seq};
use abide_core::object::{Incarnation, Version};
use abide_core::row::RowWrite;

impl State {
    pub(super) fn commit(&mut self, commit: &Commit, woken: &mut Woken) -> Result<Receipt, Refused> {
        self.check_fence(&commit.object, &commit.fence)?;
        self.check_key(commit)?;
        self.check_event(commit)?;
        self.consume(commit);
        if let Some(reply) = &commit.keyed_reply {
            self.keep_reply(&commit.object, reply, woken);
        }
        let receipt = match commit.ending {
            Ending::Stays => self.go_on(commit, woken),
            Ending::Deleted => self.end(commit, woken),
        };
        self.send_messages(commit, woken);
        Ok(receipt)
    }

    /// A call whose key has a reply took effect before: whoever runs it again has to look.
    fn check_key(&self, commit: &Commit) -> Result<(), Refused> {
        let Some(reply) = &commit.keyed_reply else { return Ok(()) };
        match self.kept_reply(&commit.object, &reply.key, self.now) {
            Some(_) => Err(Refused::Moved),
            None => Ok(()),
        }
    }

    fn check_event(&self, commit: &Commit) -> Result<(), Refused> {
        let life = commit.fence.incarnation();
        let is_there = match &commit.consumes {
            Consumes::Call => true,
            Consumes::Message(id) => {
                self.messages.get(*id).is_some_and(|held| held.message.to == commit.object)
            }
            Consumes::Alarm { name, set_version } => {
                self.alarms.get(life, name).is_some_and(|alarm| alarm.set_version == *set_version)
            }
            Consumes::Entries { source, source_incarnation, from, to: _ } => {
                let follow = self.follows.get(&(life, source.clone()));
                follow.is_some_and(|follow| follow.cursor == *from && !follow.stalled)
                    && self.is_alive(source, *source_incarnation)
            }
        };
        if is_there { Ok(()) } else { Err(Refused::EventGone) }
    }

    fn consume(&mut self, commit: &Commit) {
        let life = commit.fence.incarnation();
        match &commit.consumes {
            Consumes::Call => {}
            Consumes::Message(id) => {
                self.messages.remove(*id);
            }
            Consumes::Alarm { name, set_version: _ } => {
                self.alarms.remove(life, name);
            }
            Consumes::Entries { source, to, .. } => {
                if let Some(follow) = self.follows.get_mut(&(life, source.clone())) {
                    follow.cursor = *to;
                    follow.failures = 0;
                    follow.crashes = 0;
                    follow.due_at = None;
                }
            }
        }
    }

    /// The object goes on, or begins.
    fn go_on(&mut self, commit: &Commit, woken: &mut Woken) -> Receipt {
        let life = commit.fence.incarnation();
        if !self.objects.contains_key(&commit.object) && !commit.keeps_state() {
            return Receipt { version: None, jobs: Vec::new() };
        }
        let object = self.objects.entry(commit.object.clone()).or_insert(Object {
            incarnation: life,
            version: Version(0),
            by: commit.by,
            log_head: Seq(0),
            created_at: commit.at,
            turn_at: commit.at,
        });
        object.version = commit.fence.version_after();
        object.by = commit.by;
        object.turn_at = commit.at;
        self.write_rows(life, &commit.rows);
        self.write_alarms(commit, woken);
        for follow in &commit.follows {
            self.write_follow(&commit.object, life, follow, woken);
        }
        self.append(commit, woken);
        for ticket in &commit.tickets {
            self.write_ticket(life, ticket, woken);
        }
        self.cancel_owned(life, &commit.cancels, woken);
        let owner = Owner { object: commit.object.clone(), incarnation: life };
        let jobs = commit.jobs.iter().map(|job| self.enqueue(job, Some(&owner), woken)).collect();
        Receipt { version: Some(commit.fence.version_after()), jobs }
    }

    /// The object ends. Of what the commit writes only tickets count, so that whoever was promised an answer gets one.
    fn end(&mut self, commit: &Commit, woken: &mut Woken) -> Receipt {
        let life = commit.fence.incarnation();
        for ticket in &commit.tickets {
            self.write_ticket(life, ticket, woken);
        }
        if self.is_alive(&commit.object, life) {
            self.delete_object(&commit.object, life, woken);
        } else {
            self.resolve_as_gone(life, woken);
        }
        Receipt { version: None, jobs: Vec::new() }
    }

    fn write_rows(&mut self, life: Incarnation, writes: &[RowWrite]) {
        let rows = self.rows.entry(life).or_default();
        for write in writes {
            match write {
                RowWrite::Put { key, row } => rows.insert(key.clone(), row.clone()),
                RowWrite::Delete { key } => rows.remove(key),
            };
        }
        if rows.is_empty() {
            self.rows.remove(&life);
        }
    }

    fn write_alarms(&mut self, commit: &Commit, woken: &mut Woken) {
        let incarnation = commit.fence.incarnation();
        for write in &commit.alarms {
            match write {
                AlarmWrite::Clear { name } => {
                    self.alarms.remove(incarnation, name);
                }
                AlarmWrite::Set { name, at } => {
                    self.alarms.put(DueAlarm {
                        object: commit.object.clone(),
                        incarnation,
                        name: name.clone(),
                        at: *at,
                        due_at: *at,
                        set_version: commit.fence.version_after(),
                        failures: 0,
                        crashes: 0,
                    });
                    woken.alarm(*at);
                }
            }
        }
    }

    fn append(&mut self, commit: &Commit, woken: &mut Woken) {
        let life = commit.fence.incarnation();
        let Some(object) = self.objects.get_mut(&commit.object).filter(|_| !commit.log.is_empty()) else {
            return;
        };
        let log = self.logs.entry(life).or_default();
        for value in &commit.log {
            object.log_head = Seq(object.log_head.0 + 1);
            log.push(LogEntry { seq: object.log_head, at: commit.at, value: value.clone() });
        }
        woken.logs.push((commit.object.clone(), life, object.log_head));
        self.wake_followers(&commit.object, woken);
    }

    fn send_messages(&mut self, commit: &Commit, woken: &mut Woken) {
        let sender = Sender { object: commit.object.clone(), incarnation: commit.fence.incarnation() };
        for outgoing in &commit.messages {
            let draft = Draft {
                to: outgoing.to.clone(),
                to_incarnation: outgoing.to_incarnation,
                from: Some(sender.clone()),
                body: MessageBody::Sent(outgoing.body.clone()),
                trace: outgoing.trace.clone(),
            };
            self.send(draft, woken);
        }
    }
}
