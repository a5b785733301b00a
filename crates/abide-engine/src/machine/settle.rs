//! Writes come back: turns are settled, replies go out, what was woken is delivered.

use super::io::{AskId, CallId, Notice, Output, WriteToken};
use super::slot::{Origin, Pending, SlotId, Then};
use super::{Machine, Phase};
use crate::call::CallError;
use abide_core::commit::Reply;
use abide_core::job::LeaseRef;
use abide_core::limits::{TURN_ATTEMPTS, cut_reason};
use abide_core::retry::Backoff;
use abide_core::seed::Seed;
use abide_store::write::{AfterFailure, Batch, EventFate, FailEvent, Refused, Woken};
use abide_store::{StoreError, Write, Written};
use std::collections::VecDeque;

/// What a write is for.
#[derive(Debug)]
pub(super) enum WriteFor {
    /// The commit or check of a turn of this slot.
    Turn(SlotId),
    /// A failed turn; its event is let go when this is durable.
    Fail {
        slot: SlotId,
        origin: Origin,
        error: String,
    },
    Ask(AskId),
    Begin,
    Crash,
    Claim {
        pool: usize,
        /// So many of its slots wait for the answer.
        slots: usize,
    },
    Renew(Vec<LeaseRef>),
    Progress,
    Vacate,
    Finish(LeaseRef),
    Disown,
    Release,
    Regrant,
    Sweep,
    Prune,
    Worker,
}

impl Machine {
    pub(super) fn wrote(
        &mut self,
        tokens: Vec<WriteToken>,
        writes: Vec<Write>,
        result: Result<Batch, StoreError>,
    ) {
        match result {
            Ok(Batch { at, written, woken }) => {
                self.now = self.now.max(at);
                if self.stalls > 0 {
                    self.stalls = 0;
                    self.notice(Notice::StoreRecovered);
                }
                // Pools whose claim was the last in the batch: it has seen what the batch made ready.
                let mut looked = Vec::new();
                for (token, written) in tokens.into_iter().zip(written) {
                    if let Some(WriteFor::Claim { pool, .. }) = self.writes.get(&token) {
                        looked.push(*pool);
                    } else {
                        looked.clear();
                    }
                    self.one_written(token, written);
                }
                self.wake(*woken, &looked);
            }
            Err(StoreError::Ambiguous(detail)) => self.ambiguous(&tokens, writes, detail),
            Err(error) => self.refused_batch(&tokens, writes, error),
        }
    }

    fn one_written(&mut self, token: WriteToken, written: Written) {
        let Some(purpose) = self.writes.remove(&token) else { return };
        match (purpose, written) {
            (WriteFor::Turn(slot), Written::Committed(Ok(_)) | Written::Checked(Ok(()))) => {
                self.turn_settled(slot, token);
            }
            (WriteFor::Turn(slot), Written::Committed(Err(refused)) | Written::Checked(Err(refused))) => {
                self.turn_refused(slot, token, &refused);
            }
            (WriteFor::Fail { slot, origin, error }, Written::EventFailed(fate)) => {
                let failing = self.slots.get(slot);
                failing.failing -= 1;
                let object = failing.object.clone();
                self.let_go(slot, &origin);
                self.enqueue_slot(slot);
                match fate {
                    EventFate::Retried => self.notice(Notice::TurnFailed { object, error }),
                    EventFate::Dead(_) => self.notice(Notice::DeadLetter { object, error }),
                    EventFate::Gone => {}
                }
            }
            (WriteFor::Ask(ask), written) => self.out.push(Output::Told(ask, Ok(written))),
            (WriteFor::Begin, Written::Began(began)) => {
                self.life = Some(began.life);
                self.lives_begun = 0;
                if self.phase == Phase::Beginning {
                    self.phase = self.working();
                }
                self.introduce_workers(began.life);
                self.look_around();
                self.regrant_after_absence();
                self.timetable.lease(Some(self.now));
                self.timetable.prune(Some(self.now));
            }
            (WriteFor::Claim { pool, slots }, Written::Claimed(claimed)) => {
                self.claimed(pool, slots, claimed)
            }
            (WriteFor::Renew(leases), Written::Renewed(renewals)) => self.renewed(&leases, &renewals),
            (WriteFor::Release, Written::Released(_)) => self.ask_for_timers(),
            (WriteFor::Disown, Written::Released(_)) => self.jobs.know_all_leases(),
            (WriteFor::Sweep, Written::Removed(removed)) => self.removed(true, removed.more),
            (WriteFor::Prune, Written::Removed(removed)) => self.removed(false, removed.more),
            (WriteFor::Crash, Written::EventFailed(_))
            | (WriteFor::Progress, Written::Progressed(_))
            | (WriteFor::Vacate, Written::Vacated(_))
            | (WriteFor::Finish(_), Written::Finished(_))
            | (WriteFor::Regrant | WriteFor::Worker, Written::Set) => {}
            (purpose, written) => unreachable!("the store answered {purpose:?} with {written:?}"),
        }
    }

