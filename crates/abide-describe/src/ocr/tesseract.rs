//! `tesseract`, as a child process within bounds of time and memory.

use super::language::Languages;
use super::{Image, OcrError, Reading};
use crate::limits::{SAID_BYTES, TESSERACT_ASKED, TESSERACT_MEMORY, TESSERACT_WALL, TEXT_BYTES};
use abide_llm::Usage;
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

/// The program, found and with its languages.
#[derive(Debug, Clone)]
pub struct Tesseract {
    program: PathBuf,
    version: String,
    languages: Languages,
    wall: Duration,
}

/// Why it cannot be used, and what would help.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// It is not installed.
    #[error("there is no {}: apt install tesseract-ocr", .0.display())]
    Missing(PathBuf),
    /// It lacks languages.
    #[error("tesseract has no language data for {}: apt install {}", .codes.join(", "), .packages.join(" "))]
    Languages {
        /// Which, as they were asked for.
        codes: Vec<String>,
        /// What brings them.
        packages: Vec<String>,
    },
    /// It does not answer.
    #[error("{} does not say which languages it has: {why}", .program.display())]
    Silent {
        /// Which.
        program: PathBuf,
        /// What happened.
        why: String,
    },
}

/// What it says at last of an image that it cannot make anything of.
const NOT_READ: &str = "Error during processing.";

impl Tesseract {
    /// Looks whether `program` is there and has `languages`.
    pub async fn find(program: &Path, languages: Languages) -> Result<Tesseract, Unusable> {
        let listed = ask(program, "--list-langs").await?;
        let has: BTreeSet<&str> = listed.lines().skip(1).map(str::trim).collect();
        let missing: Vec<String> =
            languages.codes().filter(|code| !has.contains(code)).map(str::to_owned).collect();
        if !missing.is_empty() {
            let packages = missing.iter().map(|code| Languages::package(code)).collect();
            return Err(Unusable::Languages { codes: missing, packages });
        }
        let version = ask(program, "--version").await?;
        let version = version.lines().next().unwrap_or("tesseract").trim().to_owned();
        Ok(Tesseract { program: program.to_owned(), version, languages, wall: TESSERACT_WALL })
    }

    /// What it is called, with its languages.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} ({})", self.version, self.languages)
    }

    /// The same with another bound of time for an image.
    #[must_use]
    pub fn within(self, wall: Duration) -> Tesseract {
        Tesseract { wall, ..self }
    }

    pub(super) async fn read(&self, image: &Image) -> Result<Reading, OcrError> {
        let not_here =
            |error: io::Error| OcrError::Transient(format!("the image cannot be put aside: {error}"));
        let file = put_aside(&image.bytes).map_err(not_here)?;
        let mut child = Command::new(&self.program)
            .args(["stdin", "stdout", "-l", &self.languages.to_string()])
            .env_clear()
            .envs(
                ["PATH", "TESSDATA_PREFIX"]
                    .into_iter()
                    .filter_map(|name| Some((name, std::env::var_os(name)?))),
            )
            // One image is read on one core: others are read beside it.
            .env("OMP_THREAD_LIMIT", "1")
            .stdin(file)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                OcrError::Transient(format!("{} cannot be started: {error}", self.program.display()))
            })?;
        confine(&child, self.wall).map_err(|error| {
            OcrError::Transient(format!("the bounds of tesseract cannot be set: {error}"))
        })?;
        let ended = tokio::time::timeout(self.wall, watch(&mut child)).await;
        let (status, text, said) = match ended {
            Ok(Ok(ended)) => ended,
            Ok(Err(error)) => return Err(OcrError::Transient(format!("tesseract was lost: {error}"))),
            Err(_) => {
                // It may have ended meanwhile.
                drop(child.kill().await);
                let wall = self.wall.as_millis();
                return Err(OcrError::Permanent(format!(
                    "tesseract took longer than {wall} ms for this image"
                )));
            }
        };
        if !status.success() {
            let last: String =
                said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("").chars().take(300).collect();
            let how = status.code().map_or_else(|| status.to_string(), |code| format!("exit code {code}"));
            let message = format!("tesseract could not read this image ({how}): {last}");
            // Whatever else it ends with is not the image's fault: languages that are gone, too little memory.
            let is_the_image = (status.code() == Some(1) && last.trim() == NOT_READ) || has_crashed(status);
            return Err(if is_the_image {
                OcrError::Permanent(message)
            } else {
                OcrError::Transient(message)
            });
        }
        Ok(Reading { text: tidy(&text), by: self.name(), usage: Usage::default(), cost_micros: 0 })
    }
}

/// Whether it met something that it cannot cope with, as it will again; one that was killed may have been in somebody's way.
fn has_crashed(status: ExitStatus) -> bool {
    let crashes = [Signal::SEGV, Signal::ABORT, Signal::FPE, Signal::ILL, Signal::BUS];
    status.signal().is_some_and(|signal| crashes.iter().any(|crash| crash.as_raw() == signal))
}

/// What the program says to one argument.
async fn ask(program: &Path, argument: &str) -> Result<String, Unusable> {
    let silent = |why: String| Unusable::Silent { program: program.to_owned(), why };
    let run = Command::new(program).arg(argument).stdin(Stdio::null()).kill_on_drop(true).output();
    let output = match tokio::time::timeout(TESSERACT_ASKED, run).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Unusable::Missing(program.to_owned()));
        }
        Ok(Err(error)) => return Err(silent(error.to_string())),
        Err(_) => return Err(silent(format!("it took longer than {} s", TESSERACT_ASKED.as_secs()))),
    };
    if !output.status.success() {
        return Err(silent(output.status.to_string()));
    }
    // Older versions list on stderr.
    let text = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// A file that has the bytes and no name: whatever ends this process, nothing is left of it.
fn put_aside(bytes: &[u8]) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

fn confine(child: &Child, wall: Duration) -> rustix::io::Result<()> {
    // One that has ended needs no bounds.
    let Some(pid) = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw) else {
        return Ok(());
    };
    let seconds = wall.as_secs() + 1;
    let bounds = [
        (Resource::Data, Rlimit { current: Some(TESSERACT_MEMORY), maximum: Some(TESSERACT_MEMORY) }),
        (Resource::Cpu, Rlimit { current: Some(seconds), maximum: Some(seconds + 2) }),
        (Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }),
    ];
    for (resource, bound) in bounds {
        match prlimit(Some(pid), resource, bound) {
            Ok(_) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits for the end of a process: how it ended, its text and what else it said.
async fn watch(child: &mut Child) -> io::Result<(ExitStatus, String, String)> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (text, said) = tokio::try_join!(some_of(stdout, TEXT_BYTES), some_of(stderr, SAID_BYTES))?;
    Ok((child.wait().await?, text, said))
}

/// The first bytes of a pipe; the rest is read away, so that nobody is held up.
async fn some_of(pipe: Option<impl AsyncRead + Unpin>, bytes: u64) -> io::Result<String> {
    let Some(mut pipe) = pipe else { return Ok(String::new()) };
    let mut kept = Vec::new();
    (&mut pipe).take(bytes).read_to_end(&mut kept).await?;
    tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await?;
    Ok(String::from_utf8_lossy(&kept).into_owned())
}

/// Text without page marks, trailing blanks and runs of empty lines.
fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.replace('\u{c}', "\n").lines().map(str::trim_end) {
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty < 2 {
            out.push_str(line);
            out.push('\n');
        }
    }
    out.trim().to_owned()
}
