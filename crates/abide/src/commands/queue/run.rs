//! `abide queue run`: downloads what waits, in this process or as a worker of the server beside it.

use std::future::{Future, pending};
use std::io::{self, IsTerminal};
use std::path::{Path as FilePath, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use abide_core::limit::LimitPolicy;
use abide_core::name::{LimitKey, QueueName};
use abide_downloads::{DOWNLOAD, Downloads, WORKERS};
use abide_engine::telemetry::LogsOnly;
use abide_fetch::Fetcher;
use abide_fetch::download::make_dir;
use abide_sqlite::DataDir;
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::counts::{self, Counts, EngineCounts};
use super::ends::Untold;
use super::paused;
use super::puller::{Puller, Told};
use super::tally::{Counted, Ended, Tally};
use crate::cli::RunArgs;
use crate::config::Config;
use crate::export::Export;
use crate::failure::Failure;
use crate::host::{runtime, told_to_stop};
use crate::logging;
use crate::output::{Output, counted};
use crate::reach::{self, Client, Missing, Path, Reach, ReachError};
use crate::services::caps::{OfServer, policy_of};
use crate::services::{Hosted, downloads};

/// How often the queue is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// How often a line says how far it is, away from a terminal.
const SAY: Duration = Duration::from_secs(2);

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Why {
    Drained,
    MaxJobs,
    MaxSeconds,
    ToldToStop,
}

#[derive(Serialize)]
struct Ran {
    ended: Why,
    #[serde(flatten)]
    attempts: Ended,
    seconds: f64,
}

/// Runs until there is a reason to end, and sends what is known of it to a collector, if there is one.
pub(super) fn run(config: &Config, args: &RunArgs, output: Output) -> Result<(), Failure> {
    let export = Export::start(&config.telemetry)?;
    if let Some(export) = &export {
        logging::start_export(export)?;
    }
    let ran = work(config, args, export.as_ref(), output);
    if let Some(export) = export {
        export.end();
    }
    ran
}

fn work(config: &Config, args: &RunArgs, export: Option<&Export>, output: Output) -> Result<(), Failure> {
    let queue = QueueName::new(&args.queue)?;
    let limits = limits(args)?;
    let slots = args.workers.map_or(config.downloads.workers, usize::from);
    let slots = if slots == 0 { WORKERS } else { slots };
    let dir = match &args.out {
        Some(out) => out.clone(),
        None => downloads::dir(config),
    };
    let dir = absolute(dir)?;
    // Nothing is left where nothing ever was: it is another directory that was meant.
    if args.drain && !is_in_use(&config.store.data_dir) {
        return Err(ReachError::NoData { dir: config.store.data_dir.clone() }.into());
    }
    // Before any job starts: each of them would find out for itself, and fail.
    make_dir(&dir)
        .map_err(|error| Failure::Unusable(format!("{error}; choose another directory with --out")))?;
    let tally = Tally::new(args.max_jobs);
    let per_host = args.max_per_host.unwrap_or(config.downloads.max_per_host);
    let fetcher = downloads::fetcher(config, per_host)?;
    fetcher.expect_caps();
    let downloads = Downloads::new(fetcher.clone(), dir, config.downloads.reserve_bytes);
    let untold = Untold::default();
    let running = Running { config, args, export, output, queue, slots, tally, untold, fetcher, downloads };
    runtime()?.block_on(async {
        let mut told = pin!(told_to_stop().map_err(Failure::System)?);
        set_limits(config, &limits).await?;
        let began = Instant::now();
        let ended = loop {
            match running.within_reach(began, told.as_mut()).await {
                // Whoever comes next finds the directory free, and takes it.
                Err(Failure::Reach(gone @ ReachError::Gone { .. })) => {
                    output.message(&format!("Downloads go on: {gone}"), &json!({ "server": "gone" }));
                }
                ended => break ended?,
            }
        };
        report(ended, &running.tally, began, output)
    })
}

/// A run: what it was asked for, and what it has done.
struct Running<'a> {
    config: &'a Config,
    args: &'a RunArgs,
    export: Option<&'a Export>,
    output: Output,
    queue: QueueName,
    slots: usize,
    tally: Tally,
    untold: Untold,
    fetcher: Fetcher,
    downloads: Downloads,
}

