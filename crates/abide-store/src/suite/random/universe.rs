//! A small world of names, and what is known of the things in it.

use super::super::answer;
use crate::Reader;
use crate::memory::MemoryStore;
use crate::read::{Answer, FollowPage, Header, Load, Read};
use crate::view::JobFilter;
use crate::write::{Batch, Written};
use abide_core::dead::DeadId;
use abide_core::event::{DueAlarm, Message};
use abide_core::job::{JobId, LeaseRef};
use abide_core::name::{Kind, LimitKey, Name};
use abide_core::object::{Life, ObjectKey};
use abide_core::seed::Seed;
use abide_core::ticket::Ticket;
use abide_core::time::Time;
use std::collections::BTreeMap;

pub(super) const QUEUES: [&str; 2] = ["q", "r"];
pub(super) const JOB_KINDS: [&str; 2] = ["x", "y"];
pub(super) const WORKERS: [&str; 3] = ["inside", "remote", "machine"];
pub(super) const UNIQUE_KEYS: [&str; 4] = ["u1", "u2", "u3", "u4"];
pub(super) const CLAIM_KEYS: [&str; 2] = ["first", "second"];
pub(super) const ALARMS: [&str; 3] = ["wake", "tick", "ähm"];
pub(super) const ROWS: [&str; 6] = ["a", "a/1", "a/10", "a/2", "b", "é/1"];
pub(super) const REPLY_KEYS: [&str; 2] = ["once", "twice"];
/// Keys that jobs carry.
pub(super) const JOB_KEYS: [&str; 5] = ["host:a", "host:b", "model:m", "free", "queue:r"];
/// Keys and classes that get policies.
pub(super) const POLICY_KEYS: [&str; 7] =
    ["host:*", "host:a", "model:m", "queue:q", "queue:*", "free", "model:*"];

/// What the memory store said that verbs can refer to.
#[derive(Debug)]
pub(super) struct Known {
    /// The engine's life.
    pub(super) life: Life,
    /// How many lives of objects were named.
    pub(super) lives_named: u32,
    /// Every object of the world, present or not.
    pub(super) objects: BTreeMap<ObjectKey, Option<Header>>,
    pub(super) messages: Vec<Message>,
    pub(super) alarms: Vec<DueAlarm>,
    pub(super) pages: Vec<(ObjectKey, FollowPage)>,
    pub(super) jobs: Vec<JobId>,
    /// The last leases that were given.
    pub(super) leases: Vec<LeaseRef>,
    pub(super) dead: Vec<DeadId>,
}

/// How many leases are remembered.
const LEASES_KNOWN: usize = 24;

impl Known {
    pub(super) fn nothing() -> Known {
        Known {
            life: Life(0),
            lives_named: 0,
            objects: BTreeMap::new(),
            messages: Vec::new(),
            alarms: Vec::new(),
            pages: Vec::new(),
            jobs: Vec::new(),
            leases: Vec::new(),
            dead: Vec::new(),
        }
    }

    /// Learns what verbs can refer to, by looking.
    pub(super) fn look(&mut self, store: &mut MemoryStore, now: Time) {
        let mut ask = |at: Time, read: Read| store.read(at, &read).expect("memory answers");
        self.objects.clear();
        self.messages.clear();
        self.pages.clear();
        for object in objects() {
            let load = Load { object: object.clone(), wants: Vec::new(), reply_for: None };
            let header = answer!(ask(now, Read::Load(load)), Answer::Load(loaded) => loaded.header);
            self.objects.insert(object.clone(), header);
            let inbox = Read::Messages { to: object.clone(), after: None, limit: 10 };
            self.messages.extend(answer!(ask(now, inbox), Answer::Messages(messages) => messages));
            let entries = Read::Entries { follower: object.clone(), limit: 3 };
            let pages = answer!(ask(now, entries), Answer::Entries(pages) => pages);
            self.pages.extend(pages.into_iter().map(|page| (object.clone(), page)));
        }
        let put_off = ask(Time::MAX, Read::MessagesDue { limit: 10 });
        self.messages.extend(answer!(put_off, Answer::MessagesDue(messages) => messages));
        let alarms = ask(Time::MAX, Read::AlarmsDue { after: None, limit: 20 });
        self.alarms = answer!(alarms, Answer::AlarmsDue(alarms) => alarms);
        let jobs = ask(now, Read::Jobs(JobFilter { limit: 40, ..JobFilter::default() }));
        self.jobs = answer!(jobs, Answer::Jobs(page) => page.jobs.into_iter().map(|view| view.job).collect());
        let dead = ask(now, Read::Dead { after: None, limit: 10 });
        self.dead =
            answer!(dead, Answer::Dead(letters) => letters.into_iter().map(|letter| letter.id).collect());
    }

    /// Learns from the answers to a batch.
    pub(super) fn learn(&mut self, batch: &Batch) {
        for written in &batch.written {
            match written {
                Written::Began(began) => self.life = began.life,
                Written::Claimed(claimed) => {
                    self.leases.extend(claimed.leases.iter().map(|lease| lease.lease));
                }
                _ => {}
            }
        }
        let surplus = self.leases.len().saturating_sub(LEASES_KNOWN);
        self.leases.drain(..surplus);
    }
}

/// Every object of the world.
pub(super) fn objects() -> Vec<ObjectKey> {
    let names = ["1", "2", "ß"];
    let of_kind = |kind: &'static str| {
        names.map(|name| ObjectKey { kind: Kind::trusted(kind), name: Name::trusted(name) })
    };
    [of_kind("log"), of_kind("thing")].concat()
}

/// Every ticket of the world.
pub(super) fn tickets() -> Vec<Ticket> {
    (1..=8).map(|nth| Ticket::trusted(format!("{nth:032x}"))).collect()
}

pub(super) fn limit_keys(random: &mut Seed, most: u64) -> Vec<LimitKey> {
    (0..random.below(most + 1)).map(|_| LimitKey::trusted(super::word(random, &JOB_KEYS))).collect()
}

pub(super) fn chance(random: &mut Seed, percent: u64) -> bool {
    random.below(100) < percent
}

pub(super) fn pick<'a, T>(random: &mut Seed, from: &'a [T]) -> Option<&'a T> {
    from.get(usize::try_from(random.below(from.len() as u64)).unwrap_or(0))
}

/// Each of them with this chance.
pub(super) fn some<T: Clone>(random: &mut Seed, percent: u64, from: &[T]) -> Vec<T> {
    from.iter().filter(|_| chance(random, percent)).cloned().collect()
}

/// A number of milliseconds below `most`.
pub(super) fn ms(random: &mut Seed, most: u64) -> i64 {
    i64::try_from(random.below(most)).unwrap_or(0)
}