    /// A turn's commit is durable, or its fence holds.
    fn turn_settled(&mut self, id: SlotId, token: WriteToken) {
        let Some(slot) = self.slots.find(id) else { return };
        if slot.pending.front().and_then(|first| first.then.token()) != Some(token) {
            return;
        }
        let Some(Pending { delivery, then }) = slot.pending.pop_front() else { return };
        self.let_go(id, &delivery.origin);
        if let Origin::Call { id: call, .. } = delivery.origin {
            let answer = match then {
                Then::Commit { reply, .. } => Ok(reply),
                Then::Check { answer, .. } | Then::Answer(answer) => answer,
                Then::Fail(_) => unreachable!("a failed call has an answer"),
            };
            self.reply(call, answer);
        }
        self.settle(id);
        self.enqueue_slot(id);
    }

    /// Settles pending turns that waited only for those before them.
    pub(super) fn settle(&mut self, id: SlotId) {
        loop {
            let slot = self.slots.get(id);
            match slot.pending.front().map(|first| &first.then) {
                Some(Then::Answer(_) | Then::Fail(_)) => {}
                Some(Then::Commit { .. } | Then::Check { .. }) | None => return,
            }
            let Some(Pending { delivery, then }) = slot.pending.pop_front() else { return };
            match (then, delivery.origin) {
                (Then::Answer(answer), Origin::Call { id: call, .. }) => self.reply(call, answer),
                (Then::Fail(error), origin) => self.write_failure(id, origin, delivery.failures, error),
                (Then::Answer(_) | Then::Commit { .. } | Then::Check { .. }, _) => {
                    unreachable!("only calls have answers")
                }
            }
        }
    }

    fn write_failure(&mut self, id: SlotId, origin: Origin, failures: u32, error: String) {
        let Some(event) = origin.event_ref() else { return };
        let failed = failures + 1;
        let then = if failed >= TURN_ATTEMPTS {
            AfterFailure::Dead
        } else {
            let wait_ms = Backoff::TURN.delay_ms(failed, &mut Seed::new(self.secret.draw()));
            AfterFailure::RetryAt(self.now.plus_ms(wait_ms))
        };
        let error = cut_reason(&error).to_owned();
        let write = Write::FailEvent(FailEvent { event, error: error.clone(), then });
        self.slots.get(id).failing += 1;
        self.write(WriteFor::Fail { slot: id, origin, error }, write);
    }

    fn reply(&mut self, call: CallId, answer: Result<Reply, CallError>) {
        self.out.push(Output::Reply(call, answer));
    }

    /// A turn's commit was refused: it and whatever ran on its rows is run again from the store.
    fn turn_refused(&mut self, id: SlotId, token: WriteToken, refused: &Refused) {
        let Some(slot) = self.slots.find(id) else { return };
        let Some(at) = slot.pending.iter().position(|pending| pending.then.token() == Some(token)) else {
            return;
        };
        match refused {
            Refused::Moved => slot.rerun_from(at),
            Refused::EventGone => {
                slot.rerun_from(at + 1);
                if let Some(Pending { delivery, .. }) = slot.pending.pop_back() {
                    self.let_go(id, &delivery.origin);
                }
            }
        }
        self.slots.get(id).forget();
        self.settle(id);
        self.enqueue_slot(id);
    }

