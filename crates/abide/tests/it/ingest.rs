//! Folders into collections with the real binary, on the collection in `examples`.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::ingest_model::with_model;
use crate::ingest_stages::change;
use crate::model::{Kind, Model};
use crate::place::{Place, Run};
use crate::served::Served;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/collection");

/// A place with a copy of the example at `work/papers`.
pub(crate) fn with_papers() -> Place {
    let place = Place::new();
    papers_to(&place);
    place
}

/// Copies the example to `work/papers`.
pub(crate) fn papers_to(place: &Place) {
    copy(Path::new(EXAMPLE), &place.path("work/papers"));
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, to).unwrap();
        }
    }
}

/// What is in a folder, byte by byte.
pub(crate) fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(contents(&path))
        } else {
            drop(found.insert(path.clone(), fs::read(path).unwrap()))
        }
    }
    found
}

fn has_tesseract() -> bool {
    let found = std::process::Command::new("tesseract")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        println!("skipped: there is no tesseract: apt install tesseract-ocr");
    }
    found
}

pub(crate) fn ingest(place: &Place) -> Value {
    document(place.run("ingest papers --data-dir data --json"))
}

pub(crate) fn document(run: Run) -> Value {
    assert_eq!(run.code, Some(0), "{run}");
    serde_json::from_str(&run.stdout).unwrap()
}

/// Ids and files of every part of a tree, by its path.
pub(crate) fn parts(tree: &Value) -> BTreeMap<String, (String, Vec<String>)> {
    let mut parts = BTreeMap::new();
    add(tree, "", &mut parts);
    parts
}

fn add(tree: &Value, above: &str, parts: &mut BTreeMap<String, (String, Vec<String>)>) {
    let path = format!("{above}/{}", tree["label"].as_str().unwrap());
    let files =
        tree["files"].as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap().to_owned());
    parts.insert(path.clone(), (tree["id"].as_str().unwrap().to_owned(), files.collect()));
    for child in tree["children"].as_array().unwrap() {
        add(child, &path, parts);
    }
}

/// The part that has a file.
pub(crate) fn part_of<'a>(
    parts: &'a BTreeMap<String, (String, Vec<String>)>,
    file: &str,
) -> (&'a str, &'a str) {
    let found = parts.iter().find(|(_, (_, files))| files.iter().any(|name| name == file));
    let (path, (id, _)) = found.unwrap_or_else(|| panic!("{file} is nowhere in {parts:?}"));
    (path, id)
}

fn counts(summary: &Value) -> [u64; 4] {
    ["new", "edited", "removed", "unchanged"].map(|name| summary[name].as_u64().unwrap())
}

