//! The command line: commands, flags and their help.

mod bench;
#[cfg(test)]
mod docs;
mod ingest;
mod links;
mod preprocess;
mod queue;
mod token;
mod when;
mod whole;
mod work;

pub(crate) use bench::{BenchPart, DownloadsBench, PreprocessBench, SyncBench};
pub(crate) use ingest::{CollectionCommand, IngestArgs};
pub(crate) use links::{KeyCommand, LinksCommand, LinksListArgs, LinksPage, SaveFlags, TokenFlags};
pub(crate) use preprocess::{PreprocessArgs, PresetArg, WorkerTask};
pub(crate) use queue::{EnqueueArgs, ImportArgs, QueueCommand, RunArgs};
pub(crate) use token::{TokenCommand, TokenCreateArgs};
pub(crate) use work::{
    DeadCommand, DeadFilter, DeadRef, JobCommand, JobListArgs, LimitCommand, LimitSetArgs, ObjectCommand,
    ReplayArgs,
};

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;

use self::whole::whole;

use crate::bench::ChildTask;
use crate::config::doc_of_flag;

const EXIT_CODES: &str = "\
Exit codes:
  0  it worked
  1  it failed
  2  the command line or the configuration is wrong
  3  the data directory cannot be used
  4  part of it did not work: some lines were refused, or some jobs failed
  5  the server that owns the data directory cannot be reached, or denies it";

const PREPROCESS_HELP: &str = "\
Images are made at the place of their source below --out, smaller copies below `variants`, texts of PDF pages beside them.
Stopped by Ctrl-C, by a crash or by a full disk, the same command goes on where it was; `.abide` in --out keeps what is needed
for that. Run again, it converts what is new, changed, or failed for something that is not in the file, and nothing else. A second
Ctrl-C ends it at once. With --json, progress is on standard error, a document in each line, and the summary on standard output.

Exit codes:
  0    every file was converted, or is one that is not
  1    it failed
  2    the command line or the configuration is wrong, there is too little room on the disk, or files of others are in --out
  3    what --out keeps cannot be used, or another run writes there
  4    some files failed; each is named with its reason
  130  it was told to stop";

const INGEST_HELP: &str = "\
Images are converted and read, files are put into groups, and everything is described. Run again, it goes on where it was stopped;
on a folder that is as it was it does nothing; on one that changed only what changed. New files join groups that are there; edited and
removed files are new versions, and older versions stay. Groups keep their ids and names, and what was moved or renamed by hand stays so.

Exit codes:
  0    everything is in the collection
  1    it failed
  2    the command line or the configuration is wrong, or there is too little room on the disk
  3    the data directory cannot be used
  4    some files could not be converted; each is named with its reason
  130  it was told to stop";

const WORKER_HELP: &str = "\
TASK_ID, BATCH_ID, INPUT_R2_KEY and CALLBACK_URL say what to do; INPUT_URL, OUTPUT_URL and UPLOADS_URL, or R2_ACCOUNT_ID,
R2_ACCESS_KEY_ID, R2_SECRET_ACCESS_KEY and R2_BUCKET, how to get at bytes. docs/deploy.md has every variable.
The exit code is 0 if the task succeeded and 1 if it failed, and the callback says why.";

const BENCH_HELP: &str = "\
Without --serve every figure is measured, in fresh stores below --data-dir (or `bench` in the data directory) that are
removed afterwards; that takes some minutes. With --json it prints one object.

