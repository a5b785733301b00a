//! What is not valid is refused field by field.

use crate::world::{MAIN, idle_world};
use abide_coordinator::{Call, Invalid, ResultBy, Step};
use abide_engine::CallError;
use serde_json::{Value, json};

/// `path code` of each issue.
fn issues<T>(read: Result<T, Invalid>) -> Vec<String> {
    let shown = |step: &Step| match step {
        Step::Field(name) => name.clone(),
        Step::Index(index) => index.to_string(),
    };
    let issues = read.err().map(|invalid| invalid.issues).unwrap_or_default();
    issues
        .iter()
        .map(|issue| {
            let path: Vec<String> = issue.path.iter().map(shown).collect();
            format!("{} {}", path.join("."), json!(issue.code).as_str().unwrap())
        })
        .collect()
}

#[test]
fn submissions() {
    let message = |bytes: usize| "x".repeat(bytes - 2);
    let cases = [
        (json!({"message": "m", "delay": 0}), vec![]),
        (json!({"message": "m", "delay": 5000, "mode": "direct", "priority": -3, "other": 1}), vec![]),
        (json!({"message": "m", "delay": 4999.5, "timestamps": [{"tag": "a", "time": 1.5}]}), vec![]),
        (json!({"message": message(32 * 1024), "delay": 0}), vec![]),
        (json!({"message": message(32 * 1024 + 1), "delay": 0}), vec!["message too_big"]),
        (json!({"message": "", "delay": 0}), vec!["message too_small"]),
        (json!({"message": 5, "delay": 0}), vec!["message invalid_type"]),
        (json!({"message": null, "delay": 0}), vec!["message invalid_type"]),
        (json!({}), vec!["message invalid_type", "delay invalid_type"]),
        (json!({"message": "m", "delay": "5"}), vec!["delay invalid_type"]),
        (json!({"message": "m", "delay": -1}), vec!["delay too_small"]),
        (json!({"message": "m", "delay": -0.5}), vec!["delay too_small"]),
        (json!({"message": "m", "delay": 5000.001}), vec!["delay too_big"]),
        (json!({"message": "m", "delay": u64::MAX}), vec!["delay too_big"]),
        (json!({"message": "m", "delay": 0, "mode": "rpc"}), vec!["mode invalid_value"]),
        (json!({"message": "m", "delay": 0, "mode": null}), vec!["mode invalid_type"]),
        (json!({"message": "m", "delay": 0, "priority": 1.5}), vec!["priority invalid_type"]),
        (json!({"message": "m", "delay": 0, "priority": 3_000_000_000_i64}), vec!["priority too_big"]),
        (json!({"message": "m", "delay": 0, "priority": -3_000_000_000_i64}), vec!["priority too_small"]),
        (json!({"message": "m", "delay": 0, "timestamps": {}}), vec!["timestamps invalid_type"]),
        (
            json!({"message": "", "delay": true, "timestamps": [{"tag": 1}, 7, {"tag": "t".repeat(65), "time": 0}]}),
            vec![
                "message too_small",
                "delay invalid_type",
                "timestamps.0.tag invalid_type",
                "timestamps.0.time invalid_type",
                "timestamps.1 invalid_type",
                "timestamps.2.tag too_big",
            ],
        ),
        (
            json!({"message": "m", "delay": 0, "timestamps": vec![json!({"tag": "t", "time": 0}); 51]}),
            vec!["timestamps too_big"],
        ),
        (json!([]), vec![" invalid_type"]),
        (Value::Null, vec![" invalid_type"]),
    ];
    for (body, expected) in cases {
        assert_eq!(issues(Call::submit(&body)), expected, "{body}");
    }
}

#[test]
fn batches() {
    let cases = [
        (json!({"messages": ["a"], "delay": 0}), vec![]),
        (json!({"messages": vec!["a"; 100], "delay": 0, "mode": "direct", "priority": 2}), vec![]),
        (json!({"messages": vec!["a"; 101], "delay": 0}), vec!["messages too_big"]),
        (json!({"messages": [], "delay": 0}), vec!["messages too_small"]),
        (json!({"messages": "a", "delay": 0}), vec!["messages invalid_type"]),
        (
            json!({"messages": ["a", "", 3]}),
            vec!["messages.1 too_small", "messages.2 invalid_type", "delay invalid_type"],
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(issues(Call::submit_batch(&body)), expected, "{body}");
    }
}

#[test]
fn results_and_reruns() {
    let cases = [
        (json!({}), vec![]),
        (json!({"result": null, "timestamps": []}), vec![]),
        (json!({"error": ""}), vec!["error too_small"]),
        (json!({"error": {}, "timestamps": [3]}), vec!["error invalid_type", "timestamps.0 invalid_type"]),
        (json!({"result": "x".repeat(128 * 1024)}), vec!["result too_big"]),
        (json!("done"), vec![" invalid_type"]),
    ];
    for (body, expected) in cases {
        assert_eq!(issues(Call::result("id", ResultBy::Operator, &body)), expected, "{body}");
    }
    assert_eq!(issues(Call::process("id", None)), Vec::<String>::new());
    assert_eq!(issues(Call::process("id", Some(&json!({})))), Vec::<String>::new());
    assert_eq!(issues(Call::process("id", Some(&json!({"mode": "fast"})))), ["mode invalid_value"]);
    let proof = json!({"attempt": 2, "proof": "p"});
    assert_eq!(ResultBy::read(&proof), Some(ResultBy::Attempt { attempt: 2, proof: "p".into() }));
    for body in [json!({"attempt": -1, "proof": "p"}), json!({"attempt": 1}), json!({"proof": "p"}), json!(3)]
    {
        assert_eq!(ResultBy::read(&body), None, "{body}");
    }
}

#[test]
fn the_answer_names_every_field_and_says_what_to_do() {
    let invalid = Call::submit(&json!({"message": "", "delay": 9000})).unwrap_err();
    let expected = json!({
        "success": false,
        "error": {"code": "invalid", "message": "message must not be empty; delay must be at most 5000"},
        "issues": [
            {"path": ["message"], "code": "too_small", "message": "must not be empty"},
            {"path": ["delay"], "code": "too_big", "message": "must be at most 5000"},
        ],
    });
    assert_eq!(json!(invalid.answer()), expected);
}

#[test]
fn a_call_that_goes_around_the_reading_is_held_to_the_same_rules() {
    let mut world = idle_world();
    let refused = world.call::<Value>(MAIN, &json!({"submit": {"message": "m", "delay": 9000}}));
    let Err(CallError::Refused(refused)) = refused else { panic!("{refused:?}") };
    assert_eq!(refused.code, "bad_request");
    assert!(refused.message.contains("delay must be at most 5000"), "{}", refused.message);
}
