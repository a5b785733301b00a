//! Copies of a store, and the way back.

use crate::world::{open, put, put_one, row, scratch};
use abide_core::time::Time;
use abide_sqlite::{BackupError, SqliteStore, backup, restore};
use abide_store::Store;
use std::fs;
use std::path::Path;
use std::sync::Barrier;

/// A store that is in use and has something in its log of writes alone.
fn in_use(dir: &Path) -> SqliteStore {
    let mut store = open(dir);
    store.write(Time(1), &[put_one(0, "a", "\"in the log\"")]).unwrap();
    assert!(fs::metadata(dir.join("abide.db-wal")).unwrap().len() > 0);
    store
}

#[test]
fn what_a_killed_process_left_is_restored_with_its_log() {
    let (one, left, two) = (scratch(), scratch(), scratch());
    let store = in_use(one.path());
    for file in ["abide.db", "abide.db-wal"] {
        fs::copy(one.path().join(file), left.path().join(file)).unwrap();
    }
    // Of one that is in use, too.
    for from in [left.path(), one.path()] {
        let to = two.path().join(from.file_name().unwrap());
        restore(&from.join("abide.db"), &to, &[]).unwrap();
        assert_eq!(row(&open(&to), "a").as_deref(), Some("\"in the log\""));
    }
    drop(store);
}

#[test]
fn a_log_without_its_file_is_not_taken_for_that_of_a_backup() {
    let (one, two) = (scratch(), scratch());
    let mut store = in_use(one.path());
    let copy = one.path().join("copy.db");
    backup(one.path(), &copy).unwrap();
    store.write(Time(2), &[put_one(1, "a", "\"after the backup\"")]).unwrap();
    // Somebody moved the file away, and not its log.
    fs::copy(one.path().join("abide.db-wal"), two.path().join("abide.db-wal")).unwrap();
    let refused = restore(&copy, two.path(), &[]).unwrap_err();
    assert!(matches!(refused, BackupError::HasData { file: "abide.db-wal", .. }), "{refused}");
    assert!(!two.path().join("abide.db").exists());
    fs::remove_file(two.path().join("abide.db-wal")).unwrap();
    restore(&copy, two.path(), &[]).unwrap();
    assert_eq!(row(&open(two.path()), "a").as_deref(), Some("\"in the log\""));
}

#[test]
fn of_many_backups_to_one_file_one_is_made_and_is_whole() {
    let dir = scratch();
    let mut store = open(dir.path());
    let rows = (0..5_000).map(|n| (format!("row-{n:06}"), format!("\"{n:0>500}\"")));
    store.write(Time(1), &[put(0, rows)]).unwrap();
    for round in 0..5 {
        let copy = dir.path().join(format!("copy-{round}.db"));
        let begin = Barrier::new(4);
        let make = || {
            begin.wait();
            backup(dir.path(), &copy).map(|done| {
                // As it is when its maker is told that it is there.
                assert_eq!(done.bytes, fs::metadata(&copy).unwrap().len());
                let to = dir.path().join(format!("restored-{round}"));
                restore(&copy, &to, &[]).unwrap();
                row(&open(&to), "row-004999").map(|value| value.len())
            })
        };
        let made: Vec<_> = std::thread::scope(|scope| {
            let makers = [(); 4].map(|()| scope.spawn(make));
            makers.into_iter().filter_map(|maker| maker.join().unwrap().ok()).collect()
        });
        assert_eq!(made, [Some(502)], "in round {round}");
    }
}
