//! What is remembered of each host in this process: its breaker and its pace.

use crate::breaker::{Breaker, Event, Verdict};
use crate::limits::HOSTS;
use abide_core::time::Time;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Hosts by their key. Every requester shares it, and a lock is held only for one pure step, never across an `await`.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    by_key: Mutex<BTreeMap<String, Known>>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    breaker: Breaker,
    /// The next request may start then (`Crawl-delay`).
    next_at: Time,
    used_at: Time,
}

/// When a request may start at its host's pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// After this wait; the moment is taken.
    In(i64),
    /// It would have to wait this long, which is longer than it may; nothing is taken.
    TooLong(i64),
}

impl Hosts {
    /// Tells the breaker of `key` what happened and gives its answer.
    pub(crate) fn tell(&self, key: &str, event: Event, now: Time) -> Verdict {
        let mut by_key = self.lock();
        let known = entry(&mut by_key, key, now);
        let (breaker, verdict) = known.breaker.after(event, now);
        known.breaker = breaker;
        verdict
    }

    /// Takes the next moment at which a request to `key` may start when requests keep `delay_ms` apart.
    pub(crate) fn pace(&self, key: &str, delay_ms: i64, wait_max_ms: i64, now: Time) -> Pace {
        let mut by_key = self.lock();
        let known = entry(&mut by_key, key, now);
        let start_at = known.next_at.max(now);
        let wait_ms = start_at.since(now);
        if wait_ms > wait_max_ms {
            return Pace::TooLong(wait_ms);
        }
        known.next_at = start_at.plus_ms(delay_ms);
        Pace::In(wait_ms)
    }

    /// Until when no request to `key` may go out, as far as is known.
    pub(crate) fn resting_until(&self, key: &str) -> Option<Time> {
        match self.lock().get(key)?.breaker {
            Breaker::Cooling { until, .. } | Breaker::Open { until } => Some(until),
            Breaker::Closed { .. } | Breaker::HalfOpen { .. } => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Known>> {
        // Each step leaves the map whole, so a panic elsewhere under the lock spoils nothing.
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn entry<'a>(by_key: &'a mut BTreeMap<String, Known>, key: &str, now: Time) -> &'a mut Known {
    if by_key.len() >= HOSTS && !by_key.contains_key(key) {
        make_room(by_key, now);
    }
    let known = by_key.entry(key.to_owned()).or_insert(Known {
        breaker: Breaker::NEW,
        next_at: Time::ZERO,
        used_at: now,
    });
    known.used_at = now;
    known
}

/// Forgets hosts that need no memory, and if all of them do, the half that was used longest ago.
fn make_room(by_key: &mut BTreeMap<String, Known>, now: Time) {
    by_key.retain(|_, known| known.breaker != Breaker::NEW || known.next_at > now);
    if by_key.len() >= HOSTS {
        let mut uses: Vec<Time> = by_key.values().map(|known| known.used_at).collect();
        uses.sort_unstable();
        let middle = uses[uses.len() / 2];
        by_key.retain(|_, known| known.used_at > middle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_keep_their_distance() {
        let hosts = Hosts::default();
        assert_eq!(hosts.pace("a", 1_000, 1_500, Time(10)), Pace::In(0));
        assert_eq!(hosts.pace("a", 1_000, 1_500, Time(10)), Pace::In(1_000));
        assert_eq!(hosts.pace("a", 1_000, 1_500, Time(10)), Pace::TooLong(2_000));
        assert_eq!(hosts.pace("b", 1_000, 1_500, Time(10)), Pace::In(0));
        assert_eq!(hosts.pace("a", 1_000, 1_500, Time(2_010)), Pace::In(0));
    }

    #[test]
    fn memory_of_hosts_is_bounded() {
        let hosts = Hosts::default();
        let failed = Event::Failed { retry_after_ms: Some(900_000) };
        for number in 0..3 * HOSTS {
            hosts.tell(&format!("host-{number}"), failed, Time(number as i64));
            assert!(hosts.lock().len() <= HOSTS);
        }
        let last = format!("host-{}", 3 * HOSTS - 1);
        assert!(matches!(hosts.tell(&last, Event::Asked, Time(3 * HOSTS as i64)), Verdict::Wait { .. }));
    }
}
