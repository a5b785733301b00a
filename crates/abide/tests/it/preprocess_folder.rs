//! `abide preprocess` and what it says of a folder: what cannot be used, what there is no room for, what takes long.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::pdf_writer::document;
use crate::place::Place;
use crate::scans::{JPEG, is_jpeg, script, tiff, write};
use crate::tiff_writer::{CLASSIC, Page, write as write_tiff};

#[test]
fn what_cannot_be_used_is_named_and_the_rest_goes_on() {
    let place = Place::new();
    let source = place.path("work/scans");
    let long = format!("{}.tif", "n".repeat(245));
    let deep = "d/".repeat(65);
    for name in ["good.tif", "draft#1", "bell\u{7}.tif", &long, "kept#1.tif", &format!("{deep}deep.tif")] {
        write(&source.join(name), &tiff(32, 24, 1));
    }
    fs::write(source.join(OsStr::from_bytes(b"caf\xe9.tif")), tiff(32, 24, 2)).unwrap();
    std::os::unix::fs::symlink("good.tif", source.join("link.tif")).unwrap();

    let run = place.run("preprocess scans --out web --preset fast --json");
    assert_eq!(run.code, Some(4), "{run}");
    let summary: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(summary["converted"], json!(2), "{summary}");
    let skipped = json!([{ "file": "link.tif", "reason": "it is a link, and links are not followed" }]);
    assert_eq!(summary["skipped"], skipped, "{summary}");
    let failed = summary["failed"].as_array().unwrap();
    let reason = |file: &str| {
        let found = failed.iter().find(|left| left["file"] == json!(file));
        found.unwrap_or_else(|| panic!("{file} of {summary}"))["reason"].as_str().unwrap()
    };
    assert_eq!(reason("bell\u{7}.tif"), "its name cannot be used: it has a control character: rename it");
    assert_eq!(reason("caf\u{fffd}.tif"), "its name is not UTF-8: rename it");
    assert!(reason("draft#1").ends_with("as unfinished files of a bucket do: rename it"));
    assert!(reason(&long).contains("longer than 240 bytes"));
    assert_eq!(reason(deep.trim_end_matches('/')), "it is in more than 64 folders: bring it further up");
    assert_eq!(failed.len(), 5, "{summary}");
    let mode = |path: &str| fs::metadata(place.path(path)).unwrap().mode();
    assert_eq!(mode("work/web"), mode("work/scans"), "everybody may look who may look at the source");
    assert_eq!(mode("work/web/.abide") & 0o77, 0);
    assert_eq!(fs::metadata(source.join("good.tif")).unwrap().nlink(), 1, "it has no other name now");
    for name in ["good.jpg", "kept#1.jpg"] {
        assert!(is_jpeg(&place.path("work/web").join(name)), "{name}");
    }
    let dry = place.run("preprocess scans --out web --dry-run");
    assert_eq!(dry.code, Some(4), "{dry}");
    assert!(dry.stderr.contains("\nskipped: link.tif: it is a link"), "{dry}");
    assert!(dry.stderr.contains("\ncannot be used: draft#1: "), "{dry}");
}

/// What is made of files with the longest names has names as well.
#[test]
fn long_names_are_shortened_for_what_is_made() {
    let place = Place::new().env("ABIDE_PREPROCESS_TASK_ATTEMPTS", "1");
    let stem = "k".repeat(235);
    let wide = "字".repeat(78);
    let names = [format!("{stem}.tif"), format!("{stem}.tiff"), format!("{wide}.tif"), format!("{wide}.jpg")];
    for name in &names {
        let bytes = if name.ends_with(".jpg") { JPEG.to_vec() } else { tiff(32, 24, 1) };
        write(&place.path("work/scans").join(name), &bytes);
    }
    let run = place.run("preprocess scans --out web --preset fast --json");
    assert_eq!(run.code, Some(0), "{run}");
    let summary: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(summary["converted"], json!(4), "{summary}");
    let again = place.run("preprocess scans --out web --preset fast");
    assert!(again.stderr.contains("; 4 already done, nothing to convert\n"), "{again}");
}

