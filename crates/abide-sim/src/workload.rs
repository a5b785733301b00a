//! The work that clients begin: calls to objects of every kind, jobs, and what people change.

use crate::check::Promise;
use crate::client::Errand;
use crate::happening::Happening;
use crate::kinds::account::AccountCall;
use crate::kinds::boss::{BossCall, JobWish};
use crate::kinds::counter::{Addition, CounterCall};
use crate::kinds::courier::{CourierCall, Parcel};
use crate::kinds::follower::FollowerCall;
use crate::kinds::relay::RelayCall;
use crate::kinds::scribe::ScribeCall;
use crate::kinds::sleeper::SleeperCall;
use crate::kinds::{KINDS, LIMIT_KEYS, OUTSIDE_KIND, QUEUES};
use crate::outside::AskFor;
use crate::plan::{Fault, Work};
use crate::probe;
use crate::world::World;
use abide_core::dead::{DeadId, DeadLetter};
use abide_core::job::{CoolDown, JobId};
use abide_core::json::Json;
use abide_core::limit::{LimitPolicy, Rate};
use abide_core::name::{IdempotencyKey, Kind, LimitKey, Name, QueueName};
use abide_core::object::ObjectKey;
use abide_core::queue::QueuePolicy;
use abide_engine::Call;
use abide_store::{Answer, Read, Write};
use serde::Serialize;

fn object(kind: &str, name: &str) -> ObjectKey {
    ObjectKey { kind: Kind::trusted(kind), name: Name::trusted(name) }
}

fn json(value: &impl Serialize) -> Json {
    Json::encode(value).expect("calls of the world are JSON")
}

const NAMES: [&str; 3] = ["a", "b", "c"];

