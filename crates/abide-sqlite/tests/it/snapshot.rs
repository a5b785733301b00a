//! Readers beside the writer: each answer is from one snapshot, and holds whatever was answered before.

use crate::world::{object, open, put, scratch};
use abide_core::time::Time;
use abide_store::read::{Got, Load, Want};
use abide_store::{Answer, Read, Reader, Store};
use std::sync::atomic::{AtomicI64, Ordering};

/// The version and the two rows that every turn puts together.
fn look(reader: &mut dyn Reader) -> (i64, Vec<String>) {
    let wants = vec![Want::Row("a".into()), Want::Row("b".into())];
    let load = Read::Load(Load { object: object(), wants, reply_for: None });
    let Answer::Load(loaded) = reader.read(Time(1), &load).unwrap() else { panic!("not what was asked") };
    let row = |got: &Got| match got {
        Got::Row(Some(row)) => row.value.to_string(),
        other => panic!("{other:?}"),
    };
    (loaded.header.unwrap().version.0, loaded.got.iter().map(row).collect())
}

#[test]
fn readers_never_see_half_a_turn_nor_an_old_one() {
    let dir = scratch();
    let mut store = open(dir.path());
    let turn = |version: i64| put(version, ["a", "b"].map(|key| (key.to_owned(), (version + 1).to_string())));
    store.write(Time(1), &[turn(0)]).unwrap();
    let mut readers = [store.reader().unwrap(), store.reader().unwrap()];
    let answered = AtomicI64::new(1);
    let last = 2_000;
    std::thread::scope(|scope| {
        for reader in &mut readers {
            scope.spawn(|| {
                loop {
                    let before = answered.load(Ordering::Acquire);
                    let (version, rows) = look(reader.as_mut());
                    assert_eq!(rows, [version.to_string(), version.to_string()]);
                    assert!(version >= before, "{version} after {before} was answered");
                    if version == last {
                        return;
                    }
                }
            });
        }
        for version in 1..last {
            store.write(Time(1), &[turn(version)]).unwrap();
            answered.store(version + 1, Ordering::Release);
        }
    });
}
