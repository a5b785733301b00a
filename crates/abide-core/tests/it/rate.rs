//! Rates as text.

use abide_core::json::Json;
use abide_core::limit::{LimitPolicy, Rate};

fn check(text: &str, starts: u32, window_ms: i64, shown: &str) {
    let rate: Rate = text.parse().expect("a rate");
    assert_eq!(rate, Rate { starts, window_ms }, "{text}");
    assert_eq!(rate.to_string(), shown, "{text}");
    assert_eq!(rate.to_string().parse::<Rate>(), Ok(rate), "{text}");
}

#[test]
fn rates_are_read_and_shown() {
    check("5/s", 5, 1_000, "5/s");
    check("5/sec", 5, 1_000, "5/s");
    check("5/second", 5, 1_000, "5/s");
    check(" 5 / 1 s ", 5, 1_000, "5/s");
    check("1/3s", 1, 3_000, "1/3s");
    check("1/250ms", 1, 250, "1/250ms");
    check("10/1000ms", 10, 1_000, "10/s");
    check("300/H", 300, 3_600_000, "300/h");
    check("300/hour", 300, 3_600_000, "300/h");
    check("7/m", 7, 60_000, "7/min");
    check("7/min", 7, 60_000, "7/min");
    check("7/minute", 7, 60_000, "7/min");
    check("7/90s", 7, 90_000, "7/90s");
    check("1000/day", 1_000, 86_400_000, "1000/day");
    check("1000/d", 1_000, 86_400_000, "1000/day");
    check("1/week", 1, 604_800_000, "1/7day");
    check("1000000/366day", 1_000_000, 366 * 86_400_000, "1000000/366day");
}

#[test]
fn what_is_not_a_rate_is_refused() {
    let texts = [
        "",
        "5",
        "/s",
        "5/",
        "s/5",
        "0/s",
        "-1/s",
        "5/0s",
        "5/-1s",
        "5/fortnight",
        "5/s/s",
        "1000001/s",
        "5/367day",
        "5.5/s",
        "5/1.5s",
        "99999999999/s",
        "5/99999999999999999999s",
        "5/9223372036854775807day",
    ];
    for text in texts {
        assert!(text.parse::<Rate>().is_err(), "{text:?}");
    }
    let error = "5 per second".parse::<Rate>().unwrap_err().to_string();
    assert_eq!(
        error,
        r#""5 per second" is not a rate: write starts per window, as 5/s, 300/h, 1/3s or 1000/day"#
    );
}

#[test]
fn a_policy_is_json() {
    let text = r#"{"concurrency":2,"rates":["5/s","300/h"],"burst":1}"#;
    let policy: LimitPolicy = Json::parse(text).unwrap().decode().unwrap();
    assert_eq!(Json::encode(&policy).unwrap().as_str(), text);
    assert_eq!(Json::parse("{}").unwrap().decode(), Ok(LimitPolicy::default()));
    assert!(Json::parse(r#"{"rate":"5/s"}"#).unwrap().decode::<LimitPolicy>().is_err());
    assert!(Json::parse(r#"{"rates":["5"]}"#).unwrap().decode::<LimitPolicy>().is_err());
}
