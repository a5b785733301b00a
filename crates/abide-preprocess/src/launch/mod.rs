//! Launchers: what runs a worker for one attempt of a task, here or elsewhere.

mod environment;
mod fleet;
mod fly;
mod local;

pub(crate) use fleet::Fleet;
use fly::Reach;
pub use fly::{Fly, FlyApp};
pub use local::{Local, Rooms};

use crate::buckets::Buckets;
use crate::calls::{AttemptRef, BeginAnswer, Call};
use crate::jobs::{Ended, Order, launch_limit};
use crate::limits::ROOM_REST_MS;
use crate::metrics::{InFlight, Started};
use crate::service::{Service, Telling};
use crate::site::Site;
use abide_blob::BlobError;
use abide_core::job::{AttemptEnd, CoolDown, Finish, RetryWish};
use abide_core::name::LimitKey;
use abide_engine::worker::{Worker, done, failed, failed_for_good, skipped};
use abide_engine::{CallError, JobContext};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

/// What runs workers.
#[derive(Debug, Clone)]
pub enum Launcher {
    /// Processes of this machine.
    Local(Local),
    /// Machines of Fly.
    Fly(Fly),
}

/// How a run went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Run {
    /// The machine or process ended.
    Ended(Ended),
    /// There was none.
    NotStarted {
        /// Why.
        reason: String,
        /// Nothing is started before so much time has passed.
        rest_ms: Option<i64>,
    },
    /// We were told to stop, and stopped it.
    Stopped,
    /// The task is over, or another attempt is at it.
    Over,
}

/// Runs workers for the launch jobs of every phase. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Launching {
    service: Service,
    launcher: Launcher,
    room_bytes: u64,
    telling: Arc<Telling>,
    // Made with the first machine: connections to whoever starts machines are kept.
    client: Arc<OnceLock<reqwest::Client>>,
}

impl Launching {
    pub(crate) fn new(service: Service, launcher: Launcher, room_bytes: u64, telling: Telling) -> Launching {
        let telling = Arc::new(telling);
        Launching { service, launcher, room_bytes, telling, client: Arc::default() }
    }

    /// Which disk that workers or buckets write to has no room, in words.
    fn no_room(&self) -> Option<String> {
        let Buckets { staging, archive, .. } = self.service.buckets();
        let of_workers = match &self.launcher {
            Launcher::Local(local) => abide_blob::free_bytes(&local.work_dir),
            Launcher::Fly(_) => None,
        };
        let disks = [
            ("workers", of_workers),
            ("the staging bucket", staging.free_bytes()),
            ("the archive", archive.free_bytes()),
        ];
        let full =
            disks.into_iter().find_map(|(of, free)| Some((of, free.filter(|free| *free < self.room_bytes)?)));
        let no_room = full.map(|(of, free)| {
            format!(
                "the disk of {of} has {free} bytes free, and workers wait until it has {}",
                self.room_bytes
            )
        });
        if no_room.is_some() {
            self.service.note_hindrance(no_room.as_deref());
        }
        no_room
    }

