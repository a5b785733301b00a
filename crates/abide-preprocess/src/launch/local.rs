//! Workers as processes of this machine, each within its bounds of memory, CPU time and time.

use super::Run;
use super::environment::Environment;
use crate::jobs::{Ended, Order};
use crate::limits::ROOM_REST_MS;
use crate::worker::is_full;
use abide_engine::JobContext;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};

/// What a process gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rooms {
    /// Memory that it may hold.
    pub memory_mb: u32,
    /// CPU time that it may use.
    pub cpu_seconds: u64,
    /// How long it may take.
    pub wall: Duration,
}

/// Starts processes.
#[derive(Debug, Clone)]
pub struct Local {
    /// The program.
    pub program: PathBuf,
    /// What comes before the word that says what is to be done (`tiff`, …).
    pub arguments: Vec<OsString>,
    /// A directory for what workers hold while they work; each gets one in it, which is removed after it.
    pub work_dir: PathBuf,
}

/// Bytes of what a process says last that are kept.
const SAID_BYTES: u64 = 64 * 1024;

/// What a process has of our own environment: where programs are, and where certificates are if not at their usual places.
const INHERITED: [&str; 3] = ["PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Signals that say which bound was reached.
const SIGINT: i32 = 2;
const SIGABRT: i32 = 6;
const SIGKILL: i32 = 9;
const SIGSEGV: i32 = 11;
const SIGXCPU: i32 = 24;

impl Local {
    /// Runs the process of an attempt; `started` is called once there is one.
    pub(super) async fn run(
        &self,
        order: &Order,
        environment: Environment,
        job: &mut JobContext,
        started: impl FnOnce() + Send,
    ) -> Run {
        let wall = Duration::from_millis(order.timeout_ms.unsigned_abs());
        // A worker computes on one core, so that CPU time is the wall's; a second more for what starts it.
        let rooms = Rooms { memory_mb: order.memory_mb, cpu_seconds: wall.as_secs() + 1, wall };
        tokio::select! {
            run = self.begin(&order.tag, environment, rooms, started) => run,
            () = job.stopped() => Run::Stopped,
        }
    }

    /// Runs one process to its end. Dropped before that, it kills it.
    pub async fn process(&self, tag: &str, environment: Environment, rooms: Rooms) -> Run {
        self.begin(tag, environment, rooms, || {}).await
    }

    async fn begin(
        &self,
        tag: &str,
        environment: Environment,
        rooms: Rooms,
        started: impl FnOnce() + Send,
    ) -> Run {
        let (_dir, mut child) = match self.spawn(tag, environment, rooms, Stdio::null(), Stdio::piped()) {
            Ok(spawned) => spawned,
            Err(not_started) => return not_started,
        };
        let _lifeline = child.stdin.take();
        started();
        let ended = tokio::time::timeout(rooms.wall, watch(&mut child)).await;
        Run::Ended(match ended {
            // A terminal tells the whole group, and a worker that has just begun is still in ours.
            Ok(Ok((status, _))) if status.signal() == Some(SIGINT) => return Run::Stopped,
            Ok(Ok((status, said))) => judge(status, &said, rooms),
            Ok(Err(error)) => Ended::Failed { reason: format!("its worker was lost: {error}") },
            Err(_) => {
                // It may have ended meanwhile.
                drop(child.kill().await);
                let most = rooms.wall.as_millis();
                let reason =
                    format!("its worker took longer than {most} ms (preprocess.task_timeout_{tag}_ms)");
                Ended::Failed { reason }
            }
        })
    }

    /// Runs one process and gives what it says line by line until it ends or its time is over, however that comes about. Dropped
    /// before that, it kills it.
    pub async fn heard(&self, tag: &str, environment: Environment, rooms: Rooms) -> Vec<String> {
        let mut said = Vec::new();
        let spawned = self.spawn(tag, environment, rooms, Stdio::piped(), Stdio::null());
        let Ok((_dir, mut child)) = spawned else { return said };
        let _lifeline = child.stdin.take();
        let Some(stdout) = child.stdout.take() else { return said };
        let mut lines = BufReader::new(stdout.take(SAID_BYTES)).lines();
        let hear = async {
            while let Ok(Some(line)) = lines.next_line().await {
                said.push(line);
            }
        };
        // What was said until then counts.
        tokio::time::timeout(rooms.wall, hear).await.ok();
        // It may have ended meanwhile.
        drop(child.kill().await);
        said
    }

    /// A process within its bounds, after the directory that is its own and goes last.
    fn spawn(
        &self,
        tag: &str,
        environment: Environment,
        rooms: Rooms,
        stdout: Stdio,
        stderr: Stdio,
    ) -> Result<(TempDir, Child), Run> {
        let not_started = |reason: String| Run::NotStarted { reason, rest_ms: None };
        let made = std::fs::create_dir_all(&self.work_dir);
        let dir = made.and_then(|()| tempfile::tempdir_in(&self.work_dir)).map_err(|error| {
            let rest_ms = is_full(&error).then_some(ROOM_REST_MS);
            let reason = format!("{} cannot be used: {error}", self.work_dir.display());
            Run::NotStarted { reason, rest_ms }
        })?;
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .arg(tag)
            .env_clear()
            .envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
            .env("TMPDIR", dir.path())
            // Memory counts when it is used, not when an arena is set aside.
            .env("MIMALLOC_ARENA_EAGER_COMMIT", "0")
            .envs(environment)
            .current_dir(dir.path())
            // It ends when we do, however we end: nobody else holds the other end of this.
            .env("LIFELINE", "stdin")
            .stdin(Stdio::piped())
            .stdout(stdout)
            .stderr(stderr)
            // What a terminal tells us to stop with is not for workers: we stop them, and that is no failure of theirs.
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        let child = child
            .map_err(|error| not_started(format!("{} cannot be started: {error}", self.program.display())))?;
        // If that fails, it ends with the handle to it.
        confine(&child, rooms)
            .map_err(|error| not_started(format!("the bounds of a worker cannot be set: {error}")))?;
        Ok((dir, child))
    }
}

fn confine(child: &Child, rooms: Rooms) -> rustix::io::Result<()> {
    // One that has ended needs no bounds.
    let Some(id) = child.id() else { return Ok(()) };
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    let memory = u64::from(rooms.memory_mb) * 1024 * 1024;
    let bounds = [
        (Resource::Data, Rlimit { current: Some(memory), maximum: Some(memory) }),
        (Resource::Cpu, Rlimit { current: Some(rooms.cpu_seconds), maximum: Some(rooms.cpu_seconds + 2) }),
        (Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }),
    ];
    for (resource, bound) in bounds {
        match prlimit(pid, resource, bound) {
            Ok(_) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits for the end of a process, and keeps what it says.
async fn watch(child: &mut Child) -> std::io::Result<(ExitStatus, String)> {
    let mut said = Vec::new();
    if let Some(mut stderr) = child.stderr.take() {
        (&mut stderr).take(SAID_BYTES).read_to_end(&mut said).await?;
        // What it says beyond is read away, so that it is not held up.
        tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await?;
    }
    let status = child.wait().await?;
    Ok((status, String::from_utf8_lossy(&said).into_owned()))
}

/// What the end of a process means. Where its bound says why it ended, what it said last is beside the point, and one that wants
/// more memory than it gets wants it each time.
fn judge(status: ExitStatus, said: &str, rooms: Rooms) -> Ended {
    let reason = match (status.code(), status.signal()) {
        (Some(0), _) => return Ended::Exited,
        (None, Some(SIGXCPU)) => format!("its worker used up its {} s of CPU time", rooms.cpu_seconds),
        (None, Some(SIGABRT)) if said.contains("memory allocation") => {
            let reason = format!("its worker reached its bound of {} MiB of memory", rooms.memory_mb);
            return Ended::Hopeless { reason };
        }
        (Some(code), _) => with_last(format!("its worker ended with exit code {code}"), said),
        (None, Some(SIGSEGV)) => {
            with_last("its worker ended with a fault of memory (SIGSEGV)".to_owned(), said)
        }
        (None, Some(SIGKILL)) => with_last("its worker was killed".to_owned(), said),
        (None, Some(signal)) => with_last(format!("its worker ended by signal {signal}"), said),
        (None, None) => with_last("its worker ended".to_owned(), said),
    };
    Ended::Failed { reason }
}

/// How a process ended, and what it said last. Notes are how its programmers are to go on.
fn with_last(ended: String, said: &str) -> String {
    let tells = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("note: ");
    match said.lines().rfind(tells) {
        Some(last) => format!("{ended}: {}", last.chars().take(500).collect::<String>()),
        None => ended,
    }
}
