//! The suite on the memory store.

mod checked;

use abide_store::memory::MemoryStore;
use abide_store::suite::{cases, random::drive};
use checked::Checked;
use std::panic::catch_unwind;

#[test]
fn the_memory_store_passes_the_suite() {
    let cases = cases();
    let failed: Vec<&str> = cases
        .iter()
        .filter(|case| catch_unwind(|| (case.run)(&mut Checked::default())).is_err())
        .map(|case| case.name)
        .collect();
    assert!(failed.is_empty(), "{} of {} cases failed: {failed:#?}", failed.len(), cases.len());
}

#[test]
fn two_memory_stores_agree_on_random_verbs() {
    for seed in 0..10 {
        let other = Box::new(MemoryStore::new());
        if let Err(mismatch) = drive(seed, 250, other, &mut |store| store) {
            panic!("{mismatch}");
        }
    }
}
