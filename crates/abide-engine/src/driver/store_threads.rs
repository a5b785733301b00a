//! The threads that touch the store: one writer that gathers what is ready and syncs once, readers beside it.

use super::thread::Message;
use crate::machine::{Input, ReadToken, WriteToken};
use crate::meter::Meter;
use abide_core::time::{Clock, Time};
use abide_store::{Answer, Batch, Read, Reader, Store, StoreError, Write};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

/// With so many writes a batch is full: it takes no more of what the machine put out.
const BATCH: usize = 2_048;

/// A read for somebody.
pub(super) enum ReadJob {
    /// For the machine.
    ForMachine { now: Time, token: ReadToken, read: Read },
    /// For people.
    ForPeople { now: Time, read: Read, reply: oneshot::Sender<Result<Answer, StoreError>> },
}

/// Readers of the store that have not begun.
pub(super) struct Readers {
    readers: Vec<OneReader>,
}

struct OneReader {
    reader: Box<dyn Reader>,
    door: Sender<ReadJob>,
    jobs: Receiver<ReadJob>,
}

/// Readers at work.
pub(super) struct Reading {
    /// Where reads for the machine go.
    pub(super) doors: Vec<Sender<ReadJob>>,
}

impl Readers {
    pub(super) fn open(store: &mut dyn Store, count: usize) -> Result<Readers, StoreError> {
        let mut readers = Vec::new();
        for _ in 0..count.max(2) {
            let (door, jobs) = channel();
            readers.push(OneReader { reader: store.reader()?, door, jobs });
        }
        Ok(Readers { readers })
    }

    /// Where reads for people go.
    pub(super) fn people(&self) -> Sender<ReadJob> {
        self.readers[0].door.clone()
    }

    /// Starts them. They end when their doors are closed.
    pub(super) fn spawn(self, inbox: &Sender<Message>) -> Result<Reading, std::io::Error> {
        let mut doors = Vec::new();
        for (index, OneReader { mut reader, door, jobs }) in self.readers.into_iter().enumerate() {
            let inbox = inbox.clone();
            let run = move || {
                while let Ok(job) = jobs.recv() {
                    match job {
                        ReadJob::ForMachine { now, token, read } => {
                            let result = reader.read(now, &read);
                            if inbox.send(Message::Input(Input::Answered { token, result })).is_err() {
                                return;
                            }
                        }
                        // Whoever asked may have given up.
                        ReadJob::ForPeople { now, read, reply } => drop(reply.send(reader.read(now, &read))),
                    }
                }
            };
            std::thread::Builder::new().name(format!("abide-read-{index}")).spawn(run)?;
            if index > 0 {
                doors.push(door);
            }
        }
        Ok(Reading { doors })
    }
}

/// What the writer is told.
pub(super) enum WriterJob {
    /// Write these, in this order.
    Write { now: Time, writes: Vec<(WriteToken, Write)> },
    /// Open the store again; writes before this that were not done fail.
    Reopen,
}

/// Takes the time of batches.
pub(super) struct Stopwatch {
    pub(super) meter: Arc<Meter>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Stopwatch {
    fn write(&self, store: &mut dyn Store, now: Time, writes: &[Write]) -> Result<Batch, StoreError> {
        let began_us = self.clock.elapsed_us();
        let result = store.write(now, writes);
        let took_us = u64::try_from(self.clock.elapsed_us() - began_us).unwrap_or(0);
        if result.is_ok() {
            self.meter.batch(writes.len(), took_us, store.last_sync());
        }
        result
    }
}

/// The writer: takes all writes that are there, applies them in one batch, says so.
pub(super) fn write_loop(
    mut store: Box<dyn Store>,
    jobs: &Receiver<WriterJob>,
    inbox: &Sender<Message>,
    watch: &Stopwatch,
) {
    let mut broken = false;
    let mut next = VecDeque::new();
    loop {
        let first = match next.pop_front() {
            Some(job) => job,
            None => match jobs.recv() {
                Ok(job) => job,
                Err(_) => return,
            },
        };
        let (mut latest, first) = match first {
            WriterJob::Write { now, writes } => (now, writes),
            WriterJob::Reopen => {
                broken = !reopen(&mut *store, jobs, &mut next);
                if !broken && inbox.send(Message::Input(Input::Reopened)).is_err() {
                    return;
                }
                continue;
            }
        };
        let (mut tokens, mut writes): (Vec<WriteToken>, Vec<Write>) = first.into_iter().unzip();
        while writes.len() < BATCH {
            match next.pop_front().map_or_else(|| jobs.try_recv(), Ok) {
                Ok(WriterJob::Write { now, writes: more }) => {
                    latest = latest.max(now);
                    for (token, write) in more {
                        tokens.push(token);
                        writes.push(write);
                    }
                }
                Ok(WriterJob::Reopen) => {
                    next.push_front(WriterJob::Reopen);
                    break;
                }
                Err(_) => break,
            }
        }
        let told = if broken {
            let error = StoreError::Unavailable("it is being opened again".into());
            inbox.send(Message::Input(Input::Wrote { tokens, writes, result: Err(error) }))
        } else {
            broken = write_batch(&mut *store, latest, tokens, writes, inbox, watch);
            Ok(())
        };
        if told.is_err() {
            return;
        }
    }
}

/// Writes a batch and tells how it went; whether nothing more may be written before the store is reopened. If one write
/// spoils the batch, the others are written without it.
fn write_batch(
    store: &mut dyn Store,
    now: Time,
    mut tokens: Vec<WriteToken>,
    mut writes: Vec<Write>,
    inbox: &Sender<Message>,
    watch: &Stopwatch,
) -> bool {
    let result = watch.write(store, now, &writes);
    if matches!(result, Err(StoreError::Rejected(_))) && writes.len() > 1 {
        let half = writes.len() / 2;
        let (late_tokens, late_writes) = (tokens.split_off(half), writes.split_off(half));
        if !write_batch(store, now, tokens, writes, inbox, watch) {
            return write_batch(store, now, late_tokens, late_writes, inbox, watch);
        }
        let error = StoreError::Unavailable("it is being opened again".into());
        let late = Input::Wrote { tokens: late_tokens, writes: late_writes, result: Err(error) };
        // An engine that is gone does not want to know.
        drop(inbox.send(Message::Input(late)));
        return true;
    }
    let ambiguous = matches!(result, Err(StoreError::Ambiguous(_)));
    // An engine that is gone does not want to know.
    drop(inbox.send(Message::Input(Input::Wrote { tokens, writes, result })));
    ambiguous
}

/// Opens the store again, as often as it takes, until it works or the engine is gone.
fn reopen(store: &mut dyn Store, jobs: &Receiver<WriterJob>, next: &mut VecDeque<WriterJob>) -> bool {
    loop {
        match store.reopen() {
            Ok(()) => return true,
            Err(error) => {
                tracing::error!(target: "store", %error, "the store cannot be opened again");
                match jobs.recv_timeout(std::time::Duration::from_secs(1)) {
                    Ok(job) => next.push_back(job),
                    Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
                    Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return false,
                }
            }
        }
    }
}