impl Running<'_> {
    /// Runs in this process, or for the server that owns the data directory, as long as that is there.
    async fn within_reach(&self, began: Instant, told: impl Future<Output = ()>) -> Result<Why, Failure> {
        let Running { config, export, slots, .. } = self;
        let worker = Counted { worker: self.downloads.clone(), tally: self.tally.clone() };
        let reach = Reach::open(config, Missing::Create, || {
            let mut hosted = Hosted { export: export.cloned(), ..Hosted::for_commands(config)? };
            hosted.services.downloads = Some(self.downloads.meter().clone());
            let (queue, worker) = (self.queue.as_str(), worker.clone());
            match self.tally.budget() {
                Some(jobs) => hosted.registry.worker_for(jobs, queue, DOWNLOAD, *slots, worker)?,
                None => hosted.registry.worker(queue, DOWNLOAD, *slots, worker)?,
            }
            Ok(hosted)
        })
        .await?;
        self.untold.tell(reach.client()).await;
        self.fetcher.ask_caps(Arc::new(OfServer(reach.client().clone())));
        let is_of_a_server = matches!(reach, Reach::Server(_));
        if is_of_a_server {
            export.iter().for_each(|export| export.count_downloads(self.downloads.meter()));
        }
        let pulling = is_of_a_server.then(|| Pulling::start(self.puller(reach.client(), worker)));
        let place = if is_of_a_server { "for the running server" } else { "in this process" };
        let text = format!("Starting {} {place}...", counted(*slots as u64, "worker"));
        self.output.message(&text, &json!({ "workers": slots, "of_a_server": is_of_a_server }));
        let client = reach.client().clone();
        let watched = self.watch(&client, began, told);
        let ended = match pulling {
            None => watched.await,
            Some(pulling) => pulling.beside(config.server.drain_ms, watched).await,
        };
        reach.close().await;
        ended
    }

    fn puller(&self, client: &Client, worker: Counted<Downloads>) -> Puller {
        let config = self.config;
        Puller {
            client: client.clone(),
            data_dir: config.store.data_dir.clone(),
            name: format!("queue-run-{}", std::process::id()),
            queue: self.queue.to_string(),
            kind: DOWNLOAD,
            slots: self.slots,
            lease_ms: config.jobs.lease_ms,
            away: Duration::from_millis(config.downloads.server_away_ms),
            worker: Arc::new(worker),
            tally: self.tally.clone(),
            untold: self.untold.clone(),
            telemetry: self.export.map_or_else(|| Arc::new(LogsOnly) as Arc<_>, Export::spans),
        }
    }

    /// Shows how far it is until there is a reason to end.
    async fn watch(
        &self,
        client: &Client,
        began: Instant,
        told: impl Future<Output = ()>,
    ) -> Result<Why, Failure> {
        let Running { args, tally, downloads, output, .. } = self;
        let seconds_over = async {
            match args.max_seconds.and_then(|seconds| began.checked_add(Duration::from_secs(seconds))) {
                Some(over_at) => tokio::time::sleep_until(over_at).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = told => Ok(Why::ToldToStop),
            () = seconds_over => Ok(Why::MaxSeconds),
            () = tally.used_up() => Ok(Why::MaxJobs),
            drained = look(client, args, tally, downloads, *output) => drained.map(|()| Why::Drained),
        }
    }
}

/// What the flags say about limits.
fn limits(args: &RunArgs) -> Result<Vec<(LimitKey, u32)>, Failure> {
    let names: Vec<&str> = args.max_per_resolver.iter().map(|limit| limit.resolver.as_str()).collect();
    if let Some(twice) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
        let name = names[twice];
        return Err(Failure::Unusable(format!("--max-per-resolver names {name} twice: give it one number")));
    }
    let of_hosts = args.max_per_host.map(|concurrency| ("host:*".to_owned(), concurrency));
    let of_resolvers =
        args.max_per_resolver.iter().map(|limit| (format!("resolver:{}", limit.resolver), limit.concurrency));
    of_hosts
        .into_iter()
        .chain(of_resolvers)
        .map(|(key, concurrency)| Ok((LimitKey::new(key)?, concurrency)))
        .collect()
}

