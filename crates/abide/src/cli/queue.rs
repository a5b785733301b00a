//! `abide queue`: a list of things to get in, files out.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueHint};

use super::whole::whole;

const LINES: &str = "\
Each line is a JSON object:
  {\"artifact_id\": \"doi:10.1234/example\", \"url\": \"https://example.org/paper.pdf\"}
artifact_id (or id) names it: entering a line twice changes nothing. A line without a url waits for a worker that finds
one. Known beside them: resolver_hint, priority, base_stem, expected_mime, max_bytes. Every other field is kept.
A line that cannot be entered is reported on standard error with its number and reason; the others enter, and the exit
code is 4.";

/// What to do with a queue.
#[derive(Debug, Subcommand)]
pub(crate) enum QueueCommand {
    /// Enter one artifact, or every line of a file.
    #[command(after_help = LINES)]
    Enqueue(EnqueueArgs),
    /// Enter every line of a file.
    #[command(after_help = LINES)]
    Import(ImportArgs),
    /// Download what waits: in this process, or as a worker of the server that owns the data directory.
    Run(RunArgs),
    /// Count jobs by state, with rate and time left.
    Stats {
        /// Which queue.
        #[arg(value_name = "QUEUE", default_value = abide_downloads::QUEUE)]
        queue: String,
    },
    /// Give every failed job fresh attempts.
    RetryFailed {
        /// Only say which.
        #[arg(long)]
        dry_run: bool,
        /// Of which queue.
        #[arg(long, value_name = "QUEUE", default_value = abide_downloads::QUEUE)]
        queue: String,
    },
    /// Let no more jobs of a queue start.
    Pause {
        /// Which queue.
        #[arg(value_name = "QUEUE", default_value = abide_downloads::QUEUE)]
        queue: String,
    },
    /// Let jobs of a queue start again.
    Resume {
        /// Which queue.
        #[arg(value_name = "QUEUE", default_value = abide_downloads::QUEUE)]
        queue: String,
    },
}

/// What to enter.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").args(["id", "input"]).required(true)))]
pub(crate) struct EnqueueArgs {
    /// The artifact's id.
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,

    /// What is known of it, as a JSON object.
    #[arg(value_name = "JSON", conflicts_with = "input")]
    pub(crate) artifact: Option<String>,

    /// Enter every line of this file; - reads standard input.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) input: Option<PathBuf>,

    /// Into which queue.
    #[arg(long, value_name = "QUEUE", default_value = abide_downloads::QUEUE)]
    pub(crate) queue: String,
}

/// Which file to enter.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The file; - reads standard input.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// Read only so many lines.
    #[arg(long, value_name = "N", value_parser = whole(0..=u64::MAX))]
    pub(crate) limit: Option<u64>,

    /// Into which queue.
    #[arg(long, value_name = "QUEUE", default_value = abide_downloads::QUEUE)]
    pub(crate) queue: String,
}

/// How to run.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// End when nothing is left to download.
    #[arg(long)]
    pub(crate) drain: bool,

    /// Downloads at the same time [default: downloads.workers, or 8 if that is 0].
    #[arg(long, value_name = "N", value_parser = whole(1_u16..=256))]
    pub(crate) workers: Option<u16>,

    /// Set the limit host:*: downloads at the same time from one host, for all who run them; rates stay.
    #[arg(long, value_name = "N", value_parser = whole(1_u32..=1_000))]
    pub(crate) max_per_host: Option<u32>,

    /// Set limits of resolvers, for all who run them.
    #[arg(long, value_name = "NAME:N,…", value_delimiter = ',', value_parser = resolver_limit)]
    pub(crate) max_per_resolver: Vec<ResolverLimit>,

    /// End after so many downloads.
    #[arg(long, value_name = "N", value_parser = whole(1..=u64::MAX))]
    pub(crate) max_jobs: Option<u64>,

    /// End after so many seconds.
    #[arg(long, value_name = "S", value_parser = whole(1..=u64::MAX))]
    pub(crate) max_seconds: Option<u64>,

    /// Directory that files go to [default: downloads.out, or downloads in the data directory].
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,

    /// From which queue.
    #[arg(long, value_name = "QUEUE", default_value = abide_downloads::QUEUE)]
    pub(crate) queue: String,
}

/// How many jobs of one resolver run at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResolverLimit {
    pub(crate) resolver: String,
    pub(crate) concurrency: u32,
}

fn resolver_limit(text: &str) -> Result<ResolverLimit, String> {
    let wrong = || format!("{text:?} is not NAME:N with N from 1 to 1000, such as arxiv:2");
    let (resolver, concurrency) = text.trim().rsplit_once(':').ok_or_else(wrong)?;
    let concurrency = concurrency.parse().ok().filter(|n| (1..=1_000).contains(n)).ok_or_else(wrong)?;
    if resolver.is_empty() {
        return Err(wrong());
    }
    Ok(ResolverLimit { resolver: resolver.to_owned(), concurrency })
}

#[cfg(test)]
mod tests {
    use super::resolver_limit;

    #[test]
    fn a_resolver_limit_is_a_name_and_a_number() {
        for (text, expected) in [
            ("arxiv:2", Some(("arxiv", 2))),
            (" core:1000", Some(("core", 1_000))),
            ("a:b:3", Some(("a:b", 3))),
            ("arxiv", None),
            (":2", None),
            ("arxiv:0", None),
            ("arxiv:1001", None),
            ("arxiv:two", None),
        ] {
            let found = resolver_limit(text).ok();
            let found = found.as_ref().map(|limit| (limit.resolver.as_str(), limit.concurrency));
            assert_eq!(found, expected, "{text}");
        }
    }
}