    fn client(&self) -> Result<&reqwest::Client, String> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = fly::client().map_err(|error| error.to_string())?;
        Ok(self.client.get_or_init(|| client))
    }

    async fn launch(&self, job: &mut JobContext) -> Finish {
        let order: Order = match job.payload() {
            Ok(order) => order,
            Err(error) => return failed_for_good(error.to_string()),
        };
        let site = self.service.site().await;
        let place = tokio::select! {
            () = job.stopped() => return AttemptEnd::HandedBack.into(),
            place = self.service.places().take() => place,
        };
        let Some(_place) = place else {
            self.service.places().over().await;
            return AttemptEnd::HandedBack.into();
        };
        if let Some(reason) = self.no_room() {
            return finish(&order, Run::NotStarted { reason, rest_ms: Some(ROOM_REST_MS) });
        }
        let begun = match begin(&site, order.batch_id.as_str(), &order.attempt, None).await {
            Ok(BeginAnswer { go: false, .. }) => return skipped("the task is over"),
            Ok(begun) => begun,
            Err(CallError::Refused(no)) => return skipped(no.message),
            Err(error) => return failed(error.to_string()),
        };
        // Made when it is wanted: the time for which its URLs are good begins then.
        let environment = environment::of(&self.service, &site, &self.telling, &order);
        let mut at_it = None;
        let mut started = |when| {
            at_it = Some(self.service.metrics().at_it(&order.attempt, order.input.file_size, when));
        };
        let run = match &self.launcher {
            Launcher::Local(local) => match environment.await {
                Ok(environment) => {
                    let run = local.run(&order, environment, job, || started(Started::Now)).await;
                    self.with_room(run)
                }
                Err(error) => not_told(error),
            },
            Launcher::Fly(fly) => match self.client() {
                Ok(client) => {
                    let heard = self.service.heard().wait_for(&order.attempt.task_id);
                    let (fleet, signer) = (self.service.fleet(), &self.service.buckets().signer);
                    let reach = Reach { site: &site, client, fleet, signer, heard };
                    fly.run(&reach, &order, environment, begun.machine_id, job, started).await
                }
                Err(reason) => Run::NotStarted { reason, rest_ms: None },
            },
        };
        match &run {
            Run::Ended(_) | Run::Over => at_it.into_iter().for_each(InFlight::ended),
            Run::NotStarted { .. } | Run::Stopped => {}
        }
        finish(&order, run)
    }

    /// How a process went, on a disk that may be full by now.
    fn with_room(&self, run: Run) -> Run {
        match (run, self.no_room()) {
            // Whatever it met: where nothing can be written, nothing is done.
            (Run::Ended(Ended::Failed { reason }), Some(no_room)) => {
                Run::Ended(Ended::NoRoom { reason: format!("{reason}; {no_room}") })
            }
            (Run::NotStarted { reason, rest_ms: rest_ms @ Some(_) }, _) => {
                self.service.note_hindrance(Some(&reason));
                Run::NotStarted { reason, rest_ms }
            }
            (run, _) => run,
        }
    }
}

/// What becomes of a launch whose worker cannot be told what to do.
fn not_told(error: BlobError) -> Run {
    match error {
        // No launch and no attempt will ever find another name for it.
        BlobError::BadKey(error) => Run::Ended(Ended::Hopeless { reason: error.to_string() }),
        error => Run::NotStarted { reason: error.to_string(), rest_ms: None },
    }
}

/// What the engine is told of a run.
fn finish(order: &Order, run: Run) -> Finish {
    match run {
        Run::Ended(ended) => done(&ended),
        Run::Over => skipped("the task is over"),
        Run::Stopped => AttemptEnd::HandedBack.into(),
        Run::NotStarted { reason, rest_ms: None } => failed(reason),
        Run::NotStarted { reason, rest_ms: Some(for_ms) } => {
            // Here or where machines come from is no room, which is nobody's failure: it is asked for again, however often.
            let end = AttemptEnd::Error { reason, retry: RetryWish::UncountedAfterMs(for_ms) };
            let key = LimitKey::new(launch_limit(&order.tag));
            let cool_down = key.into_iter().map(|key| CoolDown { key, for_ms });
            Finish { cool_down: cool_down.collect(), ..end.into() }
        }
    }
}

/// Asks whether the attempt is to be made, and says what is at it.
async fn begin(
    site: &Site,
    batch: &str,
    attempt: &AttemptRef,
    machine_id: Option<String>,
) -> Result<BeginAnswer, CallError> {
    site.ask(batch, &Call::Begin { attempt: attempt.clone(), machine_id }).await
}

impl Worker for Launching {
    fn run(&self, mut job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let launching = self.clone();
        Box::pin(async move {
            tokio::select! {
                biased;
                finish = launching.launch(&mut job) => finish,
                () = launching.service.places().over() => AttemptEnd::HandedBack.into(),
            }
        })
    }
}
