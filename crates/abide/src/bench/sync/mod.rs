//! `abide bench sync`: sync clients on sockets against `abide serve`, which runs in a process of its own.

mod client;
mod served;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::load::percentiles;
use super::{BenchError, expect_equal};
use crate::columns::columns;
use crate::open_files;
use client::{Client, EVENTS_PER_PUSH};
use served::Served;

/// Files that the server and this process have open beside sockets.
const OTHER_FILES: u64 = 1_100;
/// Sockets that are opened at the same time.
const OPENING: usize = 64;
/// Between two pushes that are timed: each reaches everybody before the next.
const BETWEEN_PUSHES: Duration = Duration::from_millis(50);
/// Stores among which idle sockets are, when they are not all of one.
const STORES: u64 = 1_000;
/// How long memory may take to settle.
const SETTLES: Duration = Duration::from_secs(3);

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    /// Clients that read one store live.
    pub(crate) clients: u64,
    /// Pushes whose way to all of them is timed.
    pub(crate) pushes: u64,
    /// Events of the log that is written and then read from its beginning.
    pub(crate) events: u64,
    /// Sockets that are open and idle.
    pub(crate) idle: u64,
}

/// What was measured.
#[derive(Debug, Serialize)]
pub(crate) struct SyncFigures {
    live_clients: u64,
    pushes: u64,
    /// From the push of one event to its arrival at a client, over all clients and pushes.
    push_reaches_p50_ms: f64,
    push_reaches_p99_ms: f64,
    push_reaches_max_ms: f64,
    /// From the same pushes to their answers, which wait for the disk.
    push_answered_p50_ms: f64,
    push_answered_p99_ms: f64,
    /// One client, pushes of as many events as the published one sends, each after the answer to the one before.
    append_events_per_s: f64,
    log_events: u64,
    /// A client that has nothing pulls the log.
    catch_up_events_per_s: f64,
    idle_sockets: u64,
    rss_without_sockets_mib: f64,
    /// Of the server with the idle sockets, each with a live pull.
    rss_idle_sockets_mib: f64,
    /// The same number of sockets of so many stores, in each of which somebody pushed once, and all were sent it.
    idle_stores: u64,
    rss_idle_sockets_of_stores_mib: f64,
}

impl SyncFigures {
    /// The figures beside what they should be, for a person.
    pub(crate) fn table(&self) -> String {
        let rows = [
            ("push_reaches_p50_ms", self.push_reaches_p50_ms, ""),
            ("push_reaches_p99_ms", self.push_reaches_p99_ms, "under 100 with 1,000 live clients"),
            ("push_reaches_max_ms", self.push_reaches_max_ms, ""),
            ("push_answered_p50_ms", self.push_answered_p50_ms, ""),
            ("push_answered_p99_ms", self.push_answered_p99_ms, ""),
            ("append_events_per_s", self.append_events_per_s, "at least 5,000"),
            ("catch_up_events_per_s", self.catch_up_events_per_s, "at least 50,000 of 100,000 events"),
            ("rss_without_sockets_mib", self.rss_without_sockets_mib, ""),
            ("rss_idle_sockets_mib", self.rss_idle_sockets_mib, "under 300 with 10,000 idle sockets"),
            (
                "rss_idle_sockets_of_stores_mib",
                self.rss_idle_sockets_of_stores_mib,
                "under 300 with 10,000 of 1,000 stores",
            ),
        ];
        let rows = rows.map(|(name, figure, aim)| [name.to_owned(), format!("{figure:.1}"), aim.to_owned()]);
        columns(["figure", "measured", "aim"], &rows)
    }
}

