//! Events whose turns fail.

use crate::error::{Fault, Outcome};
use crate::writer::Writer;
use abide_core::dead::{CRASHED, DeadEvent, DeadId, DeadLetter};
use abide_core::event::{EventRef, MessageBody};
use abide_core::json::Json;
use abide_core::limits::{EVENT_CRASHES, cut_reason};
use abide_core::object::{Incarnation, ObjectKey};
use abide_core::time::Time;
use abide_store::write::{AfterFailure, EventFate, FailEvent};

const MESSAGE_TRIES: &str = "SELECT failures, crashes FROM messages WHERE id = ?1";
const ALARM_TRIES: &str =
    "SELECT failures, crashes FROM alarms WHERE incarnation = ?1 AND name = ?2 AND set_version = ?3";
const FOLLOW_TRIES: &str = "SELECT failures, crashes FROM follows
     WHERE incarnation = ?1 AND source_kind = ?2 AND source_name = ?3 AND behind = 1 AND stalled = 0";

const MESSAGE_CRASHED: &str = "UPDATE messages SET crashes = ?2 WHERE id = ?1";
const ALARM_CRASHED: &str = "UPDATE alarms SET crashes = ?3 WHERE incarnation = ?1 AND name = ?2";
const FOLLOW_CRASHED: &str =
    "UPDATE follows SET crashes = ?4 WHERE incarnation = ?1 AND source_kind = ?2 AND source_name = ?3";

const PUT_OFF_MESSAGE: &str = "UPDATE messages SET failures = ?2, due_at = ?3, error = ?4 WHERE id = ?1";
const PUT_OFF_ALARM: &str =
    "UPDATE alarms SET failures = ?3, due_at = ?4, error = ?5 WHERE incarnation = ?1 AND name = ?2";
const PUT_OFF_FOLLOW: &str = "UPDATE follows SET failures = ?4, due_at = ?5, error = ?6
     WHERE incarnation = ?1 AND source_kind = ?2 AND source_name = ?3";

const TAKE_ALARM: &str = "DELETE FROM alarms WHERE incarnation = ?1 AND name = ?2 RETURNING at";
const STALL: &str = "UPDATE follows SET stalled = 1, failures = ?4, crashes = ?5
     WHERE incarnation = ?1 AND source_kind = ?2 AND source_name = ?3 RETURNING kind, name";
const OBJECT_IN: &str = "SELECT kind, name FROM objects WHERE incarnation = ?1";

/// How often an event has not worked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tries {
    failures: u32,
    crashes: u32,
}

