//! One engine of the world, with everything around it that dies when it dies.

use crate::clock::NodeClock;
use crate::dice::Dice;
use crate::happening::Happening;
use abide_core::event::EventRef;
use abide_core::job::{JobId, LeaseRef};
use abide_core::time::Time;
use abide_engine::Registry;
use abide_engine::machine::{Machine, MachineOptions, Witness, WriteToken};
use abide_store::Write;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

/// Which engine, and which of its lives: what was meant for a former life does not reach the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeLife {
    pub(crate) node: usize,
    pub(crate) life: u32,
}

/// What waits for the writer.
#[derive(Debug)]
pub(crate) enum Outgoing {
    Write { now: Time, token: WriteToken, write: Write },
    Reopen,
}

/// One engine.
pub(crate) struct Node {
    /// None while it is dead.
    pub(crate) machine: Option<Machine>,
    pub(crate) life: u32,
    pub(crate) clock: NodeClock,
    pub(crate) is_paused: bool,
    /// What reached it while it stood still.
    pub(crate) backlog: VecDeque<Happening>,
    pub(crate) outgoing: VecDeque<Outgoing>,
    /// Whether the writer has a batch under way, or is about to take one.
    pub(crate) is_writing: bool,
    /// Whether the store must be opened again before anything is written.
    pub(crate) is_broken: bool,
    /// Answers of the writer arrive in order: not before this.
    pub(crate) answers_at: Time,
    pub(crate) run_at: Option<Time>,
    /// Attempts under way in its process.
    pub(crate) running: BTreeMap<JobId, LeaseRef>,
    /// The event of the last turn that began: what an unclean exit leaves in the black box.
    last_event: Arc<Mutex<Option<EventRef>>>,
}

/// Notes which event runs. The lock is there because a witness must be `Send`; one thread uses it.
struct BlackBox(Arc<Mutex<Option<EventRef>>>);

impl Witness for BlackBox {
    fn begins(&mut self, event: Option<&EventRef>) {
        if let Ok(mut last) = self.0.lock() {
            *last = event.cloned();
        }
    }

    fn ended(&mut self) -> i64 {
        0
    }
}

impl Node {
    pub(crate) fn new(clock: NodeClock) -> Node {
        Node {
            machine: None,
            life: 0,
            clock,
            is_paused: false,
            backlog: VecDeque::new(),
            outgoing: VecDeque::new(),
            is_writing: false,
            is_broken: false,
            answers_at: Time::ZERO,
            run_at: None,
            running: BTreeMap::new(),
            last_event: Arc::default(),
        }
    }

    /// Makes the next machine.
    pub(crate) fn start(&mut self, alone: bool, registry: Registry, dice: &mut Dice) {
        let options = MachineOptions {
            alone,
            inbox_calls: *dice.pick(&[2, 8, 1_000]),
            pipeline_turns: *dice.pick(&[1, 2, 8, 512]),
            cache_bytes: *dice.pick(&[0, 4_096, 64 * 1024 * 1024]),
            lease_ms: *dice.pick(&[1_500, 5_000]),
            poll_ms: *dice.pick(&[1_000, 5_000]),
        };
        let black_box = Box::new(BlackBox(self.last_event.clone()));
        self.machine = Some(Machine::new(options, registry, black_box, dice.seed()));
    }

    /// Everything in its memory is gone. Gives the event that ran last, for the black box.
    pub(crate) fn die(&mut self) -> Option<EventRef> {
        self.machine = None;
        self.life += 1;
        self.is_paused = false;
        self.backlog.clear();
        self.outgoing.clear();
        self.is_writing = false;
        self.is_broken = false;
        self.run_at = None;
        self.running.clear();
        self.last_event.lock().ok().and_then(|mut last| last.take())
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.machine.is_some()
    }
}
