//! Random verbs on the memory store and another one: every answer must be the same.
//!
//! One seed is one history, and fewer steps of it are its beginning: to look into a mismatch, run the same seed up to
//! the step that it names.

mod commits;
mod jobs;
mod reads;
mod survive;
mod universe;
mod verbs;

use crate::memory::{Broken, MemoryStore};
use crate::{Answer, Batch, Read, Reader, Store, StoreError, Write};
use abide_core::seed::Seed;
use abide_core::time::Time;
pub use survive::{Blow, Fragile, Survived, survive};
use universe::{Known, chance, pick};

/// How the other store differs from the memory store, or how the memory store contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// A batch was answered differently.
    #[error(
        "seed {seed}, step {step}: at {now} the batch\n  {batch:?}\nshould answer\n  {expected:?}\nbut answered\n  {got:?}"
    )]
    Batch {
        /// Whose history.
        seed: u64,
        /// Where in it.
        step: usize,
        /// The caller's time.
        now: Time,
        /// What was written.
        batch: Vec<Write>,
        /// What the memory store answered.
        expected: Box<Batch>,
        /// What the other answered.
        got: Box<Batch>,
    },
    /// A question was answered differently.
    #[error(
        "seed {seed}, step {step}: at {now} the question\n  {read:?}\nshould be answered\n  {expected:?}\nbut was answered\n  {got:?}"
    )]
    Answer {
        /// Whose history.
        seed: u64,
        /// Where in it.
        step: usize,
        /// The caller's time.
        now: Time,
        /// What was asked.
        read: Box<Read>,
        /// What the memory store answered.
        expected: Box<Answer>,
        /// What the other answered.
        got: Box<Answer>,
    },
    /// A store gave an error.
    #[error("seed {seed}, step {step}: {error}, after the batch\n  {batch:?}")]
    Error {
        /// Whose history.
        seed: u64,
        /// Where in it.
        step: usize,
        /// What was written last.
        batch: Vec<Write>,
        /// The error.
        error: StoreError,
    },
    /// The memory store contradicts itself.
    #[error("seed {seed}, step {step}: {broken}, after the batch\n  {batch:?}")]
    Broken {
        /// Whose history.
        seed: u64,
        /// Where in it.
        step: usize,
        /// What was written last.
        batch: Vec<Write>,
        /// The contradiction.
        broken: Broken,
    },
}

/// How many steps lie between two comparisons of everything there is.
const STEPS_BETWEEN_COMPARISONS: usize = 40;

/// Runs `steps` random batches of the history `seed` on a new memory store and on `other`, which must be empty, and
/// compares every answer. Now and then `other` is given to `restart`, which opens it again as after a restart.
pub fn drive(
    seed: u64,
    steps: usize,
    other: Box<dyn Store>,
    restart: &mut dyn FnMut(Box<dyn Store>) -> Box<dyn Store>,
) -> Result<(), Mismatch> {
    let mut drive = Drive {
        seed,
        step: 0,
        random: Seed::new(seed),
        now: Time(1_000_000_000),
        spec: MemoryStore::new(),
        other: Some(other),
        known: Known::nothing(),
        batch: Vec::new(),
    };
    for step in 0..steps {
        drive.step = step;
        drive.step(restart)?;
    }
    drive.compare_everything()
}

struct Drive {
    seed: u64,
    step: usize,
    random: Seed,
    now: Time,
    spec: MemoryStore,
    /// Away only while it restarts.
    other: Option<Box<dyn Store>>,
    known: Known,
    batch: Vec<Write>,
}

impl Drive {
    fn step(&mut self, restart: &mut dyn FnMut(Box<dyn Store>) -> Box<dyn Store>) -> Result<(), Mismatch> {
        self.pass_time();
        if chance(&mut self.random, 2) {
            self.other = self.other.take().map(&mut *restart);
        }
        if chance(&mut self.random, 1) {
            self.other().reopen().map_err(|error| self.error(error))?;
        }
        self.write()?;
        for _ in 0..2 {
            let read = reads::one(&mut self.random, &self.known);
            self.read(read)?;
        }
        if self.step.is_multiple_of(STEPS_BETWEEN_COMPARISONS) {
            self.compare_everything()?;
        }
        Ok(())
    }

    fn pass_time(&mut self) {
        let most_ms = match self.random.below(100) {
            0..30 => 1,
            30..70 => 100,
            70..90 => 2_000,
            90..98 => 20_000,
            _ => 40_000_000,
        };
        self.now = self.now.plus_ms(i64::try_from(self.random.below(most_ms)).unwrap_or(0));
    }

    /// The time that is given with a batch: now and then it runs backwards.
    fn given_now(&mut self) -> Time {
        if chance(&mut self.random, 3) { self.now.plus_ms(-30_000) } else { self.now }
    }

    fn write(&mut self) -> Result<(), Mismatch> {
        let now = self.given_now();
        let count = 1 + self.random.below(3);
        self.known.look(&mut self.spec, self.now);
        self.batch = (0..count).map(|_| verbs::one(&mut self.random, &mut self.known, self.now)).collect();
        let expected = self.spec.write(now, &self.batch).map_err(|error| self.error(error))?;
        let batch = std::mem::take(&mut self.batch);
        let got = self.other().write(now, &batch);
        self.batch = batch;
        let got = got.map_err(|error| self.error(error))?;
        if expected != got {
            return Err(Mismatch::Batch {
                seed: self.seed,
                step: self.step,
                now,
                batch: self.batch.clone(),
                expected: Box::new(expected),
                got: Box::new(got),
            });
        }
        self.known.learn(&expected);
        self.spec.check_invariants().map_err(|broken| Mismatch::Broken {
            seed: self.seed,
            step: self.step,
            batch: self.batch.clone(),
            broken,
        })
    }

    fn read(&mut self, read: Read) -> Result<(), Mismatch> {
        let now = self.now;
        let expected = self.spec.read(now, &read).map_err(|error| self.error(error))?;
        let got = self.other().reader().and_then(|mut reader| reader.read(now, &read));
        let got = got.map_err(|error| self.error(error))?;
        if expected == got {
            return Ok(());
        }
        Err(Mismatch::Answer {
            seed: self.seed,
            step: self.step,
            now,
            read: Box::new(read),
            expected: Box::new(expected),
            got: Box::new(got),
        })
    }

    fn compare_everything(&mut self) -> Result<(), Mismatch> {
        self.known.look(&mut self.spec, self.now);
        for read in reads::all(&self.known) {
            self.read(read)?;
        }
        Ok(())
    }

    fn other(&mut self) -> &mut dyn Store {
        self.other.as_deref_mut().expect("restart gives a store back")
    }

    fn error(&self, error: StoreError) -> Mismatch {
        Mismatch::Error { seed: self.seed, step: self.step, batch: self.batch.clone(), error }
    }
}

/// One of the words of a list.
fn word<'a>(random: &mut Seed, words: &[&'a str]) -> &'a str {
    pick(random, words).unwrap_or(&"a")
}
