//! The suite that every store passes, and random verbs against the memory store.

use crate::world::{open, scratch};
use abide_store::Store;
use abide_store::suite::cases;
use abide_store::suite::random::drive;

/// Histories and their length: what a machine can do in a few seconds. More were run by hand.
const SEEDS: u64 = 8;
const STEPS: usize = 200;

#[test]
fn every_story_of_the_suite() {
    for case in cases() {
        let dir = scratch();
        println!("{}", case.name);
        (case.run)(&mut open(dir.path()));
    }
}

#[test]
fn random_verbs_answer_as_the_memory_store_does() {
    for seed in 0..SEEDS {
        let dir = scratch();
        let restart = &mut |store| {
            drop(store);
            let reopened: Box<dyn Store> = Box::new(open(dir.path()));
            reopened
        };
        if let Err(mismatch) = drive(seed, STEPS, Box::new(open(dir.path())), restart) {
            panic!("{mismatch}");
        }
    }
}
