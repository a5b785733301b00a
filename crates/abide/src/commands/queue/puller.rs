//! A worker of a server: leases jobs over HTTP, runs them here, and says how they ended.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use abide_core::job::{AttemptEnd, Finish, JobId, Lease, LeaseRef, LeaseToken};
use abide_core::json::Json;
use abide_core::limits::CLAIM_ITEMS;
use abide_core::name::{JobKind, QueueName, UniqueKey};
use abide_core::time::Time;
use abide_engine::worker::{Said, failed};
use abide_engine::{JobContext, Telemetry, Worker};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};
use tracing::Instrument;

use super::ends::{self, Untold};
use super::tally::Tally;
use crate::reach::{self, Client, Path, ReachError};

/// How long one ask for jobs waits at the server.
const WAIT_MS: u64 = 20_000;
/// Pause before a server that did not answer is asked again.
const ASK_AGAIN: Duration = Duration::from_millis(500);
/// How long a server that owns the data directory may take to end, or to answer again.
const ENDING: Duration = Duration::from_secs(60);
/// How long it may take, at the end, to hand back what nobody waits for.
const LETTING_GO: Duration = Duration::from_secs(2);

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
    /// Ends that the server has not taken.
    pub(super) untold: Untold,
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
    /// Stop what runs, and keep how it ended for whoever comes next: the server is gone.
    GiveUp,
}

/// The key of an ask for jobs that was not answered yet. It is asked again under it, so that what a lost answer held is not
/// lost with it.
#[derive(Default)]
struct Asked(Option<String>);