#[test]
fn a_folder_becomes_groups_and_only_what_changes_is_done_again() {
    let place = with_papers();
    let before = contents(&place.path("work/papers"));
    let first = ingest(&place);
    assert_eq!(counts(&first), [22, 0, 0, 0]);
    let was = parts(&first["tree"]);
    let text = was.values().map(|(_, files)| files.len()).sum::<usize>();
    assert!(text >= 22, "{was:?}");
    // Letters of one writer are together.
    let (gardens, _) = part_of(&was, "hartmann_1885-03-12.txt");
    assert_eq!(part_of(&was, "hartmann_1886-09-02.txt").0, gardens);
    let (ships, ships_id) = part_of(&was, "okafor_1887-06-30.txt");
    assert_eq!(part_of(&was, "okafor_1890-11-19.txt").0, ships);
    assert!(gardens != ships && gardens.starts_with("/papers/letters/"), "{was:?}");
    assert!(first["tree"]["description"].as_str().unwrap().starts_with("# papers\n"), "{first}");
    assert_eq!(contents(&place.path("work/papers")), before, "nothing is written to a source");

    let again = ingest(&place);
    assert_eq!(counts(&again), [0, 0, 0, 22]);
    assert_eq!(again["tree"], first["tree"], "nothing is done on a folder that is as it was");

    let steamer = "Liverpool, 2 March 1890\n\nMy dear Ashby,\n\nThe steamer Calabar lies in dock again with her cargo of palm oil, \
                   and the insurers want the log of Captain Reid.\n\nSamuel Okafor\n";
    fs::write(place.path("work/papers/letters/okafor_1890-03-02.txt"), steamer).unwrap();
    fs::write(place.path("work/papers/letters/okafor_1887-06-30.txt"), format!("{steamer}Postscript.\n"))
        .unwrap();
    fs::remove_file(place.path("work/papers/diary/diary_page_04.txt")).unwrap();
    let dry = place.run("ingest papers --data-dir data --dry-run");
    assert_eq!(dry.code, Some(0), "{dry}");
    for words in [
        "1 new, 1 edited, 1 removed, 20 as they were; ",
        " in 3 folders; 0 to convert",
        "\nnew: letters/okafor_1890-03-02.txt\nedited: letters/okafor_1887-06-30.txt\nremoved: diary/diary_page_04.txt\n",
    ] {
        assert!(dry.stderr.contains(words), "{words}: {dry}");
    }
    let third = ingest(&place);
    assert_eq!(counts(&third), [1, 1, 1, 20]);
    let now = parts(&third["tree"]);
    assert_eq!(
        part_of(&now, "okafor_1890-03-02.txt"),
        (ships, ships_id),
        "a new file joins the group that is there"
    );
    for (path, (id, files)) in &was {
        let (id_now, files_now) = &now[path];
        assert_eq!(id_now, id, "{path}");
        let kept = files.iter().filter(|file| *file != "diary_page_04.txt");
        assert!(kept.clone().all(|file| files_now.contains(file)), "{path}: {files:?} {files_now:?}");
    }
    assert!(!now.values().any(|(_, files)| files.iter().any(|file| file == "diary_page_04.txt")));
    let shown = document(place.run(&format!("collection show papers {ships_id} --data-dir data --json")));
    assert!(shown["versions"].as_array().unwrap().len() >= 3, "{shown}");
}

#[test]
fn what_is_done_by_hand_stays_and_everything_can_be_found() {
    let place = with_papers();
    let first = ingest(&place);
    let was = parts(&first["tree"]);
    let (_, gardens_id) = part_of(&was, "hartmann_1885-03-12.txt");
    let (_, ships_id) = part_of(&was, "okafor_1887-06-30.txt");
    let (gardens_id, ships_id) = (gardens_id.to_owned(), ships_id.to_owned());
    document(place.run(&format!("collection rename papers {gardens_id} Gardens --data-dir data --json")));
    let moved = format!(
        "collection move papers {ships_id}/okafor_1890-11-19.txt {gardens_id} --data-dir data --json"
    );
    document(place.run(&moved));
    document(place.run(&format!("collection move papers {ships_id} diary --data-dir data --json")));
    let out =
        format!("collection move papers {gardens_id}/hartmann_1885-03-12.txt letters --data-dir data --json");
    document(place.run(&out));
    let rename = format!("collection rename papers {gardens_id}/hartmann_1886-09-02.txt autumn.txt");
    document(place.run(&format!("{rename} --data-dir data --json")));
    let show = format!("collection show papers {gardens_id}/autumn.txt --data-dir data --json");
    let before = document(place.run(&show));
    let letter = place.path("work/papers/letters/hartmann_1886-09-02.txt");
    let edited = format!("{}Postscript.\n", fs::read_to_string(&letter).unwrap());
    fs::write(letter, &edited).unwrap();
    fs::write(place.path("work/papers/letters/okafor_1890-11-19.txt"), "Sold, and nothing more.\n").unwrap();
    fs::write(
        place.path("work/papers/letters/hartmann_1892-02-02.txt"),
        "The orchids of the nursery and the glasshouse.\n",
    )
    .unwrap();
    let second = ingest(&place);
    let now = parts(&second["tree"]);
    assert_eq!(part_of(&now, "okafor_1890-11-19.txt"), ("/papers/letters/Gardens", gardens_id.as_str()));
    assert!(part_of(&now, "okafor_1887-06-30.txt").0.starts_with("/papers/diary/"), "{now:?}");
    // Grouped again, it would be where it was.
    assert_eq!(part_of(&now, "hartmann_1892-02-02.txt").0, "/papers/letters/Gardens");
    assert_eq!(part_of(&now, "hartmann_1885-03-12.txt").0, "/papers/letters");
    let has = |name: &str| now["/papers/letters/Gardens"].1.iter().any(|file| file == name);
    assert!(has("autumn.txt") && !has("hartmann_1886-09-02.txt"), "{now:?}");
    let after = document(place.run(&show));
    assert_eq!((after["text"].as_str(), &after["versions"][1]["cid"]), (Some(&*edited), &before["cid"]));
    let older = document(place.run(&format!("{show} --ver {}", before["ver"])));
    assert_eq!(older["text"], before["text"]);

    let hits = document(place.run("collection search papers nothing more --data-dir data --json"));
    assert_eq!(hits["hits"][0]["file"], "okafor_1890-11-19.txt", "{hits}");
    let inventory = document(place.run("collection search papers mounted --data-dir data --json"));
    assert!(!inventory["hits"].as_array().unwrap().is_empty(), "the text of a PDF is found: {inventory}");
    if has_tesseract() {
        // Only in the scan hartmann_1888-05-20.tif.
        let read = document(place.run("collection search papers Darjeeling --data-dir data --json"));
        assert_eq!(read["hits"][0]["file"], "hartmann_1888-05-20.jpg", "{read}");
    }
    export_twice(&place);
    let there = place.path("work/out/letters/Gardens/okafor_1890-11-19.txt");
    assert_eq!(fs::read_to_string(there).unwrap(), "Sold, and nothing more.\n");
    assert!(place.path("work/out/photographs/orchard_1893.jpg").exists());
    let list = place.run("collection list --data-dir data");
    assert!(list.stdout.lines().nth(1).unwrap().starts_with("papers"), "{list}");
}

