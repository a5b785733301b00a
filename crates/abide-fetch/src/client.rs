//! The HTTP client: it dials only what the guard lets through, follows nothing by itself and knows no proxy.

use crate::certificates;
use crate::guard::Guard;
use crate::limits::{HEADERS, POOLED};
use crate::options::FetchOptions;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, ClientBuilder};
use std::cell::Cell;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::{Layer, Service};

/// The HTTP client could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client could not be made: {0}")]
pub struct BuildError(#[from] reqwest::Error);

/// Dials only what the guard lets through. Hosts that are literal addresses never come here: the guard has checked them
/// when it checked the URL.
struct GuardedNames(Guard);

impl Resolve for GuardedNames {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.0.clone();
        Box::pin(async move {
            let addresses = guard.addresses(name.as_str()).await?;
            let sockets = addresses.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(sockets) as Addrs)
        })
    }
}

/// How a request got its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Connection {
    /// By dialling.
    New,
    /// From the pool. Its server may have closed it meanwhile.
    Reused,
}

tokio::task_local! {
    static DIALLED: Cell<Connection>;
}

/// Runs a request of a [`client`], and says how it got its connection. A client dials in the task that sends.
pub(crate) async fn noting_dials<T>(request: impl Future<Output = T>) -> (T, Connection) {
    let noted = async {
        let answer = request.await;
        (answer, DIALLED.with(Cell::get))
    };
    DIALLED.scope(Cell::new(Connection::Reused), noted).await
}

/// Notes that the request which this task sends dials.
#[derive(Debug, Clone)]
struct NoteDials<S>(S);

impl<S> Layer<S> for NoteDials<()> {
    type Service = NoteDials<S>;

    fn layer(&self, dials: S) -> NoteDials<S> {
        NoteDials(dials)
    }
}

impl<R, S: Service<R>> Service<R> for NoteDials<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, to: R) -> S::Future {
        // A dial that goes on after its request was answered otherwise is nobody's.
        DIALLED.try_with(|connection| connection.set(Connection::New)).ok();
        self.0.call(to)
    }
}

/// A client behind `guard`; `form` says what it does with compressed bodies.
pub(crate) fn client(
    guard: &Guard,
    options: &FetchOptions,
    form: impl Fn(ClientBuilder) -> ClientBuilder,
) -> Result<Client, BuildError> {
    let builder = || {
        form(Client::builder())
            .user_agent(options.user_agent.clone())
            .dns_resolver(Arc::new(GuardedNames(guard.clone())))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .connect_timeout(Duration::from_millis(options.connect_ms))
            .http1_max_headers(HEADERS)
            .connector_layer(NoteDials(()))
            .pool_idle_timeout(Duration::from_secs(15))
            .pool_max_idle_per_host(POOLED)
    };
    Ok(certificates::client(builder)?)
}
