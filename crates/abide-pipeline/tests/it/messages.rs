//! Sizes: no message is longer than a queue carries, however large the batch.

use crate::rig::{Organizing, items, names, rig};
use abide_pipeline::Options;
use abide_pipeline::contract::*;
use abide_pipeline::limits::MESSAGE_BYTES;
use serde_json::json;

#[test]
fn no_message_is_longer_than_a_queue_carries() {
    let mut rig = rig(Options::default(), Organizing::AtOnce);
    let prompt = "ä".repeat(48_000);
    let message = json!({
        "batch_id": "b1", "manifest_r2_key": "m",
        "custom_prompts": {"general": "g", "reorganization": prompt},
    });
    IngestMessage::read(&message).unwrap();
    rig.world.send(crate::rig::BATCH, &json!({ "start": message }));
    let paths: Vec<String> = (0..300).map(|n| format!("/{}{n:03}", "p".repeat(180))).collect();
    let long = |n: usize| format!("{n:03}{}.txt", "n".repeat(240));
    let mut dirs: Vec<_> = paths.iter().map(|path| (path.as_str(), names("x", 1))).collect();
    dirs.push(("/large", (0..260).map(long).collect()));
    rig.bring(&items(&dirs, ProcessingConfig::default()));
    assert_eq!(rig.status().status, Status::Done);
    let commits = rig.world.commits();
    let longest = commits.iter().flat_map(|commit| &commit.messages).map(|message| message.body.len()).max();
    let longest = longest.unwrap();
    assert!((96_000..MESSAGE_BYTES).contains(&longest), "{longest} bytes");
}

#[test]
fn messages_that_cannot_be_taken() {
    let said = |body: serde_json::Value| IngestMessage::read(&body).unwrap_err().to_string();
    let prompts = |prompts: serde_json::Value| {
        said(json!({"batch_id": "b", "manifest_r2_key": "m", "custom_prompts": prompts}))
    };
    assert_eq!(
        said(json!({"batch_id": "b"})),
        "the message names no directories: it needs pis or manifest_r2_key"
    );
    assert!(said(json!({"batch_id": "b/c", "pis": []})).contains("cannot be a batch_id"));
    assert!(said(json!({"batch_id": "b", "x": "y".repeat(128_000)})).contains("a queue carries 128000"));
    assert_eq!(
        prompts(json!({"general": "x".repeat(60_001)})),
        "custom_prompts.general has 60001 characters, and 60000 are taken"
    );
    assert_eq!(
        prompts(json!({"general": "x".repeat(50_000), "pinax": "y".repeat(30_001)})),
        "custom_prompts have 80001 characters together, and 80000 are taken"
    );
    assert!(prompts(json!({"general": "書".repeat(40_000)})).contains("bytes together"));
    assert!(prompts(json!({"generel": "x"})).contains("unknown field `generel`"));
    let pi = "01J8ME3H6FZ3KQ5W1P2XY8K7E5";
    assert_eq!(
        said(json!({"batch_id": "b", "pis": [{"pi": pi}, {"pi": pi}]})),
        format!("pis names {pi} twice")
    );
}