    /// Nothing of the batch was applied. Calls in it fail; the rest is tried again after a pause.
    /// One write that the store rejects for good says nothing about the store: nobody else waits for it.
    fn refused_batch(&mut self, tokens: &[WriteToken], writes: Vec<Write>, error: StoreError) {
        let mut is_settled = is_for_good(tokens, &error);
        for (token, write) in tokens.iter().zip(writes) {
            let Some(purpose) = self.writes.remove(token) else { continue };
            is_settled &= matches!(purpose, WriteFor::Turn(_) | WriteFor::Ask(_));
            match purpose {
                WriteFor::Turn(id) => self.turns_not_written(id, tokens, &error),
                WriteFor::Ask(ask) => self.out.push(Output::Told(ask, Err(error.clone()))),
                WriteFor::Claim { pool, slots } => self.jobs.claim_again(pool, slots),
                WriteFor::Sweep => self.removed(true, true),
                WriteFor::Prune => self.removed(false, true),
                WriteFor::Release => self.timetable.lease(Some(self.now)),
                // Asked again after the pause, for what is held then; and an end frees what was not vacated.
                WriteFor::Disown | WriteFor::Progress | WriteFor::Vacate => {}
                WriteFor::Renew(_)
                | WriteFor::Fail { .. }
                | WriteFor::Begin
                | WriteFor::Crash
                | WriteFor::Finish(_)
                | WriteFor::Regrant
                | WriteFor::Worker => self.retries.push((purpose, write)),
            }
        }
        if !is_settled {
            self.stall(error);
        }
    }

    /// Turns of a slot were in a batch that failed. Its calls fail. A check says nothing about the turns after it; what
    /// ran after a commit is run again, and its own commits that are on their way will be refused. An event whose commit
    /// the store rejects for good has failed: running it again would give the same commit.
    fn turns_not_written(&mut self, id: SlotId, tokens: &[WriteToken], error: &StoreError) {
        let Some(slot) = self.slots.find(id) else { return };
        let in_batch = |pending: &Pending| pending.then.token().is_some_and(|token| tokens.contains(&token));
        let is_commit = |pending: &Pending| matches!(pending.then, Then::Commit { .. });
        let from = slot.pending.iter().position(|pending| in_batch(pending) && is_commit(pending));
        let is_for_good = is_for_good(tokens, error);
        let mut failed = Vec::new();
        let mut hopeless = Vec::new();
        let mut kept = VecDeque::new();
        let mut rerun_from = None;
        for (index, pending) in std::mem::take(&mut slot.pending).into_iter().enumerate() {
            if from == Some(index) {
                rerun_from = Some(kept.len());
            }
            match pending.delivery.origin {
                Origin::Call { id: call, .. } if in_batch(&pending) => failed.push(call),
                Origin::Message { .. } | Origin::Alarm { .. } | Origin::Entries { .. }
                    if is_for_good && in_batch(&pending) =>
                {
                    hopeless.push(pending.delivery);
                }
                Origin::Call { .. }
                | Origin::Message { .. }
                | Origin::Alarm { .. }
                | Origin::Entries { .. } => {
                    kept.push_back(pending);
                }
            }
        }
        slot.pending = kept;
        if let Some(from) = rerun_from {
            slot.rerun_from(from);
            slot.forget();
        }
        for call in failed {
            self.reply(call, Err(CallError::Store(error.clone())));
        }
        for delivery in hopeless {
            self.write_failure(id, delivery.origin, delivery.failures, error.to_string());
        }
        self.settle(id);
        self.enqueue_slot(id);
    }

    /// The store does not work: pause, longer each time.
    pub(super) fn stall(&mut self, error: StoreError) {
        if self.stalls == 0 {
            self.notice(Notice::StoreFailed(error));
        }
        self.stalls += 1;
        let backoff = Backoff { base_ms: 50, cap_ms: 2_000 };
        let pause_ms = backoff.delay_ms(self.stalls, &mut Seed::new(self.secret.draw()));
        self.stalled_until = Some(self.now.plus_ms(pause_ms));
    }

