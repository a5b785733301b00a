//! How a command fails, and with which exit code.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use abide_engine::StartError;
use abide_engine::driver::EngineError;
use abide_engine::registry::RegisterError;
use abide_entities::EntityError;
use abide_fetch::client::BuildError;
use abide_sqlite::{BackupError, OpenError};
use abide_store::StoreError;
use indicatif::HumanBytes;

use crate::bench::BenchError;
use crate::commands::links::LinksError;
use crate::config::Problems;
use crate::export::ExportError;
use crate::reach::ReachError;

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
    /// A key for tokens of sync clients cannot be used.
    #[error("{option}: {reason}")]
    SyncKey {
        /// Which option.
        option: &'static str,
        /// What is wrong with it.
        reason: String,
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
    /// The files of entities cannot be kept.
    #[error("the files of entities cannot be kept: {0}")]
    Entities(#[from] EntityError),
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
    /// The work cannot be reached, or does not let itself be done.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// A server's answer does not have the form that this version knows.
    #[error("the server's answer is not what this version knows: {0}; use the same version for both")]
    Answer(#[source] serde_json::Error),
    /// Queues and limits could not get their first policies.
    #[error("the policies of queues and limits cannot be set: {0}")]
    Defaults(#[source] EngineError),
    /// There can be no fetching.
    #[error("nothing can be fetched: {0}")]
    Fetcher(#[source] BuildError),
    /// What the command line says is no artifact.
    #[error("Invalid artifact: {0}")]
    Artifact(String),
    /// What is asked for does not fit together.
    #[error("{0}")]
    Unusable(String),
    /// There is too little room.
    #[error(
        "{} has {} free, and about {} are needed: make room, or choose another --out",
        path.display(), HumanBytes(*free), HumanBytes(*needed)
    )]
    NoRoom {
        /// Where.
        path: PathBuf,
        /// How much is needed.
        needed: u64,
        /// How much there is.
        free: u64,
    },
    /// The disk became full.
    #[error("{} has no room left: make room, and the same command goes on where it was", path.display())]
    Full {
        /// Where.
        path: PathBuf,
    },
    /// What is needed to go on after a stop cannot be used.
    #[error(
        "{} cannot be used: {reason}; remove {} and run the same command again: what is done is not done again",
        dir.display(), dir.join("abide.db*").display()
    )]
    OutState {
        /// Where it is.
        dir: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Another run is at the same results.
    #[error(
        "another `abide preprocess`{} writes to {}: wait for it to end, or choose another --out",
        pid.map_or(String::new(), |pid| format!(" (process {pid})")), out.display()
    )]
    OutInUse {
        /// Where.
        out: PathBuf,
        /// Whose, if that is known.
        pid: Option<u32>,
    },
    /// A batch cannot be asked.
    #[error("the batch does not answer: {0}")]
    BatchLost(String),
    /// A file or folder cannot be written.
    #[error("{} cannot be written: {error}", path.display())]
    Unwritten {
        /// Which.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// It was told to stop.
    #[error("stopped: the same command goes on where it was")]
    Interrupted,
    /// Somebody deleted what it worked on.
    #[error("the collection {0:?} was deleted while this ran: nothing of it is kept")]
    Deleted(String),
    /// What reads, groups and describes came to an end that was none.
    #[error("the batch {batch} ended with an error: {error}; the same command begins it again")]
    Batch {
        /// Which.
        batch: String,
        /// Why.
        error: String,
    },
    /// A bucket cannot be used.
    #[error(transparent)]
    Bucket(#[from] abide_blob::BlobError),
    /// A task of preprocessing failed.
    #[error(transparent)]
    Worker(abide_preprocess::worker::WorkerError),
    /// A key file of the data directory cannot be used.
    #[error("the data directory cannot be used: {}: {error}", path.display())]
    KeyFile {
        /// Which.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A file of the command line cannot be read.
    #[error("{} cannot be read: {error}", path.display())]
    Input {
        /// Which.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A name of the command line cannot be used.
    #[error(transparent)]
    Name(#[from] abide_core::name::BadName),
    /// Some of it was done and some of it not.
    #[error("{0}")]
    Partly(String),
    /// The machine is not as it should be.
    #[error("{0}")]
    Unhealthy(String),
    /// A backup was not made or not restored.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// The bench could not go on, or what it found does not add up.
    #[error("the bench failed: {0}")]
    Bench(#[from] BenchError),
    /// A command about links did not do what was asked.
    #[error(transparent)]
    Links(#[from] LinksError),
    /// The configured model cannot be asked.
    #[error("the model of llm.base_url cannot be used: {0}")]
    Model(abide_llm::LlmError),
    /// The system refused threads or signals.
    #[error("the system does not let the server run: {0}")]
    System(#[source] io::Error),
    /// Standard output could not be written.
    #[error("cannot write to standard output: {0}")]
    Output(#[source] io::Error),
    /// Nothing can be sent to the collector.
    #[error(transparent)]
    Export(#[from] ExportError),
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
            | Self::Entities(_)
            | Self::Listen { .. }
            | Self::EngineDied
            | Self::Bench(_)
            | Self::Links(_)
            | Self::Defaults(_)
            | Self::Answer(_)
            | Self::Fetcher(_)
            | Self::Artifact(_)
            | Self::Input { .. }
            | Self::Unhealthy(_)
            | Self::System(_) => 1,
            Self::Reach(error) => error.exit_code(),
            Self::Bucket(_)
            | Self::Worker(_)
            | Self::Deleted(_)
            | Self::Batch { .. }
            | Self::BatchLost(_)
            | Self::Unwritten { .. } => 1,
            Self::Unusable(_) | Self::NoRoom { .. } | Self::Full { .. } => 2,
            Self::KeyFile { .. } | Self::OutState { .. } | Self::OutInUse { .. } => 3,
            Self::Interrupted => 130,
            Self::Partly(_) => 4,
            Self::Name(_) => 2,
            Self::Backup(BackupError::Open(_) | BackupError::HasData { .. }) => 3,
            Self::Backup(
                BackupError::Exists { .. }
                | BackupError::Io { .. }
                | BackupError::Damaged { .. }
                | BackupError::File(_),
            ) => 1,
            Self::Start(StartError::Thread(_) | StartError::Randomness(_)) => 1,
            Self::Config(_)
            | Self::ListenRefused { .. }
            | Self::Export(_)
            | Self::SyncKey { .. }
            | Self::Model(_) => 2,
            Self::DataDir(_)
            | Self::Store(_)
            | Self::Start(StartError::Store(_) | StartError::BlackBox { .. }) => 3,
        }
    }

    /// Whether there is no room on a disk.
    pub(crate) fn is_about_room(&self) -> bool {
        match self {
            Self::NoRoom { .. } | Self::Full { .. } => true,
            Self::Input { error, .. } | Self::Unwritten { error, .. } => {
                matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
            }
            Self::Reach(error) => error.code() == "store_full",
            // What comes from a bucket or a worker is only a sentence.
            other => other.to_string().contains("No space left on device"),
        }
    }

    /// The word that programs branch on.
    pub(crate) fn code(&self) -> &str {
        match self {
            Self::Config(_) => "config_invalid",
            Self::ListenRefused { .. } => "listen_refused",
            Self::SyncKey { .. } => "sync_key_unusable",
            Self::DataDir(OpenError::Locked { .. }) => "data_dir_in_use",
            Self::DataDir(_) => "data_dir_unusable",
            Self::Store(_) => "store_failed",
            Self::Start(_) => "start_failed",
            Self::Register(_) => "register_failed",
            Self::Entities(_) => "entities_failed",
            Self::Listen { .. } => "listen_failed",
            Self::EngineDied => "engine_died",
            Self::Reach(error) => error.code(),
            Self::Answer(_) => "server_strange",
            Self::Defaults(_) => "start_failed",
            Self::Fetcher(_) => "fetcher_failed",
            Self::Artifact(_) => "artifact_invalid",
            Self::Input { .. } => "input_unreadable",
            Self::Name(_) => "name_invalid",
            Self::Partly(_) => "partly_done",
            Self::Unusable(_) => "unusable",
            Self::NoRoom { .. } | Self::Full { .. } => "no_room",
            Self::OutState { .. } => "data_dir_unusable",
            Self::OutInUse { .. } => "data_dir_in_use",
            Self::Unwritten { .. } => "file_unusable",
            Self::Interrupted => "interrupted",
            Self::Deleted(_) => "collection_deleted",
            Self::Batch { .. } | Self::BatchLost(_) => "batch_failed",
            Self::Bucket(_) => "bucket_failed",
            Self::Worker(_) => "worker_failed",
            Self::KeyFile { .. } => "data_dir_unusable",
            Self::Unhealthy(_) => "unhealthy",
            Self::Backup(BackupError::Open(_)) => "data_dir_unusable",
            Self::Backup(BackupError::HasData { .. }) => "data_dir_has_data",
            Self::Backup(BackupError::Exists { .. }) => "file_exists",
            Self::Backup(BackupError::Io { .. } | BackupError::File(_)) => "file_unusable",
            Self::Backup(BackupError::Damaged { .. }) => "backup_damaged",
            Self::Bench(_) => "bench_failed",
            Self::Links(_) => "links_failed",
            Self::Model(_) => "model_unusable",
            Self::System(_) => "system_refused",
            Self::Output(_) => "output_failed",
            Self::Export(_) => "telemetry_not_usable",
            Self::Logging(_) => "logging_failed",
        }
    }
}
