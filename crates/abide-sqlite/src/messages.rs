//! Messages that wait for the turn that consumes them.

use crate::db::Columns;
use crate::error::{Fault, Outcome};
use crate::writer::Writer;
use abide_core::event::{Message, MessageBody, MessageId, Sender};
use abide_core::json::Json;
use abide_core::object::{Incarnation, ObjectKey};

/// A message that has no id yet.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) to: ObjectKey,
    pub(crate) to_incarnation: Option<Incarnation>,
    pub(crate) from: Option<Sender>,
    pub(crate) body: MessageBody,
    pub(crate) trace: Option<String>,
}

/// The columns that [`decode`] reads, in its order.
macro_rules! message_columns {
    () => {
        "id, to_kind, to_name, to_incarnation, from_kind, from_name, from_incarnation, sort, body, failures, crashes,
         trace"
    };
}
pub(crate) use message_columns;

const ADD: &str = "INSERT INTO messages (id, to_kind, to_name, to_incarnation, from_kind, from_name,
         from_incarnation, sort, body, sent_at, trace)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
const CONSUME: &str = "DELETE FROM messages WHERE id = ?1 AND to_kind = ?2 AND to_name = ?3";
const FIND: &str = concat!("SELECT ", message_columns!(), " FROM messages WHERE id = ?1");
const REMOVE: &str = "DELETE FROM messages WHERE id = ?1";
const DROP_BOUND: &str = "DELETE FROM messages WHERE to_incarnation = ?1";

impl Writer<'_> {
    pub(crate) fn send_from_outside(&mut self, to: &ObjectKey, body: &Json) -> Outcome<MessageId> {
        let body = MessageBody::Sent(body.clone());
        self.add_message(Draft { to: to.clone(), to_incarnation: None, from: None, body, trace: None })
    }

    /// Sends, unless the message is bound to a life that is not the receiver's present one.
    pub(crate) fn send(&mut self, draft: Draft) -> Outcome<()> {
        match draft.to_incarnation {
            Some(life) if !self.is_alive(&draft.to, life)? => Ok(()),
            Some(_) | None => self.add_message(draft).map(drop),
        }
    }

    fn add_message(&mut self, draft: Draft) -> Outcome<MessageId> {
        let id = self.held.meta.next_message();
        let Draft { to, to_incarnation, from, body, trace } = draft;
        let outcome;
        let (sort, text) = match &body {
            MessageBody::Sent(body) => ("sent", body),
            MessageBody::Outcome(of) => {
                outcome = Json::encode(of)?;
                ("outcome", &outcome)
            }
        };
        let sender = from.as_ref();
        self.db.run(
            ADD,
            (
                id.0,
                to.kind.as_str(),
                to.name.as_str(),
                to_incarnation.map(|life| life.0),
                sender.map(|from| from.object.kind.as_str()),
                sender.map(|from| from.object.name.as_str()),
                sender.map(|from| from.incarnation.0),
                sort,
                text.as_str(),
                self.now.0,
                trace.as_deref(),
            ),
        )?;
        let message = Message { id, to, to_incarnation, from, body, trace, failures: 0, crashes: 0 };
        self.woken.messages.push(message);
        Ok(id)
    }

    /// Takes a message out of the inbox of an object; whether it was there.
    pub(crate) fn consume_message(&self, id: MessageId, of: &ObjectKey) -> Outcome<bool> {
        Ok(self.db.run(CONSUME, (id.0, of.kind.as_str(), of.name.as_str()))? == 1)
    }

    pub(crate) fn find_message(&self, id: MessageId) -> Outcome<Option<Message>> {
        self.db.one(FIND, [id.0], decode)
    }

    pub(crate) fn remove_message(&self, id: MessageId) -> Outcome<()> {
        self.db.run(REMOVE, [id.0]).map(drop)
    }

    /// Drops what is bound to a life that is over.
    pub(crate) fn drop_messages_bound_to(&self, life: Incarnation) -> Outcome<()> {
        self.db.run(DROP_BOUND, [life.0]).map(drop)
    }
}

/// A message from its columns.
pub(crate) fn decode(row: Columns<'_>) -> Outcome<Message> {
    let from = match row.opt_text(4)? {
        Some(_) => Some(Sender { object: row.object(4)?, incarnation: row.incarnation(6)? }),
        None => None,
    };
    let body = match row.text(7)? {
        "sent" => MessageBody::Sent(row.json(8)?),
        "outcome" => MessageBody::Outcome(serde_json::from_str(row.text(8)?)?),
        other => return Err(Fault::Damaged(format!("a message is neither sent nor outcome but {other:?}"))),
    };
    Ok(Message {
        id: MessageId(row.int(0)?),
        to: row.object(1)?,
        to_incarnation: row.opt_int(3)?.map(Incarnation),
        from,
        body,
        failures: row.count(9)?,
        crashes: row.count(10)?,
        trace: row.opt_text(11)?.map(str::to_owned),
    })
}
