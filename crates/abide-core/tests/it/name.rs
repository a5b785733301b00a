//! Names: what may be one.

use abide_core::limits::{KIND_BYTES, NAME_BYTES};
use abide_core::name::{AlarmName, JobKind, Kind, LimitKey, Name, QueueName, UniqueKey};
use abide_core::object::{Incarnation, Life, ObjectKey};
use abide_core::ticket::Ticket;

#[test]
fn kinds_and_queues_are_words() {
    let longest = "k".repeat(KIND_BYTES);
    for good in ["a", "0", "a-b_c.d", "process", &longest] {
        assert!(
            Kind::new(good).is_ok() && QueueName::new(good).is_ok() && JobKind::new(good).is_ok(),
            "{good:?}"
        );
    }
    let too_long = "k".repeat(KIND_BYTES + 1);
    for bad in ["", "A", "-a", ".a", "_a", "a b", "a/b", "ä", "a\n", &too_long] {
        assert!(
            Kind::new(bad).is_err() && QueueName::new(bad).is_err() && JobKind::new(bad).is_err(),
            "{bad:?}"
        );
    }
}

#[test]
fn other_names_are_text() {
    let longest = "n".repeat(NAME_BYTES);
    for good in ["a", "A b/c:ö 🙂", "-", &longest] {
        assert!(
            Name::new(good).is_ok() && UniqueKey::new(good).is_ok() && AlarmName::new(good).is_ok(),
            "{good:?}"
        );
    }
    let too_long = "ö".repeat(NAME_BYTES / 2 + 1);
    for bad in ["", "a\nb", "\0", "\u{7f}", "\u{85}", &too_long] {
        assert!(
            Name::new(bad).is_err() && UniqueKey::new(bad).is_err() && AlarmName::new(bad).is_err(),
            "{bad:?}"
        );
    }
}

#[test]
fn a_bad_name_says_what_would_be_right() {
    let table = [
        (Kind::new("").unwrap_err(), r#"an object's kind "" is empty"#),
        (
            Kind::new("My Kind").unwrap_err(),
            r#"an object's kind "My Kind" may have only a-z, 0-9, '-', '_' and '.', and starts with a letter or digit"#,
        ),
        (Name::new("a\tb").unwrap_err(), r#"an object's name "a\tb" has a control character"#),
    ];
    for (error, text) in table {
        assert_eq!(error.to_string(), text);
    }
    assert_eq!(QueueName::new("x".repeat(99)).unwrap_err().given.len(), 80);
}

#[test]
fn names_are_checked_when_decoded() {
    assert_eq!(serde_json::from_str::<QueueName>(r#""ok""#).unwrap().as_str(), "ok");
    assert!(serde_json::from_str::<QueueName>(r#""Not ok""#).is_err());
    assert_eq!(serde_json::to_string(&LimitKey::trusted("host:a")).unwrap(), r#""host:a""#);
}

#[test]
fn objects_are_kind_and_name() {
    let object: ObjectKey = "links/store/7".parse().unwrap();
    assert_eq!((object.kind.as_str(), object.name.as_str()), ("links", "store/7"));
    assert_eq!(object.to_string(), "links/store/7");
    assert!("links".parse::<ObjectKey>().is_err() && "/a".parse::<ObjectKey>().is_err());
}

#[test]
fn a_limit_key_lacks_no_part() {
    for good in ["a", "host:a", "host:*", "host:a:80", "a*", "url:http://a", "host::"] {
        assert!(LimitKey::new(good).is_ok(), "{good}");
    }
    for bad in ["", "*", ":", "host:", ":a", ":*", "a\nb"] {
        assert!(LimitKey::new(bad).is_err(), "{bad:?}");
    }
    assert_eq!(
        LimitKey::new("host:").unwrap_err().to_string(),
        "a limit key \"host:\" lacks a class or a name: write class:name, such as host:example.org, or class:* for all of \
         the class"
    );
}

#[test]
fn a_limit_key_has_a_class() {
    let class = |key: &str| LimitKey::trusted(key).class().map(|class| class.as_str().to_owned());
    assert_eq!(class("host:example.org").as_deref(), Some("host:*"));
    assert_eq!(class("host:example.org:8080").as_deref(), Some("host:*"));
    assert_eq!((class("host:*"), class("free")), (None, None));
    assert_eq!(LimitKey::of_queue(&QueueName::trusted("q")).as_str(), "queue:q");
}

#[test]
fn lives_of_objects_are_never_the_same() {
    let lives = [(1, 0), (1, 1), (1, 1 << 31), (1, u32::MAX), (2, 0), (2, 1)];
    let lives = lives.map(|(life, nth)| Incarnation::nth_of(Life(life), nth));
    assert!(lives.windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn a_ticket_is_32_hexadecimal_digits() {
    assert!(Ticket::parse("0123456789abcdef0123456789abcdef").is_ok());
    for bad in [
        "",
        "0123456789abcdef0123456789abcde",
        "0123456789ABCDEF0123456789abcdef",
        "0123456789abcdef0123456789abcdeg",
    ] {
        assert!(Ticket::parse(bad).is_err(), "{bad}");
    }
}
