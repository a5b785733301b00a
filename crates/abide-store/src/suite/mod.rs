//! The suite that every store passes.
//!
//! [`cases`] are small stories, one for each sentence of the contract; a backend runs each by name on a fresh store.
//! [`random::drive`] runs random verbs on the memory store and another one and compares every answer.
//! A store that does not keep the contract makes a case panic, saying what was expected.

mod alarms;
mod attempts;
mod claims;
mod commits;
mod deletion;
mod enqueue;
mod follows;
mod limits;
mod messages;
mod pages;
mod probe;
mod queues;
pub mod random;

mod rates;
mod retention;
mod tickets;
mod why;

use crate::Store;

/// One story.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// What it shows.
    pub name: &'static str,
    /// Plays it on an empty store; panics if the store does not keep the contract.
    pub run: fn(&mut dyn Store),
}

/// Makes cases out of functions of a [`probe::Probe`].
macro_rules! stories {
    ($($name:ident),* $(,)?) => {
        pub(super) const CASES: &[$crate::suite::Case] = &[$($crate::suite::Case {
            name: stringify!($name),
            run: |store| $name(&mut $crate::suite::probe::Probe::new(store)),
        }),*];
    };
}
use stories;

/// Takes an answer apart, or panics with what it was.
macro_rules! answer {
    ($value:expr, $pattern:pat => $out:expr) => {
        match $value {
            $pattern => $out,
            other => panic!("expected {}, got {other:?}", stringify!($pattern)),
        }
    };
}
use answer;

/// Every story.
#[must_use]
pub fn cases() -> Vec<Case> {
    [
        commits::CASES,
        messages::CASES,
        alarms::CASES,
        follows::CASES,
        tickets::CASES,
        deletion::CASES,
        enqueue::CASES,
        claims::CASES,
        attempts::CASES,
        limits::CASES,
        rates::CASES,
        queues::CASES,
        retention::CASES,
        why::CASES,
        pages::CASES,
    ]
    .concat()
}

/// Plays every story, each on a store that `make` gives. The first that fails panics.
pub fn run_all(make: &mut dyn FnMut() -> Box<dyn Store>) {
    for case in cases() {
        (case.run)(make().as_mut());
    }
}
