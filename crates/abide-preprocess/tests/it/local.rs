//! Processes of the local launcher, each stopped by one of its bounds.

use abide_preprocess::jobs::Ended;
use abide_preprocess::launch::{Local, Rooms, Run};
use std::collections::BTreeMap;
use std::time::Duration;

/// Runs a shell script within these bounds.
fn run(script: &str, rooms: Rooms) -> Run {
    let dir = tempfile::tempdir().unwrap();
    let local = Local {
        program: "sh".into(),
        arguments: vec!["-c".into(), script.into()],
        work_dir: dir.path().to_owned(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let run = runtime.block_on(local.process("tiff", BTreeMap::from([("TASK_ID", "t".to_owned())]), rooms));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "its directory is gone");
    run
}

const ROOMS: Rooms = Rooms { memory_mb: 256, cpu_seconds: 30, wall: Duration::from_secs(60) };

fn failed(run: Run) -> String {
    match run {
        Run::Ended(Ended::Failed { reason }) => reason,
        other => panic!("it did not fail: {other:?}"),
    }
}

#[test]
fn one_that_ends_well_did() {
    assert_eq!(run("test \"$TASK_ID$0\" = ttiff", ROOMS), Run::Ended(Ended::Exited));
}

#[test]
fn one_that_fails_says_what_it_said_last() {
    let reason = failed(run("echo first >&2; echo no such thing >&2; exit 3", ROOMS));
    assert_eq!(reason, "its worker ended with exit code 3: no such thing");
    let panics = "echo no such thing >&2; echo 'note: run with more' >&2; echo >&2; exit 3";
    assert_eq!(failed(run(panics, ROOMS)), "its worker ended with exit code 3: no such thing");
}

#[test]
fn one_that_reached_a_bound_says_which_and_no_more() {
    let failed = |reason: &str| Ended::Failed { reason: reason.to_owned() };
    let hopeless = |reason: &str| Ended::Hopeless { reason: reason.to_owned() };
    for (script, expected) in [
        (
            "echo memory allocation of 9 bytes failed >&2; echo 'note: run with more' >&2; kill -ABRT $$",
            hopeless("its worker reached its bound of 256 MiB of memory"),
        ),
        ("echo working >&2; kill -XCPU $$", failed("its worker used up its 30 s of CPU time")),
        ("echo working >&2; kill -KILL $$", failed("its worker was killed: working")),
    ] {
        assert_eq!(run(script, ROOMS), Run::Ended(expected), "{script}");
    }
}

#[test]
fn what_one_says_is_heard_however_it_ends() {
    let dir = tempfile::tempdir().unwrap();
    let local = Local {
        program: "sh".into(),
        arguments: vec!["-c".into(), "echo first; echo second; eval \"$NEXT\"".into()],
        work_dir: dir.path().to_owned(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let short = Rooms { wall: Duration::from_secs(3), ..ROOMS };
    for (next, rooms) in [("exit 3", ROOMS), ("kill -KILL $$", ROOMS), ("printf half; exec sleep 600", short)]
    {
        let environment = BTreeMap::from([("NEXT", next.to_owned())]);
        let said = runtime.block_on(local.heard("t", environment, rooms));
        assert_eq!(said, ["first", "second"], "{next}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "its directory is gone");
    }
    let endless = BTreeMap::from([("NEXT", "yes".to_owned())]);
    let said = runtime.block_on(local.heard("t", endless, ROOMS));
    assert!(said.len() < 64 * 1024, "no more is kept than anybody needs");
    let nowhere = Local { program: "/nowhere/worker".into(), ..local };
    assert!(runtime.block_on(nowhere.heard("t", BTreeMap::new(), ROOMS)).is_empty());
}

#[test]
fn one_that_waits_for_ever_is_stopped_by_the_clock() {
    let reason = failed(run("sleep 600", Rooms { wall: Duration::from_millis(300), ..ROOMS }));
    assert!(reason.starts_with("its worker took longer than 300 ms (preprocess.task_timeout_"), "{reason}");
}

#[test]
fn one_that_computes_for_ever_is_stopped_by_its_cpu_time() {
    let reason = failed(run("while :; do :; done", Rooms { cpu_seconds: 1, ..ROOMS }));
    assert_eq!(reason, "its worker used up its 1 s of CPU time");
}

#[test]
fn one_that_takes_memory_for_ever_is_stopped_by_its_memory() {
    // A last line that never ends, all of it held.
    let reason = failed(run("exec tail -n 1 /dev/zero", Rooms { memory_mb: 64, ..ROOMS }));
    assert!(reason.starts_with("its worker ended with exit code 1"), "{reason}");
    assert!(reason.contains("memory exhausted"), "{reason}");
}

#[test]
fn a_program_that_is_not_there_is_no_failure_of_the_task() {
    let dir = tempfile::tempdir().unwrap();
    let local =
        Local { program: "/nowhere/worker".into(), arguments: Vec::new(), work_dir: dir.path().to_owned() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let run = runtime.block_on(local.process("tiff", BTreeMap::new(), ROOMS));
    assert!(matches!(run, Run::NotStarted { .. }), "{run:?}");
}
