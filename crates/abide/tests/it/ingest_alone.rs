//! One run at a time on a data directory, and what stops one that would never end.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::ingest::{contents, document, with_papers};
use crate::ingest_stages::files_below;
use crate::place::Place;
use crate::scans::script;

/// The example with conversions that never end.
fn endless() -> Place {
    let place = with_papers()
        .file("home/never.sh", "#!/bin/sh\nexec /bin/cat\n")
        .env("ABIDE_LAUNCHER_COMMAND", "<root>/home/never.sh")
        .env("ABIDE_OCR_KIND", "off");
    let path = place.path("home/never.sh");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is there");
    place
}

/// Begins a run, and comes back when it converts.
fn converting(place: &Place) -> Child {
    let mut command = place.command("ingest papers --data-dir data");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    loop {
        assert!(child.try_wait().expect("it runs").is_none(), "it never ends by itself");
        let list = place.run("collection list --data-dir data --json");
        let list: Value = serde_json::from_str(&list.stdout).unwrap_or_default();
        let is_staged = || !files_below(&place.path("work/data/buckets/staging")).is_empty();
        if list["collections"][0]["pending"]["stage"] == "converting" && is_staged() {
            return child;
        }
    }
}

#[test]
fn a_second_run_is_refused_at_once_and_a_deletion_stops_the_first() {
    let place = endless().file("work/other/a.txt", "Another folder.\n");
    let child = converting(&place);
    for arguments in ["papers", "other", "other --lang deu"] {
        let second = place.run(&format!("ingest {arguments} --data-dir data"));
        assert_eq!(second.code, Some(2), "{second}");
        let words = format!("another `abide ingest` (process {}) runs on <root>", child.id());
        assert!(second.stderr.contains(&words), "{second}");
    }
    let unasked = place.run("collection delete papers --data-dir data");
    assert_eq!(unasked.code, Some(2), "{unasked}");
    assert!(
        unasked.stderr.contains("\"papers\" has 22 files") && unasked.stderr.contains("say --yes"),
        "{unasked}"
    );
    let tree = place.run("collection tree papers --data-dir data");
    assert!(tree.stderr.contains("nothing of the collection \"papers\" is there yet"), "{tree}");

    let deleted = document(place.run("collection delete papers --yes --data-dir data --json"));
    assert_eq!((&deleted["name"], &deleted["entities"]), (&json!("papers"), &json!(0)));
    let ended = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("the collection \"papers\" was deleted while this ran"), "{said}");
    let list = document(place.run("collection list --data-dir data --json"));
    assert_eq!(list["collections"], json!([]));
    assert_eq!(files_below(&place.path("work/data/buckets/staging")), Vec::<std::path::PathBuf>::new());
}

/// A run that was stopped, and is begun anew on a folder that changed, leaves nothing in staging.
#[test]
fn what_was_begun_for_nothing_is_swept() {
    let place = endless();
    let mut child = converting(&place);
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    assert!(!files_below(&place.path("work/data/buckets/staging")).is_empty());
    // As if it had been killed while it wrote its manifest.
    let list = document(place.run("collection list --data-dir data --json"));
    let batch = list["collections"][0]["pending"]["batch_id"].as_str().expect("a batch");
    let manifests = place.path("work/data/buckets/staging/manifests");
    fs::create_dir_all(&manifests).expect("there is room");
    fs::write(manifests.join(format!("{batch}.json#7")), "{").expect("there is room");
    for (path, _) in contents(&place.path("work/papers")) {
        if path.extension().is_none_or(|ending| ending != "txt") {
            fs::remove_file(path).expect("it was there");
        }
    }
    let summary = document(place.run("ingest papers --data-dir data --json"));
    assert_eq!(summary["new"], 15, "{summary}");
    assert_eq!(files_below(&place.path("work/data/buckets/staging")), Vec::<std::path::PathBuf>::new());
}

