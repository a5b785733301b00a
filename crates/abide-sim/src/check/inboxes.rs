//! Messages: each is consumed once, by the object it is for, and in order for each pair until one fails.

use crate::outcome::{Violation, holds};
use abide_core::commit::Commit;
use abide_core::event::{Message, MessageId};
use abide_core::object::{Incarnation, ObjectKey};
use abide_store::write::EventFate;
use std::collections::BTreeMap;

const EXACTLY_ONCE: &str = "messages are processed exactly once";

/// Every message that waits.
#[derive(Debug, Default)]
pub(crate) struct Inboxes {
    waiting: BTreeMap<MessageId, Waiting>,
    /// Unbound messages that the commits of this batch sent.
    sent: usize,
    replayed: usize,
}

#[derive(Debug)]
struct Waiting {
    to: ObjectKey,
    to_incarnation: Option<Incarnation>,
    from: Option<(ObjectKey, Incarnation)>,
    put_off: bool,
}

impl Inboxes {
    pub(super) fn arrived(&mut self, messages: &[Message]) {
        for message in messages {
            let from = message.from.as_ref().map(|from| (from.object.clone(), from.incarnation));
            let (to, to_incarnation) = (message.to.clone(), message.to_incarnation);
            self.waiting.insert(message.id, Waiting { to, to_incarnation, from, put_off: false });
        }
    }

    pub(super) fn sent(&mut self, commit: &Commit) {
        self.sent += commit.messages.iter().filter(|message| message.to_incarnation.is_none()).count();
    }

    pub(super) fn replayed(&mut self) {
        self.replayed += 1;
    }

    /// Every message that an accepted commit sent is on its way.
    pub(super) fn check_sent(&mut self, arrived: &[Message]) -> Result<(), Violation> {
        let (sent, replayed) = (std::mem::take(&mut self.sent), std::mem::take(&mut self.replayed));
        let unbound = |message: &&Message| message.from.is_some() && message.to_incarnation.is_none();
        let arrived = arrived.iter().filter(unbound).count();
        holds("no message is lost", (sent..=sent + replayed).contains(&arrived), || {
            format!("commits sent {sent} messages and {replayed} were replayed, but {arrived} arrived")
        })
    }

    pub(super) fn consumed(&mut self, id: MessageId, object: &ObjectKey) -> Result<(), Violation> {
        let Some(message) = self.waiting.remove(&id) else {
            return holds(EXACTLY_ONCE, false, || format!("{object} consumed {id:?}, which was not waiting"));
        };
        holds(EXACTLY_ONCE, message.to == *object, || {
            format!("{object} consumed {id:?}, which is for {}", message.to)
        })?;
        let Some(from) = message.from.as_ref().filter(|_| !message.put_off) else { return Ok(()) };
        let passed = self
            .waiting
            .range(..id)
            .find(|(_, other)| other.to == message.to && other.from.as_ref() == Some(from) && !other.put_off);
        holds("messages are in order per pair", passed.is_none(), || {
            format!("{object} consumed {id:?} of {} before {:?}", from.0, passed.map(|(id, _)| *id))
        })
    }

    pub(super) fn failed(&mut self, id: MessageId, fate: EventFate) {
        match fate {
            EventFate::Retried => {
                if let Some(message) = self.waiting.get_mut(&id) {
                    message.put_off = true;
                }
            }
            EventFate::Dead(_) => {
                self.waiting.remove(&id);
            }
            EventFate::Gone => {}
        }
    }

    /// A life ended: what was bound to it is dropped.
    pub(super) fn ended(&mut self, life: Incarnation) {
        self.waiting.retain(|_, message| message.to_incarnation != Some(life));
    }

    /// A message that should have been consumed by now.
    pub(crate) fn left(&self) -> Option<String> {
        let (id, message) = self.waiting.first_key_value()?;
        Some(format!("{id:?} for {} waits still", message.to))
    }
}
