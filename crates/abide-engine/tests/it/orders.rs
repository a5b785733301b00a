//! The machine in random orders of what the store answers, against a model.

use crate::objects::{Do, Puppet};
use abide_core::commit::Reply;
use abide_core::json::Json;
use abide_core::log::Seq;
use abide_core::seed::Seed;
use abide_core::time::Time;
use abide_engine::machine::{
    CallId, Input, Machine, MachineOptions, NoWitness, Output, ReadToken, WriteToken,
};
use abide_engine::{Call, Registry};
use abide_store::memory::MemoryStore;
use abide_store::{Answer, Read, Reader, Store, StoreError, Write};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

const BEGAN: Time = Time(1_000_000);

/// Keys around the ends of prefixes.
const KEYS: [&str; 12] = [
    "a",
    "a/",
    "a/1",
    "a/1\0",
    "a/2",
    "a/\u{10FFFF}",
    "a0",
    "b/1",
    "b/2",
    "\u{D7FF}1",
    "\u{10FFFF}",
    "\u{10FFFF}1",
];
const PREFIXES: [&str; 7] = ["", "a", "a/", "a/1", "b/", "\u{10FFFF}", "\u{D7FF}"];

fn pick<'a, T>(seed: &mut Seed, of: &'a [T]) -> &'a T {
    &of[seed.below(of.len() as u64) as usize]
}

fn key(seed: &mut Seed) -> String {
    (*pick(seed, &KEYS)).to_owned()
}

fn scan(seed: &mut Seed) -> Do {
    let after = (seed.below(2) == 0).then(|| key(seed));
    Do::Scan { prefix: (*pick(seed, &PREFIXES)).to_owned(), after, limit: seed.below(6) as usize }
}

fn step(seed: &mut Seed) -> Do {
    match seed.below(6) {
        0 => Do::Get(key(seed)),
        1 => Do::Put(key(seed), json!(seed.below(1_000))),
        2 => Do::Delete(key(seed)),
        3 => Do::Prefetch((0..seed.below(5)).map(|_| key(seed)).collect()),
        _ => scan(seed),
    }
}

fn deed(seed: &mut Seed) -> Do {
    match seed.below(60) {
        0 => Do::DeleteSelf,
        1..=8 => Do::Many((0..seed.below(7)).map(|_| step(seed)).collect()),
        _ => step(seed),
    }
}

/// What a puppet with these rows answers.
fn modelled(rows: &mut BTreeMap<String, Value>, what: &Do) -> Value {
    match what {
        Do::Get(key) => return rows.get(key).cloned().unwrap_or(Value::Null),
        Do::Put(key, value) => drop(rows.insert(key.clone(), value.clone())),
        Do::Delete(key) => drop(rows.remove(key)),
        Do::Scan { prefix, after, limit } => {
            let is_within =
                |key: &&String| key.starts_with(prefix) && after.as_ref().is_none_or(|after| *key > after);
            return json!(rows.keys().filter(is_within).take(*limit).collect::<Vec<_>>());
        }
        Do::Prefetch(_) => {}
        Do::DeleteSelf => rows.clear(),
        Do::Many(all) => return all.iter().map(|one| modelled(rows, one)).collect(),
        other => unreachable!("the model does not know {other:?}"),
    }
    Value::Null
}

/// A machine whose reads are taken and answered, and whose writes are applied and answered, each when chance has it so. Writes
/// stay in order.
struct Shuffled {
    machine: Machine,
    store: MemoryStore,
    asked: Vec<(ReadToken, Read)>,
    read: Vec<(ReadToken, Result<Answer, StoreError>)>,
    to_write: VecDeque<(WriteToken, Write)>,
    wrote: VecDeque<Input>,
    replies: Vec<(CallId, Value)>,
    now: Time,
}

impl Shuffled {
    fn new(store: MemoryStore, cache_bytes: usize, alone: bool) -> Shuffled {
        let mut registry = Registry::new();
        registry.object(Puppet).unwrap();
        let options = MachineOptions { cache_bytes, alone, ..MachineOptions::default() };
        let machine = Machine::new(options, registry, Box::new(NoWitness), 7);
        let (asked, read, replies) = (Vec::new(), Vec::new(), Vec::new());
        let (to_write, wrote) = (VecDeque::new(), VecDeque::new());
        Shuffled { machine, store, asked, read, to_write, wrote, replies, now: BEGAN }
    }

    fn start(&mut self, seed: &mut Seed) {
        self.machine.input(Input::Start { crashed: None }, self.now);
        while self.machine.life().is_none() {
            self.step(seed);
        }
    }

