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

/// Fuzzes a target that has a bug: what was found, a line each.
fn found(target: &str, arguments: &[&str]) -> Vec<String> {
    let run = fuzz(&[&[target], arguments].concat());
    let said = String::from_utf8(run.stdout).unwrap();
    assert_eq!(run.status.code(), Some(1), "{said}");
    said.lines().filter(|line| line.contains(" of seed ")).map(str::to_owned).collect()
}

/// The input of a finding, which is kept.
fn input(finding: &str) -> PathBuf {
    PathBuf::from(finding.rsplit(": ").next().unwrap())
}

#[test]
fn a_panic_is_found_and_its_input_shows_it_again() {
    let found = found("planted-panic", &["--runs", "300"]);
    let finding = found.iter().find(|line| line.contains("exit status: 101")).expect("one");
    let again = fuzz(&["planted-panic", "--input", input(finding).to_str().unwrap()]);
    assert_eq!(again.status.code(), Some(101), "{finding}");
}

#[test]
fn memory_without_a_bound_is_found() {
    let found = found("planted-memory", &["--runs", "12"]);
    let finding = found.iter().find(|line| line.contains("signal: 6")).expect("one");
    assert!(input(finding).exists(), "{finding}");
}

#[test]
fn a_loop_without_an_end_is_found() {
    // Of these four, which follow from the seed and the corpus, the third loops, and the fuzzer goes on behind it.
    let found = found("planted-loop", &["--seed", "4", "--runs", "4", "--longest-ms", "4000"]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("planted-loop: run 2 of seed 4: no end after 4000 ms: "), "{found:?}");
    assert!(input(&found[0]).exists(), "{found:?}");
}
