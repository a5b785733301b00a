//! Events whose turns fail, and dead letters.

use super::messages::Draft;
use super::state::State;
use crate::write::{AfterFailure, EventFate, FailEvent, Woken};
use abide_core::dead::{CRASHED, DeadEvent, DeadId, DeadLetter};
use abide_core::event::{DueAlarm, EventRef, MessageBody};
use abide_core::json::Json;
use abide_core::limits::{EVENT_CRASHES, cut_reason};
use abide_core::object::{Incarnation, ObjectKey};
use abide_core::time::Time;

/// How often an event has not worked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tries {
    failures: u32,
    crashes: u32,
}

impl State {
    pub(super) fn fail_event(&mut self, fail: &FailEvent, woken: &mut Woken) -> EventFate {
        let Some(tries) = self.tries(&fail.event) else { return EventFate::Gone };
        let tries = Tries { failures: tries.failures + 1, ..tries };
        self.set_tries(&fail.event, tries);
        match fail.then {
            AfterFailure::RetryAt(at) => {
                self.put_off(&fail.event, at, woken);
                EventFate::Retried
            }
            AfterFailure::Dead => EventFate::Dead(self.bury(&fail.event, tries, &fail.error)),
        }
    }

    pub(super) fn count_crash(&mut self, event: &EventRef) -> EventFate {
        let Some(tries) = self.tries(event) else { return EventFate::Gone };
        let tries = Tries { crashes: tries.crashes + 1, ..tries };
        self.set_tries(event, tries);
        if tries.crashes >= EVENT_CRASHES {
            EventFate::Dead(self.bury(event, tries, CRASHED))
        } else {
            EventFate::Retried
        }
    }

    /// None if the event is not there.
    fn tries(&self, event: &EventRef) -> Option<Tries> {
        match event {
            EventRef::Message(id) => {
                let message = &self.messages.get(*id)?.message;
                Some(Tries { failures: message.failures, crashes: message.crashes })
            }
            EventRef::Alarm { incarnation, name, set_version } => {
                let alarm = self.alarms.get(*incarnation, name)?;
                (alarm.set_version == *set_version)
                    .then_some(Tries { failures: alarm.failures, crashes: alarm.crashes })
            }
            EventRef::Entries { incarnation, source } => {
                let follow = self.follows.get(&(*incarnation, source.clone()))?;
                self.is_behind(follow, source)
                    .then_some(Tries { failures: follow.failures, crashes: follow.crashes })
            }
        }
    }

    fn set_tries(&mut self, event: &EventRef, Tries { failures, crashes }: Tries) {
        match event {
            EventRef::Message(id) => self.messages.change(*id, |held| {
                held.message.failures = failures;
                held.message.crashes = crashes;
            }),
            EventRef::Alarm { incarnation, name, .. } => {
                if let Some(alarm) = self.alarms.get(*incarnation, name).cloned() {
                    self.alarms.put(DueAlarm { failures, crashes, ..alarm });
                }
            }
            EventRef::Entries { incarnation, source } => {
                if let Some(follow) = self.follows.get_mut(&(*incarnation, source.clone())) {
                    follow.failures = failures;
                    follow.crashes = crashes;
                }
            }
        }
    }

    fn put_off(&mut self, event: &EventRef, at: Time, woken: &mut Woken) {
        match event {
            EventRef::Message(id) => {
                self.messages.change(*id, |held| held.due_at = Some(at));
                woken.message_later(at);
            }
            EventRef::Alarm { incarnation, name, .. } => {
                if let Some(alarm) = self.alarms.get(*incarnation, name).cloned() {
                    self.alarms.put(DueAlarm { due_at: at, ..alarm });
                }
                woken.alarm(at);
            }
            EventRef::Entries { incarnation, source } => {
                if let Some(follow) = self.follows.get_mut(&(*incarnation, source.clone())) {
                    follow.due_at = Some(at);
                }
                woken.message_later(at);
            }
        }
    }

