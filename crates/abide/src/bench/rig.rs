//! A rig: an engine on a fresh store in a temporary directory, with a server if asked for.

use std::net::SocketAddr;
use std::path::Path;

use abide_core::commit::Reply;
use abide_core::json::Json;
use abide_core::object::ObjectKey;
use abide_engine::{Call, Engine, EngineOptions, Registry};
use abide_server::{Admission, Bounds, ServerOptions, Services, serve};
use abide_sqlite::SqliteStore;
use abide_store::{Answer, Read};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::BenchError;

/// An engine at work.
pub(super) struct Rig {
    pub(super) engine: Engine,
    server: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Rig {
    /// Starts an engine on `dir`.
    pub(super) fn start(dir: &Path, registry: Registry) -> Result<Rig, BenchError> {
        let store = SqliteStore::open(dir)?;
        let engine = Engine::start(Box::new(store), registry, EngineOptions::default())?;
        Ok(Rig { engine, server: None })
    }

    /// Serves it on a free port.
    pub(super) async fn serve(&mut self) -> Result<SocketAddr, BenchError> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let (services, admission) = (Services::default(), Admission::default());
        let options =
            ServerOptions { max_body_bytes: 4 * 1024 * 1024, services, admission, bounds: Bounds::default() };
        let engine = self.engine.clone();
        let task = tokio::spawn(async move {
            serve(listener, engine, options, async move { drop(stopped.await) }).await;
        });
        self.server = Some((stop, task));
        Ok(address)
    }

    /// Stops everything; the store is closed.
    pub(super) async fn stop(self) {
        if let Some((stop, task)) = self.server {
            drop(stop);
            // The task ends by itself; a panic in it was reported by the panic hook.
            drop(task.await);
        }
        self.engine.stop().await;
    }

    /// Calls an object and gives its reply.
    pub(super) async fn call(&self, object: ObjectKey, body: Json) -> Result<Json, BenchError> {
        match self.engine.call(Call { object, body, key: None }).await? {
            Reply::Now(reply) => Ok(reply),
            Reply::Later(_) => Err(BenchError::Wrong("an object of the bench answered later".into())),
        }
    }

    /// The sum of the counters named `{prefix}{0..count}`.
    pub(super) async fn sum(&self, prefix: &str, count: u64) -> Result<u64, BenchError> {
        let mut sum = 0;
        for n in 0..count {
            let object = counter(&format!("{prefix}{n}"));
            let reply: Value =
                self.call(object, Json::from(serde_json::json!({"get": true}))).await?.decode()?;
            sum += reply["value"].as_u64().unwrap_or(0);
        }
        Ok(sum)
    }

    /// Jobs of a queue that are done.
    pub(super) async fn done(&self, queue: &str) -> Result<u64, BenchError> {
        let Answer::Queues(queues) = self.engine.read(Read::Queues).await? else {
            return Err(BenchError::Wrong("queues were answered with something else".into()));
        };
        Ok(queues.iter().find(|view| view.queue.as_str() == queue).map_or(0, |view| view.counts.done))
    }
}

/// The counter of a name.
pub(super) fn counter(name: &str) -> ObjectKey {
    ObjectKey::new("counter", name).expect("a plain name")
}
