//! Text that must not be committed.

use super::Finding;
use super::tree::Tree;

/// Written in two halves, so that this file does not contain what it forbids.
const UNFINISHED: &[(&str, &str)] = &[
    (concat!("todo", "!("), "finish it or leave it out"),
    (concat!("unimplemented", "!("), "finish it or leave it out"),
    (concat!("dbg", "!("), "left over from debugging"),
    (concat!("#[", "allow("), "use #[expect(…, reason = \"…\")]"),
    (concat!("#![", "allow("), "use #![expect(…, reason = \"…\")]"),
];

const MACHINE_PATHS: &[&str] = &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("../sha", "red")];

const CONFLICT_MARKERS: &[&str] =
    &[concat!("<<<<", "<<< "), concat!("||||", "||| "), concat!(">>>>", ">>> ")];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.texts().flat_map(|(path, text)| check_text(path, text)).collect()
}

fn check_text(path: &str, text: &str) -> Vec<Finding> {
    let has_no_stray_space = [".rs", ".md", ".toml"].iter().any(|ending| path.ends_with(ending));
    let mut findings = Vec::new();
    // Not `lines()`: a carriage return at the end of a line is stray space too.
    for (number, line) in (1..).zip(text.split('\n')) {
        let mut fails = |message: String| findings.push(Finding::fails(path, number, message));
        for (word, advice) in UNFINISHED.iter().filter(|(word, _)| line.contains(word)) {
            fails(format!("`{word}`: {advice}"));
        }
        for place in MACHINE_PATHS.iter().filter(|place| names_place(line, place)) {
            fails(format!("`{place}` is a place on one machine"));
        }
        if CONFLICT_MARKERS.iter().any(|marker| line.starts_with(marker)) {
            fails("merge conflict marker".to_owned());
        }
        if has_no_stray_space && line.ends_with(char::is_whitespace) {
            fails("space at the end of the line".to_owned());
        }
    }
    findings
}

/// Whether `place` stands in the line as the beginning of a path, not as the middle of a longer one.
fn names_place(line: &str, place: &str) -> bool {
    let continues_path =
        |before: char| before.is_alphanumeric() || matches!(before, '_' | '-' | '.' | '}' | '*');
    line.match_indices(place).any(|(at, _)| !line[..at].ends_with(continues_path))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check as check_rule;
    use super::*;

    #[test]
    fn unfinished_work_is_found_in_any_text() {
        for (word, advice) in UNFINISHED {
            let text = format!("fine\n    {word}dead_code)\n");
            check_rule(check, &[(".ci/run", &text)], &[&format!(".ci/run:2: `{word}`: {advice}")]);
        }
        check_rule(check, &[("a.rs", "#[expect(dead_code, reason = \"\")] // todo, later\n")], &[]);
    }

    #[test]
    fn machine_paths_are_found_and_longer_paths_are_not() {
        for place in MACHINE_PATHS {
            let message = format!("a.json:1: `{place}` is a place on one machine");
            for before in ["", " ", "\"", "=", "file://", "("] {
                check_rule(check, &[("a.json", &format!("{before}{place}x"))], &[&message]);
            }
            for before in ["/v1", "home", "}", "*"] {
                check_rule(check, &[("a.json", &format!("{before}{place}x"))], &[]);
            }
        }
    }

    #[test]
    fn conflict_markers_are_found_at_the_beginning_of_a_line() {
        for marker in CONFLICT_MARKERS {
            check_rule(
                check,
                &[("a.sql", &format!("a\n{marker}HEAD\n"))],
                &["a.sql:2: merge conflict marker"],
            );
            check_rule(check, &[("a.sql", &format!("a\n {marker}HEAD\n"))], &[]);
        }
    }

    #[test]
    fn stray_space_is_found_where_it_never_matters() {
        let text = "one\ntwo \n\t\nfour\r\nfive";
        check_rule(
            check,
            &[("a.md", text), ("a.snap", text)],
            &[
                "a.md:2: space at the end of the line",
                "a.md:3: space at the end of the line",
                "a.md:4: space at the end of the line",
            ],
        );
    }
}
