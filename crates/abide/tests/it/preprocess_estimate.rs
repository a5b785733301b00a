//! How long a folder will take: what `abide preprocess` says of it beforehand.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::pdf_writer::document;
use crate::place::Place;
use crate::scans::{JPEG, tiff, write};

/// What is said beforehand of one of the folders.
fn dry(place: &Place, folder: &str) -> Value {
    let dry = place.run(&format!("preprocess {folder} --out web --dry-run --json"));
    let line = dry.stderr.lines().next().unwrap_or_else(|| panic!("{dry}"));
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {dry}"))
}

fn number(said: &Value, name: &str) -> f64 {
    said[name].as_f64().unwrap_or_else(|| panic!("{name} of {said}"))
}

/// Headers say how many pages there are, and nothing of what is on them.
#[test]
fn pages_that_take_little_are_known_by_trying_some() {
    let place = Place::new();
    let book = |side| document(side, side, "", &["0 0 m 9 9 l S"; 40], &[]);
    for number in 0..4 {
        write(&place.path(&format!("work/small/{number}.pdf")), &book(60));
        // As many pages, which nobody can draw.
        write(&place.path(&format!("work/huge/{number}.pdf")), &book(600_000));
    }
    let (small, huge) = (dry(&place, "small"), dry(&place, "huge"));
    assert_eq!((number(&small, "tried_files"), number(&huge, "tried_files")), (1.0, 0.0));
    let (seconds, by_headers) = (number(&small, "estimated_seconds"), number(&huge, "estimated_seconds"));
    assert!(seconds < by_headers / 3.0, "{seconds} s, and {by_headers} s by headers");
    assert!(number(&small, "estimated_seconds_fast") <= seconds, "{small}");
    let run = place.run("preprocess small --out web --dry-run");
    assert!(run.stderr.contains(" (1 file tried)"), "{run}");
}

/// What is tried may be anything.
#[test]
fn what_cannot_be_tried_is_estimated_all_the_same() {
    let place = Place::new().env("TMPDIR", "<root>/tmp");
    fs::create_dir(place.path("tmp")).unwrap();
    let cyclic = {
        let mut file = tiff(40, 30, 1);
        let first = file[4..8].to_vec();
        let at = u32::from_le_bytes([file[4], file[5], file[6], file[7]]) as usize;
        let entries = usize::from(u16::from_le_bytes([file[at], file[at + 1]]));
        file[at + 2 + 12 * entries..][..4].copy_from_slice(&first);
        file
    };
    let nested = format!("%PDF-1.4\n1 0 obj {} endobj", "[".repeat(10_000)).into_bytes();
    for (name, bytes) in [
        ("a.tif", cyclic.as_slice()),
        ("b.pdf", &nested),
        ("c.jpg", &JPEG[..200]),
        ("d.png", b""),
        ("e.pdf", JPEG),
    ] {
        for turn in 0..4 {
            write(&place.path(&format!("work/scans/{turn}-{name}")), bytes);
        }
    }
    let said = dry(&place, "scans");
    assert_eq!(said["tried_files"], json!(0), "{said}");
    assert!(number(&said, "estimated_seconds") > 0.0, "{said}");
    assert_eq!(fs::read_dir(place.path("tmp")).unwrap().count(), 0, "nothing is left of it");
}

/// Where nothing can be tried, results can be made all the same.
#[test]
fn a_directory_for_trials_that_is_not_there_keeps_nobody_from_converting() {
    let place = Place::new().env("TMPDIR", "<root>/nowhere");
    for name in ["a.tif", "b.tif"] {
        write(&place.path("work/scans").join(name), &tiff(32, 24, 1));
    }
    let said = dry(&place, "scans");
    assert_eq!(said["tried_files"], json!(0), "{said}");
    assert!(number(&said, "estimated_seconds") > 0.0, "{said}");
    let run = place.run("preprocess scans --out web");
    assert_eq!(run.code, Some(0), "{run}");
}

/// Whoever stops the command while a file is tried finds nothing of it.
#[test]
fn a_trial_that_is_orphaned_takes_its_directory_with_it() {
    let place = Place::new();
    let (pipe, dir) = (place.path("work/pipe"), place.path("work/made"));
    fs::create_dir(&dir).unwrap();
    write(&dir.join("page.jpg"), JPEG);
    // To open a pipe that nobody writes to takes for ever.
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let trial = json!({
        "input": pipe, "dir": dir, "work": "pdf", "pdf_dpi": 300, "memory_mb": 512, "most": { "secs": 60, "nanos": 0 },
    });
    let mut trying = place
        .command("worker trial")
        .env("LIFELINE", "stdin")
        .env("TRIAL", trial.to_string())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    drop(trying.stdin.take());
    assert_eq!(trying.wait().unwrap().code(), Some(1));
    assert!(!dir.exists());
}
