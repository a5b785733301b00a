//! A worker of a server: leases jobs over HTTP, runs them here, and says how they ended.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use abide_core::job::{AttemptEnd, CoolDown, Finish, JobId, Lease, LeaseRef, LeaseToken, RetryWish};
use abide_core::json::Json;
use abide_core::limits::CLAIM_ITEMS;
use abide_core::name::{JobKind, LimitKey, QueueName, UniqueKey};
use abide_core::time::Time;
use abide_engine::worker::Said;
use abide_engine::{JobContext, Telemetry, Worker};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};
use tracing::Instrument;

use super::tally::Tally;
use crate::reach::{self, Client, Path, ReachError};

/// How long one ask for jobs waits at the server.
const WAIT_MS: u64 = 20_000;
/// Pause before a server that did not answer is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(500);
/// How long a server that owns the data directory may take to end, or to answer again.
const ENDING: Duration = Duration::from_secs(60);

/// Runs jobs of one queue and kind for a server.
#[derive(Clone)]
pub(super) struct Puller {
    pub(super) client: Client,
    /// Whose server it is.
    pub(super) data_dir: PathBuf,
    /// By this name the server knows it.
    pub(super) name: String,
    pub(super) queue: String,
    pub(super) kind: &'static str,
    /// Jobs at a time.
    pub(super) slots: usize,
    pub(super) lease_ms: i64,
    /// How long the server may be away before it is given up.
    pub(super) away: Duration,
    pub(super) worker: Arc<dyn Worker>,
    /// How many more may start.
    pub(super) tally: Tally,
    pub(super) telemetry: Arc<dyn Telemetry>,
}

/// What a puller is told. Each says more than the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    /// Lease and run.
    Run,
    /// Lease no more.
    Finish,
    /// Stop what runs, and hand it back.
    Stop,
    /// Stop what runs, and tell nobody: the server is gone.
    GiveUp,
}

#[derive(Deserialize)]
struct Leases {
    leases: Vec<LeaseDocument>,
}

/// A lease as the server writes it.
#[derive(Deserialize)]
struct LeaseDocument {
    job: JobId,
    attempt: u32,
    token: LeaseToken,
    queue: QueueName,
    kind: JobKind,
    payload: Json,
    unique_key: Option<UniqueKey>,
    failures: u32,
    max_attempts: u32,
    lease_expires_at: Time,
    trace: Option<String>,
}

impl From<LeaseDocument> for Lease {
    fn from(document: LeaseDocument) -> Lease {
        let LeaseDocument { job, attempt, token, queue, kind, payload, unique_key, .. } = document;
        Lease {
            lease: LeaseRef { job, attempt, token },
            queue,
            kind,
            payload,
            unique_key,
            failures: document.failures,
            max_attempts: document.max_attempts,
            lease_expires_at: document.lease_expires_at,
            trace: document.trace,
        }
    }
}

#[derive(Deserialize)]
struct Heartbeat {
    cancel_asked: bool,
}

/// How an attempt ended, as the server reads it.
#[derive(Serialize)]
struct FinishDocument<'a> {
    attempt: u32,
    token: LeaseToken,
    end: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<RetryWish>,
    refund: &'a [LimitKey],
    cool_down: &'a [CoolDown],
}

impl Puller {
    /// Pulls until it is told to finish, or the server is gone, and everything that it runs has ended.
    pub(super) async fn run(self, tell: watch::Sender<Told>) -> Result<(), ReachError> {
        let free = Arc::new(Semaphore::new(self.slots));
        let mut told = tell.subscribe();
        let mut running = JoinSet::new();
        let mut away_since = None;
        let pulled = loop {
            while running.try_join_next().is_some() {}
            let leases = tokio::select! {
                biased;
                () = reaches(&mut told, Told::Finish) => break Ok(()),
                leases = self.lease(&free) => leases,
            };
            match leases {
                Ok(leases) => {
                    away_since = None;
                    for (lease, place) in leases {
                        running.spawn(self.clone().attend(lease, place, told.clone()));
                    }
                }
                Err(error) => {
                    let away = away_since.get_or_insert_with(Instant::now).elapsed();
                    if let Err(error) = self.wait_for_server(error, away).await {
                        if matches!(error, ReachError::Gone { .. }) {
                            tell.send_replace(Told::GiveUp);
                        }
                        break Err(error);
                    }
                }
            }
        };
        while running.join_next().await.is_some() {}
        pulled
    }

