//! One run of cargo that ends: by itself, or by us.

use anyhow::Context;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Longer than any build or catcher takes, on a slow machine with others at work.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// How a run went.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Run {
    Passed,
    /// With the line that says why.
    Failed(String),
    /// It had not ended after [`LIMIT`].
    Hung,
}

pub(super) fn cargo(folder: &Path, arguments: &[&str]) -> anyhow::Result<Run> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.args(arguments).current_dir(folder).env_remove("CARGO_MANIFEST_DIR");
    bounded(command, LIMIT).with_context(|| format!("cargo {} could not run", arguments.join(" ")))
}

/// Runs the command in a group of its own, so that whatever it started ends with it.
fn bounded(mut command: Command, limit: Duration) -> anyhow::Result<Run> {
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn()?;
    let group = child.id();
    let (ended, end) = channel();
    let waiting = std::thread::spawn(move || ended.send(child.wait_with_output()));
    let run = match end.recv_timeout(limit) {
        Ok(output) => judge(&output?),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
            Command::new("kill").args(["-KILL", "--", &format!("-{group}")]).status()?;
            Run::Hung
        }
    };
    // Its only panic would be one of the standard library's; the verdict is in.
    drop(waiting.join());
    Ok(run)
}

fn judge(output: &Output) -> Run {
    if output.status.success() {
        return Run::Passed;
    }
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    let lines: Vec<&str> = said.iter().flat_map(|text| text.lines()).collect();
    Run::Failed(reason(&lines).unwrap_or_else(|| format!("{}", output.status)))
}

/// The line that says why: of the simulator, of a panic with what follows it, or of the compiler.
fn reason(lines: &[&str]) -> Option<String> {
    if let Some(line) = lines.iter().find(|line| line.contains(" failed after ")) {
        return Some((*line).to_owned());
    }
    if let Some(at) = lines.iter().position(|line| line.contains(" panicked at ")) {
        let text = lines.get(at + 1).copied().unwrap_or_default();
        return Some(format!("{} {text}", lines[at].trim()));
    }
    lines.iter().find(|line| line.starts_with("error")).map(|line| (*line).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit_ms: u64) -> Run {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        bounded(command, Duration::from_millis(limit_ms)).unwrap()
    }

    #[test]
    fn a_run_passes_fails_with_its_reason_or_hangs() {
        let minute = 60_000;
        let failed = |why: &str| Run::Failed(why.to_owned());
        assert_eq!(shell("exit 0", minute), Run::Passed);
        assert_eq!(shell("exit 3", minute), failed("exit status: 3"));
        let panicked = "echo note; echo \"thread 't' panicked at a.rs:1:\" >&2; echo left >&2; exit 101";
        assert_eq!(shell(panicked, minute), failed("thread 't' panicked at a.rs:1: left"));
        let seed = "echo error: odd; echo seed 7 failed after 9 events: x >&2; exit 1";
        assert_eq!(shell(seed, minute), failed("seed 7 failed after 9 events: x"));
        // The grandchild holds the pipes open: the whole group must end for this to return.
        assert_eq!(shell("sleep 1000 & sleep 1000; exit 1", 50), Run::Hung);
    }
}
