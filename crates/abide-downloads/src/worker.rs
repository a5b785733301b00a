//! The worker: one attempt at one artifact.

use crate::artifact::Artifact;
use crate::finish::{asker, cool_down, finish};
use crate::meter::{Meter, Seen};
use crate::patience::waits_here;
use abide_core::job::Finish;
use abide_engine::JobContext;
use abide_engine::worker::{Worker, failed_for_good};
use abide_fetch::download::Progress;
use abide_fetch::limit_key::limit_keys;
use abide_fetch::{Download, DownloadError, Downloaded, Fetcher};
use serde_json::{Value, json};
use std::future::Future;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tracing::Instrument;
use tracing::field::Empty;

/// Runs downloads into one directory. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Downloads {
    fetcher: Fetcher,
    dir: PathBuf,
    disk_floor: u64,
    /// What keeps this machine from taking files, while something does.
    hindrance: Arc<watch::Sender<Option<String>>>,
    meter: Meter,
}

/// What is known of a download while it runs.
#[derive(Debug, Default)]
struct Heard {
    /// Its host is free for others.
    has_left: bool,
    /// From the request to the head of its reply.
    latency: Option<Duration>,
}

/// How often a running download says how far it is.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

impl Downloads {
    /// Files go to `dir`, through `fetcher`, and `disk_floor` bytes of its disk stay free.
    #[must_use]
    pub fn new(fetcher: Fetcher, dir: impl Into<PathBuf>, disk_floor: u64) -> Downloads {
        Downloads { fetcher, dir: dir.into(), disk_floor, hindrance: Arc::default(), meter: Meter::default() }
    }

    /// What counts its attempts.
    #[must_use]
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// What keeps this machine from taking files: its disk is full, say. Downloads go on by themselves when it is gone.
    #[must_use]
    pub fn hindrance(&self) -> Option<String> {
        self.hindrance.borrow().clone()
    }

    async fn attempt(self, mut job: JobContext) -> Finish {
        let artifact: Artifact = match job.payload() {
            Ok(artifact) => artifact,
            Err(error) => return failed_for_good(format!("artifact_validation_failed: {error}")),
        };
        let Some(url) = artifact.url.clone() else {
            return failed_for_good("artifact_validation_failed: there is no url to download");
        };
        let span = tracing::info_span!(
            target: "queue",
            "artifact",
            artifact.id = artifact.artifact_id,
            resolver = artifact.resolver_hint,
            outcome = Empty,
        );
        let asked_by = asker(job.job(), job.attempt());
        let download = self.download(&artifact, url.clone(), asked_by);
        let mut heard = Heard::default();
        let ended = self.patiently(&download, &mut job, &mut heard).instrument(span.clone()).await;
        let seen = Seen::of(&ended);
        span.record("outcome", seen.reason.as_str());
        let mut finish = finish(job.lease(), &artifact.artifact_id, ended);
        self.meter.note(artifact.resolver_hint.as_deref(), seen, heard.latency, job.lease(), &finish);
        self.spare_host(&url, &mut finish);
        finish
    }

    /// Runs the download, again and again while it can only wait.
    async fn patiently(
        &self,
        download: &Download,
        job: &mut JobContext,
        heard: &mut Heard,
    ) -> Result<Downloaded, DownloadError> {
        let mut has_waited = false;
        loop {
            let error = match self.fetch(download, job, heard).await {
                Err(error) => error,
                Ok(ended) => {
                    self.hindrance.send_replace(None);
                    if has_waited {
                        note(job, &json!({}));
                    }
                    return Ok(ended);
                }
            };
            let Some(wait) = waits_here(&error) else { return Err(error) };
            if self.hindrance.send_replace(Some(error.to_string())).is_none() {
                tracing::warn!(target: "queue", %error, "downloads wait until this machine can take files again");
            }
            note(job, &json!({ "waits": error.to_string() }));
            has_waited = true;
            tokio::select! {
                () = job.stopped() => return Err(DownloadError::Stopped),
                () = tokio::time::sleep(wait) => {}
            }
            if heard.has_left {
                // The host's place may be another's by now: it is asked again by whoever has one.
                return Err(error);
            }
        }
    }