impl Asked {
    fn key(&mut self) -> Result<&str, ReachError> {
        if self.0.is_none() {
            let mut drawn = [0_u8; 16];
            getrandom::fill(&mut drawn).map_err(|error| ReachError::Client(error.to_string()))?;
            self.0 = Some(format!("{:032x}", u128::from_be_bytes(drawn)));
        }
        Ok(self.0.as_deref().unwrap_or_default())
    }
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

impl Puller {
    /// Pulls until it is told to finish, or the server is gone, and everything that it runs has ended.
    pub(super) async fn run(self, tell: watch::Sender<Told>) -> Result<(), ReachError> {
        let free = Arc::new(Semaphore::new(self.slots));
        let mut told = tell.subscribe();
        let mut running = JoinSet::new();
        let mut away_since = None;
        let mut asked = Asked::default();
        let pulled = loop {
            while running.try_join_next().is_some() {}
            let leases = tokio::select! {
                biased;
                () = reaches(&mut told, Told::Finish) => break Ok(()),
                leases = self.lease(&free, &mut asked) => leases,
            };
            match leases {
                Ok(leases) => {
                    away_since = None;
                    self.untold.tell(&self.client).await;
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
        if pulled.is_ok() {
            self.let_go(asked).await;
        }
        while running.join_next().await.is_some() {}
        if pulled.is_ok() {
            self.untold.tell(&self.client).await;
        }
        pulled
    }

    /// Jobs for the places that are free; waits until one may start, for a place, then for a job.
    async fn lease(
        &self,
        free: &Arc<Semaphore>,
        asked: &mut Asked,
    ) -> Result<Vec<(Lease, OwnedSemaphorePermit)>, ReachError> {
        let take = |count: usize| {
            Arc::clone(free).try_acquire_many_owned(u32::try_from(count).unwrap_or(u32::MAX)).ok()
        };
        self.tally.has_room().await;
        let first = Arc::clone(free).acquire_owned().await.expect("nobody closes it");
        let max = 1 + free.available_permits();
        let max = self.tally.budget().map_or(max, |left| max.min(usize::try_from(left).unwrap_or(max)));
        let mut places = take(max.min(CLAIM_ITEMS) - 1);
        let mut first = Some(first);
        let leases = self.ask(asked.key()?, max.min(CLAIM_ITEMS), WAIT_MS).await?;
        *asked = Asked::default();
        let mut place = || first.take().or_else(|| places.as_mut().and_then(|places| places.split(1)));
        Ok(leases.into_iter().filter_map(|lease| Some((Lease::from(lease), place()?))).collect())
    }

    /// Asks for jobs under a key: if the answer to an ask under it was lost, for those that it held.
    async fn ask(&self, key: &str, max: usize, wait_ms: u64) -> Result<Vec<LeaseDocument>, ReachError> {
        let ask = json!({
            "worker": self.name,
            "queues": [self.queue],
            "kinds": [self.kind],
            "max": max,
            "lease_ms": self.lease_ms,
            "wait_ms": wait_ms,
        });
        let Leases { leases } = self.client.post_under(key, &Path::v1(["lease"]), &ask).await?;
        Ok(leases)
    }

    /// Hands back what the server has given for an ask whose answer nobody waits for any more.
    async fn let_go(&self, asked: Asked) {
        let Some(key) = asked.0 else { return };
        let hand_back = async {
            // A server that is gone has given nothing that would not run out.
            for lease in self.ask(&key, 1, 0).await.unwrap_or_default() {
                let at = Lease::from(lease).lease;
                drop(ends::tell(&self.client, at, &AttemptEnd::HandedBack.into()).await);
            }
        };
        drop(tokio::time::timeout(LETTING_GO, hand_back).await);
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
        // In a task of its own: what it says is passed on while it goes on, and its panic is its own.
        let run = tokio::spawn(self.worker.run(JobContext::new(lease, notes, stopped)).instrument(span));
        self.watch_over(at, run, noted, stop, told, place)
    }

    async fn watch_over(
        self,
        at: LeaseRef,
        mut run: JoinHandle<Finish>,
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
                ended = &mut run => break ended.unwrap_or_else(|_| failed("the worker panicked")),
                () = reaches(&mut told, Told::Stop), if !is_told => {
                    is_told = true;
                    stop.send_replace(true);
                }
                Some((_, said)) = noted.recv() => match said {
                    Said::Progress(note) => self.note(at, &note).await,
                    Said::Vacated => self.vacate(at).await,
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
            Err(error) if error.is_passing() => {
                self.find_server().await;
                false
            }
            Err(_) => true,
        }
    }

    /// Waits a little for a server that did not answer and has been `away` for so long. An error if it is given up: it
    /// ended and nobody owns the data directory, or it is there and does not answer.
    async fn wait_for_server(&self, error: ReachError, away: Duration) -> Result<(), ReachError> {
        if !error.is_passing() {
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

    async fn vacate(&self, at: LeaseRef) {
        let ask = json!({ "attempt": at.attempt, "token": at.token });
        // If this does not arrive, the end, which is soon, frees everything.
        drop(self.client.post::<Value>(&job_path(at, "vacate"), &ask).await);
    }

    /// Says how the attempt ended, more than once if need be: saying it twice changes nothing.
    async fn finish(&self, at: LeaseRef, mut finish: Finish, told: &watch::Receiver<Told>) {
        finish.bound();
        let began = Instant::now();
        loop {
            match ends::tell(&self.client, at, &finish).await {
                Err(error)
                    if error.is_passing() && began.elapsed() < self.away && *told.borrow() < Told::GiveUp =>
                {
                    self.find_server().await;
                }
                Err(error) if error.is_passing() => return self.untold.keep(at, finish),
                Err(error) => {
                    tracing::warn!(target: "queue", job = %at.job, %error, "an attempt's end was not taken");
                    return;
                }
                Ok(()) => return,
            }
        }
    }
}

/// Resolves when at least `least` was told. Nobody left to tell means stop.
async fn reaches(told: &mut watch::Receiver<Told>, least: Told) {
    drop(told.wait_for(|told| *told >= least).await);
}

fn job_path(at: LeaseRef, verb: &str) -> Path {
    Path::v1(["jobs", &at.job.to_string(), verb])
}

#[cfg(test)]
mod tests {
    use super::*;
    use abide_engine::telemetry::LogsOnly;
    use abide_engine::worker::done;
    use abide_fetch::testing::{Act, Server, reply};
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn puller(server: &Server, data_dir: &std::path::Path, worker: impl Worker) -> Puller {
        Puller {
            client: Client::new(server.address, "t").unwrap(),
            data_dir: data_dir.to_owned(),
            name: "w".to_owned(),
            queue: "q".to_owned(),
            kind: "k",
            slots: 1,
            lease_ms: 600_000,
            away: Duration::from_secs(600),
            worker: Arc::new(worker),
            tally: Tally::new(None),
            untold: Untold::default(),
            telemetry: Arc::new(LogsOnly),
        }
    }

    fn lease_of(job: u32) -> Act {
        let lease = json!({
            "job": job, "attempt": 1, "token": "0123456789abcdef", "queue": "q", "kind": "k", "payload": {},
            "unique_key": null, "failures": 0, "max_attempts": 3, "lease_expires_at": 0, "trace": null,
        });
        reply(200, &[], json!({ "leases": [lease] }).to_string().as_bytes())
    }

    #[tokio::test]
    async fn an_ask_whose_answer_was_lost_is_made_again_under_its_key() {
        let asks = AtomicUsize::new(0);
        let (seen, mut sees) = mpsc::unbounded_channel();
        let server = Server::start(move |request| {
            let key = request.header("idempotency-key").map(str::to_owned);
            let act = match request.path.as_str() {
                "/v1/lease" => match asks.fetch_add(1, Ordering::SeqCst) {
                    0 => Act::RawThenReset(Vec::new()),
                    1 => lease_of(1),
                    2 => Act::RawThenHold(Vec::new()),
                    _ => lease_of(2),
                },
                _ => reply(200, &[], b"{}"),
            };
            seen.send((request.path.clone(), key)).unwrap();
            act
        });
        let dir = tempfile::tempdir().unwrap();
        let puller = puller(&server, dir.path(), |_| async { done(&()) });
        let (tell, _) = watch::channel(Told::Run);
        let running = tokio::spawn(puller.run(tell.clone()));
        let mut keys = Vec::new();
        let mut finished = Vec::new();
        while keys.len() < 4 || finished.len() < 2 {
            match sees.recv().await.unwrap() {
                (_, Some(key)) => keys.push(key),
                (path, None) => finished.push(path),
            }
            if keys.len() == 3 && finished.len() == 1 {
                // While it waits for an answer.
                tell.send_replace(Told::Finish);
            }
        }
        running.await.unwrap().unwrap();
        assert_eq!((&keys[0], &keys[2]), (&keys[1], &keys[3]));
        assert_ne!(keys[1], keys[2]);
        assert_eq!(finished, ["/v1/jobs/1/finish", "/v1/jobs/2/finish"]);
    }

    /// A server whose asks for jobs are answered with the jobs 1 and 2 and then with nothing, whose first answers to ends
    /// are `ends`, and the jobs whose ends it was told.
    fn of_two_jobs(ends: Vec<Act>) -> (Server, mpsc::UnboundedReceiver<String>) {
        let asks = AtomicUsize::new(0);
        let ends = std::sync::Mutex::new(ends.into_iter());
        let (seen, sees) = mpsc::unbounded_channel();
        let server = Server::start(move |request| match request.path.as_str() {
            "/v1/lease" => match asks.fetch_add(1, Ordering::SeqCst) {
                0 => lease_of(1),
                1 => lease_of(2),
                _ => Act::RawThenHold(Vec::new()),
            },
            path => {
                seen.send(path.to_owned()).unwrap();
                ends.lock().unwrap().next().unwrap_or_else(|| reply(200, &[], b"{}"))
            }
        });
        (server, sees)
    }

    #[tokio::test]
    async fn what_ended_uncounted_leaves_its_place_in_a_run_of_a_few_jobs_to_another() {
        let (server, mut ended) = of_two_jobs(Vec::new());
        let dir = tempfile::tempdir().unwrap();
        let tally = Tally::new(Some(1));
        let (ask_first, may_end) = watch::channel(false);
        let hands_back_the_first = move |job: JobContext| {
            let mut may_end = may_end.clone();
            async move {
                if job.lease().lease.job != JobId(1) {
                    return done(&());
                }
                may_end.wait_for(|may| *may).await.unwrap();
                AttemptEnd::HandedBack.into()
            }
        };
        let worker = super::super::tally::Counted { worker: hands_back_the_first, tally: tally.clone() };
        let puller = Puller { slots: 2, tally: tally.clone(), ..puller(&server, dir.path(), worker) };
        let (tell, _) = watch::channel(Told::Run);
        let running = tokio::spawn(puller.run(tell.clone()));
        while tally.budget() != Some(0) {
            tokio::task::yield_now().await;
        }
        // The next ask waits for leave to start anything.
        tokio::task::yield_now().await;
        ask_first.send_replace(true);
        tally.used_up().await;
        tell.send_replace(Told::Finish);
        running.await.unwrap().unwrap();
        // Each end is told by itself, so that either may come first.
        let mut told = [ended.recv().await.unwrap(), ended.recv().await.unwrap()];
        told.sort();
        assert_eq!(told, ["/v1/jobs/1/finish", "/v1/jobs/2/finish"]);
    }

    #[tokio::test]
    async fn an_end_that_a_server_may_not_have_taken_is_told_again() {
        let unknown = || {
            let body = json!({ "error": { "code": "outcome_unknown", "message": "it ended meanwhile" } });
            reply(503, &[], body.to_string().as_bytes())
        };
        // One is told until it is taken; one that was given up is told when the server answers again.
        for (first, away_s) in [(unknown(), 600), (unknown(), 0), (Act::RawThenReset(Vec::new()), 0)] {
            let (server, mut ended) = of_two_jobs(vec![first]);
            let dir = tempfile::tempdir().unwrap();
            let puller = puller(&server, dir.path(), |_| async { done(&()) });
            let puller = Puller { away: Duration::from_secs(away_s), ..puller };
            let (tell, _) = watch::channel(Told::Run);
            let running = tokio::spawn(puller.run(tell.clone()));
            for job in [1, 1, 2] {
                assert_eq!(ended.recv().await.unwrap(), format!("/v1/jobs/{job}/finish"));
            }
            tell.send_replace(Told::Finish);
            running.await.unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn what_a_worker_says_and_its_panic_reach_the_server() {
        let asks = AtomicUsize::new(0);
        let (seen, mut sees) = mpsc::unbounded_channel();
        let server = Server::start(move |request| {
            let act = match request.path.as_str() {
                "/v1/lease" if asks.fetch_add(1, Ordering::SeqCst) == 0 => lease_of(1),
                "/v1/lease" => Act::RawThenHold(Vec::new()),
                _ => reply(200, &[], b"{}"),
            };
            seen.send(request.path.clone()).unwrap();
            act
        });
        let dir = tempfile::tempdir().unwrap();
        let (vacated, may_panic) = watch::channel(false);
        let panicking = move |job: JobContext| {
            let mut heard = may_panic.clone();
            async move {
                job.vacate();
                heard.wait_for(|heard| *heard).await.unwrap();
                panic!("as the test wants it")
            }
        };
        let puller = puller(&server, dir.path(), panicking);
        let (tell, _) = watch::channel(Told::Run);
        let running = tokio::spawn(puller.run(tell.clone()));
        let mut said = Vec::new();
        while said.len() < 2 {
            let path = sees.recv().await.unwrap();
            if path.starts_with("/v1/jobs/") {
                vacated.send_replace(true);
                said.push(path);
            }
        }
        running.abort();
        assert_eq!(said, ["/v1/jobs/1/vacate", "/v1/jobs/1/finish"]);
    }
}
