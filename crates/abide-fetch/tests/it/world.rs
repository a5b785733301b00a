//! A fetcher with names and a clock that tests set.

use abide_core::time::{Clock, Time};
use abide_fetch::names::{Lookup, Names};
use abide_fetch::options::RobotsRule;
use abide_fetch::{FetchOptions, Fetcher, Guard, Reach};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

/// Answers in the order in which they were given; the last stays.
#[derive(Default)]
pub(crate) struct FakeNames {
    answers: Mutex<BTreeMap<String, VecDeque<Vec<IpAddr>>>>,
    asked: Mutex<Vec<String>>,
}

impl FakeNames {
    pub(crate) fn answer(&self, host: &str, addresses: &[&str]) {
        let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
        self.answers.lock().unwrap().entry(host.to_owned()).or_default().push_back(addresses);
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Names for FakeNames {
    fn lookup(&self, host: &str) -> Lookup {
        self.asked.lock().unwrap().push(host.to_owned());
        let mut answers = self.answers.lock().unwrap();
        let found = answers.get_mut(host).and_then(|queue| match queue.len() {
            0 | 1 => queue.front().cloned(),
            _ => queue.pop_front(),
        });
        Box::pin(async move { found.ok_or_else(|| io::Error::other("no such name")) })
    }
}

/// A clock that stands still until it is moved.
pub(crate) struct FakeClock(AtomicI64);

impl FakeClock {
    pub(crate) fn advance(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Time {
        // 2026-01-01 00:00:00 UTC
        Time(1_767_225_600_000 + self.0.load(Ordering::SeqCst))
    }

    fn elapsed_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

pub(crate) struct World {
    pub(crate) names: Arc<FakeNames>,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) fetcher: Fetcher,
}

pub(crate) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

pub(crate) fn world(reach: Reach, options: FetchOptions) -> World {
    let names = Arc::new(FakeNames::default());
    let clock = Arc::new(FakeClock(AtomicI64::new(0)));
    let guard = Guard::with_names(reach, names.clone());
    let fetcher = Fetcher::new(guard, options, clock.clone()).unwrap();
    World { names, clock, fetcher }
}

/// Reaches 127.0.0.1, where the tests' servers are, and otherwise only what is public. Robots files are not asked for.
pub(crate) fn one_address() -> World {
    world(Reach::PublicAnd([LOOPBACK].into()), without_robots())
}

/// The same, and gives up so soon that a test can wait for it.
pub(crate) fn impatient() -> World {
    let options = FetchOptions { headers_ms: 300, idle_ms: 300, ..without_robots() };
    world(Reach::PublicAnd([LOOPBACK].into()), options)
}

pub(crate) fn without_robots() -> FetchOptions {
    FetchOptions { robots: RobotsRule::Ignore, ..FetchOptions::default() }
}
