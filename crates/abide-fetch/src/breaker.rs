//! A host's breaker: after failures in a row the host is left alone, then tried once.
//!
//! ```text
//! closed ──5th failure in a row──► open ──60 s, asked──► half-open ──success──► closed
//!   │ ▲                             ▲                     │    (one trial; another after 60 s without a word)
//!   │ └──time is up, asked──cooling │                     │
//!   └──failure with Retry-After──►──┴───failure───────────┘
//! ```
//! Times are on the clock's elapsed axis, so that setting the wall clock neither opens nor shuts a host.

use crate::limits::{BREAKER_FAILURES, BREAKER_RESET_MS};
use abide_core::time::Time;

/// Where a host stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breaker {
    /// Requests pass.
    Closed {
        /// In a row.
        failures: u32,
    },
    /// The host asked to be left alone (`Retry-After`), and has not failed often enough to be open.
    Cooling {
        /// Until when.
        until: Time,
        /// In a row.
        failures: u32,
    },
    /// The host failed too often.
    Open {
        /// Until when.
        until: Time,
    },
    /// One trial is on its way.
    HalfOpen {
        /// When it counts as lost and another may start.
        renew_at: Time,
    },
}

/// What happens to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Somebody wants to send a request.
    Asked,
    /// A reply came that does not blame the host.
    Succeeded,
    /// The host could not be reached, or said that it cannot serve.
    Failed {
        /// How long it wants to be left alone, at most [`RETRY_AFTER_MS`](crate::limits::RETRY_AFTER_MS).
        retry_after_ms: Option<i64>,
    },
}

/// Whether a request may go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It may.
    Pass,
    /// Not before this.
    Wait {
        /// When to ask again.
        until: Time,
    },
}

impl Breaker {
    /// A host that nothing is known of.
    pub const NEW: Breaker = Breaker::Closed { failures: 0 };

    /// The state after `event`, and for [`Event::Asked`] the answer; other events pass.
    #[must_use]
    pub fn after(self, event: Event, now: Time) -> (Breaker, Verdict) {
        match event {
            Event::Asked => self.asked(now),
            Event::Succeeded => (self.succeeded(), Verdict::Pass),
            Event::Failed { retry_after_ms } => {
                (self.failed(retry_after_ms.unwrap_or(0), now), Verdict::Pass)
            }
        }
    }

    fn asked(self, now: Time) -> (Breaker, Verdict) {
        let trial = Breaker::HalfOpen { renew_at: now.plus_ms(BREAKER_RESET_MS) };
        match self {
            Breaker::Closed { .. } => (self, Verdict::Pass),
            Breaker::Cooling { until, .. } if now < until => (self, Verdict::Wait { until }),
            Breaker::Cooling { failures, .. } => (Breaker::Closed { failures }, Verdict::Pass),
            Breaker::Open { until } if now < until => (self, Verdict::Wait { until }),
            Breaker::Open { .. } => (trial, Verdict::Pass),
            Breaker::HalfOpen { renew_at } if now < renew_at => (self, Verdict::Wait { until: renew_at }),
            Breaker::HalfOpen { .. } => (trial, Verdict::Pass),
        }
    }

    /// A request that was sent before the host asked for rest or opened says nothing about afterwards: only the trial
    /// closes an open breaker.
    fn succeeded(self) -> Breaker {
        match self {
            Breaker::Closed { .. } | Breaker::HalfOpen { .. } => Breaker::NEW,
            Breaker::Cooling { until, .. } => Breaker::Cooling { until, failures: 0 },
            Breaker::Open { .. } => self,
        }
    }

