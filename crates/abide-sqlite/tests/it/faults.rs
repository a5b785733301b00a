//! Disks that are full or fail while the store is at work.

use crate::child::{Other, Part, command};
use crate::world::{object, open, put, put_one, row, scratch, version};
use abide_core::event::MessageId;
use abide_core::json::Json;
use abide_core::time::Time;
use abide_store::{Store, StoreError, Write, Written};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A small disk, as long as it is wanted.
struct SmallDisk {
    dir: PathBuf,
}

impl SmallDisk {
    /// None if this user may not mount.
    fn mount(dir: &Path) -> Option<SmallDisk> {
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=3m", "tmpfs"]).arg(dir).output().ok()?;
        mount.status.success().then(|| SmallDisk { dir: dir.into() })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.dir).status().unwrap();
    }
}

#[test]
fn a_full_disk_loses_nothing_and_work_goes_on_when_there_is_space() {
    let dir = scratch();
    let Some(disk) = SmallDisk::mount(dir.path()) else {
        println!("skipped: this user may not mount a small disk");
        return;
    };
    let data = disk.dir.join("data");
    let mut store = open(&data);
    store.write(Time(1), &[put_one(0, "row", "\"before\"")]).unwrap();
    let ballast = disk.dir.join("ballast");
    let fill = std::fs::write(&ballast, vec![0_u8; 8 * 1024 * 1024]);
    assert_eq!(fill.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    let big = format!("\"{}\"", "x".repeat(200_000));
    let batch = [put_one(1, "row", &big), Write::Send { to: object(), body: Json::null() }];
    for _ in 0..3 {
        let error = store.write(Time(2), &batch).unwrap_err();
        assert!(matches!(error, StoreError::Full(_)), "{error:?}");
        assert_eq!((row(&store, "row").as_deref(), version(&store)), (Some("\"before\""), 1));
    }
    std::fs::remove_file(&ballast).unwrap();
    let written = store.write(Time(3), &batch).unwrap().written;
    assert_eq!(written[1], Written::Sent(MessageId(1)), "what was not applied has taken no number");
    assert_eq!((row(&store, "row"), version(&store)), (Some(big), 2));
    drop(store);
    assert_eq!(version(&open(&data)), 2);
    drop(disk);
}

/// Files that may not grow: the write of the commit itself fails, and nobody can know how far it got.
#[test]
fn a_failed_commit_is_ambiguous_until_reopened() {
    let dir = TempDir::new().unwrap();
    let mut shell = Command::new("sh");
    // Without the signal, growing past the limit is an error like any other.
    shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]);
    let part = command(Part::Obey, dir.path());
    shell.arg(part.get_program()).args(part.get_args());
    shell.envs(part.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut other = Other::spawn(&mut shell).unwrap();
    let limit = |other: &Other, bytes: &str| {
        let pid = other.child.id().to_string();
        let prlimit =
            Command::new("prlimit").args(["--pid", &pid, &format!("--fsize={bytes}:unlimited")]).status();
        prlimit.is_ok_and(|status| status.success())
    };
    assert_eq!(other.hear().as_deref(), Some("ready"));
    other.tell("1");
    assert_eq!(other.hear().as_deref(), Some("version 1"));
    if !limit(&other, "10000") {
        println!("skipped: there is no prlimit");
        return;
    }
    other.tell("2");
    let said = other.hear().unwrap();
    assert!(said.starts_with("Ambiguous(") && said.contains("disk I/O error"), "{said}");
    other.tell("3");
    let said = other.hear().unwrap();
    assert!(said.starts_with("Ambiguous(") && said.contains("not reopened"), "{said}");
    assert!(limit(&other, "unlimited"));
    other.tell("reopen");
    assert_eq!(other.hear().as_deref(), Some("version 1"));
    other.tell("4");
    assert_eq!(other.hear().as_deref(), Some("version 2"));
    other.kill();
    assert_eq!(row(&open(dir.path()), "row").as_deref(), Some("4"));
}

#[test]
fn what_cannot_be_applied_is_rejected_whole() {
    let dir = scratch();
    let mut store = open(dir.path());
    store.write(Time(1), &[put_one(0, "row", "1")]).unwrap();
    // A life that another object has: no such batch can ever be applied.
    let mut stolen = put_one(0, "row", "2");
    if let Write::Commit(commit) = &mut stolen {
        commit.object = abide_core::object::ObjectKey::new("counter", "two").unwrap();
    }
    let error = store.write(Time(2), &[put_one(1, "row", "3"), stolen]).unwrap_err();
    assert!(matches!(error, StoreError::Rejected(_)), "{error:?}");
    assert_eq!((row(&store, "row").as_deref(), version(&store)), (Some("1"), 1));
    store.write(Time(3), &[put(1, [])]).unwrap();
    assert_eq!(version(&store), 2);
}

#[test]
fn somebody_elses_writes_are_noticed() {
    let dir = scratch();
    let mut store = open(dir.path());
    store.write(Time(1), &[put_one(0, "row", "1")]).unwrap();
    let conn = rusqlite::Connection::open(dir.path().join("abide.db")).unwrap();
    conn.execute_batch("UPDATE meta SET clock_at = 9000").unwrap();
    assert_eq!(store.write(Time(2), &[put_one(1, "row", "2")]).unwrap().at, Time(9_000));
}

/// Syncs of a process that writes this many turns, one by one.
fn syncs(turns: usize) -> Option<usize> {
    let dir = scratch();
    let data = dir.path().join("data");
    let trace = dir.path().join("trace");
    let part = command(Part::Obey, &data);
    let mut traced = Command::new("strace");
    traced.args(["-f", "-e", "trace=fsync,fdatasync", "-o"]).arg(&trace);
    traced.arg(part.get_program()).args(part.get_args());
    traced.envs(part.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut other = Other::spawn(&mut traced).ok()?;
    other.hear()?;
    for turn in 1..=turns {
        other.tell(&turn.to_string());
        assert_eq!(other.hear(), Some(format!("version {turn}")));
    }
    drop(other);
    Some(std::fs::read_to_string(trace).unwrap().lines().filter(|line| line.contains("sync(")).count())
}

#[test]
fn each_batch_syncs_once() {
    let (Some(few), Some(many)) = (syncs(5), syncs(25)) else {
        println!("skipped: there is no strace, or it may not look");
        return;
    };
    assert_eq!(many - few, 20);
}