    /// Runs the download until its end or until the job is to stop, and notes how far it is. Once everything has come, the
    /// host is free for the next job, unless it wants to be left alone: then the end frees it.
    async fn fetch(
        &self,
        download: &Download,
        job: &mut JobContext,
        heard: &mut Heard,
    ) -> Result<Downloaded, DownloadError> {
        *heard = Heard::default();
        let (stop, arrived) = (Notify::new(), Notify::new());
        let (progress, mut news) = watch::channel(None::<Progress>);
        let tell = |now: Progress| {
            progress.send_replace(Some(now));
            if let Progress { has_arrived: true, latency, .. } = now {
                heard.latency = Some(latency);
                arrived.notify_one();
            }
        };
        let mut running = pin!(download.run_until(&self.fetcher, stop.notified(), tell));
        let mut tick = tokio::time::interval_at(tokio::time::Instant::now() + PROGRESS_EVERY, PROGRESS_EVERY);
        let (mut is_stopping, mut said) = (false, None);
        loop {
            tokio::select! {
                ended = &mut running => {
                    if said.is_some() && ended.is_ok() {
                        note(job, &json!({}));
                    }
                    return ended;
                }
                () = job.stopped(), if !is_stopping => {
                    is_stopping = true;
                    stop.notify_one();
                }
                () = arrived.notified() => {
                    if self.rest_ms(&download.url).is_none() {
                        job.vacate();
                        heard.has_left = true;
                    }
                }
                _ = tick.tick() => {
                    let latest = news.has_changed().is_ok_and(|is_new| is_new).then(|| *news.borrow_and_update()).flatten();
                    if let Some(Progress { bytes, total, .. }) = latest {
                        said = None;
                        note(job, &json!({ "bytes": bytes, "total": total }));
                        continue;
                    }
                    let waits = self.waits(&download.url, news.borrow().is_none());
                    if waits != said {
                        note(job, &waits.as_ref().map_or(json!({}), |waits| json!({ "waits": waits })));
                        said = waits;
                    }
                }
            }
        }
    }

    /// What a download waits for: a place at the host where redirects led it or, as long as nothing has come, its turn.
    fn waits(&self, url: &str, is_to_begin: bool) -> Option<String> {
        if let Some(host) = self.fetcher.waits_at(url) {
            return Some(format!("{host} is being asked as often at a time as its limit allows"));
        }
        let seconds = self.fetcher.crawl_delay_ms(url).filter(|_| is_to_begin)? as f64 / 1e3;
        Some(format!("its host wants {seconds} s between two requests (robots.txt)"))
    }

    fn download(&self, artifact: &Artifact, url: String, asked_by: String) -> Download {
        let stem = artifact.base_stem.clone().unwrap_or_else(|| artifact.artifact_id.clone());
        let new = Download::new(url, self.dir.clone());
        let bytes_max = artifact.max_bytes.map_or(new.bytes_max, |bytes| bytes.min(new.bytes_max));
        let (content_type, disk_floor) = (artifact.expected_mime.clone(), self.disk_floor);
        let (resolver, asked_by) = (artifact.resolver_hint.clone(), Some(asked_by));
        Download { stem: Some(stem), content_type, bytes_max, disk_floor, asked_by, resolver, ..new }
    }

    /// Lets the other jobs of the host wait at its key, rather than each find out for itself: while its breaker is open,
    /// and between two requests if its robots.txt wants them apart.
    fn spare_host(&self, url: &str, finish: &mut Finish) {
        let Some(for_ms) = self.rest_ms(url) else { return };
        for key in limit_keys(url).unwrap_or_default() {
            cool_down(finish, &key, for_ms);
        }
    }

    fn rest_ms(&self, url: &str) -> Option<i64> {
        [self.fetcher.resting_ms(url), self.fetcher.crawl_delay_ms(url)].into_iter().flatten().max()
    }
}

/// Says how far a job is. A note that cannot be taken is one that people do not see; the download goes on all the same.
fn note(job: &JobContext, progress: &Value) {
    drop(job.progress(progress));
}

impl Worker for Downloads {
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        Box::pin(self.clone().attempt(job))
    }
}
