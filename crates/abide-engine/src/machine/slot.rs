//! Slots: what the machine holds of an object while it has something to do for it.

use super::io::{CallId, ReadToken, WriteToken};
use crate::cache::RowCache;
use crate::call::CallError;
use abide_core::commit::{AlarmWrite, Commit, Ending, Reply};
use abide_core::event::{Consumes, Event, EventRef, Message, MessageId};
use abide_core::limits::INBOX_MESSAGES;
use abide_core::log::Seq;
use abide_core::name::{AlarmName, IdempotencyKey};
use abide_core::object::{Fence, Incarnation, Life, ObjectKey, Version};
use abide_core::time::Time;
use abide_store::read::Header;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Names a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SlotId(usize);

/// An event on its way through a turn.
#[derive(Debug)]
pub(super) struct Delivery {
    pub(super) origin: Origin,
    pub(super) event: Event,
    /// W3C trace context of whoever caused it: what the turn sends and enqueues carries it on.
    pub(super) trace: Option<String>,
    /// The turn's seed: the same each time it is run.
    pub(super) seed: u64,
    pub(super) failures: u32,
    pub(super) misses: u32,
    /// Its object was read again because it seemed to be for a life that is over.
    pub(super) rechecked: bool,
}

/// Where an event came from, and so what becomes of it.
#[derive(Debug)]
pub(super) enum Origin {
    Call {
        id: CallId,
        key: Option<CallKey>,
    },
    Message {
        id: MessageId,
    },
    Alarm {
        incarnation: Incarnation,
        name: AlarmName,
        set_version: Version,
    },
    Entries {
        incarnation: Incarnation,
        source: ObjectKey,
        source_incarnation: Incarnation,
        from: Seq,
        to: Seq,
    },
}

/// A call's idempotency key.
#[derive(Debug)]
pub(super) struct CallKey {
    pub(super) key: IdempotencyKey,
    /// A digest of the request.
    pub(super) request: u64,
    /// Whether the store was asked and keeps no reply under it.
    pub(super) is_new: bool,
}

impl Origin {
    /// What a commit consumes for it.
    pub(super) fn consumes(&self) -> Consumes {
        match self {
            Origin::Call { .. } => Consumes::Call,
            Origin::Message { id } => Consumes::Message(*id),
            Origin::Alarm { name, set_version, .. } => {
                Consumes::Alarm { name: name.clone(), set_version: *set_version }
            }
            Origin::Entries { source, source_incarnation, from, to, .. } => Consumes::Entries {
                source: source.clone(),
                source_incarnation: *source_incarnation,
                from: *from,
                to: *to,
            },
        }
    }

    /// Its name in the store; none for a call.
    pub(super) fn event_ref(&self) -> Option<EventRef> {
        match self {
            Origin::Call { .. } => None,
            Origin::Message { id } => Some(EventRef::Message(*id)),
            Origin::Alarm { incarnation, name, set_version } => Some(EventRef::Alarm {
                incarnation: *incarnation,
                name: name.clone(),
                set_version: *set_version,
            }),
            Origin::Entries { incarnation, source, .. } => {
                Some(EventRef::Entries { incarnation: *incarnation, source: source.clone() })
            }
        }
    }

    /// The life of the object that it is for, if it is for one only.
    pub(super) fn bound_to(&self) -> Option<Incarnation> {
        match self {
            Origin::Call { .. } | Origin::Message { .. } => None,
            Origin::Alarm { incarnation, .. } | Origin::Entries { incarnation, .. } => Some(*incarnation),
        }
    }
}

/// A turn that was run and is not settled: its commit, or one before it, is not durable yet.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) delivery: Delivery,
    pub(super) then: Then,
}

