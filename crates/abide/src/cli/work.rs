//! `abide job`, `object`, `dead` and `limit`: looking at work and steering it.

use clap::{Args, Subcommand};

/// What to do with jobs.
#[derive(Debug, Subcommand)]
pub(crate) enum JobCommand {
    /// Print jobs, newest first.
    List(JobListArgs),
    /// Print one job with its attempts.
    Show {
        /// Its number.
        #[arg(value_name = "JOB")]
        job: i64,
    },
    /// Say why a job is not running.
    Why {
        /// Its number.
        #[arg(value_name = "JOB")]
        job: i64,
    },
    /// Ask a job not to run.
    Cancel {
        /// Its number.
        #[arg(value_name = "JOB")]
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

    #[command(flatten)]
    pub(crate) page: PageArgs,
}

/// Which part of a list.
#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1_000))]
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
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1_000))]
        rows: u16,
    },
}

/// What to do with dead letters.
#[derive(Debug, Subcommand)]
pub(crate) enum DeadCommand {
    /// Print what used up its attempts: messages, outcomes and alarms of objects, then jobs.
    List {
        /// At most so many of each.
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1_000))]
        limit: u16,
    },
    /// Run dead letters again with fresh attempts.
    Replay {
        /// Which, as the list names them: a number, or job:NUMBER.
        #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
        ids: Vec<DeadRef>,
        /// All of them.
        #[arg(long)]
        all: bool,
    },
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
    /// Set what a key, a class of keys or a queue allows.
    Set(LimitSetArgs),
}

/// What a limit allows.
#[derive(Debug, Args)]
pub(crate) struct LimitSetArgs {
    /// A key (host:example.org), a class (host:*) or a queue (queue:NAME).
    #[arg(value_name = "KEY")]
    pub(crate) key: String,

    /// So many at the same time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) concurrency: Option<u32>,

    /// So many starts in a time, such as 5/s or 1/3s; may be given more than once.
    #[arg(long = "rate", value_name = "N/TIME")]
    pub(crate) rates: Vec<abide_core::limit::Rate>,

    /// So many starts beyond the rate at once.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "rates")]
    pub(crate) burst: u32,

    /// Remove the policy: the key allows what its class does, or everything.
    #[arg(long, conflicts_with_all = ["concurrency", "rates"], required_unless_present_any = ["concurrency", "rates"])]
    pub(crate) remove: bool,
}