impl World<'_> {
    pub(crate) fn begin_work(&mut self) {
        let work: Vec<Work> = self.plan.work.iter().copied().collect();
        if work.is_empty() {
            return;
        }
        let burst = if self.work.once_in(12) { self.work.between(4, 12) } else { 1 };
        let chosen = *self.work.pick(&work);
        for _ in 0..burst {
            match chosen {
                Work::Count => self.count(),
                Work::Relay => self.relay(),
                Work::Transfer => self.transfer(),
                Work::Courier => self.courier(),
                Work::Alarm => self.alarm(),
                Work::Job => self.job(),
                Work::Enqueue => self.enqueue(),
                Work::Log => self.log(),
                Work::Delete => self.delete(),
                Work::People => self.people(),
                Work::Outside => self.pull(false),
                Work::Why => self.ask(probe::probe(), AskFor::Claim { honest: true }),
            }
        }
    }

    /// Some object of a kind.
    fn any(&mut self, kind: &str) -> ObjectKey {
        object(kind, NAMES[self.work.index(NAMES.len())])
    }

    /// In how many of a hundred runs a handler fails.
    fn trouble(&mut self) -> u8 {
        if !self.may(Fault::BadTurn) {
            return 0;
        }
        *self.work.pick(&[0, 0, 0, 0, 0, 0, 20, 60, 100])
    }

    fn call(&mut self, object: ObjectKey, body: &impl Serialize, promise: Promise) {
        let keyed = self.work.once_in(3);
        let key = keyed.then(|| IdempotencyKey::trusted(format!("key-{}", self.clients.next_key())));
        let call = Call { object, body: json(body), key };
        self.happen_in(0, Happening::Send(Box::new(Errand { call, promise, sends_left: 4, last: None })));
    }

    fn count(&mut self) {
        let counter = self.any("counter");
        match self.work.between(0, 9) {
            0 | 1 => {
                let promise = self.calls.reading(&counter);
                let call = Call { object: counter, body: json(&CounterCall::Read), key: None };
                self.happen_in(
                    0,
                    Happening::Send(Box::new(Errand { call, promise, sends_left: 1, last: None })),
                );
            }
            2 => self.call(counter, &CounterCall::Refuse, Promise::Nothing),
            3 => self.call(counter, &CounterCall::Fail, Promise::Nothing),
            _ => {
                let by = self.work.between(1, 5);
                let tag = format!("{}-{}", self.steps_done, self.work.seed());
                let trouble = self.trouble();
                let promise = self.calls.adding(&counter, by, &tag);
                self.call(counter, &CounterCall::Add { by, tag, trouble }, promise);
            }
        }
    }

    fn relay(&mut self) {
        let counter = self.any("counter");
        let by = self.work.between(1, 5);
        let tag = format!("{}-{}", self.steps_done, self.work.seed());
        let promise = self.calls.relaying(&counter, by, &tag);
        let call = RelayCall { counter: counter.name.as_str().to_owned(), addition: Addition { by, tag } };
        self.call(object("relay", "r"), &call, promise);
    }

    fn transfer(&mut self) {
        let from = self.any("account");
        let to = (*self.work.pick(&NAMES)).to_owned();
        let (amount, trouble) = (self.work.between(1, 60), self.trouble());
        self.call(from, &AccountCall::Transfer { to, amount, trouble }, Promise::Nothing);
    }

    fn courier(&mut self) {
        let name = *self.work.pick(&NAMES);
        if self.work.once_in(8) {
            let body = json(&Parcel::FromOutside { trouble: self.trouble() });
            return self.ask(Write::Send { to: object("courier", name), body }, AskFor::Nothing);
        }
        let to = (*self.work.pick(&NAMES)).to_owned();
        let count = if self.work.once_in(60) { 300 } else { self.work.between(1, 4) as u32 };
        let trouble = if count > 4 { 0 } else { self.trouble() };
        self.call(object("courier", name), &CourierCall::Send { to, count, trouble }, Promise::Nothing);
    }

    fn alarm(&mut self) {
        let sleeper = self.any("sleeper");
        let name = (*self.work.pick(&["x", "y"])).to_owned();
        let call = match self.work.between(0, 6) {
            0 => SleeperCall::Clear { name },
            1 => SleeperCall::When { name },
            _ => {
                let in_ms = *self.work.pick(&[-5, 0, 1, 50, 900, 5_000, 20_000]);
                let again = self.work.between(0, 2) as u8;
                SleeperCall::Set { name, in_ms, again, trouble: self.trouble() }
            }
        };
        self.call(sleeper, &call, Promise::Nothing);
    }

    fn wish(&mut self) -> JobWish {
        let kind = *self.work.pick(&[KINDS[0], KINDS[0], KINDS[1], OUTSIDE_KIND]);
        let limit_keys: Vec<String> =
            LIMIT_KEYS.iter().filter(|_| self.work.once_in(3)).map(|key| (*key).to_owned()).collect();
        JobWish {
            queue: (*self.work.pick(&QUEUES)).to_owned(),
            kind: kind.to_owned(),
            unique_key: self.work.once_in(2).then(|| format!("u{}", self.work.between(1, 40))),
            limit_keys,
            priority: self.work.between(-1, 1) as i32,
            in_ms: self.work.once_in(4).then(|| self.work.between(0, 4_000)),
            max_attempts: self.work.once_in(3).then(|| self.work.between(1, 4) as u32),
        }
    }

    fn job(&mut self) {
        let boss = self.any("boss");
        let (call, promise) = match self.work.between(0, 7) {
            0 => (BossCall::Cancel { key: format!("u{}", self.work.between(1, 40)) }, Promise::Nothing),
            1 | 2 => (BossCall::Ask { job: self.wish() }, Promise::Ticket),
            _ => {
                let jobs = (0..self.work.between(1, 4)).map(|_| self.wish()).collect();
                let trouble = self.trouble().min(60);
                (BossCall::Enqueue { jobs, trouble }, Promise::Nothing)
            }
        };
        self.call(boss, &call, promise);
    }

    fn enqueue(&mut self) {
        let now = self.now;
        let wishes: Vec<JobWish> = (0..self.work.between(1, 4)).map(|_| self.wish()).collect();
        let jobs =
            wishes.iter().map(|wish| wish.to_job(now).expect("jobs of the world have good names")).collect();
        self.ask(Write::Enqueue { jobs }, AskFor::Nothing);
    }

    fn log(&mut self) {
        let source = (*self.work.pick(&NAMES)).to_owned();
        let follower = self.any("follower");
        match self.work.between(0, 5) {
            0 => {
                let trouble = self.trouble().min(60);
                self.call(follower, &FollowerCall::Follow { source, trouble }, Promise::Nothing);
            }
            1 => self.call(follower, &FollowerCall::Leave { source }, Promise::Nothing),
            _ => {
                let count = if self.work.once_in(20) { 130 } else { self.work.between(1, 3) as u32 };
                self.call(object("scribe", &source), &ScribeCall::Append { count }, Promise::Nothing);
            }
        }
    }

    fn delete(&mut self) {
        let name = *self.work.pick(&NAMES);
        match self.work.between(0, 4) {
            0 => self.call(object("courier", name), &CourierCall::Delete, Promise::Nothing),
            1 => self.call(object("sleeper", name), &SleeperCall::Delete, Promise::Nothing),
            2 => self.call(object("boss", name), &BossCall::Delete, Promise::Nothing),
            3 => self.call(object("scribe", name), &ScribeCall::Delete, Promise::Nothing),
            _ => self.call(object("follower", name), &FollowerCall::Delete, Promise::Nothing),
        }
    }

    fn people(&mut self) {
        let queue = QueueName::trusted(*self.work.pick(&QUEUES));
        let job = JobId(self.work.between(1, 60));
        let write = match self.work.between(0, 9) {
            0 => Write::SetPaused { queue, paused: true },
            1 => Write::SetPaused { queue, paused: false },
            2 | 3 => self.set_limit(queue),
            4 => Write::Cancel { job },
            5 => Write::Retry { job },
            6 => {
                let key = LimitKey::trusted(*self.work.pick(&LIMIT_KEYS));
                Write::CoolDown(CoolDown { key, for_ms: self.work.between(1, 3_000) })
            }
            7 => {
                let retain_ms = Some(self.work.between(500, 5_000));
                let forget_keys_after_ms = self.work.once_in(2).then_some(3_000);
                let paused = self.work.once_in(5);
                let policy =
                    QueuePolicy { paused, retain_ms, forget_keys_after_ms, ..QueuePolicy::default() };
                Write::SetQueue { queue, policy }
            }
            8 => Write::ReplayDead { id: self.some_dead_letter().map_or(DeadId(1), |letter| letter.id) },
            _ => self.drop_or_replay(),
        };
        self.ask(write, AskFor::Nothing);
    }

    fn some_dead_letter(&mut self) -> Option<DeadLetter> {
        let read = Read::Dead { after: None, limit: 100 };
        let dead = match self.reader.read(self.now, &read) {
            Ok(Answer::Dead(dead)) => dead,
            Ok(_) | Err(_) => Vec::new(),
        };
        if dead.is_empty() { None } else { Some(self.work.pick(&dead).clone()) }
    }

    fn drop_or_replay(&mut self) -> Write {
        // Without one, an id that never is: what is forgotten must be known to the checkers.
        let Some(letter) = self.some_dead_letter() else { return Write::DropDead { id: DeadId(0) } };
        let id = letter.id;
        if self.work.once_in(2) {
            return Write::ReplayDead { id };
        }
        self.checks.unwanted.insert(id, letter);
        Write::DropDead { id }
    }

    fn set_limit(&mut self, queue: QueueName) -> Write {
        let own = LimitKey::of_queue(&queue);
        let keys = [LIMIT_KEYS[0], LIMIT_KEYS[1], LIMIT_KEYS[2], "host:*", own.as_str()];
        let key = LimitKey::trusted((*self.work.pick(&keys)).to_owned());
        let rate =
            Rate { starts: self.work.between(1, 4) as u32, window_ms: *self.work.pick(&[500, 1_000, 3_000]) };
        let policy = match self.work.between(0, 4) {
            0 => None,
            1 | 2 => {
                let limit = self.work.between(1, 3) as u32;
                Some(LimitPolicy { concurrency: Some(limit), rates: Vec::new(), burst: 0 })
            }
            _ => {
                let concurrency = self.work.once_in(2).then_some(2);
                Some(LimitPolicy { concurrency, rates: vec![rate], burst: self.work.between(0, 2) as u32 })
            }
        };
        Write::SetLimit { key, policy }
    }

    /// Nobody wants a queue to stand still any more.
    pub(crate) fn resume_queues(&mut self) {
        let paused: Vec<QueueName> = self.checks.limits.paused().cloned().collect();
        for queue in paused {
            self.ask(Write::SetPaused { queue, paused: false }, AskFor::Nothing);
        }
    }
}
