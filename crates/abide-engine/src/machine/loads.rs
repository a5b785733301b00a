//! Reads come back: parts of objects, pages of inboxes, what is due.

use super::io::{Output, ReadToken};
use super::slot::{CallKey, Head, Origin, SlotId};
use super::timers::ReadFor;
use super::{Machine, Phase};
use crate::cache::RowCache;
use crate::call::CallError;
use abide_core::commit::KeyedReply;
use abide_core::object::Fence;
use abide_store::read::{Header, Load, Loaded, Want};
use abide_store::{Answer, Read, StoreError};

impl Machine {
    /// Asks for parts of an object; for its header and, if the first event is a call with a key, the kept reply, too.
    pub(super) fn load(&mut self, id: SlotId, wants: Vec<Want>) {
        let slot = self.slots.get(id);
        let reply_for = slot.events.front().and_then(|first| match &first.origin {
            Origin::Call { key: Some(key), .. } if !key.is_new => Some(key.key.clone()),
            Origin::Call { .. } | Origin::Message { .. } | Origin::Alarm { .. } | Origin::Entries { .. } => {
                None
            }
        });
        let load = Load { object: slot.object.clone(), wants: wants.clone(), reply_for };
        let token = self.read(ReadFor::Load { slot: id, wants }, Read::Load(load));
        let slot = self.slots.get(id);
        (slot.loading, slot.loaded_for_first) = (Some(token), true);
    }

    pub(super) fn answered(&mut self, token: ReadToken, result: Result<Answer, StoreError>) {
        let Some(purpose) = self.reads.remove(&token) else { return };
        if self.phase == Phase::Reopening {
            return;
        }
        let answer = match result {
            Ok(answer) => answer,
            Err(error) => return self.read_failed(token, purpose, error),
        };
        match (purpose, answer) {
            (ReadFor::Load { slot, wants }, Answer::Load(loaded)) => self.loaded(token, slot, &wants, loaded),
            (ReadFor::Messages { slot, after }, Answer::Messages(page)) => {
                self.messages_read(slot, after, page)
            }
            (ReadFor::Entries { slot }, Answer::Entries(pages)) => self.entries_read(slot, pages),
            (ReadFor::AlarmsDue, Answer::AlarmsDue(page)) => self.alarms_due(page),
            (ReadFor::MessagesDue { at }, Answer::MessagesDue(page)) => self.messages_due(at, page),
            (ReadFor::Inboxes, Answer::Inboxes(page)) => self.inboxes(page),
            (ReadFor::Followers, Answer::Followers(page)) => self.followers(page),
            (ReadFor::Timers, Answer::Timers(timers)) => self.set_timers(timers),
            (purpose, answer) => unreachable!("the store answered {purpose:?} with {answer:?}"),
        }
    }

    /// A read failed: what it was for is tried again after a pause.
    fn read_failed(&mut self, token: ReadToken, purpose: ReadFor, error: StoreError) {
        if let (ReadFor::Load { slot, .. }, StoreError::Corrupt(_) | StoreError::Rejected(_)) =
            (&purpose, &error)
        {
            return self.load_failed(token, *slot, error);
        }
        self.stall(error);
        match purpose {
            ReadFor::Load { slot, .. } => {
                if let Some(slot_ref) = self.slots.find(slot).filter(|s| s.loading == Some(token)) {
                    slot_ref.loading = None;
                    self.enqueue_slot(slot);
                }
            }
            ReadFor::Messages { slot, .. } => {
                self.slots.get(slot).stored.reading = false;
                self.enqueue_slot(slot);
            }
            ReadFor::Entries { slot } => {
                let following = &mut self.slots.get(slot).following;
                following.reading = false;
                following.behind = true;
                self.enqueue_slot(slot);
            }
            ReadFor::AlarmsDue
            | ReadFor::MessagesDue { .. }
            | ReadFor::Inboxes
            | ReadFor::Followers
            | ReadFor::Timers => {
                self.drop_passes();
                self.look_around();
            }
        }
    }