    /// Makes an event that is there a dead letter.
    fn bury(&mut self, event: &EventRef, tries: Tries, error: &str) -> DeadId {
        let (object, incarnation, event) = self.take_out(event);
        self.last_dead += 1;
        let id = DeadId(self.last_dead);
        let Tries { failures, crashes } = tries;
        let error = cut_reason(error).to_owned();
        let letter =
            DeadLetter { id, object, incarnation, event, error, failures, crashes, died_at: self.now };
        self.dead.insert(id, letter);
        id
    }

    /// Takes an event that is there away from where it is.
    fn take_out(&mut self, event: &EventRef) -> (ObjectKey, Option<Incarnation>, DeadEvent) {
        match event {
            EventRef::Message(id) => {
                let message = self.messages.remove(*id).expect("the message is there").message;
                let event = match message.body {
                    MessageBody::Sent(body) => DeadEvent::Message { from: message.from, body },
                    MessageBody::Outcome(outcome) => DeadEvent::Outcome {
                        body: Json::encode(&outcome).expect("an outcome has no part that JSON has not"),
                    },
                };
                (message.to, message.to_incarnation, event)
            }
            EventRef::Alarm { incarnation, name, .. } => {
                let alarm = self.alarms.remove(*incarnation, name).expect("the alarm is there");
                (alarm.object, Some(*incarnation), DeadEvent::Alarm { name: alarm.name, at: alarm.at })
            }
            EventRef::Entries { incarnation, source } => {
                let key = (*incarnation, source.clone());
                let follow = self.follows.get_mut(&key).expect("the follow is there");
                follow.stalled = true;
                (follow.follower.clone(), Some(*incarnation), DeadEvent::Entries { source: source.clone() })
            }
        }
    }

    /// Runs a dead letter's event again. Whether there was such a dead letter.
    pub(super) fn replay(&mut self, id: DeadId, woken: &mut Woken) -> bool {
        let Some(letter) = self.dead.remove(&id) else { return false };
        let DeadLetter { object: to, incarnation, event, .. } = letter;
        match (event, incarnation) {
            (DeadEvent::Message { from, body }, to_incarnation) => {
                let body = MessageBody::Sent(body);
                self.send(Draft { to, to_incarnation, from, body, trace: None }, woken);
            }
            (DeadEvent::Outcome { body }, to_incarnation) => {
                let outcome = body.decode().expect("the outcome was encoded when it died");
                let body = MessageBody::Outcome(outcome);
                self.send(Draft { to, to_incarnation, from: None, body, trace: None }, woken);
            }
            (DeadEvent::Alarm { name, at: _ }, Some(life)) => {
                let version = self.objects.get(&to).filter(|object| object.incarnation == life);
                let version = version.map(|object| object.version);
                if let (Some(set_version), None) = (version, self.alarms.get(life, &name)) {
                    let now = self.now;
                    self.alarms.put(DueAlarm {
                        object: to,
                        incarnation: life,
                        name,
                        at: now,
                        due_at: now,
                        set_version,
                        failures: 0,
                        crashes: 0,
                    });
                    woken.alarm(now);
                }
            }
            (DeadEvent::Entries { source }, Some(life)) => self.go_on_following(life, &source, woken),
            (DeadEvent::Alarm { .. } | DeadEvent::Entries { .. }, None) => {
                unreachable!("alarms and follows belong to a life")
            }
        }
        true
    }

    /// Forgets a dead letter. Whether there was such a one. A follow that stood still for it goes on.
    pub(super) fn forget(&mut self, id: DeadId, woken: &mut Woken) -> bool {
        let Some(letter) = self.dead.remove(&id) else { return false };
        if let (DeadEvent::Entries { source }, Some(life)) = (letter.event, letter.incarnation) {
            self.go_on_following(life, &source, woken);
        }
        true
    }

    fn go_on_following(&mut self, life: Incarnation, source: &ObjectKey, woken: &mut Woken) {
        let follow = self.follows.get_mut(&(life, source.clone()));
        if let Some(follow) = follow.filter(|follow| follow.stalled) {
            follow.stalled = false;
            follow.failures = 0;
            follow.crashes = 0;
            follow.due_at = None;
            self.wake_follow(life, source, woken);
        }
    }
}
