//! Events arrive: calls, messages, alarms, entries find their object's slot.

use super::io::{CallId, Notice, Output};
use super::slot::{CallKey, Came, Delivery, Origin, SlotId, Stored};
use super::timers::ReadFor;
use super::{Machine, Phase};
use crate::call::{Call, CallError};
use abide_core::event::{DueAlarm, Event, Message, MessageBody, MessageId};
use abide_core::limits::{CALL_BYTES, INBOX_MESSAGES, within};
use abide_core::log::Seq;
use abide_core::object::ObjectKey;
use abide_store::read::FollowPage;
use abide_store::{Read, StoreError};

/// Entries of one log in one event.
const ENTRIES: usize = 100;
/// How long an overloaded caller should wait.
const RETRY_AFTER_MS: i64 = 1_000;

impl Machine {
    pub(super) fn take_call(&mut self, id: CallId, call: Call, trace: Option<String>) {
        if let Err(error) = self.accept_call(id, call, trace) {
            self.out.push(Output::Reply(id, Err(error)));
        }
    }

    fn accept_call(&mut self, id: CallId, call: Call, trace: Option<String>) -> Result<(), CallError> {
        self.takes_work()?;
        if self.phase == Phase::Reopening {
            return Err(CallError::Store(StoreError::Unavailable("it is being opened again".into())));
        }
        let Call { object, body, key } = call;
        if self.registry.handler(&object.kind).is_none() {
            return Err(CallError::UnknownKind(object.kind));
        }
        within("bytes in a call", CALL_BYTES, body.len()).map_err(|over| CallError::Failed(over.into()))?;
        let slot_id = self.slots.open(&object);
        let slot = self.slots.get(slot_id);
        if slot.calls >= self.options.inbox_calls {
            return Err(CallError::Overloaded { object, retry_after_ms: RETRY_AFTER_MS });
        }
        slot.calls += 1;
        let key = key.map(|key| CallKey { key, request: digest(body.as_str()), is_new: false });
        let delivery = Delivery {
            origin: Origin::Call { id, key },
            event: Event::Call { body },
            trace,
            seed: self.secret.draw(),
            failures: 0,
            misses: 0,
            rechecked: false,
        };
        self.push(slot_id, delivery);
        Ok(())
    }

    fn push(&mut self, id: SlotId, delivery: Delivery) {
        self.slots.get(id).await_turn(delivery);
        self.enqueue_slot(id);
    }

    /// A message was committed.
    pub(super) fn deliver_message(&mut self, message: Message) {
        if self.phase == Phase::Draining {
            return;
        }
        if self.registry.handler(&message.to.kind).is_none() {
            self.notice(Notice::NoHandler(message.to));
            return;
        }
        let id = self.slots.open(&message.to);
        let may_be_others = !self.options.alone || self.finds_inboxes();
        let slot = self.slots.get(id);
        match slot.stored {
            Stored { reading: true, .. } if self.options.alone => {
                slot.stored.came.keep(message, slot.held.len());
            }
            // One that another engine committed before it may be neither on the page nor known here.
            Stored { reading: true, .. } => slot.stored.came = Came::Unknown,
            // The next page has it.
            Stored { after: Some(_), .. } => {}
            // Messages that came before this one may wait in the store, and they run first.
            Stored { after: None, .. } if may_be_others => {
                slot.stored.after = Some(MessageId(0));
                self.enqueue_slot(id);
            }
            Stored { after: None, .. } if slot.held.len() >= INBOX_MESSAGES => {
                slot.stored.after = Some(MessageId(message.id.0 - 1));
            }
            Stored { after: None, .. } => self.hold(id, message),
        }
    }

    /// A message whose wait is over: it runs out of order.
    pub(super) fn deliver_put_off(&mut self, message: Message) {
        if self.registry.handler(&message.to.kind).is_some() {
            let id = self.slots.open(&message.to);
            self.hold(id, message);
        }
    }

    fn hold(&mut self, id: SlotId, message: Message) {
        if !self.slots.get(id).held.insert(message.id) {
            return;
        }
        let event = match message.body {
            MessageBody::Sent(body) => Event::Message { from: message.from, body },
            MessageBody::Outcome(outcome) => Event::Outcome(outcome),
        };
        let delivery = Delivery {
            origin: Origin::Message { id: message.id },
            event,
            trace: message.trace,
            seed: self.secret.draw(),
            failures: message.failures,
            misses: 0,
            rechecked: false,
        };
        self.push(id, delivery);
    }

    /// The store has messages for an object that are not in memory.
    pub(super) fn has_stored_messages(&mut self, object: &ObjectKey) {
        if self.registry.handler(&object.kind).is_none() {
            self.notice(Notice::NoHandler(object.clone()));
            return;
        }
        let id = self.slots.open(object);
        let slot = self.slots.get(id);
        if slot.stored.reading {
            slot.stored.came = Came::Unknown;
        } else {
            slot.stored.after = Some(MessageId(0));
            self.enqueue_slot(id);
        }
    }