/// Sets limits before any worker starts: one that runs already would not wait for them. Their rates stay as they are.
async fn set_limits(config: &Config, limits: &[(LimitKey, u32)]) -> Result<(), Failure> {
    if limits.is_empty() {
        return Ok(());
    }
    let reach = Reach::open(config, Missing::Create, || Hosted::for_commands(config)).await?;
    let mut set = Ok(());
    for (key, concurrency) in limits {
        if set.is_ok() {
            set = cap(reach.client(), key, *concurrency).await;
        }
    }
    reach.close().await;
    Ok(set?)
}

async fn cap(client: &Client, key: &LimitKey, concurrency: u32) -> Result<(), ReachError> {
    let known = policy_of(client, key).await?.unwrap_or_default();
    let policy = LimitPolicy { concurrency: Some(concurrency), ..known };
    client.put::<Value>(&Path::v1(["limits", key.as_str()]), &policy).await.map(drop)
}

fn is_in_use(data_dir: &FilePath) -> bool {
    abide_sqlite::has_data(data_dir) || DataDir::owner(data_dir).is_some()
}

fn absolute(dir: PathBuf) -> Result<PathBuf, Failure> {
    std::path::absolute(&dir).map_err(|error| Failure::Input { path: dir, error })
}

/// A puller under way.
struct Pulling {
    tell: watch::Sender<Told>,
    puller: JoinHandle<Result<(), ReachError>>,
}

impl Pulling {
    fn start(puller: Puller) -> Pulling {
        let (tell, _) = watch::channel(Told::Run);
        Pulling { puller: tokio::spawn(puller.run(tell.clone())), tell }
    }

    /// Pulls until `watched` says why to end, then lets what runs finish, and stops it when half of the time is over.
    async fn beside(
        self,
        drain_ms: u64,
        watched: impl Future<Output = Result<Why, Failure>>,
    ) -> Result<Why, Failure> {
        let Pulling { tell, mut puller } = self;
        let joined = |joined: Result<Result<(), ReachError>, _>| joined.expect("a puller does not panic");
        let why = tokio::select! {
            why = watched => why,
            ended = &mut puller => return Err(joined(ended).expect_err("a puller ends when told").into()),
        };
        tell.send_replace(Told::Finish);
        let pulled = match tokio::time::timeout(Duration::from_millis(drain_ms / 2), &mut puller).await {
            Ok(ended) => joined(ended),
            Err(_) => {
                tell.send_replace(Told::Stop);
                joined(puller.await)
            }
        };
        match pulled {
            // There is a reason to end anyway.
            Ok(()) | Err(ReachError::Gone { .. }) => why,
            Err(error) => Err(error.into()),
        }
    }
}

