//! A process that owns a data directory, runs an engine on it and answers HTTP until it is told to stop.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use abide_engine::machine::MachineOptions;
use abide_engine::{Engine, EngineOptions};
use abide_server::{Admission, ServerOptions, serve};
use abide_sqlite::{DataDir, SqliteStore};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::commands::listen;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{Output, displayed};
use crate::services::Hosted;

/// The file in the data directory that says which event is running.
const BLACK_BOX: &str = "black-box.json";
/// The exit code of a process that was told twice.
const TOLD_TWICE: i32 = 1;

#[derive(Serialize)]
struct Listening<'a> {
    listening: String,
    #[serde(serialize_with = "displayed")]
    data_dir: &'a Path,
}

/// Hosts objects, workers and services. `listen_flag` is the flag by which the address was chosen.
pub(crate) fn run(
    config: &Config,
    hosted: Hosted,
    listen_flag: &'static str,
    output: Output,
) -> Result<(), Failure> {
    let mut data_dir = DataDir::open(&config.store.data_dir)?;
    let store = SqliteStore::open(data_dir.path())?;
    let without_token = listen::check(config.server.listen, &store)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::System)?;
    runtime.block_on(async {
        let told = told_to_stop().map_err(Failure::System)?;
        let (listener, address) = bind(config.server.listen, listen_flag).await?;
        let engine =
            Engine::start(Box::new(store), hosted.registry, engine_options(config, data_dir.path()))?;
        data_dir.set_address(address.to_string())?;
        announce(address, data_dir.path(), output);
        let local_token = Some(data_dir.token().to_owned());
        let options = ServerOptions {
            max_body_bytes: config.server.max_body_bytes,
            services: hosted.services,
            admission: Admission { without_token, local_token },
        };
        let stopped = Arc::new(AtomicBool::new(false));
        let (ended, asked) = (engine.clone(), Arc::clone(&stopped));
        let shutdown = async move {
            tokio::select! {
                () = told => asked.store(true, Ordering::Relaxed),
                () = ended.ended() => {}
            }
        };
        serve(listener, engine, options, shutdown).await;
        if stopped.load(Ordering::Relaxed) { Ok(()) } else { Err(Failure::EngineDied) }
    })
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

async fn bind(listen: SocketAddr, flag: &'static str) -> Result<(TcpListener, SocketAddr), Failure> {
    let failed = |error| Failure::Listen { listen, error, flag };
    let listener = TcpListener::bind(listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

fn announce(address: SocketAddr, data_dir: &Path, output: Output) {
    let listening = format!("http://{address}");
    let text = format!("listening on {listening}, data in {}", data_dir.display());
    output.message(&text, &Listening { listening, data_dir });
}

/// Resolves at the first SIGTERM or SIGINT. From now on neither ends the process by itself; the second one ends it at
/// once, which loses nothing that was acknowledged.
fn told_to_stop() -> Result<impl Future<Output = ()>, io::Error> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!(target: "http", "told to stop");
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            tracing::warn!(target: "http", "told to stop again: ending at once");
            std::process::exit(TOLD_TWICE);
        });
    })
}
