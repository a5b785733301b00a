//! A file that could not be converted is mended and tried again: it comes into the tree of its batch.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

use serde_json::{Value, json};

use crate::place::Place;
use crate::scans::{SERVE, follow, place_of_a_server, send, stage_files, staging, tiff, write};
use crate::served::Served;

/// The pipeline's status of a batch, once it is through and this holds.
fn through(served: &Served, batch: &str, holds: impl Fn(&Value) -> bool) -> Value {
    loop {
        let reply = served.ask(&format!("GET /orchestrator/status/{batch}"), "");
        let status: Value = if reply.status == 200 { reply.json() } else { Value::Null };
        assert_ne!(status["status"], json!("ERROR"), "{status}");
        if status["status"] == json!("DONE") && holds(&status) {
            return status;
        }
    }
}

/// Components of every entity below one, and it.
fn components(served: &Served, pi: &str) -> Vec<String> {
    let shown = served.ok(&format!("GET /entities/{pi}"), "");
    let own = shown["components"].as_object().unwrap().keys().cloned();
    let children = shown["children_pi"].as_array().into_iter().flatten();
    let below = children.flat_map(|pi| components(served, pi.as_str().unwrap()));
    let mut all: Vec<String> =
        own.chain(below).filter(|name| name.contains(".tif") || name.contains(".jpg")).collect();
    all.sort();
    all
}

/// Mends the second of two TIFFs and tries its task again.
fn mend(place: &Place, served: &Served, batch: &str) {
    let failed = served.ok(&format!("GET /preprocess/batches/{batch}/tasks?status=failed"), "");
    let task = failed["tasks"][0]["task_id"].as_str().unwrap_or_else(|| panic!("{failed}"));
    write(&staging(place).join(format!("staging/{batch}/folder/torn.tif")), &tiff(30, 20, 2));
    served.ok(&format!("POST /preprocess/batches/{batch}/tasks/{task}/retry"), "");
}

#[test]
fn what_is_tried_again_after_the_pipeline_took_the_batch_comes_into_the_tree() {
    let place = place_of_a_server();
    let served = Served::start(&place, SERVE);
    let files = [("good.tif", tiff(60, 40, 1)), ("torn.tif", b"II*\0 and no more".to_vec())];
    let files = files.map(|(name, bytes)| (name.to_owned(), bytes));
    send(&served, &stage_files(&staging(&place), "mended", &files));
    let first = through(&served, "mended", |_| true);
    let root = first["root_pi"].as_str().unwrap();
    assert_eq!(components(&served, root), ["good.jpg.ref.json", "good.tif", "torn.tif"]);

    mend(&place, &served, "mended");
    follow(&served, "mended", |status| {
        status["inputs"]["converted"] == json!(2) && status["status"] == json!("DONE")
    });
    let second = through(&served, "mended", |status| status["files"]["total"] == json!(4));
    assert_eq!((&second["root_pi"], &second["files"]["published"]), (&json!(root), &json!(4)), "{second}");
    let expected = ["good.jpg.ref.json", "good.tif", "torn.jpg.ref.json", "torn.tif"];
    assert_eq!(components(&served, root), expected);
}
