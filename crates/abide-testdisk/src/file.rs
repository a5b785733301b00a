//! One file: what programs see, what is on the platter, and what lies between.

use abide_core::seed::Seed;

/// What reaches the platter at once: more is torn.
const SECTOR: usize = 512;

/// A change that was not synced.
#[derive(Debug, Clone)]
enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Truncate { len: usize },
}

/// A file.
#[derive(Debug, Clone, Default)]
pub(crate) struct File {
    /// What programs see.
    seen: Vec<u8>,
    /// What is there after a power loss, whatever happens.
    durable: Vec<u8>,
    unsynced: Vec<Change>,
}

/// What becomes of the changes that were not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// None was made.
    Dropped,
    /// Those up to some point were made.
    CutOff,
    /// Each was made or not.
    Scattered,
    /// Each sector of each was made or not.
    Torn,
    /// As torn, and in any order.
    Reordered,
    /// All were made.
    Kept,
}

const FATES: [Fate; 6] =
    [Fate::Dropped, Fate::CutOff, Fate::Scattered, Fate::Torn, Fate::Reordered, Fate::Kept];

impl File {
    pub(crate) fn len(&self) -> usize {
        self.seen.len()
    }

    /// Fills `into` from `at` on; how many bytes there were. The rest is zero.
    pub(crate) fn read(&self, at: usize, into: &mut [u8]) -> usize {
        let there = self.seen.get(at..).unwrap_or_default();
        let count = there.len().min(into.len());
        into[..count].copy_from_slice(&there[..count]);
        into[count..].fill(0);
        count
    }

    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) {
        self.change(Change::Write { at, bytes: bytes.to_vec() });
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.change(Change::Truncate { len });
    }

    fn change(&mut self, change: Change) {
        apply(&mut self.seen, &change);
        self.unsynced.push(change);
    }

    /// Everything that was written is on the platter.
    pub(crate) fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            apply(&mut self.durable, &change);
        }
    }

    /// A sync failed: something of what was written is on the platter, and the rest never will be, although programs see
    /// it. That is what operating systems do.
    pub(crate) fn sync_in_vain(&mut self, random: &mut Seed) {
        self.lose(random);
    }

    /// The power goes. What programs see afterwards is what is on the platter.
    pub(crate) fn lose_power(&mut self, random: &mut Seed) {
        self.lose(random);
        self.seen.clone_from(&self.durable);
    }

    fn lose(&mut self, random: &mut Seed) {
        let mut changes = std::mem::take(&mut self.unsynced);
        match FATES[below(random, FATES.len())] {
            Fate::Dropped => changes.clear(),
            Fate::CutOff => changes.truncate(below(random, changes.len() + 1)),
            Fate::Scattered => changes.retain(|_| coin(random)),
            Fate::Torn => changes = torn(changes, random),
            Fate::Reordered => {
                changes = torn(changes, random);
                for last in (1..changes.len()).rev() {
                    changes.swap(last, below(random, last + 1));
                }
            }
            Fate::Kept => {}
        }
        for change in &changes {
            apply(&mut self.durable, change);
        }
    }
}

fn apply(content: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { at, bytes } => {
            let end = at + bytes.len();
            if content.len() < end {
                content.resize(end, 0);
            }
            content[*at..end].copy_from_slice(bytes);
        }
        Change::Truncate { len } => content.resize(*len, 0),
    }
}

/// Every write in pieces of a sector, and about half of them gone.
fn torn(changes: Vec<Change>, random: &mut Seed) -> Vec<Change> {
    let mut kept = Vec::new();
    for change in changes {
        match change {
            Change::Truncate { .. } => kept.push(change),
            Change::Write { at, bytes } => {
                let mut start = 0;
                while start < bytes.len() {
                    let end = (start + SECTOR - (at + start) % SECTOR).min(bytes.len());
                    kept.push(Change::Write { at: at + start, bytes: bytes[start..end].to_vec() });
                    start = end;
                }
            }
        }
    }
    kept.retain(|_| coin(random));
    kept
}

pub(crate) fn coin(random: &mut Seed) -> bool {
    random.below(2) == 0
}

pub(crate) fn below(random: &mut Seed, count: usize) -> usize {
    usize::try_from(random.below(count as u64)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(file: &File) -> Vec<u8> {
        let mut bytes = vec![0; file.len()];
        file.read(0, &mut bytes);
        bytes
    }

    #[test]
    fn what_was_synced_outlasts_every_power_loss() {
        for seed in 0..200 {
            let mut file = File::default();
            file.write(0, &[1; 3_000]);
            file.sync();
            file.write(3_000, &[2; 3_000]);
            file.lose_power(&mut Seed::new(seed));
            assert_eq!(content(&file)[..3_000], [1; 3_000]);
            assert!(content(&file)[3_000..].iter().all(|byte| [0, 2].contains(byte)));
        }
    }

    #[test]
    fn what_was_not_synced_is_kept_dropped_and_torn() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let mut file = File::default();
            file.write(0, &[0; 1_024]);
            file.sync();
            file.write(0, &[1; 1_024]);
            file.lose_power(&mut Seed::new(seed));
            seen.insert((content(&file)[0], content(&file)[512]));
        }
        assert_eq!(Vec::from_iter(seen), [(0, 0), (0, 1), (1, 0), (1, 1)]);
    }

    #[test]
    fn after_a_sync_in_vain_programs_see_what_the_next_sync_does_not_save() {
        let lost = (0..200).any(|seed| {
            let mut file = File::default();
            file.write(0, &[1; 512]);
            file.sync_in_vain(&mut Seed::new(seed));
            assert_eq!(content(&file), [1; 512]);
            file.sync();
            file.lose_power(&mut Seed::new(seed));
            content(&file).is_empty()
        });
        assert!(lost);
    }
}
