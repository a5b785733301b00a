//! What goes over the wire, in both generations.

use abide_organize::contract::{
    CallbackPayload, FromOrganizer, Operation, PiRequest, ProcessReply, ProcessRequest, StatusReply,
    ToOrganizer,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const PI: &str = "01J8ME3H6FZ3KQ5W1P2XY8K7E5";
const CID: &str = "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e";

/// What is read and written again is the same.
fn same<T: Serialize + DeserializeOwned>(value: Value) -> T {
    let read: T = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), value);
    read
}

#[test]
fn a_request_with_ids_alone() {
    let request: ProcessRequest = serde_json::from_value(
        json!({"batch_id": "b", "chunk_id": "0", "pis": [PI], "custom_prompt": "by year"}),
    )
    .unwrap();
    assert_eq!(request.operation, Operation::Organize);
    assert_eq!(request.pis, [PiRequest::whole(PI.to_owned().try_into().unwrap())]);
    assert_eq!(request.check(), Ok(()));
    assert_eq!(serde_json::to_value(&request).unwrap()["pis"], json!([PI]));
}

#[test]
fn a_request_with_everything() {
    let request: ProcessRequest = same(json!({
        "batch_id": "b", "chunk_id": "0", "r2_prefix": "staging/b", "operation": "organize",
        "custom_prompt": "by year", "strategy_guidance": "two groups",
        "pis": [{
            "pi": PI, "current_tip": CID, "directory_path": "/letters",
            "files": [
                {"name": "a.txt", "type": "text", "content": "", "metadata": {"mime_type": "text/plain", "size": 3}},
                {"name": "b.jpg.ref.json", "type": "ref", "content": "x", "original_filename": "b.tif"},
                {"name": "c.txt"},
            ],
            "parent_components": {"a.txt": CID},
            "existing_groups": [{"group_name": "Letters", "pi": PI, "description": "letters"}],
            "processing_config":
                {"ocr": true, "reorganize": true, "pinax": true, "cheimarros": false, "describe": true},
        }],
    }));
    assert_eq!(request.check(), Ok(()));
    let message = same(json!({"process": serde_json::to_value(&request).unwrap()}));
    assert_eq!(ToOrganizer::Process(Box::new(request)), message);
}

#[test]
fn a_request_to_strategize() {
    let request: ProcessRequest = same(json!({
        "batch_id": "b", "chunk_id": "s", "operation": "strategize",
        "strategize": {
            "directory_path": "/d", "files": [{"name": "a", "type": "text", "content": "x"}],
            "total_file_count": 500, "chunk_count": 10,
        },
    }));
    assert_eq!(request.check(), Ok(()));
}

#[test]
fn what_is_wrong_with_a_request_is_named() {
    let strategize =
        json!({"directory_path": "d", "files": [{"name": "a"}], "total_file_count": 1, "chunk_count": 1});
    for (request, expected) in [
        (json!({}), "Missing required fields: batch_id, chunk_id"),
        (json!({"batch_id": "b", "pis": [PI]}), "Missing required fields: chunk_id"),
        (json!({"batch_id": "b", "chunk_id": "c"}), "Missing required fields: pis (at least one)"),
        (
            json!({"batch_id": "b:1", "chunk_id": "c", "pis": [PI]}),
            "batch_id \"b:1\" has a colon, which stands between batch and chunk: leave it out",
        ),
        (
            json!({"batch_id": "b", "chunk_id": "c:", "pis": [PI]}),
            "chunk_id \"c:\" has a colon, which stands between batch and chunk: leave it out",
        ),
        (
            json!({"batch_id": "b", "chunk_id": "c", "operation": "strategize"}),
            "Missing required fields: strategize",
        ),
        (
            json!({"batch_id": "b", "chunk_id": "c", "operation": "strategize", "strategize": strategize}),
            "files: \"a\" has no content, and there is no pi to read it off",
        ),
        (
            json!({"batch_id": "b", "chunk_id": "c", "pis": [{"pi": PI, "files": [{"name": "a"}, {"name": "a"}]}]}),
            "files of 01J8ME3H6FZ3KQ5W1P2XY8K7E5: \"a\" is there twice",
        ),
        (
            json!({"batch_id": "b".repeat(201), "chunk_id": "c", "pis": [PI]}),
            "bytes of batch_id may be at most 200, and the request has 201",
        ),
    ] {
        let request: ProcessRequest = serde_json::from_value(request).unwrap();
        assert_eq!(request.check().unwrap_err().to_string(), expected);
    }
    let bad =
        serde_json::from_value::<ProcessRequest>(json!({"batch_id": "b", "chunk_id": "c", "pis": ["x"]}));
    let bad = bad.unwrap_err().to_string();
    assert!(bad.contains("\"x\" is not an entity's id"), "{bad}");
}