/// What settles a pending turn.
#[derive(Debug)]
pub(super) enum Then {
    /// Its commit is on its way under this token; the caller gets the reply.
    Commit { token: WriteToken, reply: Reply },
    /// It changes nothing, and the fence is being checked under this token.
    Check { token: WriteToken, answer: Result<Reply, CallError> },
    /// It changes nothing: the caller gets the answer when all before it is durable.
    Answer(Result<Reply, CallError>),
    /// It failed: noted in the store when all before it is durable.
    Fail(String),
}

impl Then {
    pub(super) fn token(&self) -> Option<WriteToken> {
        match self {
            Then::Commit { token, .. } | Then::Check { token, .. } => Some(*token),
            Then::Answer(_) | Then::Fail(_) => None,
        }
    }
}

/// Where an object is, as its next turn sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) fence: Fence,
    pub(super) log_head: Seq,
    pub(super) turn_at: Time,
}

impl Head {
    pub(super) fn absent(begin: Incarnation, turn_at: Time) -> Head {
        Head { fence: Fence::Absent { begin }, log_head: Seq(0), turn_at }
    }

    pub(super) fn at(header: &Header) -> Head {
        let Header { incarnation, version, by, log_head, turn_at } = *header;
        Head { fence: Fence::At { incarnation, version, by }, log_head, turn_at }
    }

    pub(super) fn exists(&self) -> bool {
        matches!(self.fence, Fence::At { .. })
    }
}

/// Messages of the object that are in the store and not in memory.
#[derive(Debug, Default)]
pub(super) struct Stored {
    /// There may be some after this one.
    pub(super) after: Option<MessageId>,
    pub(super) reading: bool,
    /// What came after the last page was asked for, and stands behind what is on it.
    pub(super) came: Came,
}

/// Messages that came while others are read from the store.
#[derive(Debug)]
pub(super) enum Came {
    /// These and no others.
    Known(Vec<Message>),
    /// Some that must be read, too.
    Unknown,
}

impl Default for Came {
    fn default() -> Came {
        Came::Known(Vec::new())
    }
}

impl Came {
    /// Keeps one, if those before it are known and there is room beside so many others.
    pub(super) fn keep(&mut self, message: Message, others: usize) {
        match self {
            Came::Known(kept) if others + kept.len() < INBOX_MESSAGES => kept.push(message),
            Came::Known(_) | Came::Unknown => *self = Came::Unknown,
        }
    }
}

/// Logs that the object follows and may be behind on.
#[derive(Debug, Default)]
pub(super) struct Following {
    pub(super) behind: bool,
    pub(super) reading: bool,
    /// Sources whose next entries are in memory.
    pub(super) held: BTreeSet<ObjectKey>,
}

/// One object in memory.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) object: ObjectKey,
    /// None until it is loaded.
    pub(super) head: Option<Head>,
    pub(super) cache: RowCache,
    pub(super) events: VecDeque<Delivery>,
    /// Calls among the events.
    pub(super) calls: usize,
    /// Messages in memory, in events or pending.
    pub(super) held: BTreeSet<MessageId>,
    pub(super) pending: VecDeque<Pending>,
    pub(super) loading: Option<ReadToken>,
    /// Failed turns that are being noted in the store.
    pub(super) failing: usize,
    pub(super) stored: Stored,
    pub(super) following: Following,
    /// Whether it stands in the ready ring.
    pub(super) queued: bool,
    /// Used since the last look for what can be dropped.
    pub(super) touched: bool,
    /// What was loaded last is for the first event, which has not run on it yet.
    pub(super) loaded_for_first: bool,
    /// Its rows are too many to be kept: they are dropped before the next event, when all of them are in the store.
    pub(super) sheds: bool,
}

impl Slot {
    fn new(object: ObjectKey) -> Slot {
        Slot {
            object,
            head: None,
            cache: RowCache::default(),
            events: VecDeque::new(),
            calls: 0,
            held: BTreeSet::new(),
            pending: VecDeque::new(),
            loading: None,
            failing: 0,
            stored: Stored::default(),
            following: Following::default(),
            queued: false,
            touched: true,
            loaded_for_first: false,
            sheds: false,
        }
    }

