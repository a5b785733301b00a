//! The machine: the engine without I/O. Inputs go in with the time, outputs come out; nothing else happens.
//!
//! One machine runs all objects of a store in one process. It owns every slot, runs turns in round-robin order, lets a
//! hot object run ahead of its commits, gates every reply behind the commits that it could have seen, delivers messages,
//! alarms and entries, and hands jobs to the pools. A driver around it (threads, or a simulator) moves its reads and
//! writes to the store and back.

mod deliver;
mod io;
mod jobs;
mod loads;
mod settle;
mod slot;
mod timers;
mod turns;

pub use io::{AskId, CallId, Input, NoWitness, Notice, Output, ReadToken, Witness, WriteToken};

use crate::call::CallError;
use crate::registry::Registry;
use abide_core::event::EventRef;
use abide_core::limits::{INBOX_CALLS, LEASE_MS, PIPELINE_TURNS};
use abide_core::name::AlarmName;
use abide_core::object::{Incarnation, Life, Version};
use abide_core::seed::Secret;
use abide_core::time::{Time, earliest};
use abide_store::write::Begin;
use abide_store::{Read, Write};
use jobs::Jobs;
use settle::WriteFor;
use slot::{SlotId, Slots};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use timers::{ReadFor, Timetable};

/// How a machine behaves.
#[derive(Debug, Clone)]
pub struct MachineOptions {
    /// Whether no other engine works on the same store. If others may, turns that change nothing check their fence, and
    /// the store is asked regularly for what others left to do.
    pub alone: bool,
    /// Calls that may wait for one object.
    pub inbox_calls: usize,
    /// Uncommitted turns one object may run ahead.
    pub pipeline_turns: usize,
    /// Bytes of objects kept in memory, about.
    pub cache_bytes: usize,
    /// Lease of a job that runs in this process.
    pub lease_ms: i64,
    /// How often to look for what other engines left to do, if not alone.
    pub poll_ms: i64,
}

impl Default for MachineOptions {
    fn default() -> MachineOptions {
        MachineOptions {
            alone: true,
            inbox_calls: INBOX_CALLS,
            pipeline_turns: PIPELINE_TURNS,
            cache_bytes: 64 * 1024 * 1024,
            lease_ms: LEASE_MS,
            poll_ms: 1_000,
        }
    }
}

/// The engine without I/O.
pub struct Machine {
    options: MachineOptions,
    registry: Registry,
    witness: Box<dyn Witness>,
    secret: Secret,
    now: Time,
    phase: Phase,
    /// It is to stop: no new work once it works, and no new calls from now on.
    drain_asked: bool,
    life: Option<Life>,
    lives_begun: u32,
    slots: Slots,
    ready: VecDeque<SlotId>,
    writes: BTreeMap<WriteToken, WriteFor>,
    reads: BTreeMap<ReadToken, ReadFor>,
    /// Writes to be tried again when the store works again.
    retries: Vec<(WriteFor, Write)>,
    /// The store failed: no turn runs and nothing is retried before this.
    stalled_until: Option<Time>,
    stalls: u32,
    alarms_held: BTreeSet<(Incarnation, AlarmName, Version)>,
    timetable: Timetable,
    jobs: Jobs,
    next_token: u64,
    out: Vec<Output>,
}

/// Where the machine is in its own life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Not started, or its first write is under way.
    Beginning,
    /// At work.
    Working,
    /// An ambiguous write: the store is being opened again.
    Reopening,
    /// No new work.
    Draining,
}

impl Machine {
    /// A machine that has not begun.
    #[must_use]
    pub fn new(
        options: MachineOptions,
        registry: Registry,
        witness: Box<dyn Witness>,
        secret: impl Into<Secret>,
    ) -> Machine {
        let jobs = Jobs::new(registry.pools());
        Machine {
            options,
            registry,
            witness,
            secret: secret.into(),
            now: Time::ZERO,
            phase: Phase::Beginning,
            drain_asked: false,
            life: None,
            lives_begun: 0,
            slots: Slots::default(),
            ready: VecDeque::new(),
            writes: BTreeMap::new(),
            reads: BTreeMap::new(),
            retries: Vec::new(),
            stalled_until: None,
            stalls: 0,
            alarms_held: BTreeSet::new(),
            timetable: Timetable::default(),
            jobs,
            next_token: 0,
            out: Vec::new(),
        }
    }

    /// Takes in one input. Call [`Machine::run`] after one or several, then take the outputs.
    pub fn input(&mut self, input: Input, now: Time) {
        self.now = self.now.max(now);
        match input {
            Input::Start { crashed } => self.start(crashed),
            Input::Call(id, call, trace) => self.take_call(id, call, trace),
            Input::Ask(ask, write) => self.asked(ask, write),
            Input::Wrote { tokens, writes, result } => self.wrote(tokens, writes, result),
            Input::Answered { token, result } => self.answered(token, result),
            Input::Reopened => self.reopened(),
            Input::Ended { lease, finish } => self.job_ended(lease, finish),
            Input::Progressed { lease, note } => self.job_progressed(lease, note),
            Input::Vacated { lease } => self.job_vacated(lease),
            Input::ClockJumped { by_ms } => self.clock_jumped(by_ms),
            Input::Drain => self.drain(),
        }
    }

