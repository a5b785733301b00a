//! How long a file and a function may be.
//!
//! The scanner goes by indentation, which rustfmt guarantees: an item that opens a block ends at the first following
//! line that closes one at the item's own indentation.

use super::Finding;
use super::tree::Tree;

const FILE_LINES_MAX: usize = 800;
const FILE_LINES_USUAL: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;

pub(super) fn check_files(tree: &Tree) -> Vec<Finding> {
    tree.rust().filter_map(|(path, text)| check_file(path, text.lines().count())).collect()
}

fn check_file(path: &str, lines: usize) -> Option<Finding> {
    if lines > FILE_LINES_MAX {
        let message = format!("{lines} lines, at most {FILE_LINES_MAX}: one noun per file");
        Some(Finding::fails(path, lines, message))
    } else if lines > FILE_LINES_USUAL {
        let message = format!("{lines} lines, {FILE_LINES_USUAL} is time to think: is it one noun?");
        Some(Finding::warns(path, lines, message))
    } else {
        None
    }
}

pub(super) fn check_functions(tree: &Tree) -> Vec<Finding> {
    let sources = tree.rust().filter(|(path, _)| !is_test_file(path));
    sources.flat_map(|(path, text)| check_functions_of(path, text)).collect()
}

fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.split('/').any(|folder| folder == "tests")
}

fn check_functions_of(path: &str, text: &str) -> Vec<Finding> {
    let lines: Vec<&str> = text.lines().collect();
    let mut findings = Vec::new();
    let mut start = 0;
    while start < lines.len() {
        let line = lines[start].trim_start();
        if line.starts_with("#[cfg(test)]") {
            start = end_of_item(&lines, start) + 1;
            continue;
        }
        if let Some(name) = function_name(line) {
            let length = end_of_item(&lines, start) - start + 1;
            if length > FUNCTION_LINES_MAX {
                let message = format!("fn {name} has {length} lines, at most {FUNCTION_LINES_MAX}: split it");
                findings.push(Finding::fails(path, start + 1, message));
            }
        }
        start += 1;
    }
    findings
}

/// The name after `fn`, if the line begins a function, whatever stands before `fn`.
fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_qualifier = |word: &str| {
        matches!(word, "pub" | "async" | "const" | "unsafe" | "extern" | "default")
            || word.starts_with("pub(")
            || word.starts_with('"')
    };
    let end = after.find(['(', '<'])?;
    before.split_whitespace().all(is_qualifier).then_some(&after[..end])
}

/// Index of the last line of the item that begins at `start`.
fn end_of_item(lines: &[&str], start: usize) -> usize {
    let last = lines.len() - 1;
    let ends_head = |line: &&str| line.ends_with(['{', '}', ';']);
    let Some(head) = (start..=last).find(|index| ends_head(&without_comment(lines[*index]))) else {
        return last;
    };
    if !without_comment(lines[head]).ends_with('{') {
        return head;
    }
    let indent = indent(lines[start]);
    let closes = |line: &str| line.strip_prefix(indent).is_some_and(|rest| rest.starts_with('}'));
    (head + 1..=last).find(|index| closes(lines[*index])).unwrap_or(last)
}

fn without_comment(line: &str) -> &str {
    let code = line.split_once(" //").map_or(line, |(code, _)| code);
    if code.trim_start().starts_with("//") { "" } else { code.trim_end() }
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, long_function};
    use super::*;

    #[test]
    fn long_files_warn_then_fail() {
        let of = |lines| "// line\n".repeat(lines);
        check(check_files, &[("a.rs", &of(500)), ("a.md", &of(2000))], &[]);
        check(
            check_files,
            &[("a.rs", &of(501)), ("b.rs", &of(800)), ("tests/it/c.rs", &of(801))],
            &[
                "a.rs:501: warning: 501 lines, 500 is time to think: is it one noun?",
                "b.rs:800: warning: 800 lines, 500 is time to think: is it one noun?",
                "tests/it/c.rs:801: 801 lines, at most 800: one noun per file",
            ],
        );
    }

    #[test]
    fn long_functions_fail() {
        check(check_functions, &[("a.rs", &long_function(70))], &[]);
        check(
            check_functions,
            &[("a.rs", &format!("\n{}", long_function(71)))],
            &["a.rs:2: fn long has 71 lines, at most 70: split it"],
        );
    }

    #[test]
    fn functions_are_found_whatever_stands_around_them() {
        let body = "        work();\n".repeat(70);
        for head in [
            "    pub(crate) async fn long(&self) {",
            "    const unsafe extern \"C\" fn long<T>(",
            "    pub fn long() { // why",
        ] {
            let opening = if head.ends_with('(') {
                "        t: T,\n    ) -> T\n    where\n        T: X,\n    {\n"
            } else {
                ""
            };
            let text = format!("impl A {{\n    fn short();\n{head}\n{opening}{body}    }}\n}}\n");
            let lines = text.lines().count() - 3;
            check(
                check_functions,
                &[("a.rs", &text)],
                &[&format!("a.rs:3: fn long has {lines} lines, at most 70: split it")],
            );
        }
    }

    #[test]
    fn declarations_and_one_liners_do_not_reach_into_what_follows() {
        let items = "    // fn long() {\n    fn a();\n    fn b(\n        x: [u8; 4],\n    ) -> u8;\n    fn c() -> u8 { 1 }\n";
        check(check_functions, &[("a.rs", &format!("trait A {{\n{}}}\n", items.repeat(20)))], &[]);
    }

    #[test]
    fn tests_may_have_long_functions() {
        let long = long_function(100);
        let inside: String = long.lines().map(|line| format!("    {line}\n")).collect();
        let module = format!("#[cfg(test)]\n#[path = \"x.rs\"]\nmod tests {{\n{inside}}}\n");
        check(
            check_functions,
            &[("a/tests/it/main.rs", &long), ("a/src/tests.rs", &long), ("a.rs", &module)],
            &[],
        );
        check(
            check_functions,
            &[("a.rs", &format!("{module}{long}")), ("b.rs", &format!("#[cfg(test)]\nmod tests;\n{long}"))],
            &[
                "a.rs:105: fn long has 100 lines, at most 70: split it",
                "b.rs:3: fn long has 100 lines, at most 70: split it",
            ],
        );
    }
}
