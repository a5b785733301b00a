//! The fuzzer finds what was planted: a panic, an allocation without a bound, a loop without an end.

use std::path::PathBuf;
use std::process::{Command, Output};

/// The program, which is built with these tests.
fn fuzz(arguments: &[&str]) -> Output {
    let here = std::env::current_exe().unwrap();
    let program = here.ancestors().nth(2).unwrap().join("examples/fuzz");
    let run =
        Command::new(&program).args(arguments).env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR")).output();
    run.unwrap_or_else(|error| panic!("{}: {error}", program.display()))
}

/// Fuzzes a target that has a bug; what was found is told so, and its input shows it again.
fn finds(target: &str, told: &str) {
    let run = fuzz(&[target, "--runs", "300", "--seed", "1", "--longest-ms", "1000"]);
    let said = String::from_utf8(run.stdout).unwrap();
    assert_eq!(run.status.code(), Some(1), "{said}");
    let finding = said.lines().find(|line| line.contains(told)).unwrap_or_else(|| panic!("{said}"));
    let input = PathBuf::from(finding.rsplit(": ").next().unwrap());
    assert!(input.exists(), "{finding}");
    if told != LOOPS {
        let again = fuzz(&[target, "--input", input.to_str().unwrap()]);
        assert!(!again.status.success(), "{finding}: {again:?}");
    }
}

const LOOPS: &str = "no end after 1000 ms";

#[test]
fn a_panic_is_found() {
    finds("planted-panic", "exit status: 101");
}

#[test]
fn memory_without_a_bound_is_found() {
    finds("planted-memory", "signal: 6");
}

#[test]
fn a_loop_without_an_end_is_found() {
    finds("planted-loop", LOOPS);
}
