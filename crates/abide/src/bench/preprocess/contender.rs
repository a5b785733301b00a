//! Who converts: a process that says it is ready, converts when told, and is asked what it took.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use tokio::time::Instant;

use super::super::BenchError;

/// Ticks of `/proc/PID/stat` in a second: Linux shows 100 whatever the kernel counts in.
const TICKS: f64 = 100.0;

/// The settings of the seed's worker. One thread, as the other contenders have.
const SHARP: &str = "\
const sharp = require('sharp');
sharp.concurrency(1);
const files = process.argv.slice(1);
require('readline').createInterface({ input: process.stdin }).once('line', async () => {
  for (let at = 0; at < files.length; at += 2)
    await sharp(files[at]).jpeg({ quality: 95, mozjpeg: true }).toFile(files[at + 1]);
  console.log('done');
});
console.log('ready');
";

/// The preset of a child of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ChildPreset {
    /// The default preset.
    Default,
    /// The fast one.
    Fast,
}

/// Who converts.
pub(super) enum Contender {
    Default,
    Fast,
    /// With the directory that it is installed in.
    Sharp(PathBuf),
}

/// What a process took.
pub(super) struct Usage {
    pub(super) cpu_s: f64,
    pub(super) wall_s: f64,
    pub(super) peak_mib: f64,
}

impl Contender {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Contender::Default => "default",
            Contender::Fast => "fast",
            Contender::Sharp(_) => "sharp",
        }
    }

    /// Converts each first file into the second, one after the other, in a process of its own.
    pub(super) fn convert(&self, pairs: &[(PathBuf, PathBuf)]) -> Result<Usage, BenchError> {
        let mut command = match self {
            Contender::Default | Contender::Fast => {
                let mut command = Command::new(std::env::current_exe()?);
                command.args(["bench", "preprocess", "--child", self.name()]);
                command
            }
            Contender::Sharp(dir) => {
                let mut command = Command::new("node");
                command.current_dir(dir).args(["-e", SHARP]);
                command
            }
        };
        command.args(pairs.iter().flat_map(|(from, to)| [from, to]));
        let mut running = Running::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()))?;
        running.says("ready")?;
        let (cpu_before, began) = (cpu_s(running.child.id())?, Instant::now());
        running.stdin.write_all(b"go\n")?;
        running.says("done")?;
        let wall_s = began.elapsed().as_secs_f64();
        Ok(Usage { cpu_s: cpu_s(running.child.id())? - cpu_before, wall_s, peak_mib: running.peak_mib()? })
    }
}

/// Says that this process is ready, works when told to, says that it is done, and stays to be asked.
pub(super) fn when_told(work: impl FnOnce() -> Result<(), BenchError>) -> Result<(), BenchError> {
    let (mut out, mut line) = (std::io::stdout(), String::new());
    writeln!(out, "ready")?;
    std::io::stdin().read_line(&mut line)?;
    work()?;
    writeln!(out, "done")?;
    std::io::stdin().read_line(&mut line)?;
    Ok(())
}

/// A process at work, killed when dropped.
struct Running {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Running {
    fn start(command: &mut Command) -> Result<Running, BenchError> {
        let mut child = command.spawn()?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(stdin), Some(stdout)) => Ok(Running { child, stdin, stdout: BufReader::new(stdout) }),
            _ => Err(BenchError::Wrong("a contender has no pipes".into())),
        }
    }

    fn says(&mut self, word: &str) -> Result<(), BenchError> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        if line.trim() == word {
            return Ok(());
        }
        Err(BenchError::Wrong(format!("a contender said {line:?} where {word:?} was due")))
    }

    fn peak_mib(&self) -> Result<f64, BenchError> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
        kib.map(|kib| kib / 1_024.0).ok_or_else(|| BenchError::Wrong("no VmHWM of a contender".into()))
    }
}

/// What a process took of the processor: all its threads, those that ended too.
pub(super) fn cpu_s(process: u32) -> Result<f64, BenchError> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name of the program is in parentheses and may hold anything.
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let field = |at| after_name.split_whitespace().nth(at).and_then(|ticks| ticks.parse::<f64>().ok());
    match (field(11), field(12)) {
        (Some(user), Some(system)) => Ok((user + system) / TICKS),
        _ => Err(BenchError::Wrong(format!("no times of process {process} in /proc"))),
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Gone already is as good.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Installs `sharp` into a directory, or says why it is not there.
pub(super) fn install_sharp(dir: &Path) -> Result<Result<(), String>, BenchError> {
    std::fs::create_dir_all(dir)?;
    std::fs::write(dir.join("package.json"), "{}")?;
    let npm = Command::new("npm")
        .args(["install", "--silent", "--no-audit", "--no-fund", "sharp@0.35"])
        .current_dir(dir)
        .stdin(Stdio::null())
        .output();
    Ok(match npm {
        Err(error) => Err(format!("npm did not run ({error})")),
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!("npm: {}", String::from_utf8_lossy(&output.stderr).trim())),
    })
}
