//! Where a prefix ends.

use abide_core::row::prefix_end;

#[test]
fn the_end_of_a_prefix_is_the_first_key_past_it() {
    let table = [
        ("a", Some("b")),
        ("a/", Some("a0")),
        ("", None),
        ("é", Some("ê")),
        ("a\u{7f}", Some("a\u{80}")),
        ("a\u{D7FF}", Some("a\u{E000}")),
        ("a\u{10FFFF}", Some("b")),
        ("\u{10FFFF}\u{10FFFF}", None),
    ];
    for (prefix, end) in table {
        assert_eq!(prefix_end(prefix).as_deref(), end, "{prefix:?}");
    }
}

#[test]
fn the_end_of_a_prefix_parts_the_keys() {
    let chars = ['a', 'b', 'é', '\u{7f}', '\u{D7FF}', '\u{E000}', '\u{FFFF}', '\u{10000}', '\u{10FFFF}'];
    let mut keys = vec![String::new()];
    for _ in 0..2 {
        let longer = keys.iter().flat_map(|key| chars.map(|c| format!("{key}{c}"))).collect::<Vec<_>>();
        keys.extend(longer);
    }
    for prefix in &keys {
        let end = prefix_end(prefix);
        for key in &keys {
            let within = key >= prefix && end.as_ref().is_none_or(|end| key < end);
            assert_eq!(within, key.starts_with(prefix.as_str()), "{prefix:?} {key:?}");
        }
    }
}
