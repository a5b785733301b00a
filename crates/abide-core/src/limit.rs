//! Limits: concurrency and rate for a key, as arithmetic on integers.
//!
//! A rate of N per W with burst b is a bucket of (N + b)·W units that gains N units a millisecond and gives W units for
//! each start, so nothing is ever rounded and starts in any interval t are at most N + b + N·t/W.

use crate::time::{Time, earliest};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// So many starts per window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rate {
    /// Starts.
    pub starts: u32,
    /// Per this many milliseconds.
    pub window_ms: i64,
}

/// A rate that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not a rate: write starts per window, as 5/s, 300/h, 1/3s or 1000/day")]
pub struct BadRate {
    /// What was given.
    pub given: String,
}

const UNITS: [(&str, i64); 12] = [
    ("ms", 1),
    ("s", 1_000),
    ("sec", 1_000),
    ("second", 1_000),
    ("m", 60_000),
    ("min", 60_000),
    ("minute", 60_000),
    ("h", 3_600_000),
    ("hour", 3_600_000),
    ("d", 86_400_000),
    ("day", 86_400_000),
    ("week", 604_800_000),
];

impl FromStr for Rate {
    type Err = BadRate;

    fn from_str(text: &str) -> Result<Rate, BadRate> {
        let bad = || BadRate { given: text.chars().take(40).collect() };
        let (starts, window) = text.trim().split_once('/').ok_or_else(bad)?;
        let starts: u32 = starts.trim().parse().map_err(|_| bad())?;
        let window = window.trim().to_ascii_lowercase();
        let digits = window.len() - window.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (count, unit) = window.split_at(digits);
        let count: i64 = if count.is_empty() { 1 } else { count.parse().map_err(|_| bad())? };
        let unit = unit.trim();
        let (_, unit_ms) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(bad)?;
        let window_ms =
            count.checked_mul(*unit_ms).filter(|w| (1..=366 * 86_400_000).contains(w)).ok_or_else(bad)?;
        if starts == 0 || starts > 1_000_000 {
            return Err(bad());
        }
        Ok(Rate { starts, window_ms })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = [("day", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];
        let (unit, unit_ms) = shown.into_iter().find(|(_, ms)| self.window_ms % ms == 0).unwrap_or(("ms", 1));
        match self.window_ms / unit_ms {
            1 => write!(f, "{}/{unit}", self.starts),
            count => write!(f, "{}/{count}{unit}", self.starts),
        }
    }
}

impl TryFrom<String> for Rate {
    type Error = BadRate;
    fn try_from(text: String) -> Result<Rate, BadRate> {
        text.parse()
    }
}

impl From<Rate> for String {
    fn from(rate: Rate) -> String {
        rate.to_string()
    }
}

/// What a key allows. Without either part it only counts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitPolicy {
    /// Leases at once.
    pub concurrency: Option<u32>,
    /// Starts per window; all of them hold.
    pub rates: Vec<Rate>,
    /// Starts beyond each rate's own that a rested key may make at once.
    pub burst: u32,
}

/// What a key has used.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct KeyState {
    /// Live leases.
    pub in_use: u32,
    /// One bucket for each rate that has been used since it was last full.
    pub buckets: Vec<Bucket>,
    /// A server said to stay away until then (`Retry-After`).
    pub cooldown_until: Option<Time>,
}

/// A rate's bucket as it was at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// Whose.
    pub rate: Rate,
    /// Units in it: `window_ms` of them make one start.
    pub units: i64,
    /// When.
    pub at: Time,
}

/// How many more starts a key allows now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// This many; [`u32::MAX`] if nothing bounds it.
    For(u32),
    /// None.
    Full(Blocked),
}

/// Why a key allows no more, and when time alone will change that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum Blocked {
    /// As many leases as it allows are live: a lease must end first.
    Concurrency {
        /// How many it allows.
        limit: u32,
    },
    /// A rate is used up until then.
    Rate {
        /// Which.
        rate: Rate,
        /// When one more start is allowed.
        until: Time,
    },
    /// It was told to stay away until then.
    Cooldown {
        /// Until when.
        until: Time,
    },
}

impl Room {
    /// Why there is none.
    #[must_use]
    pub const fn blocked(self) -> Option<Blocked> {
        match self {
            Room::For(_) => None,
            Room::Full(blocked) => Some(blocked),
        }
    }
}

