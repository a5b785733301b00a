//! Real SQLite on a disk that fails, beside the memory store: every answer of both must be the same.

use abide_core::commit::TicketWrite;
use abide_core::job::JobId;
use abide_core::name::{IdempotencyKey, QueueName, WorkerId};
use abide_core::object::ObjectKey;
use abide_core::ticket::Ticket;
use abide_core::time::Time;
use abide_sqlite::SqliteStore;
use abide_store::memory::MemoryStore;
use abide_store::read::{Load, Want};
use abide_store::view::JobFilter;
use abide_store::write::WorkerCard;
use abide_store::{Answer, Batch, Read, Reader, Store, StoreError, Write, Written};
use abide_testdisk::{TestDisk, Trouble};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const MARK: &str = "mark";
/// More than there is of anything.
const ALL: usize = 1_000_000;

/// A handle on the pair. It is its own reader, so that a reader outlives a power loss.
///
/// The lock is there because stores and readers must be `Send`; one thread uses it.
#[derive(Clone)]
pub(crate) struct Twin(Arc<Mutex<Pair>>);

struct Pair {
    spec: MemoryStore,
    /// Away only while the power is. Dropped before the disk.
    sqlite: Option<(SqliteStore, Box<dyn Reader>)>,
    disk: TestDisk,
    /// Batches so far: the last write of each leaves its number behind.
    batches: u64,
    /// Replies that may be kept and tickets that may be open.
    replies: BTreeSet<(ObjectKey, IdempotencyKey)>,
    tickets: BTreeSet<Ticket>,
}

/// How a batch went that something happened to.
pub(crate) struct Ordeal {
    /// The answers, if it turned out to be applied.
    pub(crate) applied: Option<Batch>,
    /// What the writer was told, if not that.
    pub(crate) error: Option<StoreError>,
    /// Whether the power was lost.
    pub(crate) power_lost: bool,
    /// Whether what was to happen did.
    pub(crate) struck: bool,
}

impl Twin {
    pub(crate) fn new(seed: u64) -> Result<Twin, StoreError> {
        let disk = TestDisk::new(seed);
        let sqlite = Some(open(&disk)?);
        let (replies, tickets) = (BTreeSet::new(), BTreeSet::new());
        let pair = Pair { spec: MemoryStore::new(), sqlite, disk, batches: 0, replies, tickets };
        Ok(Twin(Arc::new(Mutex::new(pair))))
    }

    fn pair(&self) -> MutexGuard<'_, Pair> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn invariants(&self) -> Result<(), String> {
        self.pair().spec.check_invariants().map_err(|broken| broken.to_string())
    }

    /// Writes a batch while something happens to the disk, and finds out what came of it.
    pub(crate) fn write_in_trouble(
        &self,
        now: Time,
        writes: &[Write],
        (trouble, after_calls): (Trouble, u64),
    ) -> Result<Ordeal, StoreError> {
        let mut pair = self.pair();
        pair.disk.expect_trouble(trouble, after_calls);
        let marked = pair.mark(writes);
        let got = pair.sqlite()?.0.write(now, &marked);
        let struck = pair.disk.end_trouble();
        let power_lost = !pair.disk.is_on();
        if power_lost {
            pair.open_after_power_loss()?;
        } else if matches!(got, Err(StoreError::Ambiguous(_))) {
            pair.sqlite()?.0.reopen()?;
        }
        let is_there = pair.last_mark(now)? == pair.batches;
        let (applied, error) = match (got, is_there) {
            (Ok(got), true) => (Some(pair.agree(now, &marked, got)?), None),
            (Ok(_), false) => return Err(differs("an acknowledged batch is gone")),
            (Err(error), true) if power_lost || matches!(error, StoreError::Ambiguous(_)) => {
                let mut batch = pair.spec.write(now, &marked)?;
                batch.written.pop();
                (Some(batch), Some(error))
            }
            (Err(_), true) => return Err(differs("a batch that failed is there")),
            (Err(error), false) => (None, Some(error)),
        };
        if struck {
            pair.compare(now)?;
        }
        Ok(Ordeal { applied, error, power_lost, struck })
    }

    /// The power goes and comes back.
    pub(crate) fn lose_power(&self, now: Time) -> Result<(), StoreError> {
        let mut pair = self.pair();
        pair.disk.power_off();
        pair.open_after_power_loss()?;
        pair.compare(now)
    }
}

fn open(disk: &TestDisk) -> Result<(SqliteStore, Box<dyn Reader>), StoreError> {
    let store = SqliteStore::open_on(disk.vfs(), Path::new("abide.db"))?;
    let reader = store.reader()?;
    Ok((store, reader))
}

fn differs(what: impl Into<String>) -> StoreError {
    StoreError::Corrupt(what.into())
}

impl Pair {
    fn sqlite(&mut self) -> Result<&mut (SqliteStore, Box<dyn Reader>), StoreError> {
        self.sqlite.as_mut().ok_or_else(|| differs("the store did not open"))
    }

