//! `abide job`, `object`, `dead` and `limit`: looking at work and steering it.

use abide_core::time::Time;
use clap::{ArgGroup, Args, Subcommand};

use super::when::when;
use super::whole::whole;

const TIMES: &str = "\
A TIME is an instant (2026-01-31T12:00:00Z), a date (2026-01-31, its beginning in UTC), or how long ago (90s, 15m, 2h, 7d).";

/// What to do with jobs.
#[derive(Debug, Subcommand)]
pub(crate) enum JobCommand {
    /// Print jobs, newest first.
    #[command(after_help = TIMES)]
    List(Box<JobListArgs>),
    /// Print one job with its attempts.
    Show {
        /// Its number.
        #[arg(value_name = "JOB", value_parser = whole(1..=i64::MAX))]
        job: i64,
    },
    /// Say why a job is not running.
    Why {
        /// Its number.
        #[arg(value_name = "JOB", value_parser = whole(1..=i64::MAX))]
        job: i64,
    },
    /// Ask a job not to run.
    Cancel {
        /// Its number.
        #[arg(value_name = "JOB", value_parser = whole(1..=i64::MAX))]
        job: i64,
    },
}

/// Which jobs.
#[derive(Debug, Args)]
pub(crate) struct JobListArgs {
    /// Only in this state.
    #[arg(long, value_parser = ["scheduled", "ready", "running", "done", "skipped", "failed", "cancelled"])]
    pub(crate) state: Option<String>,

    /// Only of this queue.
    #[arg(long, value_name = "QUEUE")]
    pub(crate) queue: Option<String>,

    /// Only of this kind.
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,

    /// Only of this object.
    #[arg(long, value_name = "KIND/NAME")]
    pub(crate) owner: Option<String>,

    /// Only those that pass this limit.
    #[arg(long, value_name = "KEY")]
    pub(crate) limit_key: Option<String>,

    /// Only those whose unique key begins so.
    #[arg(long, value_name = "TEXT")]
    pub(crate) key_prefix: Option<String>,

    /// Only those made from this time on.
    #[arg(long, value_name = "TIME", value_parser = when)]
    pub(crate) created_from: Option<Time>,

    /// Only those made before this time.
    #[arg(long, value_name = "TIME", value_parser = when)]
    pub(crate) created_until: Option<Time>,

    /// Only those that ended from this time on.
    #[arg(long, value_name = "TIME", value_parser = when)]
    pub(crate) finished_from: Option<Time>,

    /// Only those that ended before this time.
    #[arg(long, value_name = "TIME", value_parser = when)]
    pub(crate) finished_until: Option<Time>,

    #[command(flatten)]
    pub(crate) page: PageArgs,
}

/// Which part of a list.
#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = whole(1_u16..=1_000))]
    pub(crate) limit: u16,

    /// Those after this one, as the page before said.
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
}

/// What to do with objects.
#[derive(Debug, Subcommand)]
pub(crate) enum ObjectCommand {
    /// Print objects by kind and name.
    List {
        /// Only of this kind.
        #[arg(long, value_name = "KIND")]
        kind: Option<String>,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Print one object with its alarms and its first rows.
    Show {
        /// Which.
        #[arg(value_name = "KIND/NAME")]
        object: String,
        /// Only rows whose key begins so.
        #[arg(long, value_name = "TEXT", default_value = "")]
        prefix: String,
        /// At most so many rows.
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = whole(1_u16..=1_000))]
        rows: u16,
    },
}

/// What to do with dead letters.
#[derive(Debug, Subcommand)]
pub(crate) enum DeadCommand {
    /// Print what used up its attempts: messages, outcomes and alarms of objects, then jobs.
    List {
        /// At most so many of each.
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = whole(1_u16..=1_000))]
        limit: u16,
        #[command(flatten)]
        which: DeadFilter,
    },
    /// Run dead letters again with fresh attempts: some, all that match, or all.
    Replay(ReplayArgs),
}

/// Which dead letters to replay.
#[derive(Debug, Args)]
#[command(group(
    ArgGroup::new("those").args(["ids", "all", "object", "event", "queue", "job_kind"]).required(true).multiple(true)
))]
pub(crate) struct ReplayArgs {
    /// Which, as the list names them: a number, or job:NUMBER.
    #[arg(value_name = "ID", conflicts_with_all = ["all", "object", "event", "queue", "job_kind"])]
    pub(crate) ids: Vec<DeadRef>,

    /// All of them.
    #[arg(long, conflicts_with_all = ["object", "event", "queue", "job_kind"])]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) which: DeadFilter,
}

/// Which dead letters. What is said about objects leaves jobs out, and the other way round.
#[derive(Debug, Args)]
pub(crate) struct DeadFilter {
    /// Only of this object, or of objects of this kind.
    #[arg(long, value_name = "KIND[/NAME]", conflicts_with_all = ["queue", "job_kind"])]
    pub(crate) object: Option<String>,

    /// Only what objects could not handle of this sort.
    #[arg(long, value_parser = ["message", "outcome", "alarm", "entries"], conflicts_with_all = ["queue", "job_kind"])]
    pub(crate) event: Option<String>,

    /// Only jobs of this queue.
    #[arg(long, value_name = "QUEUE")]
    pub(crate) queue: Option<String>,

    /// Only jobs of this kind.
    #[arg(long, value_name = "KIND")]
    pub(crate) job_kind: Option<String>,
}

/// Names a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeadRef {
    /// Of an object.
    Letter(i64),
    /// A job.
    Job(i64),
}

impl std::str::FromStr for DeadRef {
    type Err = String;

    fn from_str(text: &str) -> Result<DeadRef, String> {
        let parsed = match text.strip_prefix("job:") {
            Some(job) => job.parse().map(DeadRef::Job),
            None => text.parse().map(DeadRef::Letter),
        };
        parsed.map_err(|_| format!("{text:?} names no dead letter: give a number, or job:NUMBER"))
    }
}

/// What to do with limits.
#[derive(Debug, Subcommand)]
pub(crate) enum LimitCommand {
    /// Print limits that have a policy or are in use.
    List(PageArgs),
    /// Set all that a key, a class of keys or a queue allows: what is not given is not limited.
    Set(LimitSetArgs),
}

/// What a limit allows.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("allows").args(["concurrency", "rates", "remove"]).required(true).multiple(true)))]
pub(crate) struct LimitSetArgs {
    /// A key (host:example.org), a class (host:*) or a queue (queue:NAME).
    #[arg(value_name = "KEY")]
    pub(crate) key: String,

    /// So many at the same time.
    #[arg(long, value_name = "N", value_parser = whole(1..=u32::MAX))]
    pub(crate) concurrency: Option<u32>,

    /// So many starts in a time, such as 5/s or 1/3s; may be given more than once.
    #[arg(long = "rate", value_name = "N/TIME")]
    pub(crate) rates: Vec<abide_core::limit::Rate>,

    /// So many starts beyond the rate at once.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "rates", value_parser = whole(0..=u32::MAX))]
    pub(crate) burst: u32,

    /// Remove the policy: the key allows what its class does, or everything.
    #[arg(long, conflicts_with_all = ["concurrency", "rates"])]
    pub(crate) remove: bool,
}