/// Exports with the same command twice: the second brings what the first wrote up to date, and leaves the rest alone.
fn export_twice(place: &Place) {
    fs::create_dir(place.path("work/mine")).unwrap();
    fs::write(place.path("work/mine/own.txt"), "mine").unwrap();
    let taken = place.run("collection export papers mine --data-dir data");
    assert!(taken.code == Some(2) && taken.stderr.contains("is not empty"), "{taken}");
    for _ in 0..2 {
        // The same command again brings what it exported up to date, and leaves the rest alone.
        let exported = place.run("ingest papers --export out --data-dir data");
        assert_eq!(exported.code, Some(0), "{exported}");
        assert!(exported.stderr.contains("23 files, all of them as they were"), "{exported}");
        assert!(!place.path("work/out/stale.txt").exists());
        let mark = fs::read_to_string(place.path("work/out/.abide-export.json")).unwrap();
        let mark = mark.replace("\"files\": [", "\"files\": [\"stale.txt\", \"../mine/own.txt\",");
        fs::write(place.path("work/out/.abide-export.json"), mark).unwrap();
        fs::write(place.path("work/out/stale.txt"), "of an earlier export").unwrap();
    }
    assert_eq!(fs::read_to_string(place.path("work/mine/own.txt")).unwrap(), "mine");
}

/// Another folder of the same name is not taken for this one; a copy of it is.
#[test]
fn a_folder_is_not_taken_for_another_of_its_name() {
    let place = with_papers().env("ABIDE_OCR_KIND", "off");
    let first = ingest(&place);
    for name in ["diary_page_01.txt", "another.txt"] {
        let path = place.path("work/elsewhere/papers/diary").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "Something else altogether.\n").unwrap();
    }
    for flag in ["", " --dry-run"] {
        let refused = place.run(&format!("ingest elsewhere/papers --data-dir data{flag}"));
        assert_eq!(refused.code, Some(2), "{refused}");
        for words in ["of its 22 files 21 are not in <root>", " and 1 are different there", "--moved"] {
            assert!(refused.stderr.contains(words), "{refused}");
        }
    }
    copy(&place.path("work/papers"), &place.path("work/copies/papers"));
    let copied = document(place.run("ingest copies/papers --data-dir data --json"));
    assert_eq!(counts(&copied), [0, 0, 0, 22]);
    assert_eq!(copied["tree"], first["tree"]);
    let moved = document(place.run("ingest elsewhere/papers --moved --data-dir data --json"));
    assert_eq!(counts(&moved), [1, 1, 21, 0]);
    // Folders that are not there any more are gone.
    let now = parts(&moved["tree"]);
    assert_eq!(now.keys().collect::<Vec<_>>(), ["/papers", "/papers/diary"]);
}

