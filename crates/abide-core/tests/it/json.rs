//! JSON text: kept as it is, valid, round.

use abide_core::dead::{DeadEvent, DeadId, DeadLetter};
use abide_core::job::{JobId, JobOutcome, JobState};
use abide_core::json::Json;
use abide_core::name::{AlarmName, JobKind};
use abide_core::object::{Incarnation, ObjectKey};
use abide_core::queue::QueuePolicy;
use abide_core::time::Time;
use serde::{Deserialize, Serialize};

#[test]
fn text_is_kept_as_it_is() {
    for text in ["null", " { \"b\" : 1.0, \"a\" : [1e3, \"\\u00e9\"] } ", "12345678901234567890.123", "\"é\""]
    {
        let json = Json::parse(text).unwrap();
        assert_eq!((json.as_str(), json.len(), json.to_string().as_str()), (text, text.len(), text));
        assert!(!json.is_empty());
    }
}

#[test]
fn what_is_not_json_is_refused() {
    for text in ["", "{", "{'a':1}", "nul", "1 2", "[1,]", "\"a", "NaN"] {
        assert!(Json::parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn json_within_json_is_not_quoted_again() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Around {
        inner: Json,
        none: Option<Json>,
    }
    let text = r#"{"inner":{"b":1.00,"a":[ ]},"none":null}"#;
    let around: Around = Json::parse(text).unwrap().decode().unwrap();
    assert_eq!(around.inner.as_str(), r#"{"b":1.00,"a":[ ]}"#);
    assert_eq!(Json::encode(&around).unwrap().as_str(), text);
    assert_eq!(Json::from(serde_json::json!({ "a": 1 })).as_str(), r#"{"a":1}"#);
}

fn round_trips<T>(value: &T, text: &str)
where
    T: Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let json = Json::encode(value).expect("it is encoded");
    assert_eq!(json.as_str(), text);
    assert_eq!(json.decode::<T>().as_ref(), Ok(value));
}

#[test]
fn outcomes_dead_letters_and_policies_round_trip() {
    let outcome = JobOutcome {
        job: JobId(7),
        unique_key: None,
        kind: JobKind::trusted("fetch"),
        attempt: 2,
        state: JobState::Done,
        result: Some(Json::trusted("{\"n\":1.0}")),
        reason: None,
    };
    round_trips(
        &outcome,
        r#"{"job":7,"unique_key":null,"kind":"fetch","attempt":2,"state":"done","result":{"n":1.0},"reason":null}"#,
    );
    let letter = DeadLetter {
        id: DeadId(1),
        object: ObjectKey::new("thing", "a").unwrap(),
        incarnation: Some(Incarnation(3)),
        event: DeadEvent::Alarm { name: AlarmName::trusted("wake"), at: Time(5) },
        error: "it broke".into(),
        failures: 6,
        crashes: 0,
        died_at: Time(9),
    };
    round_trips(
        &letter,
        concat!(
            r#"{"id":1,"object":{"kind":"thing","name":"a"},"incarnation":3,"#,
            r#""event":{"alarm":{"name":"wake","at":5}},"error":"it broke","failures":6,"crashes":0,"died_at":9}"#
        ),
    );
    let message = DeadEvent::Message { from: None, body: Json::trusted("{\"x\":1.50}") };
    round_trips(&message, r#"{"message":{"from":null,"body":{"x":1.50}}}"#);
    assert_eq!(Json::parse("{}").unwrap().decode(), Ok(QueuePolicy::default()));
    assert!(Json::parse(r#"{"pause":true}"#).unwrap().decode::<QueuePolicy>().is_err());
}

#[test]
fn a_result_of_null_is_a_result() {
    let text = |result| {
        format!(
            r#"{{"job":7,"unique_key":null,"kind":"k","attempt":1,"state":"done"{result},"reason":null}}"#
        )
    };
    let outcome: JobOutcome = Json::parse(text("")).unwrap().decode().unwrap();
    assert_eq!(outcome.result, None);
    round_trips(&outcome, &text(""));
    let outcome = JobOutcome { result: Some(Json::null()), ..outcome };
    round_trips(&outcome, &text(r#","result":null"#));
}

#[test]
fn depth_is_bounded_and_brackets_in_text_do_not_count() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(Json::parse(nested(100)).is_ok());
    let error = Json::parse(nested(101)).unwrap_err();
    assert_eq!(error.0, "levels of JSON may be at most 100, and this has 101");
    let text = format!("{:?}", "[{\\\"".repeat(200));
    assert!(Json::parse(text).is_ok());
    let flat = format!("[{}1]", "[],".repeat(500));
    assert!(Json::parse(flat).is_ok());
}
