//! A server with an engine on a store in memory, on a port of its own.

use crate::client::{Client, Reply};
use crate::toy::{Secret, Toy};
use abide_engine::machine::MachineOptions;
use abide_engine::{Engine, EngineOptions, Registry};
use abide_server::{
    Admission, BackupService, CoordinatorService, NoBackup, ServerOptions, Services, WithoutToken, serve,
    tokens,
};
use abide_store::memory::MemoryStore;
use serde_json::Value;
use std::net::SocketAddr;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Bodies may be this large.
pub(crate) const BODY_BYTES: usize = 64 * 1024;

/// What lets the user in whose server it is.
pub(crate) const LOCAL_TOKEN: &str = "local";

/// All of them.
pub(crate) fn every_service() -> Services {
    let backup =
        BackupService::new(|path| Err(NoBackup::File(format!("{} is not for tests", path.display()))));
    Services { backup: Some(backup), coordinator: Some(CoordinatorService), ..Services::default() }
}

/// A running server.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    runtime: Runtime,
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Server {
    pub(crate) fn start() -> Server {
        Server::on(MemoryStore::new(), MachineOptions::default())
    }

    /// One that wants tokens; [`LOCAL_TOKEN`] allows everything.
    pub(crate) fn with_tokens() -> Server {
        let without_token = WithoutToken::MayDoNothing;
        let admission = Admission { without_token, local_token: Some(LOCAL_TOKEN.to_owned()) };
        Server::admitting(MemoryStore::new(), MachineOptions::default(), admission)
    }

    pub(crate) fn on(store: MemoryStore, machine: MachineOptions) -> Server {
        Server::admitting(store, machine, Admission::default())
    }

    fn admitting(store: MemoryStore, machine: MachineOptions, admission: Admission) -> Server {
        let runtime = Runtime::new().expect("as the test made it");
        let (address, shutdown, served) = runtime.block_on(async move {
            let mut registry = Registry::new();
            registry.object(Toy).expect("as the test made it");
            registry.object(Secret).expect("as the test made it");
            tokens::register(&mut registry).expect("as the test made it");
            abide_coordinator::register(&mut registry, abide_coordinator::Options::default())
                .expect("as the test made it");
            let options = EngineOptions { machine, drain_ms: 1_000, ..EngineOptions::default() };
            let engine = Engine::start(Box::new(store), registry, options).expect("as the test made it");
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("as the test made it");
            let address = listener.local_addr().expect("as the test made it");
            let (shutdown, told) = oneshot::channel::<()>();
            let services = every_service();
            let options = ServerOptions { max_body_bytes: BODY_BYTES, services, admission };
            let served = tokio::spawn(serve(listener, engine, options, async move { drop(told.await) }));
            (address, shutdown, served)
        });
        Server { address, runtime, running: Some((shutdown, served)) }
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address).expect("as the test made it")
    }

    /// One request on a connection of its own.
    pub(crate) fn ask(&self, line: &str, body: &str) -> Reply {
        self.client().request(line, &[], body).expect("as the test made it")
    }

    /// One request with a token.
    pub(crate) fn ask_as(&self, token: &str, line: &str, body: &str) -> Reply {
        let authorization = format!("Bearer {token}");
        let headers = [("Authorization", authorization.as_str())];
        self.client().request(line, &headers, body).expect("as the test made it")
    }

    /// One request that must succeed.
    pub(crate) fn ok(&self, line: &str, body: &str) -> Value {
        let reply = self.ask(line, body);
        assert!((200..300).contains(&reply.status), "{line} {body}: {reply}");
        reply.json()
    }

    /// Whether nobody listens any more.
    pub(crate) fn is_closed(&self) -> bool {
        Client::connect(self.address).is_err()
    }

    /// Tells the server to stop; what it gives waits until it has.
    pub(crate) fn tell_to_stop(&mut self) -> impl FnOnce() + use<> {
        let (shutdown, served) = self.running.take().expect("told once");
        shutdown.send(()).expect("it serves until told");
        let handle = self.runtime.handle().clone();
        move || handle.block_on(served).expect("it ends well")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.running.is_some() && !std::thread::panicking() {
            self.tell_to_stop()();
        }
    }
}