    /// Does what is due and runs up to `turns` turns. Whether there is more to run at once.
    pub fn run(&mut self, now: Time, turns: usize) -> bool {
        self.now = self.now.max(now);
        if self.phase == Phase::Reopening {
            return false;
        }
        if let Some(until) = self.stalled_until {
            if self.now < until {
                return false;
            }
            self.stalled_until = None;
            self.regrant_after_outage();
            for (purpose, write) in std::mem::take(&mut self.retries) {
                self.write(purpose, write);
            }
            self.disown_lost_leases();
        }
        if self.phase == Phase::Beginning {
            return false;
        }
        self.do_what_is_due();
        let mut left = turns;
        while left > 0
            && !self.timetable.memory_grew_much(self.options.cache_bytes)
            && let Some(id) = self.ready.pop_front()
        {
            self.slots.get(id).queued = false;
            left -= self.run_slot(id).min(left);
        }
        self.claim_jobs();
        self.keep_memory_bounded();
        !self.ready.is_empty()
    }

    /// Takes the outputs gathered so far.
    pub fn outputs(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.out)
    }

    /// When the machine wants to be run again if nothing comes in before.
    #[must_use]
    pub fn wake_at(&self) -> Option<Time> {
        match self.phase {
            Phase::Reopening => None,
            Phase::Beginning => self.stalled_until,
            Phase::Draining => self.stalled_until.or(self.jobs.heartbeat_at()),
            Phase::Working => match self.stalled_until {
                Some(until) => Some(until),
                None => earliest(self.timetable.wake_at(), self.jobs.wake_at()),
            },
        }
    }

    /// Whether nothing is under way: no turn, no write, no read, no job.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.ready.is_empty()
            && self.writes.is_empty()
            && self.reads.is_empty()
            && self.retries.is_empty()
            && self.jobs.is_idle()
            && self.slots.all_idle()
    }

    /// Whether no object has a call or turn under way. Jobs may be running.
    #[must_use]
    pub fn turns_are_idle(&self) -> bool {
        self.ready.is_empty() && self.slots.all_idle()
    }

    /// The life it was given.
    #[must_use]
    pub fn life(&self) -> Option<Life> {
        self.life
    }

    /// Objects and bytes held in memory, about.
    #[must_use]
    pub fn memory(&self) -> (usize, usize) {
        (self.slots.len(), self.slots.bytes())
    }

    fn asked(&mut self, ask: AskId, mut write: Write) {
        if self.phase == Phase::Reopening {
            let error = abide_store::StoreError::Unavailable("it is being opened again".into());
            self.out.push(Output::Told(ask, Err(error)));
            return;
        }
        // Randomness is the engine's, whoever asks: a lease's token cannot be chosen from outside.
        match &mut write {
            Write::Claim(claim) => claim.seed = self.secret.draw(),
            Write::Finish { seed, .. } => *seed = self.secret.draw(),
            _ => {}
        }
        self.write(WriteFor::Ask(ask), write);
    }

    fn start(&mut self, crashed: Option<EventRef>) {
        if let Some(event) = crashed {
            self.write(WriteFor::Crash, Write::CountCrash { event });
        }
        self.write(WriteFor::Begin, Write::Begin(Begin { alone: self.options.alone }));
    }

    fn drain(&mut self) {
        self.drain_asked = true;
        if self.phase == Phase::Working {
            self.phase = Phase::Draining;
        }
    }

    /// The phase when the store can be used: at work, unless it is to stop.
    fn working(&self) -> Phase {
        if self.drain_asked { Phase::Draining } else { Phase::Working }
    }

    /// Whether new work from outside is taken.
    fn takes_work(&self) -> Result<(), CallError> {
        if self.drain_asked { Err(CallError::Stopping) } else { Ok(()) }
    }

    fn write(&mut self, purpose: WriteFor, write: Write) -> WriteToken {
        self.next_token += 1;
        let token = WriteToken(self.next_token);
        self.writes.insert(token, purpose);
        // A claim right behind it lands in the same batch: the job starts after one sync instead of two.
        match &write {
            Write::Enqueue { jobs } => self.jobs.expect(jobs, self.now),
            Write::Commit(commit) => self.jobs.expect(&commit.jobs, self.now),
            _ => {}
        }
        self.out.push(Output::Write(token, write));
        token
    }

    fn read(&mut self, purpose: ReadFor, read: Read) -> ReadToken {
        self.next_token += 1;
        let token = ReadToken(self.next_token);
        self.reads.insert(token, purpose);
        self.out.push(Output::Read(token, read));
        token
    }

    fn notice(&mut self, notice: Notice) {
        self.out.push(Output::Notice(notice));
    }

    fn enqueue_slot(&mut self, id: SlotId) {
        let slot = self.slots.get(id);
        slot.touched = true;
        if !slot.queued {
            slot.queued = true;
            self.ready.push_back(id);
        }
    }

    fn next_life_of_object(&mut self) -> Incarnation {
        self.lives_begun += 1;
        let life = self.life.expect("turns run only after the engine began");
        Incarnation::nth_of(life, self.lives_begun)
    }

    fn keep_memory_bounded(&mut self) {
        let due = self.timetable.tidy_due(self.now, self.slots.len());
        if due {
            self.slots.drop_idle(usize::MAX);
        }
        if self.timetable.memory_look_due(self.options.cache_bytes) {
            let mut over = self.slots.bytes().saturating_sub(self.options.cache_bytes);
            // The first look at one that was used only says so.
            for _ in 0..2 {
                over -= self.slots.drop_idle(over).min(over);
            }
            if over > 0 {
                self.slots.mark_for_shedding(over);
            }
        }
    }
}