impl Blocked {
    /// When time alone opens the key; none if a lease must end.
    #[must_use]
    pub const fn until(&self) -> Option<Time> {
        match *self {
            Blocked::Concurrency { .. } => None,
            Blocked::Rate { until, .. } | Blocked::Cooldown { until } => Some(until),
        }
    }
}

impl LimitPolicy {
    /// How many more starts `state` allows at `now`. Of several reasons the one that lasts longest is given.
    #[must_use]
    pub fn room(&self, state: &KeyState, now: Time) -> Room {
        if let Some(until) = state.cooldown_until.filter(|until| *until > now) {
            return Room::Full(Blocked::Cooldown { until });
        }
        if let Some(limit) = self.concurrency.filter(|limit| state.in_use >= *limit) {
            return Room::Full(Blocked::Concurrency { limit });
        }
        let mut room = self.concurrency.map_or(u32::MAX, |limit| limit - state.in_use);
        let mut blocked: Option<(Rate, Time)> = None;
        for rate in &self.rates {
            let units = self.units(rate, state, now);
            let starts = u32::try_from(units / rate.window_ms).unwrap_or(u32::MAX);
            room = room.min(starts);
            if starts == 0 {
                let missing = rate.window_ms - units;
                let until = now.plus_ms(missing.div_ceil_positive(i64::from(rate.starts)));
                if blocked.is_none_or(|(_, other)| until > other) {
                    blocked = Some((*rate, until));
                }
            }
        }
        match blocked {
            Some((rate, until)) => Room::Full(Blocked::Rate { rate, until }),
            None => Room::For(room),
        }
    }

    /// The state after one start at `now`. The caller has seen that there is [room](LimitPolicy::room).
    pub fn take(&self, state: &mut KeyState, now: Time) {
        state.in_use += 1;
        state.buckets = self
            .rates
            .iter()
            .map(|rate| Bucket { rate: *rate, units: self.units(rate, state, now) - rate.window_ms, at: now })
            .collect();
    }

    /// Gives one start back to the rates: it turned out not to touch what the key protects.
    pub fn refund(&self, state: &mut KeyState, now: Time) {
        state.buckets = self
            .rates
            .iter()
            .map(|rate| {
                let units = (self.units(rate, state, now) + rate.window_ms).min(self.capacity(rate));
                Bucket { rate: *rate, units, at: now }
            })
            .collect();
    }

    /// Whether nothing about `state` needs to be remembered any more at `now`.
    #[must_use]
    pub fn is_rested(&self, state: &KeyState, now: Time) -> bool {
        state.in_use == 0
            && state.cooldown_until.is_none_or(|until| until <= now)
            && self.rates.iter().all(|rate| self.units(rate, state, now) == self.capacity(rate))
    }

    fn capacity(&self, rate: &Rate) -> i64 {
        (i64::from(rate.starts) + i64::from(self.burst)).saturating_mul(rate.window_ms)
    }

    fn units(&self, rate: &Rate, state: &KeyState, now: Time) -> i64 {
        let capacity = self.capacity(rate);
        match state.buckets.iter().find(|bucket| bucket.rate == *rate) {
            Some(bucket) => {
                let gained = now.since(bucket.at).max(0).saturating_mul(i64::from(rate.starts));
                bucket.units.saturating_add(gained).min(capacity)
            }
            None => capacity,
        }
    }
}

impl KeyState {
    /// A lease ended.
    pub fn free(&mut self) {
        self.in_use = self.in_use.saturating_sub(1);
    }

    /// Stay away until `until`; an earlier instant than already known changes nothing.
    pub fn cool_down(&mut self, until: Time) {
        self.cooldown_until = Some(self.cooldown_until.map_or(until, |known| known.max(until)));
    }

    /// It need not stay away any more.
    pub fn end_rest(&mut self) {
        self.cooldown_until = None;
    }
}

/// When the first of several keys opens by time alone.
#[must_use]
pub fn first_opening(blocked: impl IntoIterator<Item = Blocked>) -> Option<Time> {
    blocked.into_iter().fold(None, |first, b| earliest(first, b.until()))
}

trait DivCeilPositive {
    fn div_ceil_positive(self, by: Self) -> Self;
}

impl DivCeilPositive for i64 {
    fn div_ceil_positive(self, by: i64) -> i64 {
        (self + by - 1) / by
    }
}
