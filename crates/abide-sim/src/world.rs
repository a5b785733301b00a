//! The world: an agenda of happenings in virtual time, engines, a store, and everybody around them.

use crate::check::{Calls, Checks, check_end, what_is_left};
use crate::client::Clients;
use crate::clock::NodeClock;
use crate::counts::Counts;
use crate::dice::Dice;
use crate::happening::Happening;
use crate::history::History;
use crate::kinds;
use crate::node::{Node, NodeLife};
use crate::outcome::{Violation, holds};
use crate::outside::Outsiders;
use crate::plan::{Fault, Plan};
use crate::twin::Twin;
use abide_core::seed::Seed;
use abide_core::time::Time;
use abide_engine::Registry;
use abide_engine::machine::Input;
use abide_store::{Reader, Store};
use std::collections::BTreeMap;

/// When worlds begin.
const BEGAN: Time = Time(1_767_225_600_000);
/// Events before the faults stop, at least.
pub(crate) const EVENTS: u64 = 500;
/// Crashes before the faults stop, at least.
pub(crate) const CRASHES: u64 = 3;
/// Virtual time after the faults stop in which everything must be finished or a dead letter.
pub(crate) const CALM_MS: i64 = 10 * 60 * 1_000;
/// A run with more events than this goes in circles.
const TOO_MANY_EVENTS: u64 = 400_000;

/// What is true of the store besides its answers.
pub(crate) type Invariants<'s> = dyn Fn() -> Result<(), String> + 's;

/// Whether faults strike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weather {
    Stormy,
    CalmSince(Time),
    /// Everything is finished.
    Over,
}

/// The world.
pub(crate) struct World<'s> {
    pub(crate) plan: Plan,
    pub(crate) now: Time,
    agenda: BTreeMap<(Time, u64), Happening>,
    serial: u64,
    pub(crate) nodes: Vec<Node>,
    registry: Registry,
    pub(crate) store: &'s mut dyn Store,
    pub(crate) reader: Box<dyn Reader>,
    pub(crate) invariants: &'s Invariants<'s>,
    pub(crate) checks: Checks,
    pub(crate) calls: Calls,
    pub(crate) clients: Clients,
    pub(crate) outsiders: Outsiders,
    pub(crate) counts: Counts,
    pub(crate) history: History,
    /// Chances of delays, of faults, of work, of workers: streams of their own, so that one can be changed alone.
    pub(crate) delays: Dice,
    pub(crate) faults: Dice,
    pub(crate) work: Dice,
    pub(crate) workers: Dice,
    pub(crate) weather: Weather,
    pub(crate) steps_done: usize,
    pub(crate) crashes: u64,
    pub(crate) outage_until: Time,
    /// The store, if it is SQLite on a disk that fails.
    pub(crate) twin: Option<Twin>,
}

