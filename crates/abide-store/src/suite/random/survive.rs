//! Random verbs on a store to which bad things happen: after each of them it holds what it must and nothing else.

use super::universe::Known;
use super::{Mismatch, reads, verbs};
use crate::memory::MemoryStore;
use crate::write::WorkerCard;
use crate::{Reader, Store, StoreError, Write};
use abide_core::name::{QueueName, WorkerId};
use abide_core::seed::Seed;
use abide_core::time::Time;

/// A store to which bad things happen.
pub trait Fragile {
    /// The store.
    fn store(&mut self) -> &mut dyn Store;

    /// Perhaps lets something bad happen during the next write.
    fn threaten(&mut self, random: &mut Seed);

    /// The write is over, well or not. Makes the store usable again, and perhaps lets the power go now.
    fn recover(&mut self, failed: Option<&StoreError>, random: &mut Seed) -> Result<Blow, StoreError>;
}

/// What has happened to the store by the time it is usable again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    /// Nothing that makes it forget.
    None,
    /// The power was lost.
    PowerLoss,
}

/// What was survived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Survived {
    /// Power losses.
    pub power_losses: u64,
    /// Batches of which nothing was known and that turned out to be there.
    pub kept: u64,
    /// Batches of which nothing was known and that turned out to be gone.
    pub gone: u64,
    /// Batches that failed, and nothing of them may be there.
    pub refused: u64,
}

/// Runs `steps` random batches of the history `seed` on a new memory store and on a fragile one, which must be empty.
/// What was acknowledged must be there after every blow; what failed must be there whole or not at all, and not at all
/// unless the store said that it does not know.
pub fn survive(seed: u64, steps: usize, fragile: &mut dyn Fragile) -> Result<Survived, Mismatch> {
    let mut history = History {
        seed,
        step: 0,
        random: Seed::new(seed),
        now: Time(1_000_000_000),
        spec: MemoryStore::new(),
        known: Known::nothing(),
        batch: Vec::new(),
        survived: Survived::default(),
    };
    for step in 0..steps {
        history.step = step;
        history.step(fragile)?;
    }
    history.compare(fragile)?;
    Ok(history.survived)
}

/// A write that leaves something to be seen: not every batch does at once.
fn mark(step: usize) -> Write {
    let worker = WorkerId::trusted("mark");
    let queues = vec![QueueName::trusted(format!("step-{step}"))];
    Write::SetWorker(WorkerCard { worker, life: None, queues, kinds: Vec::new(), seen_at: Time::ZERO })
}

struct History {
    seed: u64,
    step: usize,
    random: Seed,
    now: Time,
    spec: MemoryStore,
    known: Known,
    batch: Vec<Write>,
    survived: Survived,
}

impl History {
    fn step(&mut self, fragile: &mut dyn Fragile) -> Result<(), Mismatch> {
        let most_ms = if self.random.below(10) == 0 { 20_000 } else { 300 };
        self.now = self.now.plus_ms(i64::try_from(self.random.below(most_ms)).unwrap_or(0));
        self.known.look(&mut self.spec, self.now);
        let count = 1 + self.random.below(4);
        self.batch = (0..count).map(|_| verbs::one(&mut self.random, &mut self.known, self.now)).collect();
        self.batch.push(mark(self.step));
        let before = self.spec.fork().map_err(|error| self.error(error))?;
        let expected = self.spec.write(self.now, &self.batch).map_err(|error| self.error(error))?;
        fragile.threaten(&mut self.random);
        let got = fragile.store().write(self.now, &self.batch);
        let recovered = fragile.recover(got.as_ref().err(), &mut self.random);
        let blow = recovered.map_err(|error| self.error(error))?;
        self.survived.power_losses += u64::from(blow == Blow::PowerLoss);
        match got {
            Ok(got) if got == expected => self.known.learn(&expected),
            Ok(got) => {
                let (seed, step, now) = (self.seed, self.step, self.now);
                let (expected, got) = (Box::new(expected), Box::new(got));
                return Err(Mismatch::Batch { seed, step, now, batch: self.batch.clone(), expected, got });
            }
            Err(StoreError::Ambiguous(_)) => return self.find_out(fragile, before),
            Err(_) if blow == Blow::PowerLoss => return self.find_out(fragile, before),
            Err(_) => {
                self.survived.refused += 1;
                self.spec = before;
                return self.compare(fragile);
            }
        }
        if blow == Blow::None { Ok(()) } else { self.compare(fragile) }
    }

    /// Nobody knows whether the batch was applied: it must have been, or not, and nothing between.
    fn find_out(&mut self, fragile: &mut dyn Fragile, before: MemoryStore) -> Result<(), Mismatch> {
        if self.compare(fragile).is_ok() {
            self.survived.kept += 1;
            return Ok(());
        }
        self.survived.gone += 1;
        self.spec = before;
        self.compare(fragile)
    }

    fn compare(&mut self, fragile: &mut dyn Fragile) -> Result<(), Mismatch> {
        self.known.look(&mut self.spec, self.now);
        let mut reader = fragile.store().reader().map_err(|error| self.error(error))?;
        for read in reads::all(&self.known) {
            let expected = self.spec.read(self.now, &read).map_err(|error| self.error(error))?;
            let got = reader.read(self.now, &read).map_err(|error| self.error(error))?;
            if expected != got {
                let (seed, step, now) = (self.seed, self.step, self.now);
                let (read, expected, got) = (Box::new(read), Box::new(expected), Box::new(got));
                return Err(Mismatch::Answer { seed, step, now, read, expected, got });
            }
        }
        Ok(())
    }

    fn error(&self, error: StoreError) -> Mismatch {
        Mismatch::Error { seed: self.seed, step: self.step, batch: self.batch.clone(), error }
    }
}