/// A name cannot pass for a line of ours, and the numbers add up.
#[test]
fn lines_are_ours_and_numbers_add_up() {
    let place = Place::new();
    let source = place.path("work/scans");
    write(&source.join("good.tif"), &tiff(32, 24, 1));
    write(&source.join("notes.txt"), b"words");
    write(&source.join("bad\nfailed: good.tif: gone\t.tif"), &tiff(32, 24, 1));
    std::os::unix::fs::symlink("good.tif", source.join("a\nlink.tif")).unwrap();
    let run = place.run("preprocess scans --out web --preset fast");
    assert_eq!(run.code, Some(4), "{run}");
    for said in [&run.stdout, &run.stderr] {
        assert!(said.contains("bad\\nfailed: good.tif: gone\\t.tif: its name cannot be used"), "{run}");
        assert!(said.contains("skipped: a\\nlink.tif: it is a link"), "{run}");
        assert!(!said.lines().any(|line| line.starts_with("failed: good.tif")), "{run}");
    }
    let count = |title: &str| {
        let row = run.stdout.lines().find_map(|line| line.strip_prefix(title)?.split_whitespace().next());
        row.unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(
        (
            count("files  "),
            count("converted  "),
            count("passed through  "),
            count("failed  "),
            count("skipped  ")
        ),
        (3, 1, 1, 1, 1),
        "{run}"
    );
}

/// What failed for nothing that is in the file is done when the same command is run again.
#[test]
fn what_was_in_the_way_of_a_run_is_not_in_the_way_of_the_next() {
    let place = Place::new().env("ABIDE_PREPROCESS_TASK_ATTEMPTS", "1");
    let text = format!(
        "#!/bin/sh\n[ -e '{}' ] || exit 1\nexec '{}' worker \"$@\"\n",
        place.path("mended").display(),
        env!("CARGO_BIN_EXE_abide")
    );
    let program = script(&place, "worker", &text);
    let place = place.env("ABIDE_LAUNCHER_COMMAND", program.to_str().unwrap());
    write(&place.path("work/scans/a.tif"), &tiff(32, 24, 1));
    let first = place.run("preprocess scans --out web --preset fast");
    assert_eq!(first.code, Some(4), "{first}");
    write(&place.path("mended"), b"");
    let second = place.run("preprocess scans --out web --preset fast");
    assert_eq!(second.code, Some(0), "{second}");
    assert!(is_jpeg(&place.path("work/web/a.jpg")));
}

/// Who tried it in a hurry first gets the small files with the next command.
#[test]
fn another_preset_is_another_run() {
    let place = Place::new();
    write(&place.path("work/scans/a.tif"), &tiff(320, 240, 1));
    let size = || fs::metadata(place.path("work/web/a.jpg")).unwrap().len();
    assert_eq!(place.run("preprocess scans --out web --preset fast").code, Some(0));
    let fast = size();
    assert_eq!(place.run("preprocess scans --out web").code, Some(0));
    assert!(size() < fast, "{} of {fast}", size());
}

/// Services of a system have no home, and nothing is kept there.
#[test]
fn who_has_no_home_converts_all_the_same() {
    let place = Place::new().env("HOME", "");
    write(&place.path("work/scans/a.tif"), &tiff(32, 24, 1));
    let run = place.run("preprocess scans --preset fast");
    assert_eq!(run.code, Some(0), "{run}");
    assert!(place.path("work/scans-web/a.jpg").exists());
}

#[test]
fn at_a_terminal_each_phase_has_a_bar() {
    let place = Place::new();
    write(&place.path("work/scans/a.tif"), &tiff(32, 24, 1));
    write(&place.path("work/scans/b.tif"), &tiff(32, 24, 2));
    let command = format!("'{}' preprocess scans --out web --preset fast", env!("CARGO_BIN_EXE_abide"));
    let terminal = Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .env("HOME", place.path("home"))
        .env("TERM", "xterm")
        .current_dir(place.path("work"))
        .stdin(Stdio::null())
        .output();
    let Ok(shown) = terminal else {
        eprintln!("skipped: there is no script(1) to be the terminal");
        return;
    };
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    for bar in
        ["TIFFs  [==============================] 2/2", "images   [==============================] 2/2"]
    {
        assert!(shown.contains(bar), "{shown}");
    }
    assert!(shown.contains("converted              2"), "{shown}");
}

#[test]
fn what_there_is_no_room_for_is_refused_before_it_starts() {
    let place = Place::new();
    write(&place.path("work/scans/a.tif"), &tiff(32, 24, 1));
    // A hole of four tebibytes: more than will be free.
    let hole = fs::File::create(place.path("work/scans/huge.tif")).unwrap();
    hole.set_len(4 << 40).unwrap();
    let refused = place.run("preprocess scans --out web");
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains(" free, and about "), "{refused}");
    assert!(refused.stderr.contains("make room, or choose another --out"), "{refused}");
    assert!(!place.path("work/web").exists(), "nothing was begun");
}