    /// Puts an event behind those that wait for their turn.
    pub(super) fn await_turn(&mut self, delivery: Delivery) {
        push_lean(&mut self.events, delivery);
    }

    /// Puts a turn that was run behind those that wait for the store.
    pub(super) fn await_store(&mut self, delivery: Delivery, then: Then) {
        push_lean(&mut self.pending, Pending { delivery, then });
    }

    /// Whether nothing is under way and it can be dropped.
    pub(super) fn is_idle(&self) -> bool {
        self.events.is_empty()
            && self.pending.is_empty()
            && self.loading.is_none()
            && self.failing == 0
            && self.stored.after.is_none()
            && !self.stored.reading
            && !self.following.behind
            && !self.following.reading
            && !self.queued
    }

    /// Commits that are on their way.
    pub(super) fn has_commits_under_way(&self) -> bool {
        self.pending.iter().any(|p| matches!(p.then, Then::Commit { .. }))
    }

    /// Drops rows that are too many to be kept, if nothing needs them. False if that has to wait.
    pub(super) fn shed(&mut self) -> bool {
        // An object that does not exist has no rows, and that is known.
        let is_needed = self.loaded_for_first || !self.head.is_some_and(|head| head.exists());
        if !self.sheds || is_needed {
            return true;
        }
        if self.has_commits_under_way() {
            return false;
        }
        self.cache = RowCache::default();
        self.sheds = false;
        true
    }

    /// Whether an event failed and the store does not know it yet. What comes after it waits: if this engine died, the
    /// event would run again as if it had not failed, and be behind what passed it.
    pub(super) fn has_failure(&self) -> bool {
        self.failing > 0 || self.pending.iter().any(|pending| matches!(pending.then, Then::Fail(_)))
    }

    /// Where the object is after `commit`, and the cache with it. The new life is used if one could begin next.
    pub(super) fn advance(&mut self, commit: &Commit, by: Life, next_life: Incarnation) {
        let log_head = self.head.map_or(Seq(0), |head| head.log_head);
        let head = if commit.ending == Ending::Deleted {
            self.cache = RowCache::of_nothing();
            Head::absent(next_life, commit.at)
        } else if matches!(commit.fence, Fence::Absent { .. }) && !commit.keeps_state() {
            Head::absent(next_life, commit.at)
        } else {
            if let Consumes::Alarm { name, .. } = &commit.consumes {
                self.cache.write_alarm(name, None);
            }
            for write in &commit.alarms {
                match write {
                    AlarmWrite::Set { name, at } => self.cache.write_alarm(name, Some(*at)),
                    AlarmWrite::Clear { name } => self.cache.write_alarm(name, None),
                }
            }
            self.cache.write(&commit.rows);
            let appended = i64::try_from(commit.log.len()).unwrap_or(i64::MAX);
            Head {
                fence: Fence::At {
                    incarnation: commit.fence.incarnation(),
                    version: commit.fence.version_after(),
                    by,
                },
                log_head: Seq(log_head.0 + appended),
                turn_at: commit.at,
            }
        };
        self.head = Some(head);
    }

    /// Forgets what is in memory of the object: the next turn reads the store. Whether a reply is kept under a call's
    /// key is asked again, too, because another engine may have run the same call in the meantime.
    pub(super) fn forget(&mut self) {
        self.head = None;
        self.cache = RowCache::default();
        self.loaded_for_first = false;
        self.sheds = false;
        self.loading = None;
        for delivery in &mut self.events {
            if let Origin::Call { key: Some(key), .. } = &mut delivery.origin {
                key.is_new = false;
            }
        }
    }

