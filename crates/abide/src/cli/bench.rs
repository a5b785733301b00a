//! The parts of `abide bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::whole::whole;

use crate::bench::preprocess::ChildPreset;

const PREPROCESS_HELP: &str = "\
Each contender converts the same scans, made for this run, in a process of its own with one thread: the default preset,
the fast one and, if npm can install it, sharp with quality 95 and mozjpeg. Times are of the processor, over all threads.
Then a batch of tasks that do nothing goes through a server: machines are asked for at a stand-in, which calls back over HTTP.
As many tasks in batches of a hundred go through it too: a task costs the same, however large its batch is.";

const SYNC_HELP: &str = "\
Clients are sockets of this process; the server is `abide serve` in a process of its own, on fresh stores. Both need a file for
each socket: the limit on open files is raised as far as the system lets it.";

const DOWNLOADS_HELP: &str = "\
The list enters by `abide queue import`, beside the same jobs given to an engine in this process, which is the floor. The hosts
are servers on loopback that take 50 ms for each answer; `abide queue run` downloads from them, two files at a time from each,
and the ideal is that each of them always has two.";

/// One part of the bench.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchPart {
    /// Measure the conversion of scans to JPEG: time, bytes, likeness and memory; and a batch of tasks that do nothing.
    #[command(after_help = PREPROCESS_HELP)]
    Preprocess(PreprocessBench),
    /// Measure sync: how fast a push reaches live clients, appends, a late joiner, and the memory of idle sockets.
    #[command(after_help = SYNC_HELP)]
    Sync(SyncBench),
    /// Measure downloads: how fast a list enters the queue, and how busy eight hosts are kept.
    #[command(after_help = DOWNLOADS_HELP)]
    Downloads(DownloadsBench),
}

/// Flags of the bench of downloads.
#[derive(Debug, Args)]
pub(crate) struct DownloadsBench {
    /// Lines of the list that enters.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = whole(1_u64..=10_000_000))]
    pub(crate) lines: u64,

    /// Files of each host.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = whole(1_u64..=100_000))]
    pub(crate) files: u64,
}

/// Flags of the bench of sync.
#[derive(Debug, Args)]
pub(crate) struct SyncBench {
    /// Clients that read one store live while events are pushed.
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = whole(1_u64..=100_000))]
    pub(crate) clients: u64,

    /// Pushes whose way to all of them is timed.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = whole(1_u64..=10_000))]
    pub(crate) pushes: u64,

    /// Events of the log that is written and then read from its beginning.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = whole(1_u64..=10_000_000))]
    pub(crate) events: u64,

    /// Sockets that are open and idle.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = whole(1_u64..=100_000))]
    pub(crate) idle: u64,
}

/// Flags of the bench of conversions.
#[derive(Debug, Args)]
pub(crate) struct PreprocessBench {
    /// How many scans of each kind.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = whole(1_u32..=100))]
    pub(crate) images: u32,

    /// Percent of the full sides of the scans, for a quick look.
    #[arg(long, value_name = "PERCENT", default_value_t = 100, value_parser = whole(1_u32..=100))]
    pub(crate) scale: u32,

    /// Tasks that do nothing, of which a batch is measured.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) tasks: u32,

    /// Do not install and measure sharp.
    #[arg(long)]
    pub(crate) no_sharp: bool,

    /// What a process started by the bench does.
    #[arg(long, hide = true)]
    pub(crate) child: Option<ChildPreset>,

    /// What such a process converts: a scan and its JPEG, in turn.
    #[arg(hide = true, requires = "child")]
    pub(crate) files: Vec<PathBuf>,
}
