//! Memory that the connections to a file share, and the locks on it.

use crate::locks::Holder;
use std::collections::BTreeMap;

/// Locks that SQLite uses on it.
const SLOTS: usize = 8;

/// The memory of one file.
#[derive(Debug, Default)]
pub(crate) struct Shm {
    /// Each stays where it is for as long as somebody uses it. SQLite writes to it through the address.
    regions: Vec<Box<[u64]>>,
    users: BTreeMap<Holder, [Slot; SLOTS]>,
}

/// What one user holds of one lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Slot {
    #[default]
    Free,
    Shared,
    Exclusive,
}

impl Shm {
    /// The address of a region. None if it does not exist and is not to be made.
    pub(crate) fn region(&mut self, user: Holder, at: usize, bytes: usize, make: bool) -> Option<*mut u64> {
        self.users.entry(user).or_default();
        while make && self.regions.len() <= at {
            self.regions.push(vec![0; bytes.div_ceil(8)].into_boxed_slice());
        }
        self.regions.get_mut(at).map(|region| region.as_mut_ptr())
    }

    /// Takes or frees locks; whether others let it.
    pub(crate) fn lock(&mut self, user: Holder, from: usize, count: usize, want: Slot) -> bool {
        let slots = from..(from + count).min(SLOTS);
        let others = |slot: usize| {
            self.users.iter().filter(move |(other, _)| **other != user).map(move |(_, held)| held[slot])
        };
        let free = slots.clone().all(|slot| match want {
            Slot::Free => true,
            Slot::Shared => others(slot).all(|held| held != Slot::Exclusive),
            Slot::Exclusive => others(slot).all(|held| held == Slot::Free),
        });
        if free {
            let held = self.users.entry(user).or_default();
            held[slots].fill(want);
        }
        free
    }

    /// A connection does not use it any more; whether nobody does.
    pub(crate) fn leave(&mut self, user: Holder) -> bool {
        self.users.remove(&user);
        self.users.is_empty()
    }
}
