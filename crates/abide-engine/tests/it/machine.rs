//! The machine by itself, with a store whose answers the test chooses.

use crate::objects::{Do, Puppet};
use abide_core::json::Json;
use abide_core::time::Time;
use abide_engine::machine::{CallId, Input, Machine, MachineOptions, NoWitness, Output};
use abide_engine::{Call, CallError, Registry};
use abide_store::memory::MemoryStore;
use abide_store::{Read, Reader, Store, StoreError, Write};

struct Desk {
    machine: Machine,
    store: MemoryStore,
    now: Time,
    /// Writes fail with this while it is there.
    away: Option<StoreError>,
    written: Vec<Write>,
    replies: Vec<(u64, bool)>,
}

fn damaged() -> StoreError {
    StoreError::Corrupt("a page cannot be read".into())
}

impl Desk {
    fn new() -> Desk {
        let mut registry = Registry::new();
        registry.object(Puppet).unwrap();
        let machine = Machine::new(MachineOptions::default(), registry, Box::new(NoWitness), 1);
        let (store, now) = (MemoryStore::new(), Time(1_000_000));
        let mut desk = Desk { machine, store, now, away: None, written: Vec::new(), replies: Vec::new() };
        desk.machine.input(Input::Start { crashed: None }, desk.now);
        desk.settle();
        desk
    }

    fn call(&mut self, id: u64, object: &str) {
        let body = Json::encode(&Do::Add("n".into(), 1)).unwrap();
        let call = Call { object: object.parse().unwrap(), body, key: None };
        self.machine.input(Input::Call(CallId(id), call), self.now);
        self.settle();
    }

    /// Lets the machine run until it has nothing more to say at this time.
    fn settle(&mut self) {
        loop {
            let more = self.machine.run(self.now, 64);
            let outputs = self.machine.outputs();
            if outputs.is_empty() && !more {
                return;
            }
            for output in outputs {
                self.put_out(output);
            }
        }
    }

    fn put_out(&mut self, output: Output) {
        match output {
            Output::Write(token, write) => {
                let result = match self.away.clone() {
                    Some(error) => Err(error),
                    None => self.store.write(self.now, std::slice::from_ref(&write)),
                };
                self.written.push(write.clone());
                let wrote = Input::Wrote { tokens: vec![token], writes: vec![write], result };
                self.machine.input(wrote, self.now);
            }
            Output::Read(token, read) => {
                let is_bad = matches!(&read, Read::Load(load) if load.object.name.as_str() == "bad");
                let result = if is_bad { Err(damaged()) } else { self.store.read(self.now, &read) };
                self.machine.input(Input::Answered { token, result }, self.now);
            }
            Output::Reply(id, answer) => {
                let is_damaged = answer == Err(CallError::Store(damaged()));
                assert!(answer.is_ok() || is_damaged || self.away.is_some(), "{answer:?}");
                self.replies.push((id.0, answer.is_ok()));
            }
            _ => {}
        }
    }
}

#[test]
fn a_page_that_cannot_be_read_fails_its_call_alone() {
    let mut desk = Desk::new();
    desk.call(1, "puppet/bad");
    desk.call(2, "puppet/good");
    desk.call(3, "puppet/bad");
    assert_eq!(desk.replies, [(1, false), (2, true), (3, false)]);
    assert!(desk.machine.is_idle());
}

#[test]
fn after_an_outage_leases_are_granted_anew() {
    let mut desk = Desk::new();
    desk.call(1, "puppet/a");
    assert!(!desk.written.iter().any(|write| matches!(write, Write::Regrant { .. })));
    desk.away = Some(StoreError::Unavailable("it is away".into()));
    desk.call(2, "puppet/a");
    desk.away = None;
    desk.now = desk.machine.wake_at().unwrap();
    desk.settle();
    assert!(desk.written.iter().any(|write| matches!(write, Write::Regrant { .. })));
    desk.call(3, "puppet/a");
    assert_eq!(desk.replies, [(1, true), (2, false), (3, true)]);
}