/// Files that cannot be taken do not hold up the others, and no file takes the place of another.
#[test]
fn odd_files_are_named_and_the_others_are_brought_in() {
    use std::os::unix::ffi::OsStrExt;
    let place = with_papers().env("ABIDE_OCR_KIND", "off");
    let folder = place.path("work/papers/odd");
    fs::create_dir(&folder).unwrap();
    let long = "x".repeat(240);
    for (name, text) in [
        ("description.md", "mine, too"),
        ("description (file).md", "mine"),
        ("photo.jpg.ref.json", "{}"),
        ("a\nb.txt", "odd"),
        (long.as_str(), "odd"),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    fs::write(folder.join(std::ffi::OsStr::from_bytes(b"\xff.txt")), "odd").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", folder.join("link")).unwrap();
    let run = place.run("ingest papers --data-dir data --export out --json");
    assert_eq!(run.code, Some(4), "{run}");
    let summary: Value = serde_json::from_str(&run.stdout).unwrap();
    let failed: Vec<&str> =
        summary["failed"].as_array().unwrap().iter().map(|left| left["reason"].as_str().unwrap()).collect();
    assert_eq!(failed.len(), 3, "{summary}");
    assert_eq!(counts(&summary)[0], 25, "{summary}");
    assert!(summary["notes"].to_string().contains("1 link or special file"), "{summary}");
    let out = contents(&place.path("work/out"));
    for text in ["mine", "mine, too", "{}"] {
        assert!(out.values().any(|bytes| bytes == text.as_bytes()), "{text:?} is exported: {:?}", out.keys());
    }
}

/// Ids and files of parts, by path.
type Parts = BTreeMap<String, (String, Vec<String>)>;

/// What a run gave: parts with their files, and what is said of each.
fn given(place: &Place) -> (Parts, BTreeMap<String, String>) {
    let summary = ingest(place);
    let mut described = BTreeMap::new();
    let mut open = vec![&summary["tree"]];
    while let Some(part) = open.pop() {
        let said = part["description"].as_str().unwrap_or_default().to_owned();
        described.insert(part["id"].as_str().unwrap().to_owned(), said);
        open.extend(part["children"].as_array().unwrap());
    }
    (parts(&summary["tree"]), described)
}

/// Kills runs one after the other, each at another moment within what a whole one takes, until one comes to its end before, or
/// `most` are killed. How many were.
fn killed(place: &Place, most: u64, runs: &mut u64, within: Duration) -> u64 {
    const STEP_MS: u64 = 5;
    for kills in 0..most {
        let mut command = place.command("ingest papers --data-dir data --json");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Early and late, in no order that a run could keep pace with.
        let ms = u64::try_from(within.as_millis()).unwrap() * (*runs * 37 % 100) / 100;
        *runs += 1;
        for _ in 0..ms / STEP_MS {
            if child.try_wait().unwrap().is_some() {
                return kills;
            }
            std::thread::park_timeout(Duration::from_millis(STEP_MS));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    most
}

/// Questions to a model that may be on their way at a time, of those who group and describe and of those who read.
const ON_THEIR_WAY: u64 = 6;

/// How often a model was asked what it had been asked before.
fn asked_again(model: Option<&Model>) -> u64 {
    let kinds = [Kind::Reading, Kind::Grouping, Kind::Plan, Kind::Record, Kind::Description];
    let counts = model.into_iter().flat_map(|model| kinds.into_iter().flat_map(|kind| model.asked(kind)));
    counts.map(|count| u64::from(count) - 1).sum()
}

/// Kills ingests `kills` times, half of them of a new folder and half of one that changed, and runs each to its end: everything
/// is as after an undisturbed run, no entity is there beside it, and only questions that had no answer yet were asked again.
fn killed_often(kills: u64, begin: impl Fn() -> (Place, Option<Model>)) {
    let (undisturbed, model) = begin();
    let began = Instant::now();
    let mut expected = vec![given(&undisturbed)];
    let takes = began.elapsed();
    change(&undisturbed);
    expected.push(given(&undisturbed));
    let usual = asked_again(model.as_ref());
    let (mut done, mut runs) = (0, 0);
    while done < kills {
        let (place, model) = begin();
        let before = done;
        for (round, expected) in expected.iter().enumerate() {
            if round == 1 {
                change(&place);
            }
            let left = kills - done;
            done += killed(&place, if round == 0 { left.div_ceil(2) } else { left }, &mut runs, takes);
            assert_eq!(given(&place), *expected, "{done} of {kills}");
        }
        let served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir data");
        let there = served.ok("GET /entities?limit=1000", "")["entities"].as_array().unwrap().len();
        assert_eq!(there, expected[1].0.len(), "no entity is there twice");
        let (again, most) = (asked_again(model.as_ref()), usual + ON_THEIR_WAY * (done - before));
        println!("{} killed: {again} questions asked again, {usual} without", done - before);
        assert!(again <= most, "{again} questions were paid twice, and {most} may have had no answer");
    }
}

#[test]
fn killed_at_any_moment_it_gives_the_same_tree() {
    killed_often(6, || (with_papers(), None));
}

#[test]
#[ignore = "takes minutes: cargo test -p abide killed_fifty_times -- --ignored --nocapture"]
fn killed_fifty_times_it_gives_the_same_tree_and_pays_nothing_twice() {
    killed_often(50, || {
        let model = Model::start();
        (with_model(&model), Some(model))
    });
}

#[test]
fn what_it_will_take_is_said_and_what_is_wrong_is_named() {
    let place = with_papers();
    let run = place.run("ingest papers --data-dir data --dry-run");
    assert_eq!(run.code, Some(0), "{run}");
    for word in
        ["OCR: ", "organizer: built-in", "22 files", "disk: about", "time: about", "model cost: nothing"]
    {
        assert!(run.stderr.contains(word), "{word}: {run}");
    }
    assert!(!place.path("work/data").exists(), "a dry run writes nothing");
    let elsewhere =
        with_papers().env("ORGANIZER_URL", "http://127.0.0.1:9/").env("OCR_URL", "http://127.0.0.1:9/");
    let run = elsewhere.run("ingest papers --data-dir data --dry-run");
    assert!(run.stderr.contains("pipeline.organizer_url, pipeline.ocr_url are not asked: "), "{run}");
    std::os::unix::fs::symlink(place.path("work/papers"), place.path("work/link")).unwrap();
    for (arguments, code, word) in [
        ("ingest nowhere --data-dir data", 1, "nowhere"),
        ("ingest papers --data-dir papers/data", 2, "nothing is written to a source"),
        ("ingest papers --data-dir link/data", 2, "nothing is written to a source"),
        ("ingest papers --data-dir data --export papers/out", 2, "nothing is written to a source"),
        ("ingest papers --data-dir data --export new/../link/out", 2, "nothing is written to a source"),
        ("ingest papers --data-dir data --export papers", 2, "nothing is written to a source"),
        ("ingest papers --data-dir data --lang xx;rm", 2, "names no languages"),
        ("ingest papers --data-dir data --name a/b", 2, "cannot be the name of a collection"),
        ("collection tree nothing --data-dir data", 3, "there is no data"),
    ] {
        let run = place.run(arguments);
        assert!(run.code == Some(code) && run.stderr.contains(word), "{arguments}: {run}");
    }
    if has_tesseract() {
        let run = place.run("ingest papers --data-dir data --lang eng+tlh");
        assert!(run.code == Some(2) && run.stderr.contains("apt install tesseract-ocr-tlh"), "{run}");
    }
}