    /// It is not known whether the batch is durable. Memory is dropped and the store opened again; what is durable there
    /// runs from there. Calls of the batch without a key are answered so; calls with a key run again and find their reply.
    fn ambiguous(&mut self, tokens: &[WriteToken], writes: Vec<Write>, detail: String) {
        self.notice(Notice::StoreFailed(StoreError::Ambiguous(detail.clone())));
        self.stalls += 1;
        self.phase = Phase::Reopening;
        for id in self.slots.ids() {
            self.reset(id, tokens);
        }
        self.alarms_held.clear();
        self.reads.clear();
        for (token, write) in tokens.iter().zip(writes) {
            match self.writes.remove(token) {
                Some(WriteFor::Ask(ask)) => {
                    self.out.push(Output::Told(ask, Err(StoreError::Ambiguous(detail.clone()))));
                }
                Some(
                    purpose @ (WriteFor::Finish(_)
                    | WriteFor::Renew(_)
                    | WriteFor::Worker
                    | WriteFor::Regrant),
                ) => {
                    self.retries.push((purpose, write));
                }
                Some(WriteFor::Claim { pool, slots }) => self.jobs.lose_a_claim(pool, slots),
                Some(
                    WriteFor::Turn(_)
                    | WriteFor::Fail { .. }
                    | WriteFor::Begin
                    | WriteFor::Crash
                    | WriteFor::Disown
                    | WriteFor::Progress
                    | WriteFor::Vacate
                    | WriteFor::Release
                    | WriteFor::Sweep
                    | WriteFor::Prune,
                )
                | None => {}
            }
        }
        // Writes behind the batch come back as failed; those about slots are answered by the reset above.
        self.writes.retain(|_, purpose| !matches!(purpose, WriteFor::Turn(_) | WriteFor::Fail { .. }));
        self.retries.retain(|(purpose, _)| !matches!(purpose, WriteFor::Fail { .. }));
        self.stalled_until = Some(self.now);
        self.drop_passes();
        self.out.push(Output::Reopen);
    }

    /// Drops what memory holds of an object, keeping calls that did not take effect or can find out whether they did.
    fn reset(&mut self, id: SlotId, tokens: &[WriteToken]) {
        let slot = self.slots.get(id);
        slot.forget();
        let pending = std::mem::take(&mut slot.pending);
        let waiting = std::mem::take(&mut slot.events);
        let mut unknown = Vec::new();
        let mut again = Vec::new();
        for Pending { delivery, then } in pending {
            let was_in_batch = matches!(&then, Then::Commit { token, .. } if tokens.contains(token));
            match &delivery.origin {
                Origin::Call { id: call, key: None } if was_in_batch => unknown.push(*call),
                Origin::Call { .. } => again.push(delivery),
                Origin::Message { .. } | Origin::Alarm { .. } | Origin::Entries { .. } => {}
            }
        }
        again.extend(waiting.into_iter().filter(|delivery| matches!(delivery.origin, Origin::Call { .. })));
        for delivery in &mut again {
            delivery.misses = 0;
            if let Origin::Call { key: Some(key), .. } = &mut delivery.origin {
                key.is_new = false;
            }
        }
        slot.calls = again.len();
        slot.events = again.into();
        slot.held.clear();
        slot.stored = Default::default();
        slot.following = Default::default();
        slot.failing = 0;
        let has_events = !slot.events.is_empty();
        for call in unknown {
            self.reply(call, Err(CallError::OutcomeUnknown));
        }
        if has_events {
            self.enqueue_slot(id);
        }
    }

    pub(super) fn reopened(&mut self) {
        if self.phase == Phase::Reopening {
            self.phase = if self.life.is_some() { self.working() } else { Phase::Beginning };
        }
        if self.life.is_none() {
            self.retries.retain(|(purpose, _)| !matches!(purpose, WriteFor::Begin));
            self.start(None);
            return;
        }
        self.look_around();
        self.timetable.lease(Some(self.now));
    }

    fn wake(&mut self, woken: Woken, looked: &[usize]) {
        for message in woken.messages {
            self.deliver_message(message);
        }
        for follower in &woken.followers {
            self.is_behind(follower);
        }
        for (queue, kind) in woken.ready {
            self.jobs.hint(&queue, &kind, looked);
            self.notice(Notice::Ready(queue, kind));
        }
        for (object, incarnation, head) in woken.logs {
            self.notice(Notice::Log(object, incarnation, head));
        }
        for (ticket, resolution) in woken.tickets {
            self.notice(Notice::Ticket(ticket, resolution));
        }
        for job in woken.cancelling {
            self.cancelling(job);
        }
        if woken.sweep {
            self.timetable.sweep();
        }
        self.timetable.alarm(woken.alarm_at);
        self.timetable.message(woken.message_at);
        self.timetable.lease(woken.lease_at);
        self.timetable.prune(woken.prune_at);
        self.jobs.ready_at(woken.job_at);
        if let Some(at) = woken.job_at {
            self.notice(Notice::ReadyAt(at));
        }
    }
}

/// Whether the store can never take this write. Of several, it may be any.
fn is_for_good(tokens: &[WriteToken], error: &StoreError) -> bool {
    matches!(error, StoreError::Rejected(_)) && tokens.len() == 1
}
