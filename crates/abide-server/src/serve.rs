//! Serving: connections in, requests answered, a graceful end.

use crate::access::Admission;
use crate::app::App;
use crate::drain::{Drain, DrainSwitch};
use crate::patience::{LookedAt, looks};
use crate::places::{Place, Places};
use crate::router::router;
use crate::services::Services;
use crate::stall::NoStall;
use abide_engine::Engine;
use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// How long sockets may take to have their last push answered and to close.
const SOCKETS_CLOSE: Duration = Duration::from_secs(3);
/// How long a client may take nothing of the answer that it is sent.
const TAKES: Duration = Duration::from_secs(30);
/// Once the engine has stopped: how long connections may take to get their last answers out.
const LAST_ANSWERS: Duration = Duration::from_millis(500);
/// Pause after a connection could not be accepted: no file is left for it, most likely.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What clients may take of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Connections at a time; the next ones wait, and those that are idle, or whose body hardly comes, make room for them. Sockets of the sync protocol
    /// are counted apart.
    pub connections: usize,
    /// Of these, requests that wait for something to happen: polls of workers, tickets, tails of logs.
    pub waits: usize,
    /// And readers of the live feed. Together with the waits fewer than connections, so that those who do not wait
    /// always get through.
    pub readers: usize,
    /// How long the head of a request may take to arrive, how long its body, and how long a connection may be idle.
    pub arrives: Duration,
}

impl Default for Bounds {
    /// Connections below the 1,024 open files that many systems allow a process, so that the store can always open its own.
    fn default() -> Bounds {
        Bounds { connections: 768, waits: 448, readers: 192, arrives: Duration::from_secs(30) }
    }
}

/// How a server behaves.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Largest request body that is accepted.
    pub max_body_bytes: usize,
    /// The services whose routes it has beside the engine's.
    pub services: Services,
    /// Whom it lets in.
    pub admission: Admission,
    /// What clients may take of it.
    pub bounds: Bounds,
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
    let bounds = options.bounds;
    let app = App::new(engine.clone(), options, drain.clone());
    let (watching, changes) = (app.clone(), engine.changes());
    let feed = tokio::spawn(async move { watching.feed().fill(changes).await });
    let router = router(app.clone());
    let mut connections = JoinSet::new();
    tokio::select! {
        () = accept(&listener, &router, &drain, bounds, &mut connections) => {}
        () = shutdown => {}
    }
    switch.begin();
    drop(listener);
    app.sockets().closed(SOCKETS_CLOSE).await;
    let closing = async {
        engine.stop().await;
        tokio::time::sleep(LAST_ANSWERS).await;
    };
    tokio::select! {
        () = ended(&mut connections) => engine.stop().await,
        () = closing => tracing::info!(target: "http", "connections that did not end were cut off"),
    }
    connections.shutdown().await;
    feed.abort();
}

/// Resolves when no connection is left.
async fn ended(connections: &mut JoinSet<()>) {
    while connections.join_next().await.is_some() {}
}

/// Accepts connections for ever.
async fn accept(
    listener: &TcpListener,
    router: &Router,
    drain: &Drain,
    bounds: Bounds,
    connections: &mut JoinSet<()>,
) {
    let places = Places::new(bounds.connections);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let Some(place) = places.take().await else { return };
                connections.spawn(connection(stream, place, router.clone(), drain.clone(), bounds.arrives));
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
    place: Place,
    router: Router,
    drain: Drain,
    arrives: Duration,
) -> impl Future<Output = ()> + Send + 'static {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(target: "http", %error, "a connection stays without TCP_NODELAY");
    }
    let (service, bell) = (TowerToHyperService::new(router), place.bell());
    let serve = service_fn(move |request| bell.clone().during(service.call(bell.watching(request))));
    let connection = http1::Builder::new()
        .timer(LookedAt)
        .header_read_timeout(arrives)
        .serve_connection(TokioIo::new(NoStall::new(stream, TAKES)), serve)
        .with_upgrades();
    async move {
        let mut connection = pin!(connection);
        let mut leave = pin!(async {
            tokio::select! {
                () = drain.begun() => {}
                () = place.is_asked_back() => {}
            }
        });
        let mut is_told = false;
        let mut looks = looks(arrives);
        let ended = loop {
            tokio::select! {
                biased;
                ended = connection.as_mut() => break ended,
                () = leave.as_mut(), if !is_told => {
                    is_told = true;
                    if place.is_wasted() {
                        break Ok(());
                    }
                    connection.as_mut().graceful_shutdown();
                }
                _ = looks.tick() => {}
            }
        };
        if let Err(error) = ended {
            tracing::debug!(target: "http", %error, "a connection broke");
        }
    }
}
