//! How a command fails, and with which exit code.

use std::io;
use std::net::SocketAddr;

use abide_engine::StartError;
use abide_engine::registry::RegisterError;
use abide_sqlite::OpenError;
use abide_store::StoreError;

use crate::bench::BenchError;
use crate::config::Problems;

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] Problems),
    /// The server would be reachable from other machines.
    #[error(
        "server.listen is {listen}, which other machines can reach, and there is no token yet to let anybody in; \
         make one with `abide token create --role admin`, or choose a loopback address such as 127.0.0.1:{}",
        listen.port()
    )]
    ListenRefused {
        /// The address that was asked for.
        listen: SocketAddr,
    },
    /// The data directory cannot be used.
    #[error("the data directory cannot be used: {0}")]
    DataDir(#[from] OpenError),
    /// The store cannot be read.
    #[error("the store cannot be read: {0}")]
    Store(#[source] StoreError),
    /// The engine could not start.
    #[error("the engine cannot start: {0}")]
    Start(#[from] StartError),
    /// What the engine is to run does not fit together.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// The address cannot be listened on.
    #[error(
        "cannot listen on {listen}: {error}; stop what listens there, or choose another address with {flag}"
    )]
    Listen {
        /// The address that was asked for.
        listen: SocketAddr,
        /// What the system says.
        error: io::Error,
        /// How to choose another.
        flag: &'static str,
    },
    /// The engine ended by itself.
    #[error("the engine ended by itself: the log says why; start again, nothing acknowledged is lost")]
    EngineDied,
    /// The bench could not go on, or what it found does not add up.
    #[error("the bench failed: {0}")]
    Bench(#[from] BenchError),
    /// The system refused threads or signals.
    #[error("the system does not let the server run: {0}")]
    System(#[source] io::Error),
    /// Standard output could not be written.
    #[error("cannot write to standard output: {0}")]
    Output(#[source] io::Error),
    /// Logging could not be started.
    #[error("cannot start logging: {0}")]
    Logging(#[from] tracing_subscriber::util::TryInitError),
}

impl Failure {
    /// The exit code, as documented in the help.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Output(_)
            | Self::Logging(_)
            | Self::Register(_)
            | Self::Listen { .. }
            | Self::EngineDied
            | Self::Bench(_)
            | Self::System(_) => 1,
            Self::Start(StartError::Thread(_) | StartError::Randomness(_)) => 1,
            Self::Config(_) | Self::ListenRefused { .. } => 2,
            Self::DataDir(_)
            | Self::Store(_)
            | Self::Start(StartError::Store(_) | StartError::BlackBox { .. }) => 3,
        }
    }

    /// The word that programs branch on.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Config(_) => "config_invalid",
            Self::ListenRefused { .. } => "listen_refused",
            Self::DataDir(OpenError::Locked { .. }) => "data_dir_in_use",
            Self::DataDir(_) => "data_dir_unusable",
            Self::Store(_) => "store_failed",
            Self::Start(_) => "start_failed",
            Self::Register(_) => "register_failed",
            Self::Listen { .. } => "listen_failed",
            Self::EngineDied => "engine_died",
            Self::Bench(_) => "bench_failed",
            Self::System(_) => "system_refused",
            Self::Output(_) => "output_failed",
            Self::Logging(_) => "logging_failed",
        }
    }
}
