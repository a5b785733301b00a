//! Faults that strike by themselves: engines die, stand still and start again, clocks jump, the store goes away.

use crate::happening::Happening;
use crate::node::NodeLife;
use crate::outcome::{Violation, holds};
use crate::plan::Fault;
use crate::world::World;
use abide_core::event::EventRef;
use abide_core::limits::CLOCK_JUMP_MS;
use abide_engine::machine::Input;

impl World<'_> {
    /// Perhaps a fault strikes.
    pub(crate) fn strike(&mut self) -> Result<(), Violation> {
        let node = self.faults.index(self.nodes.len());
        if self.may(Fault::Crash) && self.faults.once_in(40) && self.nodes[node].is_alive() {
            self.counts.one("fault: crash");
            self.crash(node);
        }
        if self.may(Fault::Pause) && self.faults.once_in(25) && !self.is_alone() {
            self.pause(node);
        }
        if self.may(Fault::Jump) && self.faults.once_in(50) {
            self.jump(node);
        }
        if self.may(Fault::Outage) && self.faults.once_in(60) {
            let ms = self.faults.between(50, 6_000);
            self.history.note(self.now, format_args!("the store is away for {ms} ms"));
            self.outage_until = self.now.plus_ms(ms);
        }
        if self.may(Fault::Drain) && self.faults.once_in(80) {
            self.drain(node);
        }
        if self.may(Fault::PowerLoss) && self.faults.once_in(60) {
            self.lose_power()?;
        }
        Ok(())
    }

    /// The power goes: SQLite opens with what was on the platter, and every engine begins again.
    fn lose_power(&mut self) -> Result<(), Violation> {
        let Some(twin) = &self.twin else { return Ok(()) };
        let survived = twin.lose_power(self.now);
        holds("what is durable outlasts the power", survived.is_ok(), || format!("{survived:?}"))?;
        self.counts.one("fault: power loss");
        self.all_die();
        Ok(())
    }

    /// Every engine dies with the power.
    pub(crate) fn all_die(&mut self) {
        self.history.note(self.now, format_args!("the power goes"));
        for node in 0..self.nodes.len() {
            if self.nodes[node].is_alive() {
                self.crash(node);
            }
        }
    }

    fn drain(&mut self, node: usize) {
        let state = &self.nodes[node];
        if !state.is_alive() || state.is_paused {
            return;
        }
        let of = NodeLife { node, life: state.life };
        self.counts.one("fault: drain");
        self.happen_in(0, Happening::Arrive(of, Box::new(Input::Drain)));
        let ms = self.faults.between(1, 4_000);
        self.happen_in(ms, Happening::Drained(of));
    }

    /// It was told to stop and had its time: what is not done is left to the next life.
    pub(crate) fn drained(&mut self, of: NodeLife) {
        if !self.is_current(of) {
            return;
        }
        self.history.note(self.now, format_args!("n{} stops", of.node));
        self.nodes[of.node].die();
        self.lost(of);
        let delay = self.faults.between(1, 300);
        self.happen_in(delay, Happening::Start { node: of.node, crashed: None });
    }

    /// An engine dies; another life of it starts after a while.
    pub(crate) fn crash(&mut self, node: usize) {
        self.history.note(self.now, format_args!("n{node} dies"));
        self.crashes += 1;
        let of = NodeLife { node, life: self.nodes[node].life };
        let last_event = self.nodes[node].die();
        self.lost(of);
        let crashed = last_event.filter(|_| self.faults.once_in(3));
        if crashed.is_some() {
            self.counts.one("fault: crash in a turn");
        }
        let delay = match self.faults.between(0, 3) {
            0 => self.faults.between(1_000, 9_000),
            _ => self.faults.between(1, 300),
        };
        self.happen_in(delay, Happening::Start { node, crashed });
    }

    pub(crate) fn start(&mut self, node: usize, crashed: Option<EventRef>) {
        if self.nodes[node].is_alive() {
            return;
        }
        let (alone, registry) = (self.is_alone(), self.registry());
        self.nodes[node].start(alone, registry, &mut self.faults);
        self.nodes[node].answers_at = self.now;
        let of = NodeLife { node, life: self.nodes[node].life };
        self.happen_in(0, Happening::Arrive(of, Box::new(Input::Start { crashed })));
    }

    fn pause(&mut self, node: usize) {
        let state = &mut self.nodes[node];
        if !state.is_alive() || state.is_paused {
            return;
        }
        state.is_paused = true;
        let of = NodeLife { node, life: state.life };
        let ms = self.faults.between(100, 12_000);
        self.counts.one("fault: pause");
        self.history.note(self.now, format_args!("n{node} stands still for {ms} ms"));
        self.happen_in(ms, Happening::Resume(of));
    }

    /// Goes on as if nothing had happened: what came in the meantime is there at once.
    pub(crate) fn resume(&mut self, of: NodeLife) {
        if !self.is_current(of) || !self.nodes[of.node].is_paused {
            return;
        }
        self.history.note(self.now, format_args!("n{} goes on", of.node));
        self.nodes[of.node].is_paused = false;
        self.nodes[of.node].run_at = None;
        for happening in std::mem::take(&mut self.nodes[of.node].backlog) {
            self.happen_in(0, happening);
        }
        self.run_soon(of, 0);
    }

    fn jump(&mut self, node: usize) {
        let by_ms = match self.faults.between(0, 3) {
            0 => self.faults.between(-60_000, -1),
            1 => self.faults.between(5_001, 60_000),
            _ => self.faults.between(-3_000, 3_000),
        };
        self.counts.one(if by_ms.abs() <= CLOCK_JUMP_MS {
            "fault: clock moved a little"
        } else if by_ms < 0 {
            "fault: clock jumped back"
        } else {
            "fault: clock jumped forward"
        });
        self.history.note(self.now, format_args!("the clock of n{node} jumps by {by_ms} ms"));
        let state = &mut self.nodes[node];
        let of = NodeLife { node, life: state.life };
        if state.clock.jump(by_ms) && state.is_alive() {
            self.happen_in(0, Happening::Arrive(of, Box::new(Input::ClockJumped { by_ms })));
        } else if state.is_alive() {
            self.run_soon(of, 0);
        }
    }
}
