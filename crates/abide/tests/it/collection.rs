//! Collections beside a running server, and what is left when one is deleted.

use std::fs;

use crate::ingest::{contents, copy, document, ingest, papers_to, part_of, parts, with_papers};
use crate::place::Place;
use crate::preprocess_s3::S3;
use crate::served::Served;

/// Bytes of everything below folders of the data directory.
fn bytes(place: &Place, folders: &[&str]) -> usize {
    let of = |folder: &&str| {
        let path = place.path(&format!("work/data/{folder}"));
        if path.exists() { contents(&path).values().map(Vec::len).sum() } else { 0 }
    };
    folders.iter().map(of).sum()
}

/// Components of every part with their contents.
fn files(tree: &serde_json::Value) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let own = tree["files"].as_array().expect("a list").iter();
    let mut all: Vec<_> = own.map(|file| (text(&file["component"]), text(&file["cid"]))).collect();
    all.extend(tree["children"].as_array().expect("a list").iter().flat_map(files));
    all
}

const KEPT: [&str; 3] = ["blobs", "buckets/archive", "buckets/staging"];

#[test]
fn beside_a_server_everything_goes_through_it() {
    let alone = with_papers().env("ABIDE_OCR_KIND", "off");
    let expected = parts(&ingest(&alone)["tree"]);
    let place = with_papers().env("ABIDE_OCR_KIND", "off").env("ABIDE_LOG", "warn");
    let served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir data");
    let dry = place.run("ingest papers --data-dir data --dry-run");
    assert!(dry.stderr.contains("OCR: none (ocr.kind is off)"), "{dry}");
    let summary = ingest(&place);
    assert_eq!(parts(&summary["tree"]), expected, "as without a server");
    let same: Vec<(String, String)> = files(&summary["tree"]);
    assert_eq!(same, files(&document(alone.run("collection tree papers --data-dir data --json"))));
    let reference = same.iter().find(|(component, _)| component.ends_with("harbour_1887.jpg.ref.json"));
    let (_, cid) = reference.expect("an image");
    let reference = served.ok(&format!("GET /cat/{cid}"), "");
    let url = reference["url"].as_str().unwrap();
    assert!(url.starts_with("/preprocess/asset/"), "what is kept for good names no address: {url}");
    assert_eq!(ingest(&place)["tree"], summary["tree"], "nothing is done on a folder that is as it was");
    let refused = place.run("ingest papers --data-dir data --lang deu");
    assert!(refused.code == Some(2) && refused.stderr.contains("ocr.languages"), "{refused}");

    let list = document(place.run("collection list --data-dir data --json"));
    assert_eq!(
        (&list["collections"][0]["name"], &list["collections"][0]["files"]),
        (&"papers".into(), &22.into())
    );
    let tree = document(place.run("collection tree papers --data-dir data --json"));
    assert_eq!(tree, summary["tree"]);
    let (_, group) = part_of(&expected, "okafor_1887-06-30.txt");
    document(place.run(&format!("collection rename papers {group} Ships --data-dir data --json")));
    document(place.run(&format!("collection move papers {group} diary --data-dir data --json")));
    let shown = document(place.run("collection show papers diary/Ships --data-dir data --json"));
    assert_eq!(shown["entity"]["id"], *group);
    let found = document(place.run("collection search papers steamer --data-dir data --json"));
    let paths: Vec<&str> =
        found["hits"].as_array().unwrap().iter().map(|hit| hit["path"].as_str().unwrap()).collect();
    assert!(paths.contains(&"diary/Ships") && paths.contains(&"letters/Hartmann"), "{found}");
    let exported = place.run("collection export papers out --data-dir data");
    assert_eq!(exported.code, Some(0), "{exported}");
    let original = place.path("work/papers/photographs/harbour_1887.jpg");
    let written = place.path("work/out/photographs/harbour_1887.jpg");
    assert_eq!(fs::read(written).unwrap(), fs::read(original).unwrap());
    document(place.run("collection delete papers --yes --data-dir data --json"));
    assert_eq!(served.ok("GET /collections", "")["collections"], serde_json::json!([]));
    assert_eq!(served.ok("GET /entities", "")["entities"], serde_json::json!([]));
    let unknown = place.run("collection tree papers --data-dir data");
    assert!(unknown.code == Some(1) && unknown.stderr.contains("there is no collection"), "{unknown}");
}