    fn call(&mut self, id: u64, object: &str, what: &Do) {
        let call = Call { object: object.parse().unwrap(), body: Json::encode(what).unwrap(), key: None };
        self.machine.input(Input::Call(CallId(id), call, None), self.now);
    }

    fn steps(&mut self, seed: &mut Seed, count: u64) {
        for _ in 0..count {
            self.step(seed);
        }
    }

    fn step(&mut self, seed: &mut Seed) {
        let some = |seed: &mut Seed, of: usize| seed.below(of as u64) as usize;
        match seed.below(5) {
            0 if !self.asked.is_empty() => {
                let (token, read) = self.asked.remove(some(seed, self.asked.len()));
                let result = self.store.read(self.now, &read);
                self.read.push((token, result));
            }
            1 if !self.read.is_empty() => {
                let (token, result) = self.read.remove(some(seed, self.read.len()));
                self.machine.input(Input::Answered { token, result }, self.now);
            }
            2 if !self.to_write.is_empty() => {
                let count = 1 + some(seed, self.to_write.len());
                let (tokens, writes): (Vec<_>, Vec<_>) = self.to_write.drain(..count).unzip();
                let result = self.store.write(self.now, &writes);
                self.wrote.push_back(Input::Wrote { tokens, writes, result });
            }
            3 => {
                if let Some(wrote) = self.wrote.pop_front() {
                    self.machine.input(wrote, self.now);
                }
            }
            _ => {}
        }
        self.run(1 + some(seed, 5));
    }

    fn run(&mut self, turns: usize) {
        let _ = self.machine.run(self.now, turns);
        for output in self.machine.outputs() {
            match output {
                Output::Read(token, read) => self.asked.push((token, read)),
                Output::Write(token, write) => self.to_write.push_back((token, write)),
                Output::Reply(id, Ok(Reply::Now(body))) => {
                    self.replies.push((id, serde_json::from_str(body.as_str()).unwrap()));
                }
                Output::Reply(id, other) => panic!("{id:?} was answered {other:?}"),
                _ => {}
            }
        }
    }
}

#[test]
fn in_whatever_order_the_store_answers_calls_see_what_came_before_them() {
    const CALLS: u64 = 120;
    for nth in 0..200 {
        let seed = &mut Seed::new(nth);
        let memory = *pick(seed, &[0, 2_000, usize::MAX]);
        let mut machine = Shuffled::new(MemoryStore::new(), memory, seed.below(2) == 0);
        machine.start(seed);
        let objects = 1 + seed.below(3);
        let mut rows: BTreeMap<u64, BTreeMap<String, Value>> = BTreeMap::new();
        let mut expected = BTreeMap::new();
        for id in 0..CALLS {
            let object = seed.below(objects);
            let what = deed(seed);
            let value = modelled(rows.entry(object).or_default(), &what);
            expected.insert(CallId(id), (value, what.clone()));
            machine.call(id, &format!("puppet/{object}"), &what);
            let steps = if seed.below(30) == 0 { 300 } else { seed.below(12) };
            machine.steps(seed, steps);
        }
        machine.steps(seed, 20_000);
        assert_eq!(machine.replies.len() as u64, CALLS, "seed {nth}, {memory} bytes");
        for (id, value) in &machine.replies {
            let (expected, what) = &expected[id];
            assert_eq!(value, expected, "seed {nth}, {memory} bytes, {id:?}: {what:?}");
        }
    }
}

#[test]
fn two_machines_on_one_object_lose_no_update() {
    const CALLS: u64 = 60;
    for nth in 0..100 {
        let seed = &mut Seed::new(nth);
        let store = MemoryStore::new();
        let mut two =
            [(); 2].map(|()| Shuffled::new(store.clone(), *pick(seed, &[0, 2_000, usize::MAX]), false));
        for machine in &mut two {
            machine.start(seed);
        }
        let mut keys = BTreeMap::new();
        for id in 0..CALLS {
            let key = key(seed);
            let what = Do::Many(vec![scan(seed), Do::Add(key.clone(), 1)]);
            keys.insert(CallId(id), key);
            two[seed.below(2) as usize].call(id, "puppet/a", &what);
            for _ in 0..seed.below(20) {
                two[seed.below(2) as usize].step(seed);
            }
        }
        for _ in 0..40_000 {
            let machine = &mut two[seed.below(2) as usize];
            machine.now = machine.now.plus_ms(1);
            machine.step(seed);
        }
        let mut sums: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
        for (id, value) in two.iter().flat_map(|machine| &machine.replies) {
            sums.entry(&keys[id]).or_default().push(value[1].as_i64().unwrap());
        }
        assert_eq!(sums.values().map(Vec::len).sum::<usize>() as u64, CALLS, "seed {nth}");
        for (key, mut sums) in sums {
            sums.sort_unstable();
            let each_once: Vec<i64> = (1..).take(sums.len()).collect();
            assert_eq!(sums, each_once, "seed {nth}, {key:?}");
        }
    }
}

