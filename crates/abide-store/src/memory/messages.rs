//! Messages that wait for the turn that consumes them.

use super::state::State;
use crate::write::Woken;
use abide_core::event::{Message, MessageBody, MessageId, Sender};
use abide_core::json::Json;
use abide_core::object::{Incarnation, ObjectKey};
use abide_core::time::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Every message, those in the order of their inbox apart from those that were put off.
#[derive(Debug, Clone, Default)]
pub(super) struct Messages {
    last: i64,
    held: BTreeMap<MessageId, Held>,
    in_order: BTreeSet<(ObjectKey, MessageId)>,
    put_off: BTreeSet<(Time, MessageId)>,
}

/// A message and when it is due, if it was put off.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) message: Message,
    pub(super) due_at: Option<Time>,
}

/// A message that has no id yet.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) to: ObjectKey,
    pub(super) to_incarnation: Option<Incarnation>,
    pub(super) from: Option<Sender>,
    pub(super) body: MessageBody,
    pub(super) trace: Option<String>,
}

impl Messages {
    pub(super) fn get(&self, id: MessageId) -> Option<&Held> {
        self.held.get(&id)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Held> {
        self.held.values()
    }

    fn add(&mut self, draft: Draft) -> Message {
        self.last += 1;
        let Draft { to, to_incarnation, from, body, trace } = draft;
        let id = MessageId(self.last);
        let message = Message { id, to, to_incarnation, from, body, trace, failures: 0, crashes: 0 };
        self.keep(Held { message: message.clone(), due_at: None });
        message
    }

    fn keep(&mut self, held: Held) {
        let id = held.message.id;
        match held.due_at {
            Some(due_at) => self.put_off.insert((due_at, id)),
            None => self.in_order.insert((held.message.to.clone(), id)),
        };
        self.held.insert(id, held);
    }

    pub(super) fn remove(&mut self, id: MessageId) -> Option<Held> {
        let held = self.held.remove(&id)?;
        self.in_order.remove(&(held.message.to.clone(), id));
        if let Some(due_at) = held.due_at {
            self.put_off.remove(&(due_at, id));
        }
        Some(held)
    }

    /// Changes a message that is there.
    pub(super) fn change(&mut self, id: MessageId, change: impl FnOnce(&mut Held)) {
        if let Some(mut held) = self.remove(id) {
            change(&mut held);
            self.keep(held);
        }
    }

    /// Drops what is bound to a life that is over.
    pub(super) fn drop_bound_to(&mut self, life: Incarnation) {
        let bound: Vec<MessageId> = self
            .held
            .values()
            .filter(|held| held.message.to_incarnation == Some(life))
            .map(|held| held.message.id)
            .collect();
        for id in bound {
            self.remove(id);
        }
    }

    /// Objects for which messages wait in order.
    pub(super) fn inboxes(&self, after: Option<&ObjectKey>, limit: usize) -> Vec<ObjectKey> {
        let inboxes: BTreeSet<&ObjectKey> = self.in_order.iter().map(|(to, _)| to).collect();
        inboxes.into_iter().filter(|to| after.is_none_or(|after| *to > after)).take(limit).cloned().collect()
    }

    /// An object's messages in order.
    pub(super) fn of(&self, to: &ObjectKey, after: Option<MessageId>, limit: usize) -> Vec<Message> {
        let first = after.map_or(MessageId(i64::MIN), |after| MessageId(after.0 + 1));
        self.in_order
            .range((to.clone(), first)..)
            .take_while(|(owner, _)| owner == to)
            .take(limit)
            .map(|(_, id)| self.held[id].message.clone())
            .collect()
    }

    /// Messages that were put off and are due.
    pub(super) fn due(&self, now: Time, limit: usize) -> Vec<Message> {
        let due = self.put_off.iter().take_while(|(due_at, _)| *due_at <= now);
        due.take(limit).map(|(_, id)| self.held[id].message.clone()).collect()
    }

    /// When the first message is due that was put off until after `after`.
    pub(super) fn first_due(&self, after: Time) -> Option<Time> {
        self.put_off.iter().map(|(due_at, _)| *due_at).find(|due_at| *due_at > after)
    }

    pub(super) fn indexed(&self) -> (usize, usize) {
        (self.in_order.len(), self.put_off.len())
    }
}

impl State {
    /// Sends, unless the message is bound to a life that is not the receiver's present one.
    pub(super) fn send(&mut self, draft: Draft, woken: &mut Woken) {
        if draft.to_incarnation.is_none_or(|life| self.is_alive(&draft.to, life)) {
            woken.messages.push(self.messages.add(draft));
        }
    }

    pub(super) fn send_from_outside(&mut self, to: &ObjectKey, body: &Json, woken: &mut Woken) -> MessageId {
        let body = MessageBody::Sent(body.clone());
        let draft = Draft { to: to.clone(), to_incarnation: None, from: None, body, trace: None };
        let message = self.messages.add(draft);
        let id = message.id;
        woken.messages.push(message);
        id
    }
}
