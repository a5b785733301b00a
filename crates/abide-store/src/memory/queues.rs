//! Queues and their policies.

use super::state::State;
use crate::write::Woken;
use abide_core::name::QueueName;
use abide_core::queue::QueuePolicy;

impl State {
    pub(super) fn set_queue(&mut self, queue: &QueueName, policy: &QueuePolicy, woken: &mut Woken) {
        let before = self.queues.insert(queue.clone(), policy.clone());
        if before.is_some_and(|before| before.paused) && !policy.paused {
            self.wake_queue(queue, woken);
        }
        if let Some(at) = self.first_end_of_retention_in(queue) {
            woken.prune(at);
        }
    }

    pub(super) fn set_paused(&mut self, queue: &QueueName, paused: bool, woken: &mut Woken) {
        let policy = self.queues.entry(queue.clone()).or_default();
        let was_paused = std::mem::replace(&mut policy.paused, paused);
        if was_paused && !paused {
            self.wake_queue(queue, woken);
        }
    }

    pub(super) fn is_paused(&self, queue: &QueueName) -> bool {
        self.queues.get(queue).is_some_and(|policy| policy.paused)
    }
}
