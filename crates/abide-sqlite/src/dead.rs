//! Dead letters: kept, listed, replayed.

use crate::db::Columns;
use crate::error::{Fault, Outcome};
use crate::messages::Draft;
use crate::writer::Writer;
use abide_core::dead::{DeadEvent, DeadId, DeadLetter};
use abide_core::event::{MessageBody, Sender};
use abide_core::name::AlarmName;
use abide_core::object::Incarnation;

/// The columns that [`decode`] reads, in its order.
macro_rules! dead_columns {
    () => {
        "id, kind, name, incarnation, event, from_kind, from_name, from_incarnation, body, alarm, alarm_at,
         source_kind, source_name, error, failures, crashes, died_at"
    };
}
pub(crate) use dead_columns;

const KEEP: &str = concat!(
    "INSERT INTO dead_letters (",
    dead_columns!(),
    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)"
);
const TAKE: &str = concat!("DELETE FROM dead_letters WHERE id = ?1 RETURNING ", dead_columns!());

impl Writer<'_> {
    pub(crate) fn keep_dead(&self, letter: &DeadLetter) -> Outcome<()> {
        let (mut from, mut body, mut alarm, mut source) = (None, None, None, None);
        let word = match &letter.event {
            DeadEvent::Message { from: sender, body: text } => {
                (from, body) = (sender.as_ref(), Some(text));
                "message"
            }
            DeadEvent::Outcome { body: text } => {
                body = Some(text);
                "outcome"
            }
            DeadEvent::Alarm { name, at } => {
                alarm = Some((name, at));
                "alarm"
            }
            DeadEvent::Entries { source: of } => {
                source = Some(of);
                "entries"
            }
        };
        self.db
            .run(
                KEEP,
                rusqlite::params![
                    letter.id.0,
                    letter.object.kind.as_str(),
                    letter.object.name.as_str(),
                    letter.incarnation.map(|life| life.0),
                    word,
                    from.map(|from| from.object.kind.as_str()),
                    from.map(|from| from.object.name.as_str()),
                    from.map(|from| from.incarnation.0),
                    body.map(|body| body.as_str()),
                    alarm.map(|(name, _)| name.as_str()),
                    alarm.map(|(_, at)| at.0),
                    source.map(|source| source.kind.as_str()),
                    source.map(|source| source.name.as_str()),
                    letter.error,
                    letter.failures,
                    letter.crashes,
                    letter.died_at.0,
                ],
            )
            .map(drop)
    }

    /// Forgets a dead letter; whether there was such a one. A follow that stood still for it goes on: without its dead
    /// letter nobody could make it.
    pub(crate) fn drop_dead(&mut self, id: DeadId) -> Outcome<bool> {
        let Some(letter) = self.db.one(TAKE, [id.0], decode)? else { return Ok(false) };
        if let (DeadEvent::Entries { source }, Some(life)) = (letter.event, letter.incarnation) {
            self.go_on_following(life, &source)?;
        }
        Ok(true)
    }

    /// Runs a dead letter's event again; whether there was such a dead letter.
    pub(crate) fn replay_dead(&mut self, id: DeadId) -> Outcome<bool> {
        let Some(letter) = self.db.one(TAKE, [id.0], decode)? else { return Ok(false) };
        let DeadLetter { object: to, incarnation, event, .. } = letter;
        match (event, incarnation) {
            (DeadEvent::Message { from, body }, to_incarnation) => {
                let body = MessageBody::Sent(body);
                self.send(Draft { to, to_incarnation, from, body, trace: None })?;
            }
            (DeadEvent::Outcome { body }, to_incarnation) => {
                let body = MessageBody::Outcome(body.decode()?);
                self.send(Draft { to, to_incarnation, from: None, body, trace: None })?;
            }
            (DeadEvent::Alarm { name, at: _ }, Some(life)) => {
                let present = self.find(&to)?.filter(|present| present.incarnation == life);
                if let Some(present) = present
                    && !self.is_alarm_set(life, &name)?
                {
                    self.set_alarm(life, &name, self.now, present.version)?;
                }
            }
            (DeadEvent::Entries { source }, Some(life)) => self.go_on_following(life, &source)?,
            (DeadEvent::Alarm { .. } | DeadEvent::Entries { .. }, None) => {
                return Err(Fault::Damaged(format!("dead letter {} belongs to no life", id.0)));
            }
        }
        Ok(true)
    }
}

/// A dead letter from its columns.
pub(crate) fn decode(row: Columns<'_>) -> Outcome<DeadLetter> {
    let event = match row.text(4)? {
        "message" => {
            let from = match row.opt_int(7)? {
                Some(life) => Some(Sender { object: row.object(5)?, incarnation: Incarnation(life) }),
                None => None,
            };
            DeadEvent::Message { from, body: row.json(8)? }
        }
        "outcome" => DeadEvent::Outcome { body: row.json(8)? },
        "alarm" => DeadEvent::Alarm { name: AlarmName::trusted(row.text(9)?), at: row.time(10)? },
        "entries" => DeadEvent::Entries { source: row.object(11)? },
        other => return Err(Fault::Damaged(format!("{other:?} is not what a turn runs for"))),
    };
    Ok(DeadLetter {
        id: DeadId(row.int(0)?),
        object: row.object(1)?,
        incarnation: row.opt_int(3)?.map(Incarnation),
        event,
        error: row.text(13)?.to_owned(),
        failures: row.count(14)?,
        crashes: row.count(15)?,
        died_at: row.time(16)?,
    })
}