    /// The batch, and a write that says which it was.
    fn mark(&mut self, writes: &[Write]) -> Vec<Write> {
        self.batches += 1;
        for write in writes {
            let Write::Commit(commit) = write else { continue };
            let reply = commit.keyed_reply.as_ref();
            self.replies.extend(reply.map(|reply| (commit.object.clone(), reply.key.clone())));
            self.tickets.extend(commit.tickets.iter().map(|write| match write {
                TicketWrite::Open(ticket) | TicketWrite::Resolve(ticket, _) => ticket.clone(),
            }));
        }
        let mut marked = writes.to_vec();
        marked.push(Write::SetWorker(WorkerCard {
            worker: WorkerId::trusted(MARK),
            life: None,
            queues: vec![QueueName::trusted(self.batches.to_string())],
            kinds: Vec::new(),
            seen_at: Time::ZERO,
        }));
        marked
    }

    fn last_mark(&mut self, now: Time) -> Result<u64, StoreError> {
        let Answer::Workers(workers) = self.sqlite()?.1.read(now, &Read::Workers)? else {
            return Err(differs("a question about workers was answered otherwise"));
        };
        let mark = workers.iter().find(|card| card.worker.as_str() == MARK);
        let number = mark.and_then(|card| card.queues.first()?.as_str().parse().ok());
        Ok(number.unwrap_or(0))
    }

    fn open_after_power_loss(&mut self) -> Result<(), StoreError> {
        self.sqlite = None;
        self.disk.power_on();
        self.sqlite = Some(open(&self.disk)?);
        Ok(())
    }

    /// Applies to the memory store what SQLite has applied, and holds one to the other.
    fn agree(&mut self, now: Time, marked: &[Write], got: Batch) -> Result<Batch, StoreError> {
        let mut expected = self.spec.write(now, marked)?;
        if expected != got {
            return Err(differs(format!("SQLite answers {got:?}, the memory store {expected:?}")));
        }
        match expected.written.pop() {
            Some(Written::Set) => Ok(expected),
            other => Err(differs(format!("a mark was answered with {other:?}"))),
        }
    }

    fn compare(&mut self, now: Time) -> Result<(), StoreError> {
        let far = Time::MAX;
        let mut reads = vec![
            (now, Read::Queues),
            (now, Read::Limits { after: None, limit: ALL }),
            (now, Read::Dead { after: None, limit: ALL }),
            (now, Read::Inboxes { after: None, limit: ALL }),
            (now, Read::Followers { after: None, limit: ALL }),
            (now, Read::Timers { after: Time::ZERO }),
            (far, Read::AlarmsDue { after: None, limit: ALL }),
            (far, Read::MessagesDue { limit: ALL }),
        ];
        for object in self.objects(now)? {
            let scan = Want::Scan { prefix: String::new(), from: None, limit: ALL };
            let load = Load { object: object.clone(), wants: vec![scan], reply_for: None };
            reads.push((now, Read::Load(load)));
            reads.push((now, Read::Messages { to: object, after: None, limit: ALL }));
        }
        for (object, key) in &self.replies {
            let (object, reply_for) = (object.clone(), Some(key.clone()));
            reads.push((now, Read::Load(Load { object, wants: Vec::new(), reply_for })));
        }
        reads.extend(self.tickets.iter().map(|ticket| (now, Read::Ticket(ticket.clone()))));
        reads.extend(self.jobs(now)?.into_iter().map(|job| (now, Read::Job(job))));
        reads.into_iter().try_for_each(|(at, read)| self.read(at, &read).map(drop))
    }

    fn jobs(&mut self, now: Time) -> Result<Vec<JobId>, StoreError> {
        match self.read(now, &Read::Jobs(JobFilter { limit: ALL, ..JobFilter::default() }))? {
            Answer::Jobs(page) => Ok(page.jobs.into_iter().map(|view| view.job).collect()),
            other => Err(differs(format!("a question about jobs was answered with {other:?}"))),
        }
    }

    fn objects(&mut self, now: Time) -> Result<Vec<ObjectKey>, StoreError> {
        match self.read(now, &Read::Objects { kind: None, after: None, limit: ALL })? {
            Answer::Objects(objects) => Ok(objects.into_iter().map(|view| view.object).collect()),
            other => Err(differs(format!("a question about objects was answered with {other:?}"))),
        }
    }

    fn read(&mut self, now: Time, read: &Read) -> Result<Answer, StoreError> {
        let mut got = self.sqlite()?.1.read(now, read)?;
        let mut expected = self.spec.read(now, read)?;
        if expected != got {
            return Err(differs(format!(
                "to {read:?} SQLite answers {got:?}, the memory store {expected:?}"
            )));
        }
        if let Answer::Workers(workers) = &mut expected {
            workers.retain(|card| card.worker.as_str() != MARK);
        }
        std::mem::swap(&mut got, &mut expected);
        Ok(got)
    }
}

impl Store for Twin {
    fn write(&mut self, now: Time, batch: &[Write]) -> Result<Batch, StoreError> {
        let mut pair = self.pair();
        let marked = pair.mark(batch);
        let got = pair.sqlite()?.0.write(now, &marked)?;
        pair.agree(now, &marked, got)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(self.clone()))
    }

    fn reopen(&mut self) -> Result<(), StoreError> {
        self.pair().sqlite()?.0.reopen()
    }
}

impl Reader for Twin {
    fn read(&mut self, now: Time, read: &Read) -> Result<Answer, StoreError> {
        self.pair().read(now, read)
    }
}
