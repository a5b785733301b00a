//! Links from one document to another file of the repository lead somewhere.

use super::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let documents = tree.texts().filter(|(path, _)| path.ends_with(".md"));
    documents.flat_map(|(path, text)| check_document(tree, path, text)).collect()
}

fn check_document(tree: &Tree, path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_code = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        for target in targets(&without_code(line)) {
            let leads_somewhere = resolve(path, &target).is_some_and(|resolved| tree.holds(&resolved));
            if is_relative(&target) && !leads_somewhere {
                findings.push(Finding::fails(path, number, format!("the link to {target} leads nowhere")));
            }
        }
    }
    findings
}

/// What stands between single backticks is not a link.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// Targets of `[text](target "title")` and of `[label]: target`.
fn targets(line: &str) -> Vec<String> {
    let inline = line.match_indices("](").map(|(at, opening)| until_closed(&line[at + opening.len()..]));
    let definition = line.trim_start().strip_prefix('[').filter(|rest| !rest.starts_with('^'));
    let definition = definition.and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target);
    inline.chain(definition).filter_map(first_word).collect()
}

/// Up to the parenthesis that closes the link; a name may hold balanced ones of its own.
fn until_closed(text: &str) -> &str {
    let mut open = 1_usize;
    for (at, character) in text.char_indices() {
        match character {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return &text[..at];
        }
    }
    text
}

fn first_word(target: &str) -> Option<String> {
    let target = target.trim();
    match target.strip_prefix('<') {
        Some(quoted) => quoted.split('>').next().map(str::to_owned),
        None => target.split_whitespace().next().map(|word| word.replace("%20", " ")),
    }
}

/// Neither within the page nor with a scheme such as `https:`.
fn is_relative(target: &str) -> bool {
    let before_path = target.split(['/', '.']).next().unwrap_or(target);
    !target.starts_with('#') && !target.starts_with("//") && !before_path.contains(':')
}

/// The path from the root that a link in `document` means; none if it leaves the repository.
fn resolve(document: &str, target: &str) -> Option<String> {
    let target = target.split(['#', '?']).next().unwrap_or(target);
    let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
    let (base, steps) = target.strip_prefix('/').map_or((folder, target), |from_root| ("", from_root));
    let mut segments: Vec<&str> = base.split('/').filter(|segment| !segment.is_empty()).collect();
    for step in steps.split('/') {
        match step {
            "" | "." => {}
            ".." => drop(segments.pop()?),
            name => segments.push(name),
        }
    }
    Some(segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check as check_rule;
    use super::*;

    fn check_links(line: &str, expected: &[&str]) {
        let files = [
            ("README.md", ""),
            ("docs/a (1).md", ""),
            ("docs/adr/0001.md", ""),
            ("docs/page.md", &format!("{line}\n")),
        ];
        let expected: Vec<String> = expected
            .iter()
            .map(|target| format!("docs/page.md:1: the link to {target} leads nowhere"))
            .collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        check_rule(check, &files, &expected);
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        for line in [
            "[a](../README.md), [b](adr/0001.md#why \"title\") and [c](adr/) and [d](/README.md)",
            "[page](page.md?plain=1) ![spaces](<a (1).md>) [balanced](a%20(1).md)",
            "[ref]: ../README.md",
            "[web](https://example.org/x.md) [mail](mailto:a@example.org) [here](#top)",
            "`[code](gone.md)` and [^note]: gone.md",
        ] {
            check_links(line, &[]);
        }
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        check_links("[a](gone.md) [b](../docs/gone.md#x)", &["gone.md", "../docs/gone.md#x"]);
        check_links("[ref]: adr/0002.md", &["adr/0002.md"]);
        check_links("[out](../../README.md)", &["../../README.md"]);
        check_links("`code` [a](/docs/README.md) `code`", &["/docs/README.md"]);
    }

    #[test]
    fn code_blocks_are_not_read() {
        check_rule(
            check,
            &[("a.md", "```\n[a](gone.md)\n```\n[b](gone.md)\n")],
            &["a.md:4: the link to gone.md leads nowhere"],
        );
    }
}