    fn failed(self, retry_after_ms: i64, now: Time) -> Breaker {
        let opened = now.plus_ms(retry_after_ms.max(BREAKER_RESET_MS));
        let (failures, cooling_until) = match self {
            Breaker::Closed { failures } => (failures + 1, now),
            Breaker::Cooling { until, failures } => (failures + 1, until.max(now)),
            Breaker::Open { until } => {
                return Breaker::Open { until: until.max(now.plus_ms(retry_after_ms)) };
            }
            Breaker::HalfOpen { .. } => return Breaker::Open { until: opened },
        };
        let until = cooling_until.max(now.plus_ms(retry_after_ms));
        if failures >= BREAKER_FAILURES {
            Breaker::Open { until: opened.max(until) }
        } else if until > now {
            Breaker::Cooling { until, failures }
        } else {
            Breaker::Closed { failures }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Breaker::{Closed, Cooling, HalfOpen, Open};
    use super::Verdict::{Pass, Wait};
    use super::*;

    const NOW: Time = Time(100_000);
    const EARLIER: Time = Time(99_999);
    const LATER: Time = Time(100_001);
    const RESET: Time = Time(160_000);
    const FAILED: Event = Event::Failed { retry_after_ms: None };

    const fn asked_to_rest(ms: i64) -> Event {
        Event::Failed { retry_after_ms: Some(ms) }
    }

    fn check(state: Breaker, event: Event, expected: Breaker, verdict: Verdict) {
        assert_eq!(state.after(event, NOW), (expected, verdict), "{state:?} {event:?}");
    }

    #[test]
    fn every_state_answers_when_asked() {
        check(Closed { failures: 4 }, Event::Asked, Closed { failures: 4 }, Pass);
        let cooling = Cooling { until: LATER, failures: 2 };
        check(cooling, Event::Asked, cooling, Wait { until: LATER });
        check(Cooling { until: NOW, failures: 2 }, Event::Asked, Closed { failures: 2 }, Pass);
        check(Open { until: LATER }, Event::Asked, Open { until: LATER }, Wait { until: LATER });
        check(Open { until: NOW }, Event::Asked, HalfOpen { renew_at: RESET }, Pass);
        check(
            HalfOpen { renew_at: LATER },
            Event::Asked,
            HalfOpen { renew_at: LATER },
            Wait { until: LATER },
        );
        check(HalfOpen { renew_at: EARLIER }, Event::Asked, HalfOpen { renew_at: RESET }, Pass);
    }

    #[test]
    fn every_state_takes_a_success() {
        check(Closed { failures: 4 }, Event::Succeeded, Closed { failures: 0 }, Pass);
        let rested = Cooling { until: LATER, failures: 0 };
        check(Cooling { until: LATER, failures: 4 }, Event::Succeeded, rested, Pass);
        check(Open { until: LATER }, Event::Succeeded, Open { until: LATER }, Pass);
        check(HalfOpen { renew_at: LATER }, Event::Succeeded, Closed { failures: 0 }, Pass);
    }

    #[test]
    fn every_state_takes_a_failure() {
        check(Closed { failures: 0 }, FAILED, Closed { failures: 1 }, Pass);
        check(Closed { failures: 3 }, FAILED, Closed { failures: 4 }, Pass);
        check(Closed { failures: 4 }, FAILED, Open { until: RESET }, Pass);
        check(Cooling { until: LATER, failures: 1 }, FAILED, Cooling { until: LATER, failures: 2 }, Pass);
        check(Cooling { until: EARLIER, failures: 1 }, FAILED, Closed { failures: 2 }, Pass);
        check(Cooling { until: LATER, failures: 4 }, FAILED, Open { until: RESET }, Pass);
        check(Open { until: LATER }, FAILED, Open { until: LATER }, Pass);
        check(HalfOpen { renew_at: LATER }, FAILED, Open { until: RESET }, Pass);
    }

    #[test]
    fn every_state_takes_a_failure_that_asks_for_rest() {
        let (short, long) = (asked_to_rest(10_000), asked_to_rest(900_000));
        let (short_end, long_end) = (Time(110_000), Time(1_000_000));
        check(Closed { failures: 0 }, short, Cooling { until: short_end, failures: 1 }, Pass);
        check(Closed { failures: 4 }, short, Open { until: RESET }, Pass);
        check(Closed { failures: 4 }, long, Open { until: long_end }, Pass);
        let cooling = Cooling { until: RESET, failures: 1 };
        check(cooling, short, Cooling { until: RESET, failures: 2 }, Pass);
        check(cooling, long, Cooling { until: long_end, failures: 2 }, Pass);
        check(Cooling { until: long_end, failures: 4 }, short, Open { until: long_end }, Pass);
        check(Open { until: RESET }, short, Open { until: RESET }, Pass);
        check(Open { until: RESET }, long, Open { until: long_end }, Pass);
        check(HalfOpen { renew_at: RESET }, short, Open { until: RESET }, Pass);
        check(HalfOpen { renew_at: RESET }, long, Open { until: long_end }, Pass);
    }
}
