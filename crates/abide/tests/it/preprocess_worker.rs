//! Workers as a container has them: little is installed, and one image does every task.

use serde_json::{Value, json};

use crate::outside::Outside;
use crate::pdf_writer::document;
use crate::place::Place;
use crate::scans::{
    JPEG, SERVE, follow, is_jpeg, place_of_a_server, script, send, stage, stage_files, staging, tiff, wait,
    write,
};
use crate::served::Served;

/// One image is the machine of every phase: its command is the same for all.
#[test]
fn a_worker_knows_by_its_task_what_to_do() {
    let place = place_of_a_server().env("ABIDE_PREPROCESS_TASK_ATTEMPTS", "1");
    let text = format!("#!/bin/sh\nexec '{}' worker\n", env!("CARGO_BIN_EXE_abide"));
    let program = script(&place, "image", &text);
    let place = place.env("ABIDE_LAUNCHER_COMMAND", program.to_str().unwrap());
    let served = Served::start(&place, SERVE);
    let book = document(60, 40, "", &["0 0 m 9 9 l S"], &[]);
    let scans = [("a.tif", tiff(20, 20, 1)), ("b.pdf", book), ("c.jpg", JPEG.to_vec())];
    let scans = scans.map(|(name, bytes)| (name.to_owned(), bytes));
    // An id with the words of tags in it does not mislead.
    send(&served, &stage_files(&staging(&place), "box_image_7", &scans));
    let status = wait(&served, "box_image_7");
    assert_eq!((&status["status"], &status["inputs"]["converted"]), (&json!("DONE"), &json!(3)), "{status}");
}

#[test]
fn a_task_of_which_nothing_is_known_is_named() {
    let place = Place::new();
    let place = ["BATCH_ID", "INPUT_R2_KEY", "INPUT_URL", "CALLBACK_URL"]
        .into_iter()
        .fold(place, |place, name| place.env(name, "http://127.0.0.1:9/"));
    let refused = place.env("TASK_ID", "b_audio_0000001").run("worker");
    assert_eq!(refused.code, Some(1), "{refused}");
    let told = "TASK_ID is \"b_audio_0000001\", which does not say what is to be done: name it, as in `abide worker tiff`";
    assert!(refused.stderr.contains(told), "{refused}");
}

/// What speaks http, and to this machine, needs no certificates.
#[test]
fn a_system_without_certificates_converts_and_delivers() {
    let without = |place: Place| place.env("SSL_CERT_FILE", "/nowhere").env("SSL_CERT_DIR", "/nowhere");
    let place = without(Place::new());
    write(&place.path("work/scans/a.tif"), &tiff(32, 24, 1));
    let run = place.run("preprocess scans --out web --preset fast");
    assert_eq!(run.code, Some(0), "{run}");
    assert!(is_jpeg(&place.path("work/web/a.jpg")));

    let receiver = Outside::start(|_, _| (200, None, Value::Null));
    let place = without(place_of_a_server()).env("WORKER_URL", &receiver.url());
    let served = Served::start(&place, SERVE);
    send(&served, &stage(&place, "bare", 1));
    let status = follow(&served, "bare", |status| status["delivery"] == json!("delivered"));
    assert_eq!(status["inputs"]["converted"], json!(1), "{status}");
    let listed = place.run("job list --queue preprocess --data-dir data");
    assert_eq!(listed.code, Some(0), "{listed}");
}