#[test]
fn replies_have_the_fields_of_both_generations() {
    let accepted = json!({"status": "accepted", "chunk_id": "0", "total_pis": 1, "operation": "organize"});
    same::<ProcessReply>(accepted);
    same::<ProcessReply>(json!({"status": "already_processing", "chunk_id": "0", "phase": "PUBLISHING"}));
    same::<StatusReply>(json!({"status": "not_found"}));
    assert_eq!(serde_json::to_value(StatusReply::not_found()).unwrap(), json!({"status": "not_found"}));
    same::<StatusReply>(json!({
        "status": "processing", "phase": "PROCESSING", "operation": "organize", "organizer": "model", "model": "m",
        "progress":
            {"total": 3, "pending": 1, "fetching": 0, "processing": 1, "publishing": 1, "done": 0, "failed": 0},
        "llm_calls": 1, "tokens": {"prompt": 5, "completion": 6, "total": 11}, "cost_usd": 0.5,
        "started_at": "2026-01-15T10:30:00.000Z", "completed_at": "2026-01-15T10:31:00.000Z",
    }));
}

#[test]
fn callbacks_have_the_fields_of_both_generations() {
    let spend = |calls: u32| json!({"llm_calls": calls, "tokens": {"prompt": 5, "completion": 6, "total": 11}, "cost_usd": 0.25});
    let with = |mut value: Value, more: Value| {
        value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        value
    };
    let done = with(
        json!({
            "pi": PI, "status": "success", "new_parent_tip": CID, "new_tip": CID, "new_parent_version": 3, "new_version": 3,
            "group_entities":
                [{"group_name": "G", "pi": PI, "tip": CID, "ver": 1, "files": ["a"], "description": "about a"}],
            "ungrouped_files": ["b"], "reorganization_description": "by name",
            "llm_metrics": {"validation_warnings": ["w"], "missing_files_count": 1, "missing_files": ["b"]},
        }),
        spend(2),
    );
    let skipped = with(
        json!({"pi": PI, "status": "success", "new_parent_tip": CID, "new_tip": CID, "skipped": "2 files"}),
        spend(0),
    );
    let failed = with(json!({"pi": PI, "status": "error", "error": "why"}), spend(0));
    let config =
        json!({"ocr": false, "reorganize": false, "pinax": true, "cheimarros": true, "describe": true});
    let payload = with(
        json!({
            "batch_id": "b", "chunk_id": "0", "operation": "organize", "status": "partial",
            "results": [done, skipped, failed],
            "new_pis": [{"pi": PI, "parent_pi": PI, "children_pi": [], "processing_config": config}],
            "summary": {"total": 3, "succeeded": 2, "failed": 1, "processing_time_ms": 17},
            "organizer": "model", "model": "m", "error": "why",
        }),
        spend(2),
    );
    same::<CallbackPayload>(payload.clone());
    same::<FromOrganizer>(json!({ "organizer_callback": payload }));
    let strategized = with(
        json!({
            "batch_id": "b", "chunk_id": "s", "operation": "strategize", "status": "success",
            "strategize_result": {"should_coordinate": true, "guidance": "g", "reasoning": "r"},
            "summary": {"total": 1, "succeeded": 1, "failed": 0, "processing_time_ms": 0}, "organizer": "builtin",
        }),
        spend(0),
    );
    same::<CallbackPayload>(strategized);
}
