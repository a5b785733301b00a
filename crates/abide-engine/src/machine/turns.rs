//! Running turns.

use super::Machine;
use super::io::{Notice, Output};
use super::settle::WriteFor;
use super::slot::{CallKey, Delivery, Origin, Pending, SlotId, Then};
use crate::cache::Lookup;
use crate::call::CallError;
use crate::halt::TurnError;
use crate::meter::TurnEnd;
use crate::object::{Handler, Stop};
use crate::turn::Turn;
use abide_core::commit::{Commit, KeyedReply, Reply};
use abide_core::event::Event;
use abide_core::limits::{SLOW_TURN_MS, TURN_MISSES};
use abide_core::object::Fence;
use abide_store::Write;
use abide_store::read::Want;
use std::any::Any;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Turns one object runs before the next one gets its chance.
const TURNS_IN_A_ROW: usize = 16;

/// What one run of a handler came to.
enum Ran {
    /// Parts of the object must be loaded first.
    Missed(Vec<Want>),
    /// It is through.
    Through(Result<Box<(Reply, Commit)>, CallError>),
}

/// Why a slot's next event does not run now.
enum Held {
    /// There is none.
    NoEvent,
    /// Something is under way that will bring the slot back.
    UnderWay,
}

impl Machine {
    /// Runs an object's next events. Gives the number of turns run.
    pub(super) fn run_slot(&mut self, id: SlotId) -> usize {
        self.read_on(id);
        let Some(handler) = self.registry.handler(&self.slots.get(id).object.kind).cloned() else { return 0 };
        let mut turns = 0;
        while turns < TURNS_IN_A_ROW {
            match self.prepare(id, &handler) {
                Ok(delivery) => {
                    turns += 1;
                    self.run_turn(id, &handler, delivery);
                }
                Err(Held::NoEvent) => {
                    self.read_on(id);
                    return turns;
                }
                Err(Held::UnderWay) => return turns,
            }
        }
        self.enqueue_slot(id);
        turns
    }

    /// Takes the next event that can run now, with the object loaded.
    fn prepare(&mut self, id: SlotId, handler: &Arc<dyn Handler>) -> Result<Delivery, Held> {
        loop {
            let slot = self.slots.get(id);
            if slot.loading.is_some()
                || slot.pending.len() >= self.options.pipeline_turns
                || slot.has_failure()
                || !slot.shed()
            {
                return Err(Held::UnderWay);
            }
            let Some(first) = slot.events.front() else { return Err(Held::NoEvent) };
            let unchecked_key = match &first.origin {
                Origin::Call { key: Some(CallKey { key, is_new: false, .. }), .. } => Some(key),
                Origin::Call { .. }
                | Origin::Message { .. }
                | Origin::Alarm { .. }
                | Origin::Entries { .. } => None,
            };
            if let Some(key) = unchecked_key {
                let same = |pending: &Pending| matches!(&pending.delivery.origin, Origin::Call { key: Some(other), .. } if other.key == *key);
                if slot.pending.iter().any(same) {
                    return Err(Held::UnderWay);
                }
            }
            let Some(head) = &slot.head else {
                let wants = expected_keys(handler, &first.event).into_iter().map(Want::Row).collect();
                self.load(id, wants);
                return Err(Held::UnderWay);
            };
            if !head.exists() && !slot.pending.is_empty() {
                // Absence has no version. If a turn before were not written, what ran ahead of it could be accepted all
                // the same, and would be run a second time.
                return Err(Held::UnderWay);
            }
            if unchecked_key.is_some() {
                self.load(id, Vec::new());
                return Err(Held::UnderWay);
            }
            let gone = first.origin.bound_to().is_some_and(
                |life| !matches!(head.fence, Fence::At { incarnation, .. } if incarnation == life),
            );
            if gone && !slot.pending.is_empty() {
                return Err(Held::UnderWay);
            }
            if gone && !self.options.alone && !first.rechecked {
                // Another engine may have begun the life that it is for.
                if let Some(first) = slot.events.front_mut() {
                    first.rechecked = true;
                }
                slot.forget();
                continue;
            }
            let delivery = slot.events.pop_front().expect("there is a first event");
            slot.loaded_for_first = false;
            if matches!(delivery.origin, Origin::Call { .. }) {
                slot.calls -= 1;
            }
            if gone {
                self.let_go(id, &delivery.origin);
                continue;
            }
            return Ok(delivery);
        }
    }

