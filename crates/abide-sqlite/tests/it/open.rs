//! Opening: what is found where the store should be.

use crate::child::{Other, Part, command};
use crate::world::{open, put, put_one, row, scratch, version};
use abide_core::time::Time;
use abide_sqlite::{OpenError, SqliteStore};
use abide_store::{Store, StoreError};
use rusqlite::Connection;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use tempfile::TempDir;

fn refusal(dir: &Path) -> OpenError {
    match SqliteStore::open(dir) {
        Ok(_) => panic!("it should not open"),
        Err(error) => error,
    }
}

/// A store with a few hundred rows, closed.
fn filled() -> TempDir {
    let dir = scratch();
    let rows = (0..2_000).map(|n| (format!("row-{n:06}"), format!("\"{n:0>100}\"")));
    open(dir.path()).write(Time(1), &[put(0, rows)]).unwrap();
    dir
}

#[test]
fn what_was_written_is_there_after_a_restart() {
    let dir = filled();
    let mut store = open(dir.path());
    assert_eq!(row(&store, "row-000007"), Some(format!("\"{:0>100}\"", 7)));
    store.write(Time(2), &[put_one(1, "row-000007", "true")]).unwrap();
    store.reopen().unwrap();
    assert_eq!((row(&store, "row-000007").as_deref(), version(&store)), (Some("true"), 2));
}

#[test]
fn a_clean_close_leaves_one_file() {
    let dir = filled();
    let names = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["abide.db"]);
}

#[test]
fn the_log_of_writes_stays_short() {
    let dir = scratch();
    let mut store = open(dir.path());
    let big = format!("\"{}\"", "x".repeat(250_000));
    for version in 0..300 {
        store.write(Time(1), &[put_one(version, "row", &big)]).unwrap();
    }
    let wal = std::fs::metadata(dir.path().join("abide.db-wal")).unwrap().len();
    assert!(wal < 24 * 1024 * 1024, "{wal} bytes");
}

#[test]
fn time_does_not_run_backwards_across_a_restart() {
    let dir = scratch();
    open(dir.path()).write(Time(5_000), &[put_one(0, "a", "1")]).unwrap();
    let batch = open(dir.path()).write(Time(10), &[put_one(1, "a", "2")]).unwrap();
    assert_eq!(batch.at, Time(5_000));
}

#[test]
fn a_newer_schema_is_left_alone() {
    let dir = filled();
    let conn = Connection::open(dir.path().join("abide.db")).unwrap();
    conn.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(conn);
    let error = refusal(dir.path());
    assert!(matches!(error, OpenError::Newer { found: 99, known: 6, .. }));
    let sentence = "has schema 99, and this Abide knows schemas up to 6. Use the newer Abide that wrote it";
    assert!(error.to_string().ends_with(sentence), "{error}");
}

#[test]
fn a_database_of_another_program_is_refused() {
    let dir = scratch();
    let conn = Connection::open(dir.path().join("abide.db")).unwrap();
    conn.execute_batch("CREATE TABLE theirs (a); PRAGMA application_id = 0x12345678;").unwrap();
    drop(conn);
    let error = refusal(dir.path());
    assert!(matches!(error, OpenError::Foreign { found: 0x1234_5678, .. }));
    assert!(error.to_string().contains("is a database of another program"), "{error}");
    let conn = Connection::open(dir.path().join("abide.db")).unwrap();
    let mode: String = conn.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "delete", "it was not touched");
}

#[test]
fn a_log_that_was_left_without_its_file_is_not_lost() {
    let (one, two) = (scratch(), scratch());
    let mut store = open(one.path());
    store.write(Time(1), &[put_one(0, "a", "1")]).unwrap();
    let log = two.path().join("abide.db-wal");
    std::fs::copy(one.path().join("abide.db-wal"), &log).unwrap();
    let error = refusal(two.path());
    let sentence = "it is the log of an abide.db that is not here: move it to where that is";
    assert!(error.to_string().ends_with(sentence), "{error}");
    assert!(std::fs::metadata(&log).unwrap().len() > 0 && !two.path().join("abide.db").exists());
}

