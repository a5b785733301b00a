//! The gate: every check in order, timed, stopping at the first that fails.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::parts::{BROWSER, Part, READER};
use crate::{npm_client, tidy};

struct Step {
    name: &'static str,
    work: Work,
}

enum Work {
    Tidy,
    Cargo(&'static [&'static str]),
    /// Cargo that builds with clippy's compiler, and the line that anyone would type to the same end.
    Linted {
        args: &'static [&'static str],
        alone: &'static str,
    },
    /// What is not there but could be is no failure: its tests say that they are skipped.
    Part(&'static Part),
    /// The same for the client of the sync protocol.
    NpmClient,
}

/// `cargo test` without a target selection runs unit and integration tests, builds the examples and runs those that
/// are tests, and runs the doctests: each once. Linting is part of that build: `cargo clippy` would compile every
/// dependency a second time, in a form that tests cannot use.
const STEPS: &[Step] = &[
    Step { name: "fmt", work: Work::Cargo(&["fmt", "--all", "--check"]) },
    Step { name: "tidy", work: Work::Tidy },
    Step {
        name: "clippy",
        work: Work::Linted {
            args: &["test", "--workspace", "--all-targets", "--locked", "--no-run", "--quiet"],
            alone: "cargo clippy --workspace --all-targets --locked -- -D warnings",
        },
    },
    Step { name: "browser", work: Work::Part(&BROWSER) },
    Step { name: "reader", work: Work::Part(&READER) },
    Step { name: "npm", work: Work::NpmClient },
    Step {
        name: "test",
        work: Work::Linted {
            args: &["test", "--workspace", "--locked", "--no-fail-fast"],
            alone: "cargo test --workspace --locked",
        },
    },
];

pub(crate) fn run(root: &Path) -> anyhow::Result<ExitCode> {
    if !c_compiler_answers() {
        eprintln!(
            "error: no C compiler: `cc` did not run, and the embedded SQLite is built from C\n\
             On Debian and Ubuntu: apt-get install gcc libc6-dev"
        );
        return Ok(ExitCode::FAILURE);
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    run_steps(STEPS, |work| work.run(root, &cargo))
}

fn run_steps(steps: &[Step], mut run: impl FnMut(&Work) -> anyhow::Result<bool>) -> anyhow::Result<ExitCode> {
    let mut taken = Vec::new();
    for step in steps {
        eprintln!("==> {}: {}", step.name, step.work.command_line());
        let (outcome, elapsed) = timed(|| run(&step.work));
        let passed = outcome.with_context(|| format!("step {} could not run", step.name))?;
        if !passed {
            eprintln!("==> {} FAILED after {}", step.name, seconds(elapsed));
            eprintln!("    to run it alone: {}", step.work.command_line());
            return Ok(ExitCode::FAILURE);
        }
        eprintln!("==> {} passed in {}", step.name, seconds(elapsed));
        taken.push((step.name, elapsed));
    }
    eprint!("{}", summary(&taken));
    Ok(ExitCode::SUCCESS)
}

impl Work {
    fn run(&self, root: &Path, cargo: &OsString) -> anyhow::Result<bool> {
        match self {
            Work::Tidy => tidy::passes(root),
            Work::Cargo(args) => Ok(Command::new(cargo).args(*args).current_dir(root).status()?.success()),
            Work::Linted { args, .. } => {
                let driver = clippy_driver(cargo)?;
                let mut command = Command::new(cargo);
                command.args(*args).current_dir(root);
                // As `cargo clippy -- -D warnings` sets them; the odd word is clippy's separator.
                command.env("RUSTC_WORKSPACE_WRAPPER", driver);
                command.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
                if std::env::var_os("RUST_TEST_THREADS").is_none() {
                    command.env("RUST_TEST_THREADS", test_threads().to_string());
                }
                Ok(command.status()?.success())
            }
            Work::Part(part) => {
                eprintln!("    {}", part.provide());
                Ok(true)
            }
            Work::NpmClient => {
                eprintln!("    {}", npm_client::provide(root));
                Ok(true)
            }
        }
    }

    fn command_line(&self) -> String {
        match self {
            Work::Tidy => "cargo xtask tidy".to_owned(),
            Work::Cargo(args) => format!("cargo {}", args.join(" ")),
            Work::Linted { alone, .. } => (*alone).to_owned(),
            Work::Part(part) => format!("{}, if it is missing and this is root", part.install().join(" ")),
            Work::NpmClient => npm_client::NEEDS.to_owned(),
        }
    }
}

/// Many tests wait for processes that they started, so that as many as there are cores leave these idle.
fn test_threads() -> usize {
    2 * std::thread::available_parallelism().map_or(1, usize::from)
}

/// The compiler that lints: beside the cargo of the toolchain, or wherever `PATH` has it.
fn clippy_driver(cargo: &OsString) -> anyhow::Result<PathBuf> {
    let name = format!("clippy-driver{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let beside = Path::new(cargo).parent().map(Path::to_path_buf);
    beside
        .into_iter()
        .chain(std::env::split_paths(&path))
        .map(|folder| folder.join(&name))
        .find(|file| file.is_file())
        .context("no clippy-driver: rustup component add clippy")
}

/// Whoever sets `CC` is trusted to know: it may hold a launcher and flags as well.
fn c_compiler_answers() -> bool {
    let answer = Command::new("cc").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    std::env::var_os("CC").is_some() || answer.is_ok_and(|status| status.success())
}

#[expect(clippy::disallowed_methods, reason = "only times the gate's own steps")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let started_at = Instant::now();
    let outcome = work();
    (outcome, started_at.elapsed())
}

fn seconds(elapsed: Duration) -> String {
    format!("{:.1} s", elapsed.as_secs_f64())
}

fn summary(taken: &[(&str, Duration)]) -> String {
    let total: Duration = taken.iter().map(|(_, elapsed)| elapsed).sum();
    let lines = taken.iter().copied().chain([("all", total)]);
    lines.map(|(name, elapsed)| format!("    {name:<8}{:>10}\n", seconds(elapsed))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_ends_with_the_total() {
        let taken = [("fmt", Duration::from_millis(300)), ("test", Duration::from_millis(12_500))];
        assert_eq!(
            summary(&taken),
            "    fmt          0.3 s\n    test        12.5 s\n    all         12.8 s\n"
        );
    }

    #[test]
    fn the_first_failing_step_is_the_last() {
        for (fails_at, runs, exit) in
            [(0, 1, ExitCode::FAILURE), (2, 3, ExitCode::FAILURE), (99, STEPS.len(), ExitCode::SUCCESS)]
        {
            let mut ran = Vec::new();
            let code = run_steps(STEPS, |work| {
                ran.push(work.command_line());
                Ok(ran.len() != fails_at + 1)
            });
            let all: Vec<String> = STEPS.iter().map(|step| step.work.command_line()).collect();
            assert_eq!((code.unwrap(), ran.as_slice()), (exit, &all[..runs]));
        }
    }
}