/// Looks at the queue now and then. Resolves when nothing is left, if that ends the run.
async fn look(
    client: &Client,
    args: &RunArgs,
    tally: &Tally,
    downloads: &Downloads,
    output: Output,
) -> Result<(), Failure> {
    let bar = bar(output);
    let mut tick = tokio::time::interval(LOOK);
    let mut said: Option<(Instant, Counts)> = None;
    let mut has_said_paused = false;
    let mut was_hindered = false;
    let mut is_away = false;
    loop {
        tick.tick().await;
        let hindrance = downloads.hindrance();
        if let Some(hindrance) = hindrance.as_ref().filter(|_| !was_hindered) {
            let text = format!("Downloads wait until this machine can take files again: {hindrance}");
            bar.suspend(|| output.message(&text, &json!({ "waits": hindrance })));
        }
        was_hindered = hindrance.is_some();
        let found = match counts::read(client, &args.queue).await {
            Ok(found) => found,
            // A server that starts again is waited for by whoever pulls from it.
            Err(error) if is_waited_for(&error) => {
                if !is_away && error.is_passing() {
                    is_away = true;
                    let text = "The server went away and is waited for";
                    bar.suspend(|| output.message(text, &json!({ "server": "away" })));
                }
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if is_away {
            is_away = false;
            bar.suspend(|| output.message("The server is back", &json!({ "server": "back" })));
        }
        let counts = Counts::from(found.counts);
        if found.policy.paused && !has_said_paused {
            has_said_paused = true;
            bar.suspend(|| output.message(&paused(&args.queue), &json!({ "paused": args.queue })));
        }
        let ended = tally.ended();
        bar.set_length(ended.over() + counts.left());
        bar.set_position(ended.over());
        bar.set_message(format!("{} running, {}", counts.in_progress, HumanBytes(ended.bytes)));
        let is_news = said.is_none_or(|(at, before)| at.elapsed() >= SAY && before != counts);
        if bar.is_hidden() && is_news {
            said = Some((Instant::now(), counts));
            let Counts { queued, in_progress, done, .. } = counts;
            let text = format!("Queue: queued={queued}, in_progress={in_progress}, done={done}");
            output.message(&text, &counts);
        }
        if args.drain && is_drained(client, &args.queue, tally, &found.counts).await? {
            bar.finish_and_clear();
            if counts.left() > 0 {
                let waiting = counted(counts.left(), "line");
                let text = format!(
                    "Without a URL, and left as they are: {waiting} (`abide job list --kind resolve`)"
                );
                output.message(&text, &json!({ "without_url": counts.left() }));
            }
            return Ok(());
        }
    }
}

/// Whether nothing is left that a download could do: what waits for a URL does not count.
///
/// The lists are asked one after the other, and a job may move behind their back, so nothing may have moved meanwhile.
async fn is_drained(
    client: &Client,
    queue: &str,
    tally: &Tally,
    counts: &EngineCounts,
) -> Result<bool, ReachError> {
    let shown = Counts::from(*counts);
    if shown.left() == 0 {
        return Ok(true);
    }
    // What runs may fail and wait again.
    if shown.in_progress > 0 {
        return Ok(false);
    }
    let ended = tally.ended();
    for state in ["running", "ready", "scheduled"] {
        let path = Path::v1(["jobs"])
            .with("state", Some(state))
            .with("queue", Some(queue))
            .with("kind", Some(DOWNLOAD));
        match reach::list(client, &path, 1).await {
            Ok(listed) if listed.items.is_empty() => {}
            Ok(_) => return Ok(false),
            Err(error) if is_waited_for(&error) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    match counts::read(client, queue).await {
        Ok(after) => Ok(after.counts == *counts && tally.ended() == ended),
        Err(error) if is_waited_for(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether it is for whoever pulls from the server to judge.
fn is_waited_for(error: &ReachError) -> bool {
    matches!(error, ReachError::Lost { .. } | ReachError::Refused { .. } | ReachError::Denied(_))
}

fn bar(output: Output) -> ProgressBar {
    let target = match output {
        Output::Text if io::stderr().is_terminal() => ProgressDrawTarget::stderr(),
        Output::Text | Output::Json => ProgressDrawTarget::hidden(),
    };
    let style = "{bar:30} {pos}/{len} {per_sec}, {eta} left, {msg}";
    ProgressBar::with_draw_target(Some(0), target)
        .with_style(ProgressStyle::with_template(style).expect("a template of known keys"))
}

fn report(ended: Why, tally: &Tally, began: Instant, output: Output) -> Result<(), Failure> {
    let seconds = began.elapsed().as_secs_f64();
    let mut attempts = tally.ended();
    if ended == Why::Drained {
        // What is not left was brought to its end by somebody else.
        attempts.to_retry = 0;
    }
    let why = match ended {
        Why::Drained => "Queue empty, exiting",
        Why::MaxJobs => "As many downloads as were asked for, exiting",
        Why::MaxSeconds => "The time is over, exiting",
        Why::ToldToStop => "Told to stop, exiting",
    };
    let Ended { done, skipped, failed, to_retry, handed_back, bytes } = attempts;
    let some = |count, what| if count > 0 { format!(", {count} {what}") } else { String::new() };
    let (waiting, given_back) = (some(to_retry, "to be retried"), some(handed_back, "given back unfinished"));
    let text = format!(
        "\u{2713} {why}\n{done} done, {skipped} skipped, {failed} failed{waiting}{given_back}; {} in {seconds:.1} s\n",
        HumanBytes(bytes)
    );
    output.data(&text, &Ran { ended, attempts, seconds })?;
    match failed {
        0 => Ok(()),
        failed => Err(Failure::Partly(format!(
            "{} failed: `abide job list --state failed` says why, `abide queue retry-failed` tries again",
            counted(failed, "download")
        ))),
    }
}