    /// Reads on in an object's inbox and followed logs when memory has room for more.
    pub(super) fn read_on(&mut self, id: SlotId) {
        let slot = self.slots.get(id);
        if self.phase == Phase::Draining {
            // The store keeps it for the next life.
            slot.stored.after = None;
            slot.following.behind = false;
            return;
        }
        if let Some(after) = slot.stored.after
            && !slot.stored.reading
            && slot.held.len() < INBOX_MESSAGES / 2
        {
            slot.stored.reading = true;
            slot.stored.came = Came::default();
            let to = slot.object.clone();
            let read = Read::Messages { to, after: Some(after), limit: INBOX_MESSAGES };
            self.read(ReadFor::Messages { slot: id, after }, read);
        }
        let slot = self.slots.get(id);
        if slot.following.behind && !slot.following.reading {
            slot.following.behind = false;
            slot.following.reading = true;
            let follower = slot.object.clone();
            self.read(ReadFor::Entries { slot: id }, Read::Entries { follower, limit: ENTRIES });
        }
    }

    pub(super) fn messages_read(&mut self, id: SlotId, after: MessageId, page: Vec<Message>) {
        let last = page.last().map_or(after, |message| message.id);
        let slot = self.slots.get(id);
        slot.stored.reading = false;
        let is_full = page.len() >= INBOX_MESSAGES;
        let (after, came) = match std::mem::take(&mut slot.stored.came) {
            Came::Known(came) if !is_full => (None, came),
            Came::Known(_) | Came::Unknown => (Some(last), Vec::new()),
        };
        slot.stored.after = after;
        for message in page.into_iter().chain(came) {
            self.hold(id, message);
        }
        self.enqueue_slot(id);
    }

    pub(super) fn deliver_alarm(&mut self, alarm: DueAlarm) {
        let DueAlarm { object, incarnation, name, at, due_at, set_version, failures, .. } = alarm;
        if self.registry.handler(&object.kind).is_none() {
            self.notice(Notice::NoHandler(object));
            return;
        }
        if !self.alarms_held.insert((incarnation, name.clone(), set_version)) {
            return;
        }
        // The store's time decides what is due. If it is ahead of ours, the turn must not see a time before its alarm's.
        self.now = self.now.max(due_at);
        let id = self.slots.open(&object);
        let delivery = Delivery {
            origin: Origin::Alarm { incarnation, name: name.clone(), set_version },
            event: Event::Alarm { name, at },
            trace: None,
            seed: self.secret.draw(),
            failures,
            misses: 0,
            rechecked: false,
        };
        self.push(id, delivery);
    }

    /// An object may be behind on a log that it follows.
    pub(super) fn is_behind(&mut self, follower: &ObjectKey) {
        if self.registry.handler(&follower.kind).is_none() {
            self.notice(Notice::NoHandler(follower.clone()));
            return;
        }
        let id = self.slots.open(follower);
        self.slots.get(id).following.behind = true;
        self.enqueue_slot(id);
    }

    pub(super) fn entries_read(&mut self, id: SlotId, pages: Vec<FollowPage>) {
        self.slots.get(id).following.reading = false;
        for page in pages {
            let slot = self.slots.get(id);
            if page.entries.is_empty() || !slot.following.held.insert(page.source.clone()) {
                continue;
            }
            let to = page.entries.last().map_or(page.cursor, |entry| entry.seq);
            let delivery = Delivery {
                origin: Origin::Entries {
                    incarnation: page.incarnation,
                    source: page.source.clone(),
                    source_incarnation: page.source_incarnation,
                    from: page.cursor,
                    to: Seq(to.0),
                },
                event: Event::Entries {
                    source: page.source,
                    source_incarnation: page.source_incarnation,
                    entries: page.entries,
                },
                trace: None,
                seed: self.secret.draw(),
                failures: page.failures,
                misses: 0,
                rechecked: false,
            };
            self.push(id, delivery);
        }
        self.enqueue_slot(id);
    }

    /// An event is no longer in memory: it was consumed, failed, or is gone.
    pub(super) fn let_go(&mut self, id: SlotId, origin: &Origin) {
        match origin {
            Origin::Call { .. } => {}
            Origin::Message { id: message } => {
                self.slots.get(id).held.remove(message);
            }
            Origin::Alarm { incarnation, name, set_version } => {
                self.alarms_held.remove(&(*incarnation, name.clone(), *set_version));
            }
            Origin::Entries { source, .. } => {
                let following = &mut self.slots.get(id).following;
                following.held.remove(source);
                following.behind = true;
            }
        }
    }
}

/// A digest of a request (FNV-1a): tells a repeated request from another one under the same key.
fn digest(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