    fn run_turn(&mut self, id: SlotId, handler: &Arc<dyn Handler>, mut delivery: Delivery) {
        let object = self.slots.get(id).object.clone();
        self.witness.begins(delivery.origin.event_ref().as_ref());
        let ran = self.run_handler(id, handler, &delivery);
        let took_ms = self.witness.ended();
        if let Ran::Through(through) = &ran {
            let late_ms = match &delivery.event {
                Event::Alarm { at, .. } => Some(self.now.since(*at)),
                Event::Call { .. } | Event::Message { .. } | Event::Outcome(_) | Event::Entries { .. } => {
                    None
                }
            };
            self.witness.was_turn(&object.kind, end_of(through), late_ms);
        }
        if took_ms >= SLOW_TURN_MS {
            self.notice(Notice::SlowTurn { object, took_ms });
        }
        match ran {
            Ran::Missed(wants) => {
                delivery.misses += 1;
                if delivery.misses > TURN_MISSES {
                    let misses = delivery.misses;
                    return self.turn_failed(id, delivery, TurnError::TooManyMisses(misses).into());
                }
                let wants = if delivery.misses == 1 {
                    self.with_prefetched(id, wants, expected_keys(handler, &delivery.event))
                } else {
                    wants
                };
                let slot = self.slots.get(id);
                if matches!(delivery.origin, Origin::Call { .. }) {
                    slot.calls += 1;
                }
                slot.events.push_front(delivery);
                self.load(id, wants);
            }
            Ran::Through(Ok(ran)) => {
                let (reply, commit) = *ran;
                self.turn_ran(id, delivery, reply, commit);
            }
            Ran::Through(Err(error)) => self.turn_failed(id, delivery, error),
        }
    }

    /// What a turn missed first, with the rows that its kind would have had loaded for it if nothing were in memory.
    fn with_prefetched(&mut self, id: SlotId, missed: Vec<Want>, keys: Vec<String>) -> Vec<Want> {
        let cache = &self.slots.get(id).cache;
        let is_unknown = |key: &String| matches!(cache.row(key), Lookup::Unknown);
        let keys: BTreeSet<String> = keys.into_iter().filter(is_unknown).collect();
        let also: Vec<Want> = keys.into_iter().map(Want::Row).filter(|want| !missed.contains(want)).collect();
        missed.into_iter().chain(also).collect()
    }

    fn run_handler(&mut self, id: SlotId, handler: &Arc<dyn Handler>, delivery: &Delivery) -> Ran {
        let by = self.life.expect("turns run only after the engine began");
        let now = self.now;
        let slot = self.slots.get(id);
        let head = slot.head.expect("a turn runs on a loaded object");
        let at = now.max(head.turn_at);
        let commit = Commit::new(slot.object.clone(), head.fence, by, at, delivery.origin.consumes());
        let mut turn = Turn::new(&slot.cache, commit, head.log_head, delivery.seed, head.exists());
        // A panic leaves nothing behind: the turn and its writes are dropped.
        let ran = catch_unwind(AssertUnwindSafe(|| handler.run(&mut turn, &delivery.event)));
        let through = match ran {
            Ok(Ok(reply)) => {
                turn.into_commit().map(|commit| Box::new((reply, commit))).map_err(CallError::Failed)
            }
            Ok(Err(Stop::Miss)) => match turn.missed() {
                wants if wants.is_empty() => Err(CallError::Failed(TurnError::Contradiction(
                    "the handler kept a missed read from an earlier turn",
                ))),
                wants => return Ran::Missed(wants),
            },
            Ok(Err(Stop::Refused(refused))) => Err(CallError::Refused(refused)),
            Ok(Err(Stop::Failed(error))) => Err(CallError::Failed(error)),
            Err(panic) => Err(CallError::Failed(TurnError::Panicked(panic_text(&*panic)))),
        };
        Ran::Through(through)
    }

