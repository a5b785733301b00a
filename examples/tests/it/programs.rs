//! Each program, run twice on one data directory: what it says, and that it goes on where it stopped.

use std::path::Path;
use std::process::Command;

fn run(program: &str, dir: &Path) -> String {
    let output = Command::new(program).arg(dir).output().unwrap();
    let (said, errors) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{program} said {said:?} and failed: {errors}");
    said
}

fn check(program: &str, first: &str, second: &str) {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(run(program, dir.path()), first, "the first run of {program}");
    assert_eq!(run(program, dir.path()), second, "the second run of {program}");
}

#[test]
fn hello_is_what_the_readme_shows() {
    check(env!("CARGO_BIN_EXE_hello"), "Now(1)\n", "Now(2)\n");
    let shown = include_str!("../../../README.md");
    let program = include_str!("../../src/bin/hello.rs");
    let (_, code) = program.split_once("\n\n").unwrap();
    assert!(shown.contains(code), "README.md shows another program than src/bin/hello.rs");
}

#[test]
fn counter_goes_on_counting() {
    check(
        env!("CARGO_BIN_EXE_counter"),
        "counter/visits is 1\ncounter/visits is 2\ncounter/visits is 3\n\
         refused: below_zero: the count is 3, and -1000 would take it below zero\n",
        "counter/visits is 4\ncounter/visits is 5\ncounter/visits is 6\n\
         refused: below_zero: the count is 6, and -1000 would take it below zero\n",
    );
}

#[test]
fn transfer_moves_what_is_left() {
    check(
        env!("CARGO_BIN_EXE_transfer"),
        "bob got 300 cents\nada has 700 cents\nbob has 300 cents\n",
        "bob got 300 cents\nada has 400 cents\nbob has 600 cents\n",
    );
}

#[test]
fn fan_out_keeps_its_report() {
    check(
        env!("CARGO_BIN_EXE_fan_out"),
        "batch/demo answers later\n5 words; 1 text could not be counted\n",
        "batch/demo was finished before\n5 words; 1 text could not be counted\n",
    );
}

#[test]
fn reminders_for_tomorrow_are_kept() {
    check(
        env!("CARGO_BIN_EXE_reminder"),
        "0 waiting from before\nit rings: eggs are done\nit rings: tea is ready\n1 waiting\n",
        "1 waiting from before\nit rings: eggs are done\nit rings: tea is ready\n2 waiting\n",
    );
}

#[test]
fn chat_remembers_what_was_said() {
    let first = "1 bob: good morning\n2 ada: hello\n3 bob: @ada coffee?\n";
    let mention = "ada was mentioned by bob in lobby, line";
    check(
        env!("CARGO_BIN_EXE_chat"),
        &format!("{first}{mention} 3\n"),
        &format!("{first}4 bob: good morning\n5 ada: hello\n6 bob: @ada coffee?\n{mention} 3\n{mention} 6\n"),
    );
}