/// Measures in fresh directories below `dir`; `tell` hears what is under way.
pub(crate) async fn run(dir: &Path, extent: Extent, tell: impl Fn(&str)) -> Result<SyncFigures, BenchError> {
    let sockets = extent.idle.max(extent.clients) + OTHER_FILES;
    let files = open_files::raise();
    if files < sockets {
        let message = format!(
            "{sockets} open files are needed and the system allows {files}: raise its limit (ulimit -n), or give \
             smaller --clients and --idle"
        );
        return Err(BenchError::Wrong(message));
    }
    tell("a push to all live clients");
    let served = Served::start(&dir.join("live"))?;
    let FanOut { reaches: [p50, p99, max], answered } = fan_out(&served, extent).await?;
    drop(served);
    tell("a log that grows, and a client that reads it from its beginning");
    let served = Served::start(&dir.join("log"))?;
    let append_events_per_s = append(&served, extent.events).await?;
    let catch_up_events_per_s = catch_up(&served, extent.events).await?;
    drop(served);
    tell("idle sockets");
    let served = Served::start(&dir.join("idle"))?;
    let (without, with) = idle(&served, extent.idle).await?;
    drop(served);
    tell("idle sockets of many stores");
    let served = Served::start(&dir.join("stores"))?;
    let idle_stores = STORES.min(extent.idle);
    let of_stores = idle_of_stores(&served, extent.idle, idle_stores).await?;
    Ok(SyncFigures {
        live_clients: extent.clients,
        pushes: extent.pushes,
        push_reaches_p50_ms: p50,
        push_reaches_p99_ms: p99,
        push_reaches_max_ms: max,
        push_answered_p50_ms: answered[0],
        push_answered_p99_ms: answered[1],
        append_events_per_s,
        log_events: extent.events,
        catch_up_events_per_s,
        idle_sockets: extent.idle,
        rss_without_sockets_mib: without,
        rss_idle_sockets_mib: with,
        idle_stores,
        rss_idle_sockets_of_stores_mib: of_stores,
    })
}

/// Opens so many clients of one store, each with a live pull that has been answered.
async fn live_clients(served: &Served, count: u64) -> Result<Vec<Client>, BenchError> {
    live_clients_of(served, count, |_| "bench".to_owned()).await
}

/// Opens so many clients, each of its store.
async fn live_clients_of(
    served: &Served,
    count: u64,
    store: impl Fn(u64) -> String,
) -> Result<Vec<Client>, BenchError> {
    let address = served.address();
    let (mut opening, mut clients) = (JoinSet::new(), Vec::new());
    let opened = |opened: Result<Result<Client, BenchError>, tokio::task::JoinError>| {
        opened.map_err(|error| BenchError::Wrong(error.to_string()))?
    };
    for n in 0..count {
        if opening.len() >= OPENING
            && let Some(done) = opening.join_next().await
        {
            clients.push(opened(done)?);
        }
        let store = store(n);
        opening.spawn(async move {
            let mut client = Client::open(address, &store).await?;
            client.pull().await?;
            client.page().await?;
            Ok(client)
        });
    }
    while let Some(done) = opening.join_next().await {
        clients.push(opened(done)?);
    }
    Ok(clients)
}

/// How long pushes took, in milliseconds.
struct FanOut {
    /// To reach each of the clients: p50, p99 and the longest.
    reaches: [f64; 3],
    /// To be answered: p50 and p99.
    answered: [f64; 2],
}

