//! A process that owns a data directory, runs an engine on it and answers HTTP until it is told to stop.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use abide_engine::machine::MachineOptions;
use abide_engine::{Engine, EngineOptions};
use abide_entities::EntityStore;
use abide_llm::Purse;
use abide_server::{Admission, BackupService, Beside, Bounds, NoBackup, ServerOptions, serve};
use abide_sqlite::{BackupError, DataDir, SqliteStore};
use serde::Serialize;
use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::commands::listen;
use crate::config::Config;
use crate::export::Export;
use crate::failure::Failure;
use crate::output::{Output, displayed};
use crate::services::{Hosted, Started, collections, entities, model, spending};

/// The file in the data directory that says which event is running.
const BLACK_BOX: &str = "black-box.json";
/// How long work on threads of its own may take after the end.
const LAST_WORK: Duration = Duration::from_secs(2);
/// The exit code of a process that was told twice.
const TOLD_TWICE: i32 = 1;
/// And of one that somebody waits for.
const INTERRUPTED_TWICE: i32 = 130;
/// Connections that may wait for a place. The system drops what comes beyond, and whoever was dropped tries again a second later, then
/// two, then four.
const WAITING: u32 = 1_024;
/// Within so long, being told to stop again is the same word.
const ONE_TELLING: Duration = Duration::from_secs(1);

/// An engine on a data directory that this process owns, and a server around it.
pub(crate) struct Host {
    // Owned until everything that uses it has ended.
    data_dir: DataDir,
    engine: Engine,
    address: SocketAddr,
    entities: Option<Arc<dyn EntityStore>>,
    export: Option<Export>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

/// Where a host listens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listen {
    /// The address; port 0 for any.
    pub(crate) address: SocketAddr,
    /// The flag by which it was chosen.
    pub(crate) flag: &'static str,
}

#[derive(Serialize)]
struct Listening<'a> {
    listening: String,
    #[serde(serialize_with = "displayed")]
    data_dir: &'a Path,
}

/// Hosts objects, workers and services until the process is told to stop. `listen_flag` is the flag by which the address
/// was chosen.
pub(crate) fn run(
    config: &Config,
    hosted: Hosted,
    listen_flag: &'static str,
    output: Output,
) -> Result<(), Failure> {
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let told = told_to_stop().map_err(Failure::System)?;
        let listen = Listen { address: config.server.listen, flag: listen_flag };
        let host = Host::start(config, hosted, listen).await?;
        announce(host.address, host.data_dir.path(), output);
        host.run_until(told).await
    });
    // Everything that was acknowledged is in the store; work that nobody waits for any more does not hold up the end.
    runtime.shutdown_timeout(LAST_WORK);
    ended
}

/// The runtime of a process that hosts or talks to a host.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::System)
}

