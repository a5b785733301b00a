//! Keys: how much room they have, who takes and frees it, when time alone gives more.

use super::held::Key;
use crate::error::Outcome;
use crate::jobs::job::Stream;
use crate::writer::Writer;
use abide_core::job::CoolDown;
use abide_core::lane::Lane;
use abide_core::limit::Room;
use abide_core::name::{LimitKey, QueueName};
use abide_core::time::Time;

impl Writer<'_> {
    pub(crate) fn key(&mut self, key: &LimitKey) -> Outcome<&Key> {
        Ok(self.held.limits.key(&self.db, key)?)
    }

    pub(crate) fn room(&mut self, key: &LimitKey) -> Outcome<Room> {
        let now = self.now;
        let key = self.held.limits.key(&self.db, key)?;
        Ok(key.policy.room(&key.used, now))
    }

    pub(crate) fn is_full(&mut self, key: &LimitKey) -> Outcome<bool> {
        Ok(matches!(self.room(key)?, Room::Full(_)))
    }

    /// A start under this key. The caller has seen that there is room.
    pub(crate) fn take_key(&mut self, key: &LimitKey) -> Outcome<()> {
        let now = self.now;
        let key = self.held.limits.change(&self.db, key)?;
        key.policy.take(&mut key.used, now);
        Ok(())
    }

    /// A lease under this key ended.
    pub(crate) fn free_key(&mut self, key: &LimitKey) -> Outcome<()> {
        self.held.limits.change(&self.db, key)?.used.free();
        Ok(())
    }

    /// A start under this key did not count.
    pub(crate) fn refund_key(&mut self, key: &LimitKey) -> Outcome<()> {
        let now = self.now;
        let key = self.held.limits.change(&self.db, key)?;
        key.policy.refund(&mut key.used, now);
        Ok(())
    }

    /// Keeps a key resting, from now.
    pub(crate) fn cool_down(&mut self, cool_down: &CoolDown) -> Outcome<()> {
        let until = self.now.plus_ms(cool_down.for_ms.max(0));
        self.held.limits.change(&self.db, &cool_down.key)?.used.cool_down(until);
        self.set_wake(&cool_down.key)
    }

    /// Changes a lane; one without jobs is forgotten.
    pub(crate) fn change_lane(
        &mut self,
        key: &LimitKey,
        stream: &Stream,
        change: impl FnOnce(&mut Lane),
    ) -> Outcome<()> {
        let key = self.held.limits.change(&self.db, key)?;
        match key.lanes.get_mut(stream) {
            Some(lane) => {
                change(lane);
                if *lane == Lane::default() {
                    key.lanes.remove(stream);
                }
            }
            None => {
                let mut lane = Lane::default();
                change(&mut lane);
                key.lanes.insert(stream.clone(), lane);
            }
        }
        Ok(())
    }

    pub(crate) fn lane(&mut self, key: &LimitKey, stream: &Stream) -> Outcome<Lane> {
        Ok(self.key(key)?.lanes.get(stream).copied().unwrap_or_default())
    }

    /// Notes when a key opens by time, if somebody waits for that. A time that has come stays noted until the lanes of
    /// the key are refilled, or nobody would bring those forward who wait for it.
    pub(crate) fn set_wake(&mut self, name: &LimitKey) -> Outcome<()> {
        let now = self.now;
        let key = self.held.limits.key(&self.db, name)?;
        let opens_at = match key.policy.room(&key.used, now) {
            Room::For(_) => key.wake_at.filter(|at| *at <= now),
            Room::Full(blocked) => blocked.until(),
        };
        let opens_at = opens_at.filter(|_| key.waiting() > 0);
        self.note_wake(name, opens_at)
    }

    /// The lanes of a key were all refilled: a time that had come is over.
    pub(crate) fn set_wake_anew(&mut self, name: &LimitKey) -> Outcome<()> {
        self.note_wake(name, None)?;
        self.set_wake(name)
    }

    fn note_wake(&mut self, name: &LimitKey, opens_at: Option<Time>) -> Outcome<()> {
        let key = self.held.limits.key(&self.db, name)?;
        if key.wake_at == opens_at {
            return Ok(());
        }
        let limits = &mut self.held.limits;
        let before = std::mem::replace(&mut limits.change(&self.db, name)?.wake_at, opens_at);
        self.wakes_before.entry(name.clone()).or_insert(before);
        if let Some(at) = before {
            limits.wakes.remove(&(at, name.clone()));
        }
        if let Some(at) = opens_at {
            limits.wakes.insert((at, name.clone()));
        }
        Ok(())
    }

    /// Reports the keys that a write gave another time to open.
    pub(crate) fn report_wakes(&mut self) -> Outcome<()> {
        for (name, before) in std::mem::take(&mut self.wakes_before) {
            let now = self.held.limits.key(&self.db, &name)?.wake_at;
            if let Some(at) = now.filter(|_| now != before) {
                self.woken.job(at);
            }
        }
        Ok(())
    }

    /// Reports the offered jobs of a queue whose own key was full, if it has room now, or else when it opens by time.
    pub(crate) fn wake_opened_queue(&mut self, queue: &QueueName) -> Outcome<()> {
        let own_key = self.own_key(queue);
        match self.room(&own_key)? {
            Room::For(_) => self.wake_queue(queue)?,
            Room::Full(blocked) => blocked.until().into_iter().for_each(|at| self.woken.job(at)),
        }
        Ok(())
    }
}
