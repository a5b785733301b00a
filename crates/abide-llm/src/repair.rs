//! JSON in what a model says: fenced, followed by words, with raw line breaks or trailing commas, or cut at its end.

use serde_json::Value;

/// A value found in an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The value.
    pub value: Value,
    /// Whether it had to be mended.
    pub repaired: bool,
}

/// The first JSON object in `text`. What a cut took away is not made up: strings, arrays and objects are closed where the
/// text ends, and a key without its value is left out.
#[must_use]
pub fn object_in(text: &str) -> Option<Found> {
    let text = &text[text.find('{')?..];
    let first = serde_json::Deserializer::from_str(text).into_iter::<Value>().next();
    if let Some(Ok(value)) = first {
        return Some(Found { value, repaired: false });
    }
    let value = serde_json::from_str(&mended(text)).ok()?;
    Some(Found { value, repaired: true })
}

/// `text` with its strings escaped, its commas where they belong and everything closed that was left open.
fn mended(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut open = Vec::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => string(&mut chars, &mut out),
            '{' | '[' => {
                open.push(if c == '{' { '}' } else { ']' });
                out.push(c);
            }
            '}' | ']' => {
                drop_dangling(&mut out);
                while let Some(close) = open.pop() {
                    out.push(close);
                    if close == c {
                        break;
                    }
                }
                if open.is_empty() {
                    return out;
                }
            }
            other => out.push(other),
        }
    }
    while let Some(close) = open.pop() {
        drop_dangling(&mut out);
        out.push(close);
    }
    out
}

/// Copies a string up to its end, escaping what must be.
fn string(chars: &mut std::str::Chars<'_>, out: &mut String) {
    out.push('"');
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => match chars.next() {
                Some('u') => unicode(chars, out),
                Some(escaped @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't')) => {
                    out.extend(['\\', escaped])
                }
                Some(other) => out.extend(['\\', '\\', other]),
                None => {}
            },
            '\n' => out.push_str("\\n"),
            '\r' => {}
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Copies `\uXXXX` if all of it is there.
fn unicode(chars: &mut std::str::Chars<'_>, out: &mut String) {
    let digits: String = chars.as_str().chars().take(4).take_while(char::is_ascii_hexdigit).collect();
    if digits.len() == 4 {
        out.push_str("\\u");
        out.push_str(&digits);
    }
    *chars = chars.as_str()[digits.len()..].chars();
}

/// Takes back what cannot stand before a closing bracket: a comma, or a key without its value.
fn drop_dangling(out: &mut String) {
    loop {
        out.truncate(out.trim_end().len());
        if out.ends_with(',') {
            out.pop();
        } else if out.ends_with(':') {
            out.pop();
            out.truncate(out.trim_end().len());
            drop_string(out);
        } else if is_lone_key(out) {
            drop_string(out);
        } else {
            return;
        }
    }
}

/// Whether `out` ends with a string that stands where a key does, with nothing behind it.
fn is_lone_key(out: &str) -> bool {
    let Some(start) = string_start(out) else { return false };
    let before = out[..start].trim_end();
    before.ends_with('{') || before.ends_with(',') && innermost(before) == Some('{')
}

fn innermost(text: &str) -> Option<char> {
    let mut open = Vec::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                while let Some(inside) = chars.next() {
                    match inside {
                        '"' => break,
                        '\\' => drop(chars.next()),
                        _ => {}
                    }
                }
            }
            '{' | '[' => open.push(c),
            '}' | ']' => drop(open.pop()),
            _ => {}
        }
    }
    open.pop()
}

fn drop_string(out: &mut String) {
    match string_start(out) {
        Some(start) => out.truncate(start),
        None => out.clear(),
    }
}

/// Where the string begins that `out` ends with.
fn string_start(out: &str) -> Option<usize> {
    let inside = out.strip_suffix('"')?;
    let is_escaped = |at: usize| inside[..at].bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 1;
    inside.rmatch_indices('"').map(|(at, _)| at).find(|at| !is_escaped(*at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn objects_are_found_in_what_models_say() {
        for (text, expected, repaired) in [
            (r#"{"a":1}"#, json!({"a": 1}), false),
            ("Sure!\n```json\n{\"a\": \"b\"}\n```\nBye {", json!({"a": "b"}), false),
            ("{\"a\": \"two\nlines\",}", json!({"a": "two\nlines"}), true),
            (r#"{"a": "cut he"#, json!({"a": "cut he"}), true),
            (r#"{"a": 1, "b": [1, 2"#, json!({"a": 1, "b": [1, 2]}), true),
            (r#"{"a": 1, "b":"#, json!({"a": 1}), true),
            (r#"{"a": 1, "b"#, json!({"a": 1}), true),
            (r#"{"a": ["x","#, json!({"a": ["x"]}), true),
            (r#"{"a": "\u00e"#, json!({"a": ""}), true),
            (r#"{"a": "c:\dir"}"#, json!({"a": "c:\\dir"}), true),
            (r#"{"a": {"b": [1, 2}"#, json!({"a": {"b": [1, 2]}}), true),
        ] {
            assert_eq!(object_in(text), Some(Found { value: expected, repaired }), "{text}");
        }
        for text in ["", "no object", "[1]", "{a: 1}"] {
            assert_eq!(object_in(text), None, "{text}");
        }
    }

    #[test]
    fn every_cut_of_an_answer_is_mended_or_refused() {
        let whole =
            r#"{"summary": "He said \"no\" — \u00e9t\u00e9.", "tags": ["a", "b\\"], "n": {"x": [1, {}]}}"#;
        for (end, _) in whole.char_indices() {
            if let Some(found) = object_in(&whole[..end]) {
                assert!(found.value.is_object(), "{}", &whole[..end]);
            }
        }
    }
}