#[test]
fn what_is_no_database_is_refused() {
    let dir = scratch();
    std::fs::write(dir.path().join("abide.db"), "this is not a database, it is a letter. ".repeat(200))
        .unwrap();
    assert!(matches!(refusal(dir.path()), OpenError::Corrupt { .. }));
}

#[test]
fn a_truncated_file_is_refused() {
    let dir = filled();
    let file = std::fs::OpenOptions::new().write(true).open(dir.path().join("abide.db")).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    let error = refusal(dir.path());
    assert!(matches!(error, OpenError::Corrupt { .. }), "{error}");
    assert!(error.to_string().ends_with("Restore a backup"), "{error}");
}

#[test]
fn a_damaged_page_is_noticed_when_it_is_used() {
    let dir = filled();
    let path = dir.path().join("abide.db");
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    let pages = file.metadata().unwrap().len() / 4096;
    // All but the beginning, where the schema and the one row of every table are.
    for page in 50..pages {
        file.write_all_at(&[0xA5; 64], page * 4096).unwrap();
    }
    let mut store = open(dir.path());
    let error = store.write(Time(2), &[put_one(1, "row-001000", "1")]).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt(_)), "{error:?}");
    assert_eq!(version(&store), 1, "nothing of it was applied");
}

#[test]
fn a_file_where_the_directory_should_be() {
    let dir = scratch();
    let path = dir.path().join("data");
    std::fs::write(&path, "").unwrap();
    for given in [path.clone(), path.join("deeper")] {
        let error = refusal(&given);
        assert!(matches!(error, OpenError::NotADirectory { .. }), "{error}");
    }
}

/// Permissions do not bind root: then somebody else has to try.
#[test]
fn a_read_only_directory() {
    let dir = TempDir::new().unwrap();
    let data = dir.path().join("data");
    drop(open(&data));
    let nobody = 65_534;
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|of| of.uid() == 0);
    if is_root {
        for path in [&data, &data.join("abide.db")] {
            std::os::unix::fs::chown(path, Some(nobody), Some(nobody)).unwrap();
        }
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    std::fs::set_permissions(data.join("abide.db"), std::fs::Permissions::from_mode(0o400)).unwrap();
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o500)).unwrap();
    let mut attempt = command(Part::Open, &data);
    if is_root {
        attempt.uid(nobody).gid(nobody);
    }
    let said = match Other::spawn(&mut attempt) {
        Ok(mut other) => other.hear(),
        Err(error) => {
            println!("skipped: another user cannot run this program: {error}");
            return;
        }
    };
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o700)).unwrap();
    let said = said.unwrap();
    assert!(
        said.contains("cannot be written") && said.ends_with("Check its owner and permissions"),
        "{said}"
    );
}

/// A crash leaves zeros past the end of the log of writes, which is laid out ahead: they are no entries.
#[test]
fn what_was_laid_out_ahead_of_a_crash_is_nothing() {
    let (dir, crashed) = (scratch(), scratch());
    let mut store = open(dir.path());
    let big = format!("\"{}\"", "x".repeat(20_000));
    let mut lengths = std::collections::BTreeSet::new();
    for version in 0..60 {
        store.write(Time(1), &[put_one(version, "row", &big)]).unwrap();
        lengths.insert(std::fs::metadata(dir.path().join("abide.db-wal")).unwrap().len());
    }
    assert!(lengths.len() < 12, "grown by leaps: {lengths:?}");
    for name in ["abide.db", "abide.db-wal"] {
        std::fs::copy(dir.path().join(name), crashed.path().join(name)).unwrap();
    }
    let wal = std::fs::read(crashed.path().join("abide.db-wal")).unwrap();
    assert!(wal.ends_with(&[0; 4_096]));
    let mut store = open(crashed.path());
    assert_eq!((row(&store, "row"), version(&store)), (Some(big), 60));
    store.write(Time(2), &[put_one(60, "row", "true")]).unwrap();
    assert_eq!(row(&store, "row").as_deref(), Some("true"));
}