/// Pushes one event after the other to all live clients.
async fn fan_out(served: &Served, extent: Extent) -> Result<FanOut, BenchError> {
    let readers = live_clients(served, extent.clients).await?;
    let sent_at: Arc<Vec<OnceLock<Instant>>> =
        Arc::new((0..extent.pushes).map(|_| OnceLock::new()).collect());
    let (arrived, mut arrivals) = watch::channel(0);
    let (arrived, count) = (Arc::new(arrived), Arc::new(AtomicU64::new(0)));
    let mut reading = JoinSet::new();
    for mut reader in readers {
        let (sent_at, arrived, count) = (Arc::clone(&sent_at), Arc::clone(&arrived), Arc::clone(&count));
        reading.spawn(async move {
            let mut micros = Vec::with_capacity(sent_at.len());
            while micros.len() < sent_at.len() {
                let page = reader.page().await?;
                let now = Instant::now();
                if page.events != 1 || page.last != micros.len() as u64 + 1 {
                    return Err(BenchError::Wrong("a live client got other events than were pushed".into()));
                }
                let Some(sent) = sent_at[micros.len()].get() else {
                    return Err(BenchError::Wrong("an event arrived before it was pushed".into()));
                };
                micros.push(u32::try_from((now - *sent).as_micros()).unwrap_or(u32::MAX));
                arrived.send_replace(count.fetch_add(1, Ordering::Relaxed) + 1);
            }
            Ok(micros)
        });
    }
    let mut pusher = Client::open(served.address(), "bench").await?;
    let mut answered = Vec::new();
    for (at, sent) in sent_at.iter().enumerate() {
        sleep(BETWEEN_PUSHES).await;
        let sent = sent.get_or_init(Instant::now);
        pusher.push(at as u64, 1).await?;
        answered.push(u32::try_from(sent.elapsed().as_micros()).unwrap_or(u32::MAX));
        let all = (at as u64 + 1) * extent.clients;
        let everybody = arrivals.wait_for(|_| count.load(Ordering::Relaxed) >= all);
        everybody.await.map_err(|_| BenchError::Wrong("the live clients ended".into()))?;
    }
    let mut micros = Vec::new();
    while let Some(read) = reading.join_next().await {
        micros.append(&mut read.map_err(|error| BenchError::Wrong(error.to_string()))??);
    }
    expect_equal("events at live clients", extent.clients * extent.pushes, micros.len() as u64)?;
    Ok(FanOut {
        reaches: percentiles(micros, [0.50, 0.99, 1.0]),
        answered: percentiles(answered, [0.50, 0.99]),
    })
}

/// Writes a log of so many events; events a second.
async fn append(served: &Served, events: u64) -> Result<f64, BenchError> {
    let mut client = Client::open(served.address(), "bench").await?;
    let began = Instant::now();
    let mut head = 0;
    while head < events {
        let batch = EVENTS_PER_PUSH.min(events - head);
        client.push(head, batch).await?;
        head += batch;
    }
    Ok(events as f64 / began.elapsed().as_secs_f64())
}

/// Reads a log from its beginning; events a second.
async fn catch_up(served: &Served, events: u64) -> Result<f64, BenchError> {
    let mut client = Client::open(served.address(), "bench").await?;
    let began = Instant::now();
    client.pull().await?;
    let mut read = 0;
    loop {
        let page = client.page().await?;
        read += page.events;
        if page.is_last {
            expect_equal("events of the log", events, read)?;
            return Ok(events as f64 / began.elapsed().as_secs_f64());
        }
    }
}

/// Memory of the server before and while it has so many idle sockets, in MiB.
async fn idle(served: &Served, count: u64) -> Result<(f64, f64), BenchError> {
    sleep(SETTLES).await;
    let without = served.rss_mib()?;
    let clients = live_clients(served, count).await?;
    expect_equal("idle sockets", count, clients.len() as u64)?;
    sleep(SETTLES).await;
    Ok((without, served.rss_mib()?))
}

/// Memory of the server while it has so many idle sockets of so many stores, which were all sent something, in MiB.
async fn idle_of_stores(served: &Served, count: u64, stores: u64) -> Result<f64, BenchError> {
    let name = |n: u64| format!("bench-{n}");
    let mut clients = live_clients_of(served, count, |n| name(n % stores)).await?;
    for n in 0..stores {
        Client::open(served.address(), &name(n)).await?.push(0, EVENTS_PER_PUSH).await?;
    }
    for client in &mut clients {
        let mut events = 0;
        while events < EVENTS_PER_PUSH {
            events += client.page().await?.events;
        }
    }
    sleep(SETTLES).await;
    served.rss_mib()
}