    /// Jobs for the places that are free; waits for a place, then for a job.
    async fn lease(&self, free: &Arc<Semaphore>) -> Result<Vec<(Lease, OwnedSemaphorePermit)>, ReachError> {
        let take = |count: usize| {
            Arc::clone(free).try_acquire_many_owned(u32::try_from(count).unwrap_or(u32::MAX)).ok()
        };
        let first = Arc::clone(free).acquire_owned().await.expect("nobody closes it");
        let max = 1 + free.available_permits();
        let max = self.tally.budget().map_or(max, |left| max.min(usize::try_from(left).unwrap_or(max)));
        if max == 0 {
            // What may run has started; whoever watches the tally ends the run.
            return std::future::pending().await;
        }
        let mut places = take(max.min(CLAIM_ITEMS) - 1);
        let mut first = Some(first);
        let ask = json!({
            "worker": self.name,
            "queues": [self.queue],
            "kinds": [self.kind],
            "max": max.min(CLAIM_ITEMS),
            "lease_ms": self.lease_ms,
            "wait_ms": WAIT_MS,
        });
        let Leases { leases } = self.client.post(&Path::v1(["lease"]), &ask).await?;
        let mut place = || first.take().or_else(|| places.as_mut().and_then(|places| places.split(1)));
        Ok(leases.into_iter().filter_map(|lease| Some((Lease::from(lease), place()?))).collect())
    }

    /// One attempt: runs it, keeps its lease, passes its notes on, and says how it ended.
    fn attend(
        self,
        lease: Lease,
        place: OwnedSemaphorePermit,
        told: watch::Receiver<Told>,
    ) -> impl Future<Output = ()> + Send {
        let at = lease.lease;
        let (notes, noted) = mpsc::unbounded_channel();
        let (stop, stopped) = watch::channel(false);
        let span = self.telemetry.attempt(&lease);
        let run = self.worker.run(JobContext::new(lease, notes, stopped)).instrument(span);
        self.watch_over(at, run, noted, stop, told, place)
    }

    async fn watch_over(
        self,
        at: LeaseRef,
        mut run: impl Future<Output = Finish> + Unpin,
        mut noted: mpsc::UnboundedReceiver<(Lease, Said)>,
        stop: watch::Sender<bool>,
        mut told: watch::Receiver<Told>,
        place: OwnedSemaphorePermit,
    ) {
        let mut beat = tokio::time::interval(Duration::from_millis(self.lease_ms.unsigned_abs() / 3));
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        beat.tick().await;
        let mut is_told = false;
        let finish = loop {
            tokio::select! {
                finish = &mut run => break finish,
                () = reaches(&mut told, Told::Stop), if !is_told => {
                    is_told = true;
                    stop.send_replace(true);
                }
                Some((_, said)) = noted.recv() => match said {
                    Said::Progress(note) => self.note(at, &note).await,
                    // The end, which is soon, frees everything.
                    Said::Vacated => {}
                },
                _ = beat.tick() => {
                    if self.must_stop(at).await {
                        stop.send_replace(true);
                    }
                }
            }
        };
        self.finish(at, finish, &told).await;
        drop(place);
    }