/// A backup says what it does not have. With that beside it everything is back; without, what can be had is, and what is missing
/// is named.
#[test]
fn a_backup_names_what_it_does_not_have() {
    let place = with_papers().env("ABIDE_OCR_KIND", "off");
    let first = ingest(&place);
    let said = place.run("backup copy.db --data-dir data");
    assert_eq!(said.code, Some(0), "{said}");
    let blobs =
        format!("data/blobs: files of entities ({} files, ", contents(&place.path("work/data/blobs")).len());
    assert!(
        said.stdout.contains("Not in it, and to be copied after it:") && said.stdout.contains(&blobs),
        "{said}"
    );
    assert!(said.stdout.contains("data/buckets: images, "), "{said}");
    let restored = place.run("restore copy.db --data-dir two");
    assert!(restored.code == Some(0) && restored.stdout.contains("Files are in no backup"), "{restored}");
    // What is there can be seen, and what is not is named.
    let run = |arguments: &str| place.run(&format!("{arguments} --data-dir two"));
    let bare = document(run("collection tree papers --json"));
    assert_eq!(parts(&bare), parts(&first["tree"]));
    let exported = run("collection export papers out");
    assert!(exported.code == Some(4), "{exported}");
    assert!(exported.stdout.contains("are missing: upload it again"), "{exported}");
    // With the directories everything is as it was.
    for name in ["blobs", "buckets"] {
        std::fs::remove_dir_all(place.path(&format!("work/two/{name}"))).unwrap();
        copy(&place.path(&format!("work/data/{name}")), &place.path(&format!("work/two/{name}")));
    }
    assert_eq!(document(run("collection tree papers --json")), first["tree"]);
    let exported = run("collection export papers out");
    assert_eq!(exported.code, Some(0), "{exported}");
    // What is lost after that stays in the folder that has it.
    let of_letter =
        |path: &std::path::PathBuf| contents(path.as_path()).into_iter().find(|(_, bytes)| bytes == LETTER);
    let (lost, _) = of_letter(&place.path("work/two/blobs")).expect("a blob");
    fs::remove_file(lost).unwrap();
    let again = run("collection export papers out");
    assert!(again.code == Some(4) && again.stdout.contains("okafor_1887-06-30.txt"), "{again}");
    assert!(of_letter(&place.path("work/out")).is_some(), "the only copy is not removed");
    // Nothing of that keeps a collection from being deleted.
    document(run("collection delete papers --yes --json"));
}

/// Bytes that are gone are brought again from the folder, and what was written about them is written again.
#[test]
fn what_is_missing_is_mended_from_the_folder() {
    let place = with_papers().env("ABIDE_OCR_KIND", "off");
    let first = ingest(&place);
    let run = |arguments: &str| place.run(&format!("{arguments} --data-dir data"));
    for gone in ["blobs", "buckets/archive"] {
        fs::remove_dir_all(place.path("work/data").join(gone)).unwrap();
    }
    let unseen = ingest(&place);
    assert_eq!((&unseen["unchanged"], &unseen["tree"]["description"]), (&22.into(), &"".into()), "{unseen}");
    let mended = document(run("ingest papers --mend --json"));
    assert_eq!((&mended["edited"], &mended["failed"]), (&22.into(), &serde_json::json!([])), "{mended}");
    assert_eq!(parts(&mended["tree"]), parts(&first["tree"]));
    assert_eq!(mended["tree"]["description"], first["tree"]["description"]);
    let exported = run("collection export papers out");
    assert_eq!(exported.code, Some(0), "{exported}");
    let out = contents(&place.path("work/out"));
    for (path, bytes) in contents(&place.path("work/papers")) {
        assert!(out.values().any(|written| *written == bytes), "{}", path.display());
    }
    let again = document(run("ingest papers --mend --json"));
    assert_eq!((&again["unchanged"], &again["edited"]), (&22.into(), &0.into()), "nothing is missing");
}

const LETTER: &[u8] = include_bytes!("../../../../examples/collection/letters/okafor_1887-06-30.txt");