    fn turn_ran(&mut self, id: SlotId, delivery: Delivery, reply: Reply, mut commit: Commit) {
        if let Origin::Call { key: Some(CallKey { key, request, .. }), .. } = &delivery.origin {
            commit.keyed_reply =
                Some(KeyedReply { key: key.clone(), request: *request, reply: reply.clone() });
        }
        for job in &mut commit.jobs {
            job.trace = job.trace.take().or_else(|| delivery.trace.clone());
        }
        for message in &mut commit.messages {
            message.trace.clone_from(&delivery.trace);
        }
        if commit.is_empty() {
            return self.answer_in_order(id, delivery, Ok(reply));
        }
        let by = commit.by;
        let next_life = self.next_life_of_object();
        let slot = self.slots.get(id);
        let before = slot.cache.bytes();
        slot.advance(&commit, by, next_life);
        let grown = slot.cache.bytes().saturating_sub(before);
        self.timetable.memory_grew(grown);
        let token = self.write(WriteFor::Turn(id), Write::Commit(Box::new(commit)));
        let then = Then::Commit { token, reply };
        self.slots.get(id).await_store(delivery, then);
    }

    /// On a call an error is a reply; on anything else it is a failed turn.
    pub(super) fn turn_failed(&mut self, id: SlotId, delivery: Delivery, error: CallError) {
        match delivery.origin {
            Origin::Call { .. } => self.answer_in_order(id, delivery, Err(error)),
            Origin::Message { .. } | Origin::Alarm { .. } | Origin::Entries { .. } => {
                let then = Then::Fail(error.to_string());
                self.slots.get(id).await_store(delivery, then);
                self.settle(id);
            }
        }
    }

    /// Answers a call that changes nothing, when all commits that it could have seen are durable.
    fn answer_in_order(&mut self, id: SlotId, delivery: Delivery, answer: Result<Reply, CallError>) {
        if self.options.alone {
            if let (Origin::Call { id: call, .. }, true) =
                (&delivery.origin, self.slots.get(id).pending.is_empty())
            {
                self.out.push(Output::Reply(*call, answer));
                return;
            }
            self.slots.get(id).await_store(delivery, Then::Answer(answer));
            return;
        }
        let slot = self.slots.get(id);
        let Some(head) = slot.head else {
            // Its object could not be loaded: the answer shows nothing of it.
            if let Origin::Call { id: call, .. } = delivery.origin {
                self.out.push(Output::Reply(call, answer));
            }
            return;
        };
        let check = Write::Check { object: slot.object.clone(), fence: head.fence };
        let token = self.write(WriteFor::Turn(id), check);
        self.slots.get(id).await_store(delivery, Then::Check { token, answer });
    }
}

/// Keys of rows that a handler says its turn will read. If it panics over that, nothing is known, and the turn finds out by itself.
fn expected_keys(handler: &Arc<dyn Handler>, event: &Event) -> Vec<String> {
    catch_unwind(AssertUnwindSafe(|| handler.prefetch(event))).unwrap_or_else(|_panic| Vec::new())
}

/// How a turn ended, for whoever counts.
fn end_of(through: &Result<Box<(Reply, Commit)>, CallError>) -> TurnEnd {
    match through {
        Ok(ran) if ran.1.is_empty() => TurnEnd::Answered,
        Ok(_) => TurnEnd::Changed,
        Err(CallError::Refused(_)) => TurnEnd::Refused,
        Err(_) => TurnEnd::Failed,
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a message".to_owned())
}