#[test]
fn in_whatever_order_pages_come_messages_run_once_and_in_order() {
    for nth in 0..40 {
        let seed = &mut Seed::new(nth);
        let memory = *pick(seed, &[0, usize::MAX]);
        let mut machine = Shuffled::new(MemoryStore::new(), memory, seed.below(4) != 0);
        let mut sent = 0;
        let mut send = |machine: &mut Shuffled, count: u64| {
            let writes: Vec<Write> = (sent + 1..=sent + count)
                .map(|n| Write::Send {
                    to: "puppet/a".parse().unwrap(),
                    body: Json::encode(&Do::Append(json!(n))).unwrap(),
                })
                .collect();
            sent += count;
            machine.store.write(machine.now, &writes)
        };
        // Some wait from a former life; more come behind all batches whose answers are on their way.
        send(&mut machine, *pick(seed, &[0, 3, 255, 256, 300, 513])).unwrap();
        machine.start(seed);
        for _ in 0..60 {
            if seed.below(3) == 0 {
                let result = send(&mut machine, *pick(seed, &[1, 2, 7, 100, 300]));
                machine.wrote.push_back(Input::Wrote { tokens: Vec::new(), writes: Vec::new(), result });
            }
            machine.now = machine.now.plus_ms(1);
            let steps = seed.below(60);
            machine.steps(seed, steps);
        }
        for _ in 0..100_000 {
            if machine.machine.is_idle() && machine.wrote.is_empty() {
                break;
            }
            machine.now = machine.now.plus_ms(1);
            machine.step(seed);
        }
        assert_eq!(log_of(&mut machine), (1..=sent).collect::<Vec<_>>(), "seed {nth}");
    }
}

/// The log of `puppet/a`, all of it.
fn log_of(machine: &mut Shuffled) -> Vec<u64> {
    let mut entries: Vec<u64> = Vec::new();
    loop {
        let after = Seq(entries.len() as i64);
        let read = Read::Log { object: "puppet/a".parse().unwrap(), after, limit: 1_000 };
        let Answer::Log(page) = machine.store.read(machine.now, &read).unwrap() else { unreachable!() };
        let page = page.map_or(Vec::new(), |page| page.entries);
        if page.is_empty() {
            return entries;
        }
        entries.extend(page.into_iter().map(|entry| entry.value.decode::<u64>().unwrap()));
    }
}

/// Another engine changes the object, or ends it, while this one has a commit under way and reads behind it. The commit will
/// be refused; until then what is read does not fit, and asking again and again would not change that.
#[test]
fn a_turn_behind_a_commit_that_will_be_refused_waits_for_it() {
    let put = |key: &str, n: i64| Do::Put(key.to_owned(), json!(n));
    let elsewhere = [
        vec![Do::DeleteSelf],
        vec![Do::Add("x".into(), 1)],
        vec![Do::Add("x".into(), 1), Do::Add("x".into(), 1)],
    ];
    for changes in elsewhere {
        let seed = &mut Seed::new(1);
        let store = MemoryStore::new();
        let [mut here, mut there] = [(); 2].map(|()| Shuffled::new(store.clone(), usize::MAX, false));
        for machine in [&mut here, &mut there] {
            machine.start(seed);
        }
        there.call(1, "puppet/a", &Do::Many(vec![put("x", 1), put("y", 1)]));
        there.steps(seed, 500);
        // Of the object, this engine knows where it is, and one row.
        here.call(1, "puppet/a", &Do::Get("x".into()));
        here.steps(seed, 500);
        for (id, change) in (2..).zip(&changes) {
            there.call(id, "puppet/a", change);
        }
        there.steps(seed, 500);

        here.call(2, "puppet/a", &put("x", 5));
        here.call(3, "puppet/a", &Do::Get("y".into()));
        let mut loads = 0;
        for _ in 0..100 {
            here.run(10);
            for (token, read) in std::mem::take(&mut here.asked) {
                loads += usize::from(matches!(read, Read::Load(_)));
                let result = here.store.read(here.now, &read);
                here.machine.input(Input::Answered { token, result }, here.now);
            }
        }
        assert_eq!(loads, 1, "loads behind the commit, after {changes:?} elsewhere");
        here.steps(seed, 500);
        let y = if matches!(changes[0], Do::DeleteSelf) { Value::Null } else { json!(1) };
        assert_eq!(here.replies[1..], [(CallId(2), Value::Null), (CallId(3), y)], "after {changes:?}");
    }
}
