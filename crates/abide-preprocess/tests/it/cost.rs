//! What a callback costs, counted in rows and bytes: the same in a batch of a hundred tasks and in one of very many.

use crate::world::{B, callback, file, life, message, options, orders, status, success, world};
use abide_core::row::RowWrite;
use abide_preprocess::Call;
use abide_preprocess::calls::HaveAnswer;
use abide_preprocess::limits::FILES_PER_CALL;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cost {
    rows_read: u64,
    store_verbs: u64,
    commits: usize,
    rows_written: usize,
    bytes_written: usize,
    jobs_and_messages: usize,
}

/// Of one callback in a batch of so many files, by an engine that has just started and knows none of its rows.
fn of_a_callback(files: usize) -> Cost {
    let mut world = world(options());
    let _: serde_json::Value = world.call(B, &Call::Start(Box::new(message()))).unwrap();
    let life = life(&mut world);
    for from in (0..files).step_by(FILES_PER_CALL) {
        let to = (from + FILES_PER_CALL).min(files);
        let part = (from..to).map(|n| file(&format!("{n:06}.tif"), "image/tiff")).collect();
        let call = Call::Files { life, from: from as u64, files: part, last: to == files };
        let _: HaveAnswer = world.call(B, &call).unwrap();
    }
    assert_eq!(status(&mut world).progress.tasks_total, files as u64);
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

#[test]
#[ignore = "writes a hundred thousand tasks"]
fn a_callback_costs_the_same_in_a_batch_of_a_hundred_thousand() {
    is_the_same_for(100_000);
}
