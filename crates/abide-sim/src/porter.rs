//! The way between an engine and the store: batches in order, reads in any order, answers that are late or lost.

use crate::happening::{BatchUnderWay, Happening, ReadUnderWay};
use crate::node::{NodeLife, Outgoing};
use crate::outcome::{Violation, holds};
use crate::plan::Fault;
use crate::probe;
use crate::text;
use crate::twin::Ordeal;
use crate::world::World;
use abide_core::time::Time;
use abide_engine::machine::{Input, Output};
use abide_store::{Batch, Read, StoreError, Write};
use abide_testdisk::Trouble;

/// What becomes of a batch that reaches the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Applied,
    /// The engine dies, and the batch with it.
    CrashBefore,
    /// The engine dies when the batch is durable.
    CrashAfter,
    AmbiguousApplied,
    AmbiguousLost,
    Full,
    Unavailable,
    ReadOnly,
    Damaged,
    Rejected,
    /// Something happens to the disk, after so many calls.
    OnDisk(Trouble, u64),
}

/// Why a store cannot be written.
const AWAY: [Fate; 4] = [Fate::Full, Fate::Unavailable, Fate::ReadOnly, Fate::Damaged];

impl World<'_> {
    pub(crate) fn put_out(&mut self, of: NodeLife, output: Output, now: Time) -> Result<(), Violation> {
        match output {
            Output::Write(token, write) => {
                self.nodes[of.node].outgoing.push_back(Outgoing::Write { now, token, write });
                self.gather_soon(of);
            }
            Output::Reopen => {
                self.nodes[of.node].outgoing.push_back(Outgoing::Reopen);
                self.gather_soon(of);
            }
            Output::Read(token, read) => {
                let delay = self.delay(of);
                self.happen_in(delay, Happening::Read(of, ReadUnderWay { now, token, read }));
            }
            Output::Reply(call, answer) => {
                self.history.note(
                    self.now,
                    format_args!("n{} answers call {}: {}", of.node, call.0, text::of_reply(&answer)),
                );
                self.replied(of, call, answer)?;
            }
            Output::Told(ask, answer) => {
                self.history.note(self.now, format_args!("n{} tells {}: {answer:?}", of.node, ask.0));
                self.told(of, ask, answer)?;
            }
            Output::Run { lease, .. } => self.run_job(of, lease),
            Output::Stop(job) => self.stop_job(of, job),
            Output::Notice(notice) => {
                self.history.note(self.now, format_args!("n{} notes {notice:?}", of.node));
            }
        }
        Ok(())
    }

    /// How long something between an engine and the store takes.
    fn delay(&mut self, of: NodeLife) -> i64 {
        if self.may(Fault::Stall) && self.faults.once_in(250) {
            self.counts.one("fault: store stalled");
            self.history.note(self.now, format_args!("n{} waits for the store", of.node));
            return self.faults.between(1_000, 15_000);
        }
        match self.delays.between(0, 9) {
            0 => self.delays.between(5, 60),
            _ => self.delays.between(0, 4),
        }
    }

    fn gather_soon(&mut self, of: NodeLife) {
        if !self.nodes[of.node].is_writing {
            self.nodes[of.node].is_writing = true;
            let delay = self.delays.between(0, 3);
            self.happen_in(delay, Happening::Gather(of));
        }
    }

    /// The writer takes some of what waits for it.
    pub(crate) fn gather(&mut self, of: NodeLife) {
        if !self.is_current(of) {
            return;
        }
        let node = &mut self.nodes[of.node];
        if node.is_paused {
            node.backlog.push_back(Happening::Gather(of));
            return;
        }
        if matches!(node.outgoing.front(), Some(Outgoing::Reopen)) {
            node.outgoing.pop_front();
            let delay = self.delays.between(0, 50);
            self.happen_in(delay, Happening::Reopen(of));
            return;
        }
        let most = self.delays.between(1, 12) as usize;
        let mut batch = BatchUnderWay { now: Time::ZERO, tokens: Vec::new(), writes: Vec::new() };
        while let Some(Outgoing::Write { write, .. }) = self.nodes[of.node].outgoing.front() {
            let stands_alone = probe::is_probe(write);
            if batch.writes.len() >= most || (stands_alone && !batch.writes.is_empty()) {
                break;
            }
            if let Some(Outgoing::Write { now, token, write }) = self.nodes[of.node].outgoing.pop_front() {
                batch.now = batch.now.max(now);
                batch.tokens.push(token);
                batch.writes.push(write);
            }
            if stands_alone {
                break;
            }
        }
        if batch.writes.is_empty() {
            self.nodes[of.node].is_writing = false;
        } else if self.nodes[of.node].is_broken {
            let error = StoreError::Unavailable("it is being opened again".into());
            self.answer_batch(of, batch, Err(error));
        } else {
            let delay = self.delay(of);
            self.happen_in(delay, Happening::Apply(of, batch));
        }
    }

    /// Tells the engine how its batch went; the writer is free for the next one.
    fn answer_batch(&mut self, of: NodeLife, batch: BatchUnderWay, result: Result<Batch, StoreError>) {
        if matches!(result, Err(StoreError::Ambiguous(_))) {
            self.nodes[of.node].is_broken = true;
        }
        let BatchUnderWay { tokens, writes, .. } = batch;
        self.answer_in_order(of, Input::Wrote { tokens, writes, result });
        self.nodes[of.node].is_writing = false;
        self.gather_soon(of);
    }

    fn answer_in_order(&mut self, of: NodeLife, input: Input) {
        let delay = self.delays.between(0, 3);
        let at = self.now.plus_ms(delay).max(self.nodes[of.node].answers_at);
        self.nodes[of.node].answers_at = at;
        self.happen_in(at.since(self.now), Happening::Arrive(of, Box::new(input)));
    }

    pub(crate) fn apply(&mut self, of: NodeLife, batch: BatchUnderWay) -> Result<(), Violation> {
        if !self.is_current(of) {
            // The process is gone; what it had sent to a server may arrive still. A file is only written by the living.
            if self.is_alone() || self.faults.once_in(2) {
                return Ok(());
            }
            self.counts.one("fault: write of a dead engine arrived late");
            return self.write(of, &batch).map(drop);
        }
        if self.nodes[of.node].is_paused {
            self.counts.one("fault: write of a paused engine arrived");
        }
        match self.fate(of, &batch) {
            Fate::Applied => {
                let result = self.write(of, &batch)?;
                self.answer_batch(of, batch, Ok(result));
            }
            Fate::CrashBefore => {
                self.counts.one("fault: crash before durable");
                self.crash(of.node);
            }
            Fate::CrashAfter => {
                self.counts.one("fault: crash after durable");
                self.write(of, &batch)?;
                self.crash(of.node);
            }
            Fate::AmbiguousApplied => {
                self.counts.one("fault: ambiguous, applied");
                self.write(of, &batch)?;
                self.answer_batch(of, batch, Err(StoreError::Ambiguous("the answer was lost".into())));
            }
            Fate::AmbiguousLost => {
                self.counts.one("fault: ambiguous, not applied");
                self.answer_batch(of, batch, Err(StoreError::Ambiguous("the batch was lost".into())));
            }
            Fate::Full => {
                self.counts.one("fault: store full");
                self.answer_batch(of, batch, Err(StoreError::Full("no space".into())));
            }
            Fate::Unavailable => {
                self.counts.one("fault: store unavailable");
                self.answer_batch(of, batch, Err(StoreError::Unavailable("try again".into())));
            }
            Fate::ReadOnly => {
                self.counts.one("fault: store read-only");
                self.answer_batch(of, batch, Err(StoreError::ReadOnly("no permission".into())));
            }
            Fate::Damaged => {
                self.counts.one("fault: store damaged");
                self.answer_batch(of, batch, Err(StoreError::Corrupt("a page is damaged".into())));
            }
            Fate::Rejected => {
                self.counts.one("fault: write rejected");
                self.answer_batch(of, batch, Err(StoreError::Rejected("it cannot be".into())));
            }
            Fate::OnDisk(trouble, after_calls) => {
                return self.apply_in_trouble(of, batch, trouble, after_calls);
            }
        }
        Ok(())
    }

    /// A batch during which something happens to the disk.
    fn apply_in_trouble(
        &mut self,
        of: NodeLife,
        batch: BatchUnderWay,
        trouble: Trouble,
        after_calls: u64,
    ) -> Result<(), Violation> {
        let Some(twin) = &self.twin else { return Ok(()) };
        let ordeal = twin.write_in_trouble(batch.now, &batch.writes, (trouble, after_calls));
        let Ordeal { applied, error, power_lost, struck } = ordeal.map_err(|error| Violation {
            promise: "what is durable outlasts the disk's troubles",
            what: format!("{trouble:?} after {after_calls} calls: {error}"),
        })?;
        if struck {
            self.counts.one(match trouble {
                Trouble::PowerLoss | Trouble::PowerLossAtSync => "fault: power loss in a batch",
                Trouble::Full => "fault: disk full",
                Trouble::Io => "fault: disk failed",
                Trouble::Sync => "fault: sync failed",
            });
        }
        if let Some(result) = &applied {
            self.observe(of, &batch.writes, result)?;
        }
        match (power_lost, error, applied) {
            (true, ..) => self.all_die(),
            (false, Some(error), _) => self.answer_batch(of, batch, Err(error)),
            (false, None, Some(result)) => self.answer_batch(of, batch, Ok(result)),
            (false, None, None) => {}
        }
        Ok(())
    }

    fn fate(&mut self, of: NodeLife, batch: &BatchUnderWay) -> Fate {
        if self.now < self.outage_until {
            return *self.faults.pick(&AWAY);
        }
        let has_shown = self.counts.of("commit: speculation discarded") > 0;
        if !has_shown && self.may(Fault::Outage) && self.is_run_ahead_of(of, batch) {
            return Fate::Unavailable;
        }
        if self.may(Fault::CrashAtCommit) && self.faults.once_in(120) {
            return *self.faults.pick(&[Fate::CrashBefore, Fate::CrashAfter]);
        }
        if self.may(Fault::Ambiguous) && self.faults.once_in(100) {
            return *self.faults.pick(&[Fate::AmbiguousApplied, Fate::AmbiguousLost]);
        }
        if self.may(Fault::Outage) && self.faults.once_in(150) {
            return *self.faults.pick(&AWAY);
        }
        if self.may(Fault::Rejected) && batch.writes.len() == 1 && self.faults.once_in(200) {
            return Fate::Rejected;
        }
        if self.twin.is_some() && !batch.writes.iter().any(probe::is_probe) {
            if self.may(Fault::PowerLoss) && self.faults.once_in(80) {
                let at_sync = Fate::OnDisk(Trouble::PowerLossAtSync, 0);
                let anywhere = Fate::OnDisk(Trouble::PowerLoss, self.faults.between(0, 12) as u64);
                return *self.faults.pick(&[at_sync, anywhere]);
            }
            if self.may(Fault::Disk) && self.faults.once_in(60) {
                let calls = self.faults.between(0, 8) as u64;
                let fates = [(Trouble::Full, calls), (Trouble::Io, calls), (Trouble::Sync, 0)];
                let (trouble, calls) = *self.faults.pick(&fates);
                return Fate::OnDisk(trouble, calls);
            }
        }
        Fate::Applied
    }

    /// Whether a commit waits behind the batch that ran on the rows of one in it.
    fn is_run_ahead_of(&self, of: NodeLife, batch: &BatchUnderWay) -> bool {
        let waiting = self.nodes[of.node].outgoing.iter().filter_map(|outgoing| match outgoing {
            Outgoing::Write { write: Write::Commit(commit), .. } => Some(commit),
            Outgoing::Write { .. } | Outgoing::Reopen => None,
        });
        let mut ahead = waiting.map(|commit| &commit.object);
        ahead.any(|object| {
            batch
                .writes
                .iter()
                .any(|write| matches!(write, Write::Commit(commit) if commit.object == *object))
        })
    }

    /// Applies a batch and lets the checkers see it.
    fn write(&mut self, of: NodeLife, batch: &BatchUnderWay) -> Result<Batch, Violation> {
        if batch.writes.iter().any(probe::is_probe) {
            return self.write_probe(of, batch);
        }
        self.write_all(of, batch.now, &batch.writes)
    }

    pub(crate) fn write_all(
        &mut self,
        of: NodeLife,
        now: Time,
        writes: &[Write],
    ) -> Result<Batch, Violation> {
        let result = self.store.write(now, writes).map_err(|error| Violation {
            promise: "a store that is not told to fail does not",
            what: error.to_string(),
        })?;
        self.observe(of, writes, &result)?;
        Ok(result)
    }

    /// Lets the checkers see a batch that was applied.
    fn observe(&mut self, of: NodeLife, writes: &[Write], result: &Batch) -> Result<(), Violation> {
        for (write, written) in writes.iter().zip(&result.written) {
            let (write, written) = (text::of_write(write), text::of_written(written));
            self.history
                .note(self.now, format_args!("n{} wrote at {}: {write} → {written}", of.node, result.at.0));
        }
        self.checks.observe(writes, result, &mut *self.reader, &mut self.counts)?;
        let sound = (self.invariants)();
        holds("counters equal what they count", sound.is_ok(), || format!("{sound:?}"))
    }

    pub(crate) fn answer_read(&mut self, of: NodeLife, read: ReadUnderWay) -> Result<(), Violation> {
        if !self.is_current(of) {
            return Ok(());
        }
        let ReadUnderWay { now, token, read } = read;
        let fails = self.now < self.outage_until || (self.may(Fault::Outage) && self.faults.once_in(300));
        let result = if fails {
            self.counts.one("fault: read failed");
            Err(StoreError::Unavailable("try again".into()))
        } else if self.is_damaged(&read) {
            self.counts.one("fault: page unreadable");
            Err(StoreError::Corrupt("a page cannot be read".into()))
        } else {
            let answer = self.reader.read(now, &read);
            holds("the store answers", answer.is_ok(), || format!("{read:?}: {answer:?}"))?;
            answer
        };
        let delay = self.delay(of);
        self.happen_in(delay, Happening::Arrive(of, Box::new(Input::Answered { token, result })));
        Ok(())
    }

    /// Whether rows of an object cannot be read this time.
    fn is_damaged(&mut self, read: &Read) -> bool {
        matches!(read, Read::Load(_)) && self.may(Fault::Outage) && self.faults.once_in(400)
    }

    /// The store is opened again: what is durable is the truth.
    pub(crate) fn reopen(&mut self, of: NodeLife) -> Result<(), Violation> {
        if !self.is_current(of) {
            return Ok(());
        }
        let opened = self.store.reopen();
        holds("a store can be opened again", opened.is_ok(), || format!("{opened:?}"))?;
        self.nodes[of.node].is_broken = false;
        self.answer_in_order(of, Input::Reopened);
        self.nodes[of.node].is_writing = false;
        self.gather_soon(of);
        Ok(())
    }
}
