//! Everybody outside who writes by way of an engine: workers who pull, people who change things.

use crate::happening::Happening;
use crate::inside::done;
use crate::kinds::{OUTSIDE_KIND, QUEUES};
use crate::node::NodeLife;
use crate::outcome::{Violation, holds};
use crate::plan::Fault;
use crate::world::World;
use abide_core::job::{Finish, Lease, LeaseRef, LeaseToken};
use abide_core::name::{IdempotencyKey, JobKind, QueueName, WorkerId};
use abide_core::time::Time;
use abide_engine::machine::{AskId, Input};
use abide_store::write::{Claim, WorkerCard};
use abide_store::{StoreError, Write, Written};
use std::collections::BTreeMap;

/// Lease of a worker outside.
const LEASE_MS: i64 = 2_000;

/// What somebody outside does.
#[derive(Debug)]
pub(crate) enum Act {
    /// Asks for a write.
    Ask(Box<Write>, AskFor),
    /// Says that the attempt goes on, so many times more, and then ends it.
    Beat { lease: LeaseRef, left: u32 },
}

/// Why a write was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AskFor {
    /// To get jobs; whoever is honest finishes them all.
    Claim { honest: bool },
    /// To get jobs under a key: without an answer it is asked for again, so many times more.
    Repeatable { claim: Box<Claim>, asks_left: u32 },
    /// Nothing that anybody waits for.
    Nothing,
}

/// Writes that were asked for and not answered.
#[derive(Debug, Default)]
pub(crate) struct Outsiders {
    next: u64,
    waiting: BTreeMap<AskId, (NodeLife, AskFor)>,
}

impl Outsiders {
    /// A name for a claim that nobody has used.
    fn next_key(&self) -> IdempotencyKey {
        IdempotencyKey::trusted(format!("claim-{}", self.next))
    }

    /// An engine died: takes out what it will never answer.
    fn forget(&mut self, of: NodeLife) -> Vec<AskFor> {
        self.waiting.extract_if(.., |_, (at, _)| *at == of).map(|(_, (_, why))| why).collect()
    }
}