    /// Puts pending turns from the `from`-th on back where they came from, in order. They and those behind them run as if for
    /// the first time, because what was loaded for them is forgotten.
    pub(super) fn rerun_from(&mut self, from: usize) {
        let again: Vec<Pending> = self.pending.drain(from..).collect();
        for mut pending in again.into_iter().rev() {
            if let Origin::Call { key, .. } = &mut pending.delivery.origin {
                self.calls += 1;
                if let Some(key) = key {
                    // Another engine may have run it in the meantime.
                    key.is_new = false;
                }
            }
            self.events.push_front(pending.delivery);
        }
        for delivery in &mut self.events {
            delivery.misses = 0;
        }
    }
}

/// Pushes with room for one at first. Most objects in memory have at most one event at a time, and a queue's usual first
/// room for four would be most of what they hold.
fn push_lean<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.capacity() == 0 {
        queue.reserve_exact(1);
    }
    queue.push_back(item);
}

/// All slots, by id and by object.
#[derive(Debug, Default)]
pub(super) struct Slots {
    by_object: BTreeMap<ObjectKey, SlotId>,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    hand: usize,
}

impl Slots {
    pub(super) fn open(&mut self, object: &ObjectKey) -> SlotId {
        if let Some(id) = self.by_object.get(object) {
            return *id;
        }
        let slot = Some(Slot::new(object.clone()));
        let index = match self.free.pop() {
            Some(index) => {
                self.slots[index] = slot;
                index
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        };
        self.by_object.insert(object.clone(), SlotId(index));
        SlotId(index)
    }

    /// The slot. Ids are only kept while their slot has something under way, so it is there.
    pub(super) fn get(&mut self, id: SlotId) -> &mut Slot {
        self.slots[id.0].as_mut().expect("a slot with something under way is not dropped")
    }

    /// The slot, if it is still there.
    pub(super) fn find(&mut self, id: SlotId) -> Option<&mut Slot> {
        self.slots[id.0].as_mut()
    }

    pub(super) fn len(&self) -> usize {
        self.by_object.len()
    }

    /// Slots that an ambiguous write must reset: all of them.
    pub(super) fn ids(&self) -> Vec<SlotId> {
        self.by_object.values().copied().collect()
    }

    /// Looks once at each slot from where it stopped last and drops those that are idle and were not used since it last
    /// looked at them, until that makes `enough` bytes. Gives the bytes it dropped.
    pub(super) fn drop_idle(&mut self, enough: usize) -> usize {
        let mut dropped = 0;
        for _ in 0..self.slots.len() {
            if dropped >= enough {
                break;
            }
            self.hand = (self.hand + 1) % self.slots.len();
            let Some(slot) = self.slots[self.hand].as_mut() else { continue };
            if slot.touched {
                slot.touched = false;
            } else if slot.is_idle() {
                dropped += slot.cache.bytes() + SLOT_BYTES;
                self.by_object.remove(&slot.object);
                self.slots[self.hand] = None;
                self.free.push(self.hand);
            }
        }
        dropped
    }

    /// Has those that hold most drop their rows as soon as they can, until that makes `over` bytes. Rows that take less room
    /// than the slot around them stay: reading them again costs more than they do.
    pub(super) fn mark_for_shedding(&mut self, over: usize) {
        let is_worth_it = |slot: &&mut Slot| slot.cache.bytes() > SLOT_BYTES;
        let mut slots: Vec<&mut Slot> = self.slots.iter_mut().flatten().filter(is_worth_it).collect();
        slots.sort_unstable_by_key(|slot| std::cmp::Reverse(slot.cache.bytes()));
        let mut left = over;
        for slot in slots {
            if left == 0 {
                return;
            }
            left = left.saturating_sub(slot.cache.bytes());
            slot.sheds = true;
        }
    }

    /// Whether nothing is under way in any slot.
    pub(super) fn all_idle(&self) -> bool {
        self.slots.iter().flatten().all(Slot::is_idle)
    }

    /// Bytes held, about.
    pub(super) fn bytes(&self) -> usize {
        self.slots.iter().flatten().map(|slot| slot.cache.bytes() + SLOT_BYTES).sum()
    }
}

/// A slot's own memory, about.
const SLOT_BYTES: usize = 640;
