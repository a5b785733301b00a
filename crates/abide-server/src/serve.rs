//! Serving: connections in, requests answered, a graceful end.

use crate::access::Admission;
use crate::app::App;
use crate::drain::DrainSwitch;
use crate::router::router;
use crate::services::Services;
use crate::stall::NoStall;
use abide_engine::Engine;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

/// Connections at a time; the next ones wait. Below the 1,024 open files that many systems allow a process, so that the
/// store can always open its own.
const CONNECTIONS: usize = 768;
/// How long the head of a request may take to arrive, and how long a connection may be idle.
const HEAD_ARRIVES: Duration = Duration::from_secs(30);
/// How long a client may take nothing of the answer that it is sent.
const TAKES: Duration = Duration::from_secs(30);
/// Once the engine has stopped: how long connections may take to get their last answers out.
const LAST_ANSWERS: Duration = Duration::from_millis(500);
/// Pause after a connection could not be accepted: no file is left for it, most likely.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How a server behaves.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Largest request body that is accepted.
    pub max_body_bytes: usize,
    /// The services whose routes it has beside the engine's.
    pub services: Services,
    /// Whom it lets in.
    pub admission: Admission,
}

/// Answers requests on `listener` until `shutdown` resolves; then takes no more, lets what is under way finish, stops
/// the engine and cuts off connections that have nothing to wait for any more.
pub async fn serve(
    listener: TcpListener,
    engine: Engine,
    options: ServerOptions,
    shutdown: impl Future<Output = ()>,
) {
    let (switch, drain) = DrainSwitch::new();
    let app = App::new(engine.clone(), options, drain);
    let (watching, changes) = (app.clone(), engine.changes());
    let feed = tokio::spawn(async move { watching.feed().fill(changes).await });
    let router = router(app);
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    tokio::select! {
        () = accept(&listener, &router, &graceful, &mut connections) => {}
        () = shutdown => {}
    }
    switch.begin();
    drop(listener);
    let closing = async {
        engine.stop().await;
        tokio::time::sleep(LAST_ANSWERS).await;
    };
    tokio::select! {
        () = graceful.shutdown() => engine.stop().await,
        () = closing => tracing::info!(target: "http", "connections that did not end were cut off"),
    }
    connections.shutdown().await;
    feed.abort();
}

/// Accepts connections for ever.
async fn accept(
    listener: &TcpListener,
    router: &Router,
    graceful: &GracefulShutdown,
    connections: &mut JoinSet<()>,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(connection(stream, place, router.clone(), graceful));
            }
            Err(error) => {
                tracing::warn!(target: "http", %error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

/// One connection from its first request to its end.
fn connection(
    stream: TcpStream,
    place: OwnedSemaphorePermit,
    router: Router,
    graceful: &GracefulShutdown,
) -> impl Future<Output = ()> + Send + 'static {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(target: "http", %error, "a connection stays without TCP_NODELAY");
    }
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_ARRIVES)
        .serve_connection(TokioIo::new(NoStall::new(stream, TAKES)), TowerToHyperService::new(router));
    let connection = graceful.watch(connection);
    async move {
        if let Err(error) = connection.await {
            tracing::debug!(target: "http", %error, "a connection broke");
        }
        drop(place);
    }
}
