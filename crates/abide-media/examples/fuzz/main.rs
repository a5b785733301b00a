//! A seeded fuzzer for what this crate parses: files of the corpus, mutated, converted within small bounds.
//!
//! Conversions run in a child process with bounded memory that reports after each. One that dies or stays silent has
//! found something: the input is written down and a new child goes on behind it. Start it as `cargo xtask fuzz`.

mod execute;
mod mutate;
mod planted;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;
use std::{env, fs, thread};

use anyhow::{Context, bail};

use execute::Kind;
use mutate::Corpus;

const HELP: &str = "\
Usage: cargo xtask fuzz [tiff|pdf|image]... [--runs N] [--seed S] [--longest-ms MS] [--input FILE]

Without a target, all. N is 10000, S is 1, MS is 20000. With --input one file is converted once, in this process.
The targets planted-panic, planted-memory and planted-loop are readers with a bug, by which the fuzzer itself is tried.
";

/// How long one conversion may take unless it is said. Within the small bounds of the fuzzer a sound one takes milliseconds.
const LONGEST: Duration = Duration::from_secs(20);
/// Address space of a child: bounds, stacks and libraries fit; an allocation that was not computed does not.
const CHILD_KIB: u64 = 1 << 20;
/// After so many findings of one target it is time to look at them.
const MOST_FINDINGS: usize = 25;

struct Args {
    kinds: Vec<Kind>,
    runs: u64,
    seed: u64,
    longest: Duration,
    input: Option<PathBuf>,
    /// The run that a child begins with.
    child_from: Option<u64>,
}

fn main() -> anyhow::Result<ExitCode> {
    let Some(args) = parse(env::args().skip(1))? else {
        print!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    };
    let corpus_dir = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").context("start it by cargo")?);
    let corpus_dir = corpus_dir.join("fuzz-corpus");
    let mut found = 0;
    for kind in &args.kinds {
        if let Some(input) = &args.input {
            println!("{}", execute::once(*kind, &fs::read(input)?)?);
            continue;
        }
        let corpus = Corpus::read(&corpus_dir.join(kind.corpus()), kind.words())?;
        match args.child_from {
            Some(from) => execute::all(*kind, &corpus, args.seed, from..args.runs)?,
            None => found += supervise(*kind, &corpus, &args)?,
        }
    }
    Ok(if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn parse(mut words: impl Iterator<Item = String>) -> anyhow::Result<Option<Args>> {
    let kinds = Vec::new();
    let mut args = Args { kinds, runs: 10_000, seed: 1, longest: LONGEST, input: None, child_from: None };
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--help" | "-h" => return Ok(None),
            "--runs" => args.runs = value()?.parse().context("--runs is a number")?,
            "--seed" => args.seed = value()?.parse().context("--seed is a number")?,
            "--input" => args.input = Some(value()?.into()),
            "--child-from" => args.child_from = Some(value()?.parse().context("--child-from is a number")?),
            "--longest-ms" => {
                args.longest = Duration::from_millis(value()?.parse().context("--longest-ms is a number")?)
            }
            name => match Kind::named(name) {
                Some(kind) => args.kinds.push(kind),
                None => bail!("no such target or flag: {name}\n\n{HELP}"),
            },
        }
    }
    if args.kinds.is_empty() {
        args.kinds = Kind::ALL.to_vec();
    }
    Ok(Some(args))
}

/// Starts children until every run is done, and gives how many of them found something.
fn supervise(kind: Kind, corpus: &Corpus, args: &Args) -> anyhow::Result<usize> {
    let mut outcomes = std::collections::BTreeMap::<String, u64>::new();
    let mut findings = 0;
    let mut next = 0;
    while next < args.runs && findings < MOST_FINDINGS {
        let (mut child, reports) = start(kind, args, next)?;
        let why = loop {
            match reports.recv_timeout(args.longest) {
                Ok(outcome) => {
                    *outcomes.entry(outcome).or_default() += 1;
                    next += 1;
                }
                Err(RecvTimeoutError::Disconnected) => break child.wait()?.to_string(),
                Err(RecvTimeoutError::Timeout) => {
                    child.kill()?;
                    child.wait()?;
                    break format!("no end after {} ms", args.longest.as_millis());
                }
            }
        };
        if next < args.runs {
            let input = keep(kind, args.seed, next, &corpus.mutated(args.seed, next))?;
            println!("{}: run {next} of seed {}: {why}: {}", kind.name(), args.seed, input.display());
            findings += 1;
            next += 1;
        }
    }
    let counts: Vec<String> = outcomes.iter().map(|(outcome, count)| format!("{outcome} {count}")).collect();
    println!("{}: {next} runs, {findings} findings ({})", kind.name(), counts.join(", "));
    Ok(findings)
}

/// A child that begins with run `from`, and the outcome of each of its runs.
fn start(kind: Kind, args: &Args, from: u64) -> anyhow::Result<(Child, Receiver<String>)> {
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit -v {CHILD_KIB} && exec \"$0\" \"$@\"")])
        .arg(env::current_exe()?)
        .args([kind.name(), "--runs", &args.runs.to_string(), "--seed", &args.seed.to_string()])
        .args(["--child-from", &from.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("sh did not start")?;
    let stdout = child.stdout.take().context("a child without a pipe")?;
    let (send, reports) = sync_channel(1_024);
    thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        // Nobody listens any more when the child was killed.
        lines.map(|line| send.send(line)).take_while(Result::is_ok).for_each(drop);
    });
    Ok((child, reports))
}

/// Writes an input that found something beside the build.
fn keep(kind: Kind, seed: u64, run: u64, input: &[u8]) -> anyhow::Result<PathBuf> {
    let program = env::current_exe()?;
    let build = program.ancestors().nth(3).unwrap_or(Path::new("."));
    let dir = build.join("fuzz");
    fs::create_dir_all(&dir)?;
    let path = dir.join(format!("{}-{seed}-{run}", kind.name()));
    fs::write(&path, input)?;
    Ok(path)
}
