//! A folder into a collection by a command that is killed in each stage of its run, while the server beside it goes on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::ingest::{contents, ingest, part_of, parts, with_papers};
use crate::place::Place;
use crate::served::Served;

const STAGES: [&str; 4] = ["converting", "bringing", "recording", "describing"];

/// The texts of the example, beside a server.
fn start() -> (Place, Served) {
    let place = with_papers().env("ABIDE_OCR_KIND", "off").env("ABIDE_LOG", "warn");
    for (path, _) in contents(&place.path("work/papers")) {
        if path.extension().is_none_or(|ending| ending != "txt") {
            fs::remove_file(path).expect("it was there");
        }
    }
    fs::create_dir(place.path("work/papers/loose")).expect("a folder");
    fs::write(place.path("work/papers/loose/note.txt"), "Nothing of note.\n").expect("a file");
    let served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir data");
    (place, served)
}

/// Kills the command as soon as its run is seen in a stage. Whether it was.
fn killed_in(place: &Place, served: &Served, stage: &str) -> bool {
    let mut command = place.command("ingest papers --data-dir data --json");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary starts");
    let mut client = served.client();
    while child.try_wait().expect("it runs or ran").is_none() {
        let reply = client.request("GET /collections/papers", &[], "").expect("an answer");
        if reply.status == 200 && reply.json()["pending"]["stage"] == stage {
            child.kill().expect("it can be killed");
            child.wait().expect("it ends");
            return true;
        }
    }
    false
}

/// What changes between the first run and the second: a new file, an edited one, and two that are gone.
pub(crate) fn change(place: &Place) {
    let letters = place.path("work/papers/letters");
    let text = "Liverpool, 2 March 1890\n\nThe steamer Calabar lies in dock with her cargo of palm oil.\n\nSamuel Okafor\n";
    fs::write(letters.join("okafor_1890-03-02.txt"), text).expect("a file");
    fs::write(letters.join("okafor_1887-06-30.txt"), format!("{text}Postscript.\n")).expect("a file");
    fs::remove_file(letters.join("hartmann_1886-09-02.txt")).expect("it was there");
    fs::remove_file(place.path("work/papers/diary/diary_page_04.txt")).expect("it was there");
}

/// Parts by their path, each with its label and files.
type Parts = BTreeMap<String, (String, Vec<String>)>;

/// Every part, the description of the whole, and how many entities there are.
fn state(place: &Place, served: &Served) -> (Parts, String, usize) {
    let summary = ingest(place);
    let described = summary["tree"]["description"].as_str().expect("a description").to_owned();
    let entities = served.ok("GET /entities?limit=1000", "")["entities"].as_array().expect("a list").len();
    (parts(&summary["tree"]), described, entities)
}

#[test]
fn killed_in_each_stage_it_gives_the_same_tree() {
    let (undisturbed, beside) = start();
    let (place, served) = start();
    for round in ["new", "changed"] {
        if round == "changed" {
            for place in [&undisturbed, &place] {
                change(place);
                fs::remove_dir_all(place.path("work/papers/loose")).expect("it was there");
            }
        }
        let expected = state(&undisturbed, &beside);
        let is_there = expected.0.contains_key("/papers/loose");
        assert_eq!(is_there, round == "new", "a folder that is gone is gone: {:?}", expected.0);
        let seen: Vec<&str> = STAGES.into_iter().filter(|stage| killed_in(&place, &served, stage)).collect();
        assert!(seen.len() >= 2, "a run is seen in its stages: {seen:?}");
        assert_eq!(state(&place, &served), expected, "{round}, killed in {seen:?}");
        let staging = place.path("work/data/buckets/staging");
        assert!(contents(&staging).is_empty(), "{:?}", contents(&staging).keys());
    }
}

/// Files, and what stands for files that may be gone.
pub(crate) fn files_below(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let (dirs, files): (Vec<_>, Vec<_>) =
        entries.map(|entry| entry.path()).partition(|path| path.is_dir() && !path.is_symlink());
    dirs.iter().flat_map(|dir| files_below(dir)).chain(files).collect()
}

/// Somebody deletes the collection in each stage: the run ends, and does not bring it back.
#[test]
fn deleted_in_each_stage_it_stays_deleted() {
    let (place, served) = start();
    let mut client = served.client();
    let mut seen = Vec::new();
    for stage in STAGES {
        let mut command = place.command("ingest papers --data-dir data --json");
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let mut is_in_stage = || {
            let reply = client.request("GET /collections/papers", &[], "").expect("an answer");
            reply.status == 200 && reply.json()["pending"]["stage"] == stage
        };
        while child.try_wait().expect("it runs or ran").is_none() && !is_in_stage() {}
        // It does not move on while the collection goes.
        let signal = |signal: &str| {
            let sent = Command::new("kill").args([signal, &child.id().to_string()]).output();
            drop(sent.expect("kill runs"));
        };
        signal("-STOP");
        let is_held = is_in_stage();
        let deleted = place.run("collection delete papers --yes --data-dir data");
        assert_eq!(deleted.code, Some(0), "{stage}: {deleted}");
        signal("-CONT");
        let ended = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&ended.stderr);
        let is_stopped = ended.status.code() == Some(1) && said.contains("was deleted while this ran");
        // One that was through before somebody saw it in that stage had nothing to stop.
        let is_through = !is_held && ended.status.code() == Some(0);
        assert!(is_stopped || is_through, "{stage}, held: {is_held}: {:?} {said}", ended.status);
        assert_eq!(served.ok("GET /collections", "")["collections"], serde_json::json!([]), "{stage}");
        assert_eq!(served.ok("GET /entities", "")["entities"], serde_json::json!([]), "{stage}");
        seen.extend(is_held.then_some(stage));
    }
    assert!(seen.len() >= 2, "a run is seen in its stages: {seen:?}");
}

/// The folder changes while a run is stopped: what was decided is done, and then the rest.
#[test]
fn a_folder_that_changes_while_a_run_is_stopped_is_brought_in_as_it_is() {
    for stage in STAGES {
        let (place, served) = start();
        let was_seen = killed_in(&place, &served, stage);
        change(&place);
        let (now, _, entities) = state(&place, &served);
        assert_eq!(now.len(), entities, "{stage}, {was_seen}: no entity is left over");
        let (ships, _) = part_of(&now, "okafor_1890-11-19.txt");
        assert_eq!(part_of(&now, "okafor_1890-03-02.txt").0, ships, "{stage}, {was_seen}");
        for gone in ["hartmann_1886-09-02.txt", "diary_page_04.txt"] {
            let has = |(_, files): &(String, Vec<String>)| files.iter().any(|file| file == gone);
            assert!(!now.values().any(has), "{stage}, {was_seen}: {gone} in {now:?}");
        }
        let all: usize = now.values().map(|(_, files)| files.len()).sum();
        let once: std::collections::BTreeSet<&String> = now.values().flat_map(|(_, files)| files).collect();
        assert_eq!(all, once.len(), "{stage}, {was_seen}: each file is in one place: {now:?}");
        // Conversions that nobody waits for any more may still write there.
        let staging = files_below(&place.path("work/data/buckets/staging"));
        assert!(staging.is_empty() || stage == "converting", "{stage}, {was_seen}: {staging:?}");
    }
}