With --serve ADDR:
POST /v1/objects/counter/NAME/call  {\"add\": N, \"id\": TEXT} or {\"get\": true}, answered with {\"value\": N};
                                    the row id/TEXT counts how often the increment TEXT was applied
POST /v1/jobs                       {\"queue\": \"bench\", \"kind\": \"noop\"}";

/// Runs durable work: objects that remember, jobs that are never lost.
#[derive(Debug, Parser)]
#[command(name = "abide", version, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    /// Print data and errors as JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Read this file instead of ABIDE_CONFIG, ./abide.toml or abide.toml in the data directory.
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath, help = doc_of_flag("--data-dir"))]
    data_dir: Option<String>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make an organized, described, versioned collection of a folder of scans, texts and images.
    #[command(after_help = INGEST_HELP)]
    Ingest(IngestArgs),
    /// Look into collections, search them, export them and change them by hand.
    #[command(after_help = EXIT_CODES)]
    Collection {
        /// What to do.
        #[command(subcommand)]
        command: CollectionCommand,
    },
    /// Run the server until it is told to stop.
    #[command(after_help = EXIT_CODES)]
    Serve(ServerFlags),
    /// Enter things to download, and download them.
    #[command(after_help = EXIT_CODES)]
    Queue {
        /// What to do.
        #[command(subcommand)]
        command: QueueCommand,
    },
    /// Make web images and pages of a folder of scans, PDFs and images.
    #[command(after_help = PREPROCESS_HELP)]
    Preprocess(PreprocessArgs),
    /// Do one task of preprocessing, as the environment says: what launchers start.
    #[command(after_help = WORKER_HELP)]
    Worker {
        /// What to do; what TASK_ID says by default.
        task: Option<WorkerTask>,
    },
    /// Look at jobs and cancel them.
    Job {
        /// What to do.
        #[command(subcommand)]
        command: JobCommand,
    },
    /// Look at objects.
    Object {
        /// What to do.
        #[command(subcommand)]
        command: ObjectCommand,
    },
    /// Look at what used up its attempts, and replay it.
    Dead {
        /// What to do.
        #[command(subcommand)]
        command: DeadCommand,
    },
    /// Look at limits and set them.
    Limit {
        /// What to do.
        #[command(subcommand)]
        command: LimitCommand,
    },
    /// Make, list and revoke the tokens that let other machines in.
    Token {
        /// What to do.
        #[command(subcommand)]
        command: TokenCommand,
    },
    /// Copy the store to a new file, while it is in use or not.
    Backup {
        /// The file, which must not be there.
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Check a backup and put it into a data directory that has no data.
    Restore {
        /// The backup.
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Check the data directory, disk, clock and port, and say how to mend what is wrong.
    Doctor(ServerFlags),
    /// Print completions for a shell.
    Completions {
        /// Which shell.
        shell: Shell,
    },
    /// Measure this machine, or serve a durable counter for load from outside.
    #[command(after_help = BENCH_HELP)]
    Bench(BenchFlags),
    /// Save and find links, and say who may sync them.
    Links {
        /// What to do.
        #[command(subcommand)]
        command: LinksCommand,
    },
    /// Show or check the configuration.
    #[command(
        after_help = "Options come from defaults, then abide.toml, then the environment (ABIDE_SECTION_KEY), \
                      then flags; the later wins."
    )]
    Config {
        /// What to do with it.
        #[command(subcommand)]
        command: ConfigCommand,
    },
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every option, its value and where the value came from.
    Show(ServerFlags),
    /// Say whether the configuration is valid, and if not, everything that is wrong with it.
    #[command(after_help = EXIT_CODES)]
    Check(ServerFlags),
}

/// Flags that override options of the server.
#[derive(Debug, Args)]
pub(crate) struct ServerFlags {
    #[arg(long, value_name = "ADDR", help = doc_of_flag("--listen"))]
    listen: Option<String>,
}

/// Flags of the bench.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BenchFlags {
    /// Measure one part instead.
    #[command(subcommand)]
    pub(crate) part: Option<BenchPart>,

    /// Only serve the durable counter, on this loopback address, for load from outside.
    #[arg(long, value_name = "ADDR")]
    pub(crate) serve: Option<SocketAddr>,

    /// How long each load is measured.
    #[arg(long, value_name = "SECONDS", default_value_t = 3, value_parser = whole(1_u64..=600))]
    pub(crate) seconds: u64,

    /// How long the system calls of an idle engine are counted.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = whole(1_u32..=600))]
    pub(crate) idle_seconds: u32,

    /// What a process started by the bench does.
    #[arg(long, hide = true)]
    pub(crate) child: Option<ChildTask>,
}

impl Cli {
    /// Whether `--data-dir` says where the data is.
    pub(crate) fn says_data_dir(&self) -> bool {
        self.data_dir.is_some()
    }

    /// The flags that override an option, by name.
    pub(crate) fn option_flags(&self) -> BTreeMap<&'static str, String> {
        let listen = match &self.command {
            Command::Serve(server)
            | Command::Doctor(server)
            | Command::Config { command: ConfigCommand::Show(server) | ConfigCommand::Check(server) } => {
                server.listen.clone()
            }
            Command::Bench(bench) => bench.serve.map(|listen| listen.to_string()),
            Command::Queue { .. }
            | Command::Ingest(_)
            | Command::Collection { .. }
            | Command::Preprocess(_)
            | Command::Worker { .. }
            | Command::Job { .. }
            | Command::Object { .. }
            | Command::Dead { .. }
            | Command::Limit { .. }
            | Command::Token { .. }
            | Command::Links { .. }
            | Command::Backup { .. }
            | Command::Restore { .. }
            | Command::Completions { .. } => None,
        };
        [("--data-dir", self.data_dir.clone()), ("--listen", listen)]
            .into_iter()
            .filter_map(|(flag, raw)| Some((flag, raw?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::Cli;
    use crate::config::OPTIONS;

    #[test]
    fn the_commands_are_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_flag_of_the_option_table_reaches_the_resolver() {
        for flag in OPTIONS.iter().filter_map(|spec| spec.flag) {
            let cli = Cli::try_parse_from(["abide", "serve", flag, "given"]).unwrap();
            assert_eq!(cli.option_flags().get(flag).map(String::as_str), Some("given"), "{flag}");
        }
    }
}
