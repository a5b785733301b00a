//! How long a connection may be kept waiting for a request, without a timer for each request.
//!
//! A timer that is set before each request and taken back with it costs a lock, and mostly a system call that wakes a
//! thread for nothing. So a connection has one that ticks for as long as it lives, and at each tick the deadline of the
//! request that it waits for is looked at.

use hyper::rt::{Sleep, Timer};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::time::{Interval, MissedTickBehavior, interval_at};

/// Looks within the time that a request may take to arrive: it may take so much of it longer.
const LOOKS: u32 = 8;

/// When to look at deadlines that may be as near as `patience`.
pub(crate) fn looks(patience: Duration) -> Interval {
    let every = (patience / LOOKS).max(Duration::from_millis(1));
    let mut looks = interval_at(tokio::time::Instant::now() + every, every);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    looks
}

/// Time for connections that are looked at regularly: its sleeps wake nobody.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LookedAt;

impl Timer for LookedAt {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Deadline(deadline))
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }
}

/// Over when it is looked at after its time.
struct Deadline(Instant);

impl Future for Deadline {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if LookedAt.now() >= self.0 { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Sleep for Deadline {}
