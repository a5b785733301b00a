//! The one place that reads the machine's clock.

use abide_core::time::{Clock, Time};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The machine's clock.
#[derive(Debug, Clone)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// A clock whose elapsed time starts now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the file that reads the clock")]
    pub fn new() -> SystemClock {
        SystemClock { started: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock::new()
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the file that reads the clock")]
    fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    #[expect(clippy::disallowed_methods, reason = "this is the file that reads the clock")]
    fn elapsed_ms(&self) -> i64 {
        i64::try_from(Instant::now().duration_since(self.started).as_millis()).unwrap_or(i64::MAX)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the file that reads the clock")]
    fn elapsed_us(&self) -> i64 {
        i64::try_from(Instant::now().duration_since(self.started).as_micros()).unwrap_or(i64::MAX)
    }
}