impl Writer<'_> {
    pub(crate) fn fail_event(&mut self, fail: &FailEvent) -> Outcome<EventFate> {
        let Some(tries) = self.tries(&fail.event)? else { return Ok(EventFate::Gone) };
        let tries = Tries { failures: tries.failures + 1, ..tries };
        match fail.then {
            AfterFailure::RetryAt(at) => {
                self.put_off(&fail.event, tries.failures, at, cut_reason(&fail.error))?;
                Ok(EventFate::Retried)
            }
            AfterFailure::Dead => self.bury(&fail.event, tries, &fail.error).map(EventFate::Dead),
        }
    }

    pub(crate) fn count_crash(&mut self, event: &EventRef) -> Outcome<EventFate> {
        let Some(tries) = self.tries(event)? else { return Ok(EventFate::Gone) };
        let tries = Tries { crashes: tries.crashes + 1, ..tries };
        if tries.crashes >= EVENT_CRASHES {
            return self.bury(event, tries, CRASHED).map(EventFate::Dead);
        }
        match event {
            EventRef::Message(id) => self.db.run(MESSAGE_CRASHED, (id.0, tries.crashes))?,
            EventRef::Alarm { incarnation, name, set_version: _ } => {
                self.db.run(ALARM_CRASHED, (incarnation.0, name.as_str(), tries.crashes))?
            }
            EventRef::Entries { incarnation, source } => {
                let (kind, name) = (source.kind.as_str(), source.name.as_str());
                self.db.run(FOLLOW_CRASHED, (incarnation.0, kind, name, tries.crashes))?
            }
        };
        Ok(EventFate::Retried)
    }

    /// None if the event is not there.
    fn tries(&self, event: &EventRef) -> Outcome<Option<Tries>> {
        let decode =
            |row: crate::db::Columns<'_>| Ok(Tries { failures: row.count(0)?, crashes: row.count(1)? });
        match event {
            EventRef::Message(id) => self.db.one(MESSAGE_TRIES, [id.0], decode),
            EventRef::Alarm { incarnation, name, set_version } => {
                self.db.one(ALARM_TRIES, (incarnation.0, name.as_str(), set_version.0), decode)
            }
            EventRef::Entries { incarnation, source } => {
                let (kind, name) = (source.kind.as_str(), source.name.as_str());
                self.db.one(FOLLOW_TRIES, (incarnation.0, kind, name), decode)
            }
        }
    }

    fn put_off(&mut self, event: &EventRef, failures: u32, at: Time, error: &str) -> Outcome<()> {
        match event {
            EventRef::Message(id) => {
                self.db.run(PUT_OFF_MESSAGE, (id.0, failures, at.0, error))?;
                self.woken.message_later(at);
            }
            EventRef::Alarm { incarnation, name, set_version: _ } => {
                self.db.run(PUT_OFF_ALARM, (incarnation.0, name.as_str(), failures, at.0, error))?;
                self.woken.alarm(at);
            }
            EventRef::Entries { incarnation, source } => {
                let (kind, name) = (source.kind.as_str(), source.name.as_str());
                self.db.run(PUT_OFF_FOLLOW, (incarnation.0, kind, name, failures, at.0, error))?;
                self.woken.message_later(at);
            }
        }
        Ok(())
    }

    /// Makes an event that is there a dead letter.
    fn bury(&mut self, event: &EventRef, tries: Tries, error: &str) -> Outcome<DeadId> {
        let (object, incarnation, event) = self.take_out(event, tries)?;
        let Tries { failures, crashes } = tries;
        let (id, error) = (self.held.meta.next_dead(), cut_reason(error).to_owned());
        let died_at = self.now;
        self.keep_dead(&DeadLetter { id, object, incarnation, event, error, failures, crashes, died_at })?;
        Ok(id)
    }

    /// Takes an event that is there away from where it is.
    fn take_out(
        &mut self,
        event: &EventRef,
        tries: Tries,
    ) -> Outcome<(ObjectKey, Option<Incarnation>, DeadEvent)> {
        let gone = || Fault::Damaged("an event was there and is not".into());
        match event {
            EventRef::Message(id) => {
                let message = self.find_message(*id)?.ok_or_else(gone)?;
                self.remove_message(*id)?;
                let event = match message.body {
                    MessageBody::Sent(body) => DeadEvent::Message { from: message.from, body },
                    MessageBody::Outcome(outcome) => DeadEvent::Outcome { body: Json::encode(&outcome)? },
                };
                Ok((message.to, message.to_incarnation, event))
            }
            EventRef::Alarm { incarnation, name, set_version: _ } => {
                let object = self.db.one(OBJECT_IN, [incarnation.0], |row| row.object(0))?;
                let at = self.db.number(TAKE_ALARM, (incarnation.0, name.as_str()))?;
                let event = DeadEvent::Alarm { name: name.clone(), at: at.map(Time).ok_or_else(gone)? };
                Ok((object.ok_or_else(gone)?, Some(*incarnation), event))
            }
            EventRef::Entries { incarnation, source } => {
                let (kind, name) = (source.kind.as_str(), source.name.as_str());
                let stall = (incarnation.0, kind, name, tries.failures, tries.crashes);
                let object = self.db.one(STALL, stall, |row| row.object(0))?.ok_or_else(gone)?;
                let event = DeadEvent::Entries { source: source.clone() };
                Ok((object, Some(*incarnation), event))
            }
        }
    }
}
