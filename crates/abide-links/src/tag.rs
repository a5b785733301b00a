//! Names of tags: lower case, `-` for spaces, only `a-z`, `0-9` and `-`, at most 16 characters.

/// The name that `text` makes; none if nothing of it can be in a name.
#[must_use]
pub(crate) fn name(text: &str) -> Option<String> {
    let mut out = String::new();
    for c in text.trim().to_lowercase().chars() {
        match c {
            'ä' | 'æ' => out.push_str("ae"),
            'ö' | 'œ' => out.push_str("oe"),
            'ü' => out.push_str("ue"),
            'ß' => out.push_str("ss"),
            'à' | 'á' | 'â' | 'ã' | 'å' => out.push('a'),
            'ç' => out.push('c'),
            'è' | 'é' | 'ê' | 'ë' => out.push('e'),
            'ì' | 'í' | 'î' | 'ï' => out.push('i'),
            'ñ' => out.push('n'),
            'ò' | 'ó' | 'ô' | 'õ' | 'ø' => out.push('o'),
            'ù' | 'ú' | 'û' => out.push('u'),
            'a'..='z' | '0'..='9' => out.push(c),
            ' ' | '-' | '_' if !out.ends_with('-') => out.push('-'),
            _ => {}
        }
    }
    out.truncate(16);
    let name = out.trim_matches('-').to_owned();
    (!name.is_empty()).then_some(name)
}

/// Whether `name` is `text` but for case, and spaces and `_` that are `-` in it.
#[must_use]
pub(crate) fn is_plain(text: &str, name: &str) -> bool {
    let words = |text: &str| {
        let words = text.split([' ', '-', '_']).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect::<Vec<_>>()
    };
    words(text.trim()) == words(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_form() {
        for (text, expected) in [
            ("Rust", Some("rust")),
            (" Machine  Learning ", Some("machine-learning")),
            ("Größe & Maß", Some("groesse-mass")),
            ("a very long name of a tag", Some("a-very-long-name")),
            ("日本", None),
            ("--", None),
        ] {
            assert_eq!(name(text).as_deref(), expected, "{text}");
        }
    }
}