/// A file that is larger than the server takes costs nobody else anything.
#[test]
fn a_file_that_the_server_does_not_take_is_named_and_the_others_are_brought_in() {
    let place = Place::new()
        .env("ABIDE_OCR_KIND", "off")
        .env("ABIDE_ENTITIES_MAX_UPLOAD_BYTES", "200000")
        .file("work/papers/box/large.txt", &"A line of a large file.\n".repeat(200_000))
        .file("work/papers/box/one.txt", "The first.\n")
        .file("work/papers/two.txt", "The second.\n");
    let _served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir data");
    for (new, unchanged) in [(2, 0), (0, 2)] {
        let run = place.run("ingest papers --data-dir data --json");
        assert_eq!(run.code, Some(4), "{run}");
        let summary: serde_json::Value = serde_json::from_str(&run.stdout).expect("a document");
        assert_eq!((&summary["new"], &summary["unchanged"]), (&new.into(), &unchanged.into()), "{summary}");
        let failed = summary["failed"].as_array().expect("files");
        assert_eq!((failed.len(), &failed[0]["file"]), (1, &"box/large.txt".into()), "{failed:?}");
        let reason = failed[0]["reason"].as_str().expect("a reason");
        assert!(reason.contains("entities.max_upload_bytes"), "{reason}");
        let parts = parts(&summary["tree"]);
        assert_eq!(part_of(&parts, "one.txt").0, "/papers/box");
    }
}

#[test]
fn a_deleted_collection_leaves_no_bytes_that_only_it_had() {
    let place = with_papers().env("ABIDE_OCR_KIND", "off");
    let first = ingest(&place);
    assert_eq!(bytes(&place, &["buckets/staging"]), 0, "what is not needed any more is not kept");
    let alone = bytes(&place, &KEPT);
    let twin = document(place.run("ingest papers --name twin --data-dir data --json"));
    assert!(bytes(&place, &KEPT) < 2 * alone, "files are kept once");
    // An older version of an edited file goes as well.
    fs::write(place.path("work/papers/diary/diary_page_01.txt"), "Another day.\n").unwrap();
    ingest(&place);
    fs::remove_file(place.path("work/papers/diary/diary_page_02.txt")).unwrap();
    ingest(&place);

    let deleted = document(place.run("collection delete papers --yes --data-dir data --json"));
    assert!(deleted["entities"].as_u64().unwrap() as usize == parts(&first["tree"]).len(), "{deleted}");
    assert!(deleted["images"].as_u64().unwrap() >= 6, "{deleted}");
    let left = document(place.run("collection tree twin --data-dir data --json"));
    assert_eq!(left, twin["tree"], "what the other has is there");
    let exported = place.run("collection export twin out --data-dir data");
    assert_eq!(exported.code, Some(0), "{exported}");
    let kept = bytes(&place, &KEPT);
    assert!(kept * 10 < alone * 11, "only what the other has is kept: {kept} of {alone}");

    document(place.run("collection delete twin --yes --data-dir data --json"));
    assert_eq!(bytes(&place, &KEPT), 0);
    // One of the same name may come again.
    let again = ingest(&place);
    assert_eq!(again["new"], 21);
    let (now, before) = (parts(&again["tree"]), parts(&first["tree"]));
    assert_eq!(part_of(&now, "okafor_1887-06-30.txt").0, part_of(&before, "okafor_1887-06-30.txt").0);
    assert!(again["tree"]["description"].as_str().unwrap().starts_with("# papers\n"), "{again}");
}

/// With buckets on an S3 service, the same goes from there.
#[test]
fn a_deleted_collection_leaves_nothing_on_s3() {
    let s3 = S3::start();
    let place = s3.place().env("ABIDE_OCR_KIND", "off");
    papers_to(&place);
    // The server keeps what it knows about objects in files of its own.
    let objects = |index: usize| {
        let is_object = |path: &std::path::PathBuf| {
            path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'))
        };
        contents(&s3.bucket(index)).into_keys().filter(is_object).count()
    };
    ingest(&place);
    assert_eq!(objects(0), 0, "staging is swept");
    let alone = objects(1);
    assert!(alone > 20, "{alone} images with their sizes");
    let twin = document(place.run("ingest papers --name twin --data-dir data --json"));
    document(place.run("collection delete papers --yes --data-dir data --json"));
    assert!(objects(1) >= alone, "what the other has is there");
    assert_eq!(document(place.run("collection tree twin --data-dir data --json")), twin["tree"]);
    let exported = place.run("collection export twin out --data-dir data");
    assert_eq!(exported.code, Some(0), "{exported}");
    let deleted = document(place.run("collection delete twin --yes --data-dir data --json"));
    assert!(deleted["images"].as_u64().is_some_and(|images| images >= 6), "{deleted}");
    assert_eq!((objects(0), objects(1), bytes(&place, &["blobs"])), (0, 0, 0));
}