    /// Lengthens the lease. Whether the attempt should stop: it was cancelled, or the lease is lost.
    async fn must_stop(&self, at: LeaseRef) -> bool {
        let path = job_path(at, "heartbeat");
        let ask = json!({ "attempt": at.attempt, "token": at.token, "lease_ms": self.lease_ms });
        match self.client.post::<Heartbeat>(&path, &ask).await {
            Ok(Heartbeat { cancel_asked }) => cancel_asked,
            Err(error) if is_passing(&error) => {
                self.find_server().await;
                false
            }
            Err(_) => true,
        }
    }

    /// Waits a little for a server that did not answer and has been `away` for so long. An error if it is given up: it
    /// ended and nobody owns the data directory, or it is there and does not answer.
    async fn wait_for_server(&self, error: ReachError, away: Duration) -> Result<(), ReachError> {
        if !is_passing(&error) {
            return Err(error);
        }
        if away >= self.away
            && let Err(gone @ ReachError::Gone { .. }) = reach::find_again(&self.data_dir, &self.client).await
        {
            return Err(gone);
        }
        if away >= self.away + ENDING {
            return Err(error);
        }
        tracing::warn!(target: "queue", %error, "the server did not answer and is asked again");
        self.find_server().await;
        Ok(())
    }

    /// Looks after a while where the server is now: it may have been started again.
    async fn find_server(&self) {
        tokio::time::sleep(ASK_AGAIN).await;
        // One that is not there yet is looked for again when it did not answer again.
        drop(reach::find_again(&self.data_dir, &self.client).await);
    }

    async fn note(&self, at: LeaseRef, note: &Json) {
        let ask = json!({ "attempt": at.attempt, "token": at.token, "progress": note });
        // A note that does not arrive is one that people do not see.
        drop(self.client.post::<Value>(&job_path(at, "progress"), &ask).await);
    }

    /// Says how the attempt ended, more than once if need be: saying it twice changes nothing.
    async fn finish(&self, at: LeaseRef, mut finish: Finish, told: &watch::Receiver<Told>) {
        finish.bound();
        let document = finish_document(at, &finish);
        let began = Instant::now();
        loop {
            let answer = self.client.post::<Value>(&job_path(at, "finish"), &document).await;
            match answer {
                Err(error)
                    if is_passing(&error) && began.elapsed() < self.away && *told.borrow() < Told::GiveUp =>
                {
                    self.find_server().await;
                }
                Err(error) => {
                    tracing::warn!(target: "queue", job = %at.job, %error, "an attempt's end was not taken");
                    return;
                }
                Ok(_) => return,
            }
        }
    }
}

/// Resolves when at least `least` was told. Nobody left to tell means stop.
async fn reaches(told: &mut watch::Receiver<Told>, least: Told) {
    drop(told.wait_for(|told| *told >= least).await);
}

/// Whether the server may answer the same request later. One that was started again does not know the token of before.
fn is_passing(error: &ReachError) -> bool {
    match error {
        ReachError::Lost { .. }
        | ReachError::NoAnswer { .. }
        | ReachError::Gone { .. }
        | ReachError::Denied(_) => true,
        ReachError::Refused { code, .. } => code == "stopping" || code.starts_with("store_"),
        ReachError::NoData { .. }
        | ReachError::Busy { .. }
        | ReachError::Strange { .. }
        | ReachError::Client(_) => false,
    }
}

fn job_path(at: LeaseRef, verb: &str) -> Path {
    Path::v1(["jobs", &at.job.to_string(), verb])
}

fn finish_document(at: LeaseRef, finish: &Finish) -> FinishDocument<'_> {
    let (end, result, reason, retry) = match &finish.end {
        AttemptEnd::Done { result } => ("done", Some(result), None, None),
        AttemptEnd::Skipped { reason } => ("skipped", None, Some(reason.as_str()), None),
        AttemptEnd::Error { reason, retry } => ("error", None, Some(reason.as_str()), Some(*retry)),
        AttemptEnd::HandedBack => ("handed_back", None, None, None),
    };
    let Finish { refund, cool_down, .. } = finish;
    FinishDocument { attempt: at.attempt, token: at.token, end, result, reason, retry, refund, cool_down }
}