impl World<'_> {
    pub(crate) fn outside(&mut self, act: Act) {
        match act {
            Act::Ask(write, why) => self.ask(*write, why),
            Act::Beat { lease, left } => {
                self.counts.one("outside: heartbeat");
                self.ask(Write::Renew { leases: vec![lease], lease_ms: LEASE_MS }, AskFor::Nothing);
                let next = match left {
                    0 => self.finish(lease, done()),
                    left => Act::Beat { lease, left: left - 1 },
                };
                self.happen_in(LEASE_MS / 2, Happening::Outside(Box::new(next)));
            }
        }
    }

    /// Has something written by way of some engine.
    pub(crate) fn ask(&mut self, write: Write, why: AskFor) {
        let Some(of) = self.some_node() else { return };
        self.outsiders.next += 1;
        let id = AskId(self.outsiders.next);
        self.outsiders.waiting.insert(id, (of, why));
        let delay = self.delays.between(0, 10);
        self.happen_in(delay, Happening::Arrive(of, Box::new(Input::Ask(id, write))));
    }

    pub(crate) fn told(
        &mut self,
        of: NodeLife,
        id: AskId,
        answer: Result<Written, StoreError>,
    ) -> Result<(), Violation> {
        let Some((_, why)) = self.outsiders.waiting.remove(&id) else {
            return holds("a write is answered once", false, || format!("n{} told {} again", of.node, id.0));
        };
        match (why, answer) {
            (AskFor::Claim { honest }, Ok(Written::Claimed(claimed))) => {
                for lease in claimed.leases {
                    self.pulled(&lease, honest);
                }
                Ok(())
            }
            (why @ AskFor::Repeatable { .. }, Ok(Written::Claimed(claimed))) => {
                if self.may(Fault::Liar) && self.workers.once_in(3) {
                    self.counts.one("outside: answer to a claim lost");
                    self.ask_again(why);
                    return Ok(());
                }
                for lease in claimed.leases {
                    self.pulled(&lease, false);
                }
                Ok(())
            }
            (why @ AskFor::Repeatable { .. }, Err(_)) => {
                self.ask_again(why);
                Ok(())
            }
            (_, Ok(Written::Enqueued(enqueued))) => {
                let lost = enqueued.iter().find(|one| self.checks.jobs.get(one.job()).is_none());
                holds("nothing acknowledged is lost", lost.is_none(), || format!("{lost:?} is not there"))
            }
            (AskFor::Claim { .. } | AskFor::Repeatable { .. } | AskFor::Nothing, Ok(_) | Err(_)) => Ok(()),
        }
    }

    /// An engine died: nobody outside will be answered by it.
    pub(crate) fn lost_outside(&mut self, of: NodeLife) {
        for why in self.outsiders.forget(of) {
            self.ask_again(why);
        }
    }

    /// A claim got no answer: the worker does not know what it holds, and asks again under the same key.
    fn ask_again(&mut self, why: AskFor) {
        let AskFor::Repeatable { claim, asks_left: asks_left @ 1.. } = why else { return };
        let write = Box::new(Write::Claim(*claim.clone()));
        let why = AskFor::Repeatable { claim, asks_left: asks_left - 1 };
        let in_ms = self.workers.between(1, LEASE_MS);
        self.happen_in(in_ms, Happening::Outside(Box::new(Act::Ask(write, why))));
    }

    /// A worker outside pulls jobs that no engine runs.
    pub(crate) fn pull(&mut self, honest: bool) {
        let worker = WorkerId::trusted(format!("outside-{}", self.workers.between(1, 2)));
        let queues: Vec<QueueName> = QUEUES.map(QueueName::trusted).to_vec();
        let kinds = vec![JobKind::trusted(OUTSIDE_KIND)];
        if self.workers.once_in(4) {
            self.ask(Write::RemoveWorker { worker: worker.clone() }, AskFor::Nothing);
        } else {
            let card = WorkerCard {
                worker: worker.clone(),
                life: None,
                queues: queues.clone(),
                kinds: kinds.clone(),
                seen_at: Time::ZERO,
            };
            self.ask(Write::SetWorker(card), AskFor::Nothing);
        }
        let max = if honest { 50 } else { self.workers.between(1, 4) as usize };
        let seed = self.workers.seed();
        let key = (!honest && self.workers.once_in(2)).then(|| self.outsiders.next_key());
        let claim = Claim { worker, life: None, queues, kinds, max, lease_ms: LEASE_MS, seed, key };
        let why = match claim.key {
            Some(_) => AskFor::Repeatable { claim: Box::new(claim.clone()), asks_left: 3 },
            None => AskFor::Claim { honest },
        };
        self.ask(Write::Claim(claim), why);
    }

    /// In calm weather somebody does all that is to be done outside.
    pub(crate) fn honest_errands(&mut self) {
        self.pull(true);
    }

    fn finish(&mut self, lease: LeaseRef, finish: Finish) -> Act {
        let seed = self.workers.seed();
        Act::Ask(Box::new(Write::Finish { lease, finish, seed }), AskFor::Nothing)
    }

    /// What a worker outside does with a job that it got.
    fn pulled(&mut self, lease: &Lease, honest: bool) {
        let lease = lease.lease;
        let quick = self.workers.between(1, 300);
        if honest || !self.may(Fault::Liar) {
            let act = self.finish(lease, done());
            return self.happen_in(quick, Happening::Outside(Box::new(act)));
        }
        let (_, finish) = self.attempt(&[]);
        match self.workers.between(0, 9) {
            0 => self.counts.one("outside: dead worker"),
            1 | 2 => {
                for delay in [quick, quick + 1, quick + 400] {
                    let act = self.finish(lease, finish.clone());
                    self.happen_in(delay, Happening::Outside(Box::new(act)));
                }
            }
            3 => {
                self.counts.one("outside: late finish");
                let late = self.workers.between(LEASE_MS + 1, 4 * LEASE_MS);
                let act = self.finish(lease, finish);
                self.happen_in(late, Happening::Outside(Box::new(act)));
            }
            4 => {
                self.counts.one("outside: finish with a false token");
                let token = LeaseToken::draw(self.workers.seed(), lease.job, lease.attempt);
                let lie = LeaseRef { token, ..lease };
                let act = self.finish(lie, done());
                self.happen_in(quick, Happening::Outside(Box::new(act)));
            }
            5 => {
                let left = self.workers.between(1, 4) as u32;
                self.happen_in(quick, Happening::Outside(Box::new(Act::Beat { lease, left })));
            }
            _ => {
                let act = self.finish(lease, finish);
                self.happen_in(quick, Happening::Outside(Box::new(act)));
            }
        }
    }
}
