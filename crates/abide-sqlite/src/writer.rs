//! A batch: every write in order, then what was counted in memory is written once.

use crate::db::Db;
use crate::error::Outcome;
use crate::held::Held;
use abide_core::name::{LimitKey, QueueName};
use abide_core::time::Time;
use abide_store::write::Woken;
use abide_store::{Batch, Write, Written};
use std::collections::{BTreeMap, BTreeSet};

/// One batch under way, inside a transaction.
pub(crate) struct Writer<'a> {
    pub(crate) db: Db<'a>,
    pub(crate) held: Held,
    /// The store's time.
    pub(crate) now: Time,
    pub(crate) woken: Woken,
    /// Queues of which everything on offer was reported already.
    pub(crate) woken_queues: BTreeSet<QueueName>,
    /// When the keys that changed in the write under way were to open before it.
    pub(crate) wakes_before: BTreeMap<LimitKey, Option<Time>>,
}

impl<'a> Writer<'a> {
    pub(crate) fn begin(db: Db<'a>, mut held: Held, now: Time) -> Writer<'a> {
        let now = held.meta.clock_at.max(now);
        held.meta.clock_at = now;
        Writer {
            db,
            held,
            now,
            woken: Woken::default(),
            woken_queues: BTreeSet::new(),
            wakes_before: BTreeMap::new(),
        }
    }

    /// Applies every write; nothing is left to be written but COMMIT.
    pub(crate) fn write(mut self, batch: &[Write]) -> Outcome<(Batch, Held)> {
        let mut written = Vec::with_capacity(batch.len());
        for write in batch {
            written.push(self.apply(write)?);
            self.report_wakes()?;
        }
        self.held.flush(&self.db, self.now)?;
        let mut woken = self.woken;
        woken.followers.sort();
        woken.followers.dedup();
        Ok((Batch { at: self.now, written, woken: Box::new(woken) }, self.held))
    }

    fn apply(&mut self, write: &Write) -> Outcome<Written> {
        Ok(match write {
            Write::Begin(begin) => Written::Began(self.begin_life(begin)?),
            Write::Commit(commit) => Written::Committed(self.commit(commit)?),
            Write::Check { object, fence } => Written::Checked(self.check_fence(object, fence)?),
            Write::FailEvent(fail) => Written::EventFailed(self.fail_event(fail)?),
            Write::CountCrash { event } => Written::EventFailed(self.count_crash(event)?),
            Write::Send { to, body } => Written::Sent(self.send_from_outside(to, body)?),
            Write::Enqueue { jobs } => Written::Enqueued(self.enqueue_all(jobs, None)?),
            Write::Claim(claim) => Written::Claimed(self.claim(claim)?),
            Write::Renew { leases, lease_ms } => Written::Renewed(self.renew(leases, *lease_ms)?),
            Write::Progress { lease, progress } => Written::Progressed(self.progress(lease, progress)?),
            Write::Vacate { lease } => Written::Vacated(self.vacate(lease)?),
            Write::Finish { lease, finish, seed } => Written::Finished(self.finish(lease, finish, *seed)?),
            Write::ReleaseExpired => Written::Released(self.release_expired()?),
            Write::Disown { life, held } => Written::Released(self.disown(*life, held)?),
            Write::Regrant { lease_ms } => set(self.regrant(*lease_ms))?,
            Write::Cancel { job } => Written::Moved(self.cancel(*job)?),
            Write::Retry { job } => Written::Moved(self.retry(*job)?),
            Write::SetQueue { queue, policy } => set(self.set_queue(queue, policy))?,
            Write::SetPaused { queue, paused } => set(self.set_paused(queue, *paused))?,
            Write::SetLimit { key, policy } => set(self.set_limit(key, policy.as_ref()))?,
            Write::CoolDown(cool_down) => set(self.cool_down(cool_down))?,
            Write::SetWorker(card) => set(self.set_worker(card))?,
            Write::RemoveWorker { worker } => set(self.remove_worker(worker))?,
            Write::ReplayDead { id } => Written::Dead(self.replay_dead(*id)?),
            Write::DropDead { id } => Written::Dead(self.drop_dead(*id)?),
            Write::Sweep { max } => Written::Removed(self.sweep(*max)?),
            Write::Prune { max } => Written::Removed(self.prune(*max)?),
        })
    }
}

fn set(done: Outcome<()>) -> Outcome<Written> {
    done.map(|()| Written::Set)
}