impl<'s> World<'s> {
    pub(crate) fn new(
        seed: u64,
        plan: &Plan,
        store: &'s mut dyn Store,
        invariants: &'s Invariants<'s>,
    ) -> Result<World<'s>, Violation> {
        let mut seed = Seed::new(seed);
        let mut dice = || Dice::new(seed.fork());
        let (delays, mut faults, work, workers) = (dice(), dice(), dice(), dice());
        let broken = |what: String| Violation { promise: "the world can begin", what };
        let reader = store.reader().map_err(|error| broken(error.to_string()))?;
        let registry = kinds::registry().map_err(|error| broken(error.to_string()))?;
        let drawn = *faults.pick(&[1, 1, 2, 2, 3]);
        let skewed = plan.faults.contains(&Fault::Skew);
        let mut counts = Counts::default();
        let nodes = (0..plan.engines.unwrap_or(drawn))
            .map(|_| {
                let skew_ms = faults.between(-400, 400);
                counts.many("fault: clock differs", u64::from(skewed && skew_ms != 0));
                Node::new(NodeClock::new(if skewed { skew_ms } else { 0 }, BEGAN))
            })
            .collect();
        Ok(World {
            plan: plan.clone(),
            now: BEGAN,
            agenda: BTreeMap::new(),
            serial: 0,
            nodes,
            registry,
            store,
            reader,
            invariants,
            checks: Checks::default(),
            calls: Calls::default(),
            clients: Clients::default(),
            outsiders: Outsiders::default(),
            counts,
            history: History::new(BEGAN, plan.trace),
            delays,
            faults,
            work,
            workers,
            weather: Weather::Stormy,
            steps_done: 0,
            crashes: 0,
            outage_until: Time::ZERO,
            twin: None,
        })
    }

    /// Lets the world go on from its beginning until everything is finished.
    pub(crate) fn run(&mut self) -> Result<(), Violation> {
        for node in 0..self.nodes.len() {
            self.happen_in(0, Happening::Start { node, crashed: None });
        }
        self.happen_in(1, Happening::Step);
        while self.weather != Weather::Over
            && let Some(((at, _), happening)) = self.agenda.pop_first()
        {
            self.now = at;
            self.history.count();
            holds("the world comes to rest", self.history.events() < TOO_MANY_EVENTS, || {
                format!("{TOO_MANY_EVENTS} events, and the last is {happening:?}")
            })?;
            self.happen(happening)?;
        }
        self.clients.check_answered()?;
        check_end(&self.checks, &self.calls, &mut *self.reader, self.now)
    }

    pub(crate) fn virtual_ms(&self) -> i64 {
        self.now.since(BEGAN)
    }

    fn happen(&mut self, happening: Happening) -> Result<(), Violation> {
        match happening {
            Happening::Step => self.step(),
            Happening::Calm => {
                self.calm();
                Ok(())
            }
            Happening::Look => self.look(),
            Happening::Arrive(to, input) => self.arrive(to, input),
            Happening::Run(of) => self.run_node(of),
            Happening::Gather(of) => {
                self.gather(of);
                Ok(())
            }
            Happening::Apply(of, batch) => self.apply(of, batch),
            Happening::Read(of, read) => self.answer_read(of, read),
            Happening::Reopen(of) => self.reopen(of),
            Happening::Start { node, crashed } => {
                self.start(node, crashed);
                Ok(())
            }
            Happening::Drained(of) => {
                self.drained(of);
                Ok(())
            }
            Happening::Resume(of) => {
                self.resume(of);
                Ok(())
            }
            Happening::Send(errand) => {
                self.send(*errand);
                Ok(())
            }
            Happening::Patience(errand) => {
                self.lose_patience(*errand);
                Ok(())
            }
            Happening::Outside(act) => {
                self.outside(*act);
                Ok(())
            }
        }
    }

    /// Puts something on the agenda.
    pub(crate) fn happen_in(&mut self, ms: i64, happening: Happening) {
        self.serial += 1;
        self.agenda.insert((self.now.plus_ms(ms), self.serial), happening);
    }

    /// Whether a fault of this class may strike now.
    pub(crate) fn may(&self, fault: Fault) -> bool {
        self.weather == Weather::Stormy && self.plan.faults.contains(&fault)
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.nodes.len() == 1
    }

    pub(crate) fn is_current(&self, of: NodeLife) -> bool {
        let node = &self.nodes[of.node];
        node.is_alive() && node.life == of.life
    }

    /// The life of an engine that is alive; a random one if there are several.
    pub(crate) fn some_node(&mut self) -> Option<NodeLife> {
        let alive: Vec<NodeLife> = self
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.is_alive())
            .map(|(node, state)| NodeLife { node, life: state.life })
            .collect();
        (!alive.is_empty()).then(|| *self.delays.pick(&alive))
    }

    pub(crate) fn node_now(&mut self, node: usize) -> Time {
        self.nodes[node].clock.now(self.now)
    }

    pub(crate) fn registry(&self) -> Registry {
        self.registry.clone()
    }

    /// Clients begin a piece of work, and now and then a fault strikes by itself.
    fn step(&mut self) -> Result<(), Violation> {
        if self.weather != Weather::Stormy {
            return Ok(());
        }
        if self.has_seen_enough() {
            self.happen_in(0, Happening::Calm);
            return Ok(());
        }
        self.steps_done += 1;
        self.strike()?;
        self.begin_work();
        let pause = match self.work.between(0, 19) {
            0 => self.work.between(1_000, 8_000),
            1..=4 => self.work.between(100, 500),
            _ => self.work.between(0, 30),
        };
        self.happen_in(pause, Happening::Step);
        Ok(())
    }

    /// Whether the faults may stop. A plan that leaves something out need not show what every seed must.
    fn has_seen_enough(&self) -> bool {
        let crashes = self.plan.faults.contains(&Fault::Crash);
        let is_long = self.history.events() >= EVENTS && (!crashes || self.crashes >= CRASHES);
        let has_shown = !self.plan.is_whole() || self.counts.missing_in_seed().next().is_none();
        let is_short = self.plan.steps < Plan::default().steps;
        self.steps_done >= self.plan.steps && (is_short || (is_long && has_shown))
    }

    /// Faults stop: everybody is there, nobody lies.
    fn calm(&mut self) {
        self.history.note(self.now, format_args!("the faults stop"));
        self.weather = Weather::CalmSince(self.now);
        self.outage_until = self.now;
        for node in 0..self.nodes.len() {
            let state = &self.nodes[node];
            let of = NodeLife { node, life: state.life };
            if state.is_paused {
                self.resume(of);
            } else if !state.is_alive() {
                self.happen_in(1, Happening::Start { node, crashed: None });
            }
        }
        self.resume_queues();
        self.happen_in(1_000, Happening::Look);
    }

    fn look(&mut self) -> Result<(), Violation> {
        let Weather::CalmSince(since) = self.weather else { return Ok(()) };
        let left = what_is_left(&self.checks, &mut *self.reader, self.now)?;
        let left = left.or_else(|| self.clients.waiting());
        let Some(left) = left else {
            self.weather = Weather::Over;
            return Ok(());
        };
        let waited = self.now.since(since);
        holds("when faults stop, everything finishes or is a dead letter", waited < CALM_MS, || {
            format!("after {waited} ms: {left}")
        })?;
        self.resume_queues();
        self.honest_errands();
        self.happen_in(1_000, Happening::Look);
        Ok(())
    }

    /// Gives something to an engine, or keeps it until the engine goes on.
    fn arrive(&mut self, to: NodeLife, input: Box<Input>) -> Result<(), Violation> {
        if !self.is_current(to) {
            return Ok(());
        }
        if self.nodes[to.node].is_paused {
            self.nodes[to.node].backlog.push_back(Happening::Arrive(to, input));
            return Ok(());
        }
        if let Input::Wrote { result: Ok(batch), .. } = &*input {
            self.nodes[to.node].clock.seen(batch.at);
        }
        let now = self.node_now(to.node);
        self.history.note(self.now, format_args!("n{} {}", to.node, crate::text::of_input(&input)));
        if let Some(machine) = &mut self.nodes[to.node].machine {
            machine.input(*input, now);
        }
        if self.delays.once_in(3) {
            self.run_soon(to, 1);
            return Ok(());
        }
        self.drive(to)
    }

    /// Lets an engine run in so many milliseconds, or earlier if it does so already.
    pub(crate) fn run_soon(&mut self, of: NodeLife, in_ms: i64) {
        let at = self.now.plus_ms(in_ms);
        if self.nodes[of.node].run_at.is_none_or(|run_at| run_at > at) {
            self.nodes[of.node].run_at = Some(at);
            self.happen_in(in_ms, Happening::Run(of));
        }
    }

    fn run_node(&mut self, of: NodeLife) -> Result<(), Violation> {
        if !self.is_current(of) || self.nodes[of.node].run_at != Some(self.now) {
            return Ok(());
        }
        if self.nodes[of.node].is_paused {
            return Ok(());
        }
        self.nodes[of.node].run_at = None;
        self.drive(of)
    }

    fn drive(&mut self, of: NodeLife) -> Result<(), Violation> {
        let now = self.node_now(of.node);
        let turns = *self.delays.pick(&[1, 3, 64]);
        let Some(machine) = &mut self.nodes[of.node].machine else { return Ok(()) };
        let more = machine.run(now, turns);
        let outputs = machine.outputs();
        let wake_at = machine.wake_at();
        for output in outputs {
            self.put_out(of, output, now)?;
        }
        if more {
            self.run_soon(of, 0);
        } else if let Some(at) = wake_at {
            let in_ms = self.nodes[of.node].clock.until(self.now, at).max(1);
            self.run_soon(of, in_ms);
        }
        Ok(())
    }
}