/// A file that is removed before it is kept costs nobody else anything.
#[test]
fn a_file_that_goes_away_meanwhile_fails_alone() {
    const LETTER: &str = "letters/brandt_1886-04-08.txt";
    let place = with_papers().env("ABIDE_OCR_KIND", "off");
    // What is in staging is the file itself, or a copy of it that shares its blocks.
    let text = format!(
        "#!/bin/sh\nrm -f '{}' '{}'/*/{LETTER}\nexec '{}' worker \"$@\"\n",
        place.path("work/papers").join(LETTER).display(),
        place.path("work/data/buckets/staging/staging").display(),
        env!("CARGO_BIN_EXE_abide")
    );
    let program = script(&place, "removing", &text);
    let place = place.env("ABIDE_LAUNCHER_COMMAND", program.to_str().expect("UTF-8"));
    let run = place.run("ingest papers --data-dir data --json");
    assert_eq!(run.code, Some(4), "{run}");
    let summary: Value = serde_json::from_str(&run.stdout).expect("a document");
    assert_eq!((&summary["new"], &summary["unchanged"]), (&json!(21), &json!(0)), "{summary}");
    let failed = summary["failed"].as_array().expect("files");
    assert_eq!((failed.len(), &failed[0]["file"]), (1, &json!(LETTER)), "{failed:?}");
    let reason = failed[0]["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("it went away while it was brought in: "), "{reason}");
    let again = document(place.run("ingest papers --data-dir data --json"));
    assert_eq!((&again["tree"], &again["unchanged"]), (&summary["tree"], &json!(21)));
}

/// Gives everything below a folder to somebody.
fn give(path: &Path, id: u32) {
    chown(path, Some(id), Some(id)).expect("root may");
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        give(&entry.path(), id);
    }
}

/// What cannot be read is named with its reason; what is known of it stays, and the rest is brought in.
#[test]
fn files_that_cannot_be_read_are_named_and_stay_as_they_were() {
    const NOBODY: u32 = 65_534;
    let mut place = Place::new().env("ABIDE_OCR_KIND", "off");
    for (path, text) in
        [("a.txt", "One."), ("secret.txt", "Two."), ("closed/b.txt", "Three."), ("closed/in/c.txt", "Four.")]
    {
        place = place.file(&format!("work/papers/{path}"), text);
    }
    // Root may read everything.
    let is_root = chown(place.path("work"), Some(0), Some(0)).is_ok();
    let run = |arguments: &str| {
        let mut command = place.command(arguments);
        if is_root {
            give(&place.path(""), NOBODY);
            command.uid(NOBODY).gid(NOBODY);
        }
        command.output()
    };
    if !run("--version").is_ok_and(|output| output.status.success()) {
        println!("skipped: nobody but root can run {:?}", place.command("").get_program());
        return;
    }
    let ingest = || {
        let output = run("ingest papers --data-dir data --json").expect("the binary starts");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (output.status.code(), document)
    };
    let (code, first) = ingest();
    assert_eq!((code, &first["new"]), (Some(0), &json!(4)), "{first}");
    fs::write(place.path("work/papers/new.txt"), "Five.").expect("a file");
    fs::write(place.path("work/papers/never.txt"), "Six.").expect("a file");
    for closed in ["secret.txt", "never.txt", "closed"] {
        let path = place.path("work/papers").join(closed);
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).expect("it is there");
    }
    let (code, second) = ingest();
    let counts = ["new", "edited", "removed", "unchanged"].map(|count| second[count].as_u64());
    assert_eq!((code, counts), (Some(4), [Some(1), Some(0), Some(0), Some(4)]), "{second}");
    let failed: Vec<(&str, bool)> = second["failed"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|left| {
            (left["file"].as_str().unwrap_or_default(), left["reason"].to_string().contains("denied"))
        })
        .collect();
    assert_eq!(failed, [("never.txt", true), ("secret.txt", true), ("closed", true)], "{second}");
    fs::set_permissions(place.path("work/papers/closed"), fs::Permissions::from_mode(0o755))
        .expect("it is there");
}
