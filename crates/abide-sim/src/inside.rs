//! Workers in an engine's process: quick, slow, failing, giving back, ending twice.

use crate::happening::Happening;
use crate::kinds::LIMIT_KEYS;
use crate::node::NodeLife;
use crate::plan::Fault;
use crate::world::World;
use abide_core::job::{AttemptEnd, CoolDown, Finish, JobId, Lease, LeaseRef, RetryWish};
use abide_core::json::Json;
use abide_core::name::LimitKey;
use abide_engine::machine::Input;

/// Longer than anything that goes well takes.
const SLOW_MS: i64 = 1_000;

impl World<'_> {
    pub(crate) fn run_job(&mut self, of: NodeLife, lease: Lease) {
        let lease = lease.lease;
        self.history.note(self.now, format_args!("n{} runs {lease:?}", of.node));
        self.nodes[of.node].running.insert(lease.job, lease);
        let (in_ms, finish) = self.attempt(&[]);
        if in_ms > SLOW_MS {
            self.counts.one("inside: slow worker");
        }
        if matches!(finish.end, AttemptEnd::Error { .. }) {
            self.counts.one("inside: failed");
        }
        if self.workers.once_in(6) {
            let note = Json::trusted("{\"half\":true}");
            let at = in_ms / 2;
            self.happen_in(at, Happening::Arrive(of, Box::new(Input::Progressed { lease, note })));
        }
        if self.workers.once_in(4) {
            let at = self.workers.between(0, in_ms);
            self.happen_in(at, Happening::Arrive(of, Box::new(Input::Vacated { lease })));
        }
        self.end_job(of, in_ms, lease, finish.clone());
        if self.may(Fault::BadWorker) && self.workers.once_in(12) {
            self.counts.one("inside: ended twice");
            self.end_job(of, in_ms + 5, lease, finish);
        }
    }

    fn end_job(&mut self, of: NodeLife, in_ms: i64, lease: LeaseRef, finish: Finish) {
        self.happen_in(in_ms, Happening::Arrive(of, Box::new(Input::Ended { lease, finish })));
    }

    /// A job is asked to stop; most do.
    pub(crate) fn stop_job(&mut self, of: NodeLife, job: JobId) {
        self.history.note(self.now, format_args!("n{} asks job {} to stop", of.node, job.0));
        let Some(lease) = self.nodes[of.node].running.get(&job).copied() else { return };
        if !self.workers.once_in(4) {
            let in_ms = self.workers.between(1, 200);
            self.end_job(of, in_ms, lease, AttemptEnd::HandedBack.into());
        }
    }

    /// How long an attempt takes and what comes of it.
    pub(crate) fn attempt(&mut self, keys: &[LimitKey]) -> (i64, Finish) {
        let quick = self.workers.between(1, 300);
        let roll = self.workers.between(0, 99);
        if !self.may(Fault::BadWorker) || roll < 55 {
            return (quick, done());
        }
        let error = |reason: &str, retry| AttemptEnd::Error { reason: reason.to_owned(), retry }.into();
        match roll {
            55..=64 => (quick, error("it did not work", RetryWish::ByPolicy)),
            65..=68 => (quick, error("later, perhaps", RetryWish::AfterMs(self.workers.between(0, 4_000)))),
            69..=71 => (quick, error("hopeless", RetryWish::Never)),
            72..=75 => (quick, AttemptEnd::Skipped { reason: "nothing to do".into() }.into()),
            76..=79 => (quick, AttemptEnd::HandedBack.into()),
            80..=87 => (self.workers.between(3_000, 20_000), done()),
            88..=91 => (self.workers.between(20_000, 60_000), done()),
            _ => {
                let any = LimitKey::trusted(*self.workers.pick(&LIMIT_KEYS));
                let key = keys.first().cloned().unwrap_or(any);
                let for_ms = self.workers.between(1, 5_000);
                let end = AttemptEnd::Error { reason: "come back later".into(), retry: RetryWish::ByPolicy };
                let cool_down = vec![CoolDown { key: key.clone(), for_ms }];
                (quick, Finish { end, refund: vec![key], cool_down })
            }
        }
    }
}

/// The work is done.
pub(crate) fn done() -> Finish {
    AttemptEnd::Done { result: Json::trusted("\"done\"") }.into()
}