    /// Trying again cannot help: the event that wanted the rows fails, and nobody else is held up.
    fn load_failed(&mut self, token: ReadToken, id: SlotId, error: StoreError) {
        let Some(slot) = self.slots.find(id).filter(|slot| slot.loading == Some(token)) else { return };
        (slot.loading, slot.loaded_for_first) = (None, false);
        if let Some(delivery) = slot.events.pop_front() {
            if matches!(delivery.origin, Origin::Call { .. }) {
                slot.calls -= 1;
            }
            self.turn_failed(id, delivery, CallError::Store(error));
        }
        self.enqueue_slot(id);
    }

    fn loaded(&mut self, token: ReadToken, id: SlotId, wants: &[Want], loaded: Loaded) {
        if self.slots.find(id).is_none_or(|slot| slot.loading != Some(token)) {
            return;
        }
        let next_life = self.next_life_of_object();
        let now = self.now;
        let slot = self.slots.get(id);
        slot.loading = None;
        match slot.head {
            None => {
                let (head, cache) = match &loaded.header {
                    Some(header) => (Head::at(header), RowCache::default()),
                    None => (Head::absent(next_life, now), RowCache::of_nothing()),
                };
                slot.head = Some(head);
                slot.cache = cache;
            }
            Some(_) if wants.is_empty() => {}
            Some(head) if fits(loaded.header.as_ref(), &head) => {}
            Some(_) => {
                // Somebody else moved the object. Commits or checks that are under way will be refused, and that starts
                // afresh; until then the event waits. On newer rows it would only be run again with them, and these rows
                // cannot be taken: it would ask for them again and again.
                if slot.pending.is_empty() {
                    slot.forget();
                    self.enqueue_slot(id);
                }
                return;
            }
        }
        if loaded.header.is_some() {
            let before = slot.cache.bytes();
            for (want, got) in wants.iter().zip(loaded.got) {
                slot.cache.merge(want, got);
            }
            let grown = slot.cache.bytes().saturating_sub(before);
            self.timetable.memory_grew(grown);
        }
        self.settle_key(id, loaded.kept);
        self.enqueue_slot(id);
    }

    /// The first event is a call with a key, and the store was asked for its reply: answer it, or let it run.
    fn settle_key(&mut self, id: SlotId, kept: Option<KeyedReply>) {
        let slot = self.slots.get(id);
        let Some(first) = slot.events.front_mut() else { return };
        let Origin::Call { id: call, key: Some(key) } = &mut first.origin else { return };
        let CallKey { key, request, is_new } = key;
        let answer = match kept {
            None => {
                *is_new = true;
                return;
            }
            Some(kept) if kept.key != *key => return,
            Some(kept) if kept.request == *request => Ok(kept.reply),
            Some(_) => Err(CallError::KeyReused(key.clone())),
        };
        let call = *call;
        slot.events.pop_front();
        slot.calls -= 1;
        slot.loaded_for_first = false;
        self.out.push(Output::Reply(call, answer));
    }
}

/// Whether a snapshot's rows may be taken into a slot whose next turn names `head`: the snapshot is that very version, or
/// one before it. Then all that was committed since is this machine's, whether it is durable by now or not, and the cache has
/// it: the snapshot was asked for after the cache began. No turn runs while a load is under way, so `head` is what it was when
/// the load was asked for. And of an object that does not exist, or whose first commit is under way, everything is known and
/// nothing is asked for: if one of the two is of no object and the other is not, somebody else began or ended it.
fn fits(header: Option<&Header>, head: &Head) -> bool {
    match (header, head.fence) {
        (Some(header), Fence::At { incarnation, version, by }) => {
            let is_before = header.version < version;
            header.incarnation == incarnation && (is_before || (header.version == version && header.by == by))
        }
        (None, Fence::Absent { .. }) => true,
        (Some(_), Fence::Absent { .. }) | (None, Fence::At { .. }) => false,
    }
}