impl Host {
    /// Takes the data directory, starts the engine and listens.
    pub(crate) async fn start(config: &Config, hosted: Hosted, listen: Listen) -> Result<Host, Failure> {
        let mut data_dir = DataDir::open(&config.store.data_dir)?;
        let store = SqliteStore::open(data_dir.path())?;
        let without_token = listen::check(listen.address, &store)?;
        let (listener, address) = bind(listen)?;
        let Hosted { registry, mut services, defaults, after_start, export, limiters } = hosted;
        let mut options = engine_options(config, data_dir.path());
        if let Some(export) = &export {
            services.watch.telemetry = export.spans();
            options.telemetry = export.spans();
        }
        let purse = limiters.purse();
        // Jobs begin at once: nobody asks a model before it is known what was spent.
        purse.iter().for_each(Purse::shut);
        let engine = Engine::start(Box::new(store), registry, options)?;
        if let Some(export) = &export {
            export.count(&engine);
            services.downloads.iter().for_each(|meter| export.count_downloads(meter));
        }
        if let Err(failure) = defaults.apply(&engine).await {
            engine.stop().await;
            return Err(failure);
        }
        purse.into_iter().for_each(|purse| drop(tokio::spawn(spending::open(engine.clone(), purse))));
        data_dir.set_address(address.to_string())?;
        services.watch.beside = Some(Beside::new(move || model::families(&limiters)));
        services.watch.store_dir = Some(data_dir.path().to_owned());
        services.backup = Some(backups(data_dir.path()));
        services.entities = match entities::routes(&config.entities, &engine, data_dir.path()) {
            Ok(entities) => entities,
            Err(failure) => {
                engine.stop().await;
                return Err(failure);
            }
        };
        services.collections = collections::routes(&engine, &services);
        let entities = services.entities.as_ref().map(|entities| Arc::clone(&entities.store));
        let local_token = Some(data_dir.token().to_owned());
        let options = ServerOptions {
            max_body_bytes: config.server.max_body_bytes,
            services,
            admission: Admission { without_token, local_token },
            bounds: Bounds::default(),
        };
        let (stop, told) = oneshot::channel();
        let (serving, ended) = (engine.clone(), engine.clone());
        let shutdown = async move {
            tokio::select! {
                // A sender that is dropped says stop too.
                _ = told => {}
                () = ended.ended() => {}
            }
        };
        let started =
            Started { engine: &engine, address, token: data_dir.token(), entities: entities.clone() };
        for begin in after_start {
            begin(&started);
        }
        let served = tokio::spawn(serve(listener, serving, options, shutdown));
        Ok(Host { data_dir, engine, address, entities, export, stop, served })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its entities, if it has any.
    pub(crate) fn entities(&self) -> Option<Arc<dyn EntityStore>> {
        self.entities.clone()
    }

    /// What lets commands of the same user in.
    pub(crate) fn token(&self) -> &str {
        self.data_dir.token()
    }

    /// Serves until `told` resolves, then stops.
    pub(crate) async fn run_until(self, told: impl Future<Output = ()>) -> Result<(), Failure> {
        tokio::select! {
            () = told => {
                self.stop().await;
                Ok(())
            }
            () = self.engine.ended() => {
                self.stop().await;
                Err(Failure::EngineDied)
            }
        }
    }

    /// Takes no more requests, lets what is under way finish, hands jobs back and closes the store.
    pub(crate) async fn stop(self) {
        if let Some(export) = &self.export {
            export.look(&self.engine).await;
        }
        // A server that has ended by itself does not hear it any more.
        let _heard = self.stop.send(());
        // A panic of the server was reported by the panic hook.
        drop(self.served.await);
        drop(self.data_dir);
    }
}

fn engine_options(config: &Config, data_dir: &Path) -> EngineOptions {
    EngineOptions {
        machine: MachineOptions {
            inbox_calls: config.engine.inbox_calls,
            cache_bytes: config.engine.cache_mib.saturating_mul(1024 * 1024),
            lease_ms: config.jobs.lease_ms,
            ..MachineOptions::default()
        },
        readers: config.engine.readers,
        black_box: Some(data_dir.join(BLACK_BOX)),
        drain_ms: config.server.drain_ms,
        ..EngineOptions::default()
    }
}

fn backups(data_dir: &Path) -> BackupService {
    let data_dir = data_dir.to_owned();
    BackupService::new(move |to| match abide_sqlite::backup(&data_dir, to) {
        Ok(done) => Ok(done.bytes),
        Err(error @ (BackupError::Exists { .. } | BackupError::Io { .. })) => {
            Err(NoBackup::File(error.to_string()))
        }
        Err(error) => Err(NoBackup::Store(error.to_string())),
    })
}

fn bind(listen: Listen) -> Result<(TcpListener, SocketAddr), Failure> {
    let failed = |error| Failure::Listen { listen: listen.address, error, flag: listen.flag };
    let listener = listener(listen.address).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

fn listener(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Connections of the process before this one may still be closing.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING)
}

fn announce(address: SocketAddr, data_dir: &Path, output: Output) {
    let listening = format!("http://{address}");
    let text = format!("listening on {listening}, data in {}", data_dir.display());
    output.message(&text, &Listening { listening, data_dir });
}

/// Resolves at the first SIGTERM or SIGINT. From now on neither ends the process by itself; the second one ends it at
/// once, which loses nothing that was acknowledged.
pub(crate) fn told_to_stop() -> Result<impl Future<Output = ()>, io::Error> {
    told(
        || tracing::info!(target: "http", "told to stop"),
        || {
            tracing::warn!(target: "http", "told to stop again: ending at once");
            TOLD_TWICE
        },
    )
}

/// The same for a command that somebody waits for: it says what it does, and ends as what a signal ends does.
pub(crate) fn interrupted(output: Output, drain_ms: u64) -> Result<impl Future<Output = ()>, io::Error> {
    told(
        move || {
            let most = Duration::from_millis(drain_ms).as_secs();
            output.note(&format!(
                "stopping when what is being done is done, or after {most} seconds; again, and it ends at once"
            ));
        },
        move || {
            output.failure(&Failure::Interrupted);
            INTERRUPTED_TWICE
        },
    )
}

fn told(
    once: impl FnOnce() + Send + 'static,
    twice: impl FnOnce() -> i32 + Send + 'static,
) -> Result<impl Future<Output = ()>, io::Error> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        once();
        let told_at = Instant::now();
        tokio::spawn(async move {
            // Whoever tells a process and then its group tells it twice, and means it once.
            while told_at.elapsed() < ONE_TELLING {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
            }
            std::process::exit(twice());
        });
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;

    #[tokio::test]
    async fn many_connections_wait_while_none_is_accepted() {
        let listener = listener("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.local_addr().unwrap();
        let most = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
        let many = most.trim().parse::<usize>().unwrap().min(300);
        // One that the system drops does not come about in this time.
        let connect = |_| TcpStream::connect_timeout(&address, Duration::from_secs(3));
        let waiting: Vec<_> = (0..many).map(connect).take_while(Result::is_ok).collect();
        assert_eq!(waiting.len(), many);
    }
}
