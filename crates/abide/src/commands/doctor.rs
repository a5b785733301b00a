//! `abide doctor`: what could keep the server from working, each with its fix.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use abide_core::time::{Clock, Time};
use abide_engine::clock::SystemClock;
use abide_sqlite::{DataDir, OpenError, SqliteStore};
use indicatif::HumanBytes;
use rustix::fs::statvfs;
use serde::Serialize;

use crate::columns::columns;
use crate::config::Config;
use crate::failure::Failure;
use crate::output::Output;
use crate::reach::answers;
use crate::services::downloads;

/// Less than this is soon full.
const ROOM_WARN: u64 = 1 << 30;
/// Less than this is full.
const ROOM_FAIL: u64 = 64 << 20;
const MAY_NOT_WRITE: &str = "change its owner or permissions, or give another one with --data-dir";
/// No clock that is right says an earlier time: 2025-01-01.
const EARLIEST: Time = Time(1_735_689_600_000);
/// How far a file may seem to lie in the future.
const CLOCK_SLACK_MS: i64 = 5_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Ok,
    Warning,
    Wrong,
}

/// What one look found.
#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    state: State,
    found: String,
    /// What to do; empty if nothing.
    fix: String,
}

impl Finding {
    fn ok(check: &'static str, found: impl Into<String>) -> Finding {
        Finding { check, state: State::Ok, found: found.into(), fix: String::new() }
    }

    fn warning(check: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding { check, state: State::Warning, found: found.into(), fix: fix.into() }
    }

    fn wrong(check: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding { check, state: State::Wrong, found: found.into(), fix: fix.into() }
    }
}

/// Looks at everything and prints what was found.
pub(crate) fn run(config: &Config, output: Output) -> Result<(), Failure> {
    let findings = [data_dir(config), disk(config), disk_of_downloads(config), clock(config), port(config)];
    let row = |finding: &Finding| {
        let state = match finding.state {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Wrong => "wrong",
        };
        [finding.check.to_owned(), state.to_owned(), finding.found.clone(), finding.fix.clone()]
    };
    let rows: Vec<_> = findings.iter().map(row).collect();
    output.data(&columns(["CHECK", "STATE", "FOUND", "FIX"], &rows), &findings)?;
    match findings.iter().filter(|finding| finding.state == State::Wrong).count() {
        0 => Ok(()),
        wrong => {
            Err(Failure::Unhealthy(format!("{wrong} of {} checks found something wrong", findings.len())))
        }
    }
}

fn data_dir(config: &Config) -> Finding {
    const CHECK: &str = "data directory";
    let dir = &config.store.data_dir;
    if let Some(owner) = DataDir::owner(dir) {
        return Finding::ok(CHECK, format!("{} is in use by process {}", dir.display(), owner.pid));
    }
    if abide_sqlite::has_data(dir) {
        // Both are let go of at once.
        let opened = DataDir::open(dir).and_then(|owned| SqliteStore::open(owned.path()).map(drop));
        return match opened {
            Ok(()) => Finding::ok(CHECK, format!("{} can be opened", dir.display())),
            Err(error) => Finding::wrong(CHECK, error.to_string(), fix(&error)),
        };
    }
    let nearest = nearest(dir);
    if !nearest.is_dir() {
        let found = format!("{} is not a directory", nearest.display());
        return Finding::wrong(CHECK, found, "give another one with --data-dir");
    }
    match try_to_write(&nearest) {
        Ok(()) => Finding::ok(CHECK, format!("{} has no data yet and can be used", dir.display())),
        Err(error) => {
            let fix = match error.kind() {
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => MAY_NOT_WRITE,
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space",
                _ => "give another one with --data-dir",
            };
            Finding::wrong(CHECK, format!("{} cannot be written: {error}", nearest.display()), fix)
        }
    }
}

/// Makes something in a directory and removes it. Permissions do not tell: some file systems take nothing from anybody.
fn try_to_write(dir: &Path) -> io::Result<()> {
    let made = dir.join(format!(".abide-doctor-{}", std::process::id()));
    fs::create_dir(&made)?;
    fs::remove_dir(&made)
}

fn fix(error: &OpenError) -> &'static str {
    match error {
        OpenError::Locked { .. } => "wait until that process ends, or stop it",
        OpenError::Newer { .. } => "use the newer abide that wrote it",
        OpenError::Corrupt { .. } => {
            "give another one with --data-dir, into which `abide restore` puts a backup if you have one"
        }
        OpenError::ReadOnly { .. } => MAY_NOT_WRITE,
        OpenError::Full { .. } => "free some space",
        OpenError::Foreign { .. } | OpenError::NotADirectory { .. } => "give another one with --data-dir",
        OpenError::Other { .. } => "look at its owner and permissions, or give another one with --data-dir",
    }
}