/// A fax of a page is a few bytes, and its JPEG is not.
#[test]
fn room_is_counted_by_what_is_made() {
    let place = Place::new();
    let pages = Page::new(15_000, 15_000, 8, 1, &[8]).strips(15_000, vec![vec![0; 30]]);
    write(&place.path("work/scans/page.tif"), &write_tiff(CLASSIC, &[pages]));
    let dry = place.run("preprocess scans --out web --dry-run --json");
    let said: Value = serde_json::from_str(dry.stderr.lines().next().unwrap()).unwrap();
    assert!(said["bytes"].as_u64().unwrap() < 1_000, "{said}");
    assert!(said["needed_bytes"].as_u64().unwrap() > 100_000_000, "{said}");
}

/// What pages take that are not drawn yet is guessed by what they are now.
#[test]
fn small_pages_of_documents_need_little_room() {
    let place = Place::new();
    let pages = vec!["0 0 m 9 9 l S"; 120];
    write(&place.path("work/scans/book.pdf"), &document(595, 842, "", &pages, &[]));
    let dry = place.run("preprocess scans --out web --dry-run --json");
    let said: Value = serde_json::from_str(dry.stderr.lines().next().unwrap()).unwrap();
    let needed = said["needed_bytes"].as_u64().unwrap() >> 20;
    assert!((500..1_000).contains(&needed), "{needed} MiB for {said}");
}

#[test]
fn a_long_run_says_what_fast_would_take() {
    let place = Place::new().env("ABIDE_LAUNCHER_IN_FLIGHT", "1");
    // Headers of large pages, with next to nothing behind them.
    let page = Page::new(15_000, 15_000, 8, 1, &[8]).strips(15_000, vec![vec![0; 30]]);
    let file = write_tiff(CLASSIC, &[page]);
    write(&place.path("work/short/a.tif"), &tiff(32, 24, 1));
    for number in 0..60 {
        write(&place.path(&format!("work/long/{number}.tif")), &file);
    }
    let long = place.run("preprocess long --out web --dry-run");
    assert!(long.stderr.contains("; --preset fast would take about "), "{long}");
    let asked_for = place.run("preprocess long --out web --dry-run --preset fast");
    assert!(!asked_for.stderr.contains("--preset fast would take"), "{asked_for}");
    let short = place.run("preprocess short --out web --dry-run");
    assert_eq!(short.code, Some(0), "{short}");
    assert!(!short.stderr.contains("--preset fast"), "{short}");
}

/// Files are referred to wherever they are: what they take on another disk is not needed on this one.
#[test]
fn what_is_on_another_disk_needs_no_room_here() {
    let place = Place::new();
    let device = |path: &Path| fs::metadata(path).map(|found| found.dev()).ok();
    let Ok(elsewhere) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("skipped: there is no other disk");
        return;
    };
    if device(elsewhere.path()) == device(&place.path("work")) {
        eprintln!("skipped: there is no other disk");
        return;
    }
    write(&elsewhere.path().join("a.tif"), &tiff(32, 24, 1));
    // A hole of four tebibytes: more than will be free.
    fs::File::create(elsewhere.path().join("film.mov")).unwrap().set_len(4 << 40).unwrap();
    let run = place.run(&format!("preprocess {} --out web --preset fast", elsewhere.path().display()));
    assert_eq!(run.code, Some(0), "{run}");
    assert!(is_jpeg(&place.path("work/web/a.jpg")));
}

/// A photograph is in staging and in the archive without a copy of its bytes.
#[test]
fn originals_are_referred_to_while_they_are_converted() {
    let place = Place::new().env("ABIDE_LAUNCHER_IN_FLIGHT", "1");
    let text = format!(
        "#!/bin/sh\nPATH=/usr/bin:/bin\nfind '{}' -name 'original.*' ! -type l -size +0 >> '{}'\nexec '{}' worker \"$@\"\n",
        place.path("work/web/.abide/buckets").display(),
        place.path("copies").display(),
        env!("CARGO_BIN_EXE_abide")
    );
    let program = script(&place, "noting", &text);
    let place = place.env("ABIDE_LAUNCHER_COMMAND", program.to_str().unwrap());
    for name in ["a.jpg", "b.jpg", "c.jpg"] {
        write(&place.path(&format!("work/scans/{name}")), JPEG);
    }
    let run = place.run("preprocess scans --out web --preset fast");
    assert_eq!(run.code, Some(0), "{run}");
    let copies = fs::read_to_string(place.path("copies")).unwrap();
    let clone = Command::new("cp")
        .args(["--reflink=always", "scans/a.jpg", "clone"])
        .current_dir(place.path("work"))
        .output();
    if clone.is_ok_and(|clone| clone.status.success()) {
        eprintln!("not looked at: this file system shares blocks, which cannot be seen");
        return;
    }
    assert_eq!(copies, "", "{run}");
}
