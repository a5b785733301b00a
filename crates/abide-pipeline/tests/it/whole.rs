//! A whole batch, from its message to its end.

use crate::rig::{Organizing, cid, group_id, names, pi_of, rig};
use abide_engine::testing::hour;
use abide_pipeline::Options;
use abide_pipeline::contract::*;

#[test]
fn it_goes_through_every_phase() {
    let mut rig = rig(Options::default(), Organizing::AtOnce);
    let scans =
        vec!["bad.jpg.ref.json".to_owned(), "s1.jpg.ref.json".to_owned(), "song.mp3.ref.json".to_owned()];
    let letters = [names("a", 2), names("b", 2), names("u", 1)].concat();
    rig.begin(&[("/letters", letters), ("/scans/1885", scans), ("/few", names("f", 2))]);
    let status = rig.status();
    assert_eq!(status.status, Status::Done);
    assert_eq!(status.root_pi, Some(pi_of("/")));
    assert_eq!(status.progress.directories_total, 9);
    assert_eq!((status.files.total, status.files.published, status.files.open), (10, 10, 0));
    assert_eq!((status.files.ocr_total, status.files.ocr_read, status.files.ocr_failed), (2, 1, 1));
    // Nine directories were described and have metadata, and each of both cost half a dollar.
    assert!((status.cost.cost_usd - 9.0).abs() < 1e-9);
    assert!(status.notes.iter().any(|note| note.starts_with("CHEIMARROS_EXTRACTION is skipped")));
    rig.check_counters();
    let paths: Vec<String> = rig.tree().into_keys().collect();
    let expected = [
        "/",
        "/few",
        "/letters",
        "/letters/A",
        "/letters/B",
        "/scans",
        "/scans/1885",
        "/scans/1885/B",
        "/scans/1885/S",
    ];
    assert_eq!(paths, expected);
    let letters = rig.node("/letters");
    assert_eq!(
        letters.text_files.iter().map(|file| file.filename.as_str()).collect::<Vec<_>>(),
        ["u000.txt"]
    );
    assert_eq!(letters.children_paths, ["/letters/A", "/letters/B"]);
    assert_eq!(letters.reorganization_result[0].groups.len(), 2);
    let group = rig.node("/letters/A");
    assert_eq!(group.node.pi, Some(group_id(&pi_of("/letters"), "A")));
    assert_eq!(group.node.processing_config, letters.node.processing_config);
    assert!(group.node.processing_complete);
    let few = rig.node("/few").node;
    assert_eq!(few.phase_skips["reorganization"], "it has 2 files, and from 3 on they are organized");
    assert_eq!(rig.node("/scans/1885/B").refs[0].error.as_deref(), Some("it is torn"));
}

#[test]
fn a_parent_comes_after_its_children() {
    let mut rig = rig(Options::default(), Organizing::AtOnce);
    rig.begin(&[("/a/b/c", names("x", 1)), ("/a/d", names("x", 4))]);
    let ran = rig.ran.borrow().clone();
    for kind in [SNAPSHOT, PINAX, DESCRIBE] {
        let place_of = |path: &str| {
            let pi = pi_of(path).to_string();
            ran.iter().position(|job| job.starts_with(kind) && job.contains(&pi)).unwrap()
        };
        assert!(place_of("/a/b/c") < place_of("/a/b"));
        assert!(place_of("/a/b") < place_of("/a"));
        assert!(place_of("/a/d") < place_of("/a"));
        assert!(place_of("/a") < place_of("/"));
        if kind != SNAPSHOT {
            let group = group_id(&pi_of("/a/d"), "X").to_string();
            let group = ran.iter().position(|job| job.starts_with(kind) && job.contains(&group)).unwrap();
            assert!(group < place_of("/a/d"));
        }
    }
}

#[test]
fn what_was_read_is_published_once_for_each_directory() {
    let mut rig =
        rig(Options { batch_size_ocr: 1, ocr_chunk_size: 2, ..Options::default() }, Organizing::AtOnce);
    let scans = (0..7).map(|n| format!("s{n}.png.ref.json")).collect();
    rig.begin(&[("/", scans)]);
    assert_eq!(rig.status().files.ocr_read, 7);
    let ran = rig.ran.borrow();
    let published = ran.iter().filter(|job| job.starts_with(SNAPSHOT) && job.contains("\"phase\":\"ocr\""));
    assert_eq!(published.count(), 1);
    assert_eq!(ran.iter().filter(|job| job.starts_with(OCR)).count(), 7);
    drop(ran);
    let file: FileRecord = rig.world.row(crate::rig::BATCH, "file/0000001/s0.png.ref.json").unwrap();
    assert_eq!(file.cid, Some(cid("read s0.png.ref.json")));
}

/// What is torn stays so; who was tired may be rested the next time.
#[test]
fn an_image_that_was_not_read_this_time_makes_its_directory_fail() {
    let mut rig = rig(Options::default(), Organizing::AtOnce);
    let scans = |name: &str| vec!["s1.jpg.ref.json".to_owned(), format!("{name}.jpg.ref.json")];
    rig.begin(&[("/torn", scans("bad")), ("/not", scans("tired")), ("/read", scans("s2"))]);
    rig.world.pass(hour(24));
    let status = rig.status();
    assert_eq!((status.status, status.directories_failed), (Status::Done, 1));
    assert_eq!((status.files.ocr_read, status.files.ocr_failed), (4, 2));
    let failed = rig.node("/not").node;
    assert_eq!(failed.phase_errors["ocr"], "images could not be read: nobody answers");
    assert!(failed.description_complete && rig.node("/torn").node.phase_errors.is_empty());
    assert_eq!(status.notes[0], "ocr failed for /not: images could not be read: nobody answers");
    for (path, name, why) in [("/torn", "bad.jpg", "it is torn"), ("/not", "tired.jpg", "nobody answers")] {
        let refs = rig.node(path).refs;
        let unread: Vec<_> = refs.iter().filter(|file| file.error.is_some()).collect();
        assert_eq!(unread.len(), 1, "{refs:?}");
        assert_eq!(unread[0].filename, format!("{name}.ref.json"));
        assert_eq!(unread[0].error.as_deref(), Some(why));
    }
    rig.check_counters();
}

#[test]
fn more_than_a_hundred_directories_below_one() {
    let mut rig = rig(Options::default(), Organizing::AtOnce);
    let paths: Vec<String> = (0..250).map(|n| format!("/d{n:03}")).collect();
    let dirs: Vec<_> = paths.iter().map(|path| (path.as_str(), names("x", 1))).collect();
    rig.begin(&dirs);
    assert_eq!(rig.status().status, Status::Done);
    rig.check_counters();
    assert_eq!(rig.nodes()[0].children, 250);
}

#[test]
fn a_phase_that_is_not_asked_for_is_passed_over() {
    let mut rig = rig(Options::default(), Organizing::AtOnce);
    let config = ProcessingConfig { pinax: false, ocr: false, ..ProcessingConfig::default() };
    rig.begin_with(&[("/", vec!["s.jpg.ref.json".to_owned()])], config);
    let root = rig.node("/").node;
    assert_eq!(root.phase_skips["pinax"], "pinax is false");
    assert_eq!(root.phase_skips["ocr"], "ocr is false");
    assert!(root.processing_complete);
    assert!(!rig.ran.borrow().iter().any(|job| job.starts_with(PINAX) || job.starts_with(OCR)));
}
