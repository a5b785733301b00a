//! How commands reach the work: through the server that owns the data directory, or as its owner for a moment.
//!
//! A command says what it wants in requests of the server's HTTP interface. If a process owns the directory, they go to it;
//! if none does, this process takes the directory, and they go to itself. So each command is written once.

mod client;
mod pages;
mod problem;

pub(crate) use client::{Client, Path};
pub(crate) use pages::{Far, Listed, list, list_far};
pub(crate) use problem::ReachError;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::Duration;

use abide_entities::EntityStore;
use abide_sqlite::{DataDir, OpenError, OwnerInfo};
use tokio::time::Instant;

use crate::config::Config;
use crate::failure::Failure;
use crate::host::{Host, Listen};
use crate::services::Hosted;

/// How long a command waits for a process that owns the directory and does not answer: one that starts or ends.
const PATIENCE: Duration = Duration::from_secs(5);
/// Pause between two looks at such a process.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What a command does where there is no data yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Begins it.
    Create,
    /// Says so.
    Refuse,
}

/// The work, within reach.
pub(crate) enum Reach {
    /// Another process owns the directory.
    Server(Client),
    /// This one does.
    Own(Client, Box<Host>),
}

impl Reach {
    /// Reaches the work of the configured data directory. `hosted` is what runs here if this process has to own it.
    pub(crate) async fn open(
        config: &Config,
        missing: Missing,
        hosted: impl Fn() -> Result<Hosted, Failure>,
    ) -> Result<Reach, Failure> {
        let dir = &config.store.data_dir;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let problem = match DataDir::owner(dir) {
                Some(owner) => match answering(dir, &owner).await {
                    Ok(client) => return Ok(Reach::Server(client)),
                    Err(problem) => problem,
                },
                None => {
                    if missing == Missing::Refuse && !abide_sqlite::has_data(dir) {
                        return Err(ReachError::NoData { dir: dir.clone() }.into());
                    }
                    match own(config, hosted()?).await {
                        // Somebody else was faster.
                        Err(Failure::DataDir(OpenError::Locked { dir, pid, .. })) => {
                            ReachError::Busy { dir, pid }
                        }
                        owned => return owned,
                    }
                }
            };
            if matches!(problem, ReachError::Denied(_)) || Instant::now() >= deadline {
                return Err(problem.into());
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// What requests go through.
    pub(crate) fn client(&self) -> &Client {
        match self {
            Reach::Server(client) | Reach::Own(client, _) => client,
        }
    }

    /// Entities within reach: of this process, or of the server.
    pub(crate) fn entities(&self) -> Result<Arc<dyn EntityStore>, Failure> {
        match self {
            Reach::Server(client) => Ok(Arc::new(client.entities()?)),
            Reach::Own(_, host) => {
                host.entities().ok_or_else(|| Failure::Unusable("this process has no entities".to_owned()))
            }
        }
    }

    /// Lets go of the directory if this process owns it.
    pub(crate) async fn close(self) {
        match self {
            Reach::Server(_) => {}
            Reach::Own(client, host) => {
                drop(client);
                host.stop().await;
            }
        }
    }
}

/// How often something is asked again because whoever was asked ended, or seemed to: many may end one after the other.
const AGAIN: u32 = 20;

/// The work within reach for as long as a command needs it: whoever owned the directory may end meanwhile.
pub(crate) struct Way<'a> {
    config: &'a Config,
    missing: Missing,
    reach: Reach,
}

impl<'a> Way<'a> {
    /// Reaches the work.
    pub(crate) async fn open(config: &'a Config, missing: Missing) -> Result<Way<'a>, Failure> {
        let reach = Reach::open(config, missing, || Hosted::for_commands(config)).await?;
        Ok(Way { config, missing, reach })
    }

    /// What `ask` gets. It is asked again, and so must do no harm twice, if the process that was asked ends: whoever owns the
    /// directory then, which may be this process, is asked next.
    pub(crate) async fn ask<T>(
        &mut self,
        ask: impl AsyncFn(&Client) -> Result<T, ReachError>,
    ) -> Result<T, Failure> {
        let mut asked_again = 0;
        loop {
            match (ask(self.reach.client()).await, &self.reach) {
                (Err(error), Reach::Server(_)) if error.is_of_an_end() && asked_again < AGAIN => {
                    asked_again += 1;
                    tokio::time::sleep(LOOK_AGAIN).await;
                    *self = Way::open(self.config, self.missing).await?;
                }
                (answer, _) => return Ok(answer?),
            }
        }
    }

    /// Lets go of the directory if this process owns it.
    pub(crate) async fn close(self) {
        self.reach.close().await;
    }
}

/// What `ask` gets of the work within reach. It is asked again, and so must do no harm twice, if the process that was asked ends.
pub(crate) fn ask<T>(
    config: &Config,
    missing: Missing,
    ask: impl AsyncFn(&Client) -> Result<T, ReachError>,
) -> Result<T, Failure> {
    crate::host::runtime()?.block_on(async {
        let mut way = Way::open(config, missing).await?;
        let answer = way.ask(ask).await;
        way.close().await;
        answer
    })
}

/// Runs `body` with the work within reach, and lets go of it.
pub(crate) fn with<T>(
    config: &Config,
    missing: Missing,
    body: impl AsyncFnOnce(&Client) -> Result<T, Failure>,
) -> Result<T, Failure> {
    crate::host::runtime()?.block_on(async {
        let reach = Reach::open(config, missing, || Hosted::for_commands(config)).await?;
        let done = body(reach.client()).await;
        reach.close().await;
        done
    })
}

/// Has `client` follow the server that owns `dir` now: one that was started again has another address and another token.
pub(crate) async fn find_again(dir: &FilePath, client: &Client) -> Result<(), ReachError> {
    match DataDir::owner(dir) {
        Some(owner) => {
            client.follow(&answering(dir, &owner).await?);
            Ok(())
        }
        None => Err(ReachError::Gone { dir: dir.to_owned() }),
    }
}

/// Whether the owner of the data directory answers, and has nothing to complain of.
pub(crate) fn answers(config: &Config) -> Result<(), Failure> {
    let dir = &config.store.data_dir;
    crate::host::runtime()?.block_on(async {
        match DataDir::owner(dir) {
            Some(owner) => Ok(answering(dir, &owner).await?.ready().await?),
            None => Ok(()),
        }
    })
}

async fn own(config: &Config, hosted: Hosted) -> Result<Reach, Failure> {
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let host = Host::start(config, hosted, Listen { address: any_port, flag: "--listen" }).await?;
    let client = Client::new(host.address(), host.token())?;
    Ok(Reach::Own(client, Box::new(host)))
}

/// The server of `owner`, if it is there.
async fn answering(dir: &FilePath, owner: &OwnerInfo) -> Result<Client, ReachError> {
    let busy = || ReachError::Busy { dir: dir.to_owned(), pid: Some(owner.pid) };
    let address: SocketAddr = owner.address.as_deref().and_then(|text| text.parse().ok()).ok_or_else(busy)?;
    let client = Client::new(from_here(address), &owner.token)?;
    match client.ready().await {
        Ok(()) => Ok(client),
        // It is there. Much can be asked of one whose disk is full, and it says itself what cannot.
        Err(ReachError::Refused { code, .. }) if code.starts_with("store_") => Ok(client),
        Err(ReachError::Lost { error, .. }) => Err(ReachError::NoAnswer { pid: owner.pid, address, error }),
        Err(other) => Err(other),
    }
}

/// A server that listens everywhere is reached by loopback.
fn from_here(address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        SocketAddr::from((Ipv4Addr::LOCALHOST, address.port()))
    } else {
        address
    }
}