/// The directory, or what is there of the way to it.
fn nearest(dir: &Path) -> PathBuf {
    let found = dir.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    if found.as_os_str().is_empty() { PathBuf::from(".") } else { found.to_owned() }
}

fn disk(config: &Config) -> Finding {
    const CHECK: &str = "disk";
    let place = nearest(&config.store.data_dir);
    let free = match free(&place) {
        Ok(free) => free,
        Err(found) => return Finding::wrong(CHECK, found, "give another directory with --data-dir"),
    };
    let text = format!("{} free at {}", HumanBytes(free), place.display());
    let fix = "free some space, or give a directory on another disk with --data-dir";
    match free {
        ROOM_WARN.. => Finding::ok(CHECK, text),
        ROOM_FAIL..ROOM_WARN => Finding::warning(CHECK, text, fix),
        ..ROOM_FAIL => Finding::wrong(CHECK, text, fix),
    }
}

/// Where files go. With less than the reserve every download waits; that the rest works is no failure of it.
fn disk_of_downloads(config: &Config) -> Finding {
    const CHECK: &str = "disk of downloads";
    let place = nearest(&downloads::dir(config));
    let free = match free(&place) {
        Ok(free) => free,
        Err(found) => return Finding::wrong(CHECK, found, "set downloads.out to another directory"),
    };
    let reserve = config.downloads.reserve_bytes;
    let text = format!("{} free at {}", HumanBytes(free), place.display());
    if free >= reserve {
        return Finding::ok(CHECK, text);
    }
    let found = format!("{text}, and {} are to stay free: downloads wait", HumanBytes(reserve));
    let fix =
        "free some space, set downloads.out to a directory on another disk, or lower downloads.reserve_bytes";
    Finding::warning(CHECK, found, fix)
}

/// What the disk of `place` has room for, or why that is not known.
fn free(place: &Path) -> Result<u64, String> {
    match statvfs(place) {
        Ok(found) => Ok(found.f_bavail.saturating_mul(found.f_frsize)),
        Err(error) => Err(format!("{}: {}", place.display(), io::Error::from(error))),
    }
}

fn clock(config: &Config) -> Finding {
    const CHECK: &str = "clock";
    let now = SystemClock::new().now();
    let fix = "set the system's clock, for example by turning on NTP";
    if now < EARLIEST {
        return Finding::wrong(CHECK, format!("it says {}", crate::output::instant(now)), fix);
    }
    let written =
        std::fs::metadata(config.store.data_dir.join("abide.db")).and_then(|found| found.modified());
    let written = written.ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let written = written.and_then(|at| i64::try_from(at.as_millis()).ok()).map(Time);
    match written {
        Some(written) if written.since(now) > CLOCK_SLACK_MS => Finding::wrong(
            CHECK,
            format!(
                "the data was written {} s in the future: the clock was set back",
                written.since(now) / 1_000
            ),
            fix,
        ),
        Some(_) | None => Finding::ok(CHECK, format!("it says {}", crate::output::instant(now))),
    }
}

fn port(config: &Config) -> Finding {
    const CHECK: &str = "port";
    let listen = config.server.listen;
    if let Some(owner) = DataDir::owner(&config.store.data_dir) {
        return match answers(config) {
            Ok(()) => Finding::ok(CHECK, format!("the server (process {}) answers", owner.pid)),
            Err(error) => {
                Finding::wrong(CHECK, error.to_string(), format!("look at the log of process {}", owner.pid))
            }
        };
    }
    match TcpListener::bind(listen) {
        Ok(_) => Finding::ok(CHECK, format!("{listen} is free")),
        Err(error) => Finding::wrong(
            CHECK,
            format!("{listen} cannot be listened on: {error}"),
            "stop what listens there, or choose another address with --listen",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fix_is_for_what_is_wrong() {
        let path = PathBuf::from("data/abide.lock");
        let reason = "Permission denied (os error 13)".to_owned();
        let denied = OpenError::ReadOnly { path: path.clone(), reason: reason.clone() };
        assert_eq!(fix(&denied), "change its owner or permissions, or give another one with --data-dir");
        assert!(fix(&OpenError::Corrupt { path, reason }).contains("abide restore"));
    }
}
