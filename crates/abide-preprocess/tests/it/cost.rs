//! What a callback costs, counted in rows and bytes: the same in a batch of a hundred tasks and in one of very many.

use crate::world::{
    B, callback, file, life, message, options, orders, status, success, work, world, world_of,
};
use abide_core::row::RowWrite;
use abide_engine::testing::World;
use abide_preprocess::calls::HaveAnswer;
use abide_preprocess::limits::FILES_PER_CALL;
use abide_preprocess::{Call, Options, PhaseSettings};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cost {
    rows_read: u64,
    store_verbs: u64,
    commits: usize,
    rows_written: usize,
    bytes_written: usize,
    jobs_and_messages: usize,
}

/// Begins a batch of so many scans.
fn bring(world: &mut World, files: usize) {
    let _: serde_json::Value = world.call(B, &Call::Start(Box::new(message()))).unwrap();
    let life = life(world);
    for from in (0..files).step_by(FILES_PER_CALL) {
        let to = (from + FILES_PER_CALL).min(files);
        let part = (from..to).map(|n| file(&format!("{n:06}.tif"), "image/tiff")).collect();
        let call = Call::Files { life, from: from as u64, files: part, last: to == files };
        let _: HaveAnswer = world.call(B, &call).unwrap();
    }
    assert_eq!(status(world).progress.tasks_total, files as u64);
}

/// Of one callback in a batch of so many files, by an engine that has just started and knows none of its rows.
fn of_a_callback(files: usize) -> Cost {
    let mut world = world(options());
    bring(&mut world, files);
    let order = orders(&mut world, "tiff").remove(0);
    world.crash();
    world.settle();
    let (commits, rows_read, verbs) = (world.commits().len(), world.rows_read(), world.store_verbs());
    assert!(callback(&mut world, &order.attempt, success(&order)).unwrap().ok);
    let (rows_read, store_verbs) = (world.rows_read() - rows_read, world.store_verbs() - verbs);
    let made = &world.commits()[commits..];
    let rows: Vec<&RowWrite> = made.iter().flat_map(|commit| &commit.rows).collect();
    let bytes = rows.iter().map(|row| match row {
        RowWrite::Put { key, row } => key.len() + row.value.len(),
        RowWrite::Delete { key } => key.len(),
    });
    Cost {
        rows_read,
        store_verbs,
        commits: made.len(),
        rows_written: rows.len(),
        bytes_written: bytes.sum(),
        jobs_and_messages: made.iter().map(|commit| commit.jobs.len() + commit.messages.len()).sum(),
    }
}

fn is_the_same_for(files: usize) {
    let (few, many) = (of_a_callback(100), of_a_callback(files));
    println!("{few:?}\n{many:?}");
    assert_eq!(few.commits, 1);
    assert!(few.rows_read <= 8 && few.rows_written <= 8, "{few:?}");
    assert!(many.bytes_written * 10 <= few.bytes_written * 11, "{few:?} {many:?}");
    assert_eq!(Cost { bytes_written: few.bytes_written, ..many }, few);
}

#[test]
fn a_callback_costs_the_same_in_a_batch_of_ten_thousand() {
    is_the_same_for(10_000);
}

/// What memory does not hold is read in large parts, and about as often as it is needed.
#[test]
fn a_batch_that_memory_does_not_hold_is_read_about_once() {
    const FILES: u64 = 3_000;
    let few_at_a_time = PhaseSettings { batch_size: 100, ..PhaseSettings::DEFAULT };
    let settings =
        BTreeMap::from(["TIFF_CONVERSION", "IMAGE_PROCESSING"].map(|phase| (phase, few_at_a_time)));
    let mut verbs = Vec::new();
    for cache_bytes in [usize::MAX, 5_000_000] {
        let options = Options { settings: settings.clone(), ..options() };
        let mut world = world_of(World::new().with_memory_of(cache_bytes), options);
        bring(&mut world, FILES as usize);
        let (rows, asked) = (world.rows_read(), world.store_verbs());
        work(&mut world);
        assert_eq!(status(&mut world).status, "DONE");
        let rows = world.rows_read() - rows;
        // Two tasks of each file, each with a row and those of two files, and what was still needed of rows that were dropped.
        assert!(rows <= FILES * 9, "{rows}");
        verbs.push(world.store_verbs() - asked);
    }
    assert!(verbs[1] * 2 <= verbs[0] * 3, "{verbs:?}");
}

#[test]
#[ignore = "writes a hundred thousand tasks"]
fn a_callback_costs_the_same_in_a_batch_of_a_hundred_thousand() {
    is_the_same_for(100_000);
}
