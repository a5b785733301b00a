//! The rules of the house that clippy cannot hold: each rule is a function from the tree's text to its findings.

mod docs;
mod layers;
mod length;
mod links;
mod manifest;
mod root;
mod tree;
mod words;

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use tree::Tree;

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: &[Rule] = &[
    layers::check,
    length::check_files,
    length::check_functions,
    docs::check,
    words::check,
    root::check,
    links::check,
];

/// One place in the tree that breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    weight: Weight,
    message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    Fails,
    Warns,
}

pub(crate) fn run(root: &Path) -> anyhow::Result<ExitCode> {
    Ok(if passes(root)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints every finding and the count; true if none of them fails the gate.
pub(crate) fn passes(root: &Path) -> anyhow::Result<bool> {
    let findings = findings(&Tree::load(root)?);
    for finding in &findings {
        println!("{finding}");
    }
    let problems = findings.iter().filter(|finding| finding.weight == Weight::Fails).count();
    println!("tidy: problems: {problems}, warnings: {}", findings.len() - problems);
    Ok(problems == 0)
}

fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    findings.sort();
    findings
}

impl Finding {
    fn fails(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, weight: Weight::Fails, message: message.into() }
    }

    fn warns(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, weight: Weight::Warns, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.weight {
            Weight::Fails => "",
            Weight::Warns => "warning: ",
        };
        write!(f, "{}:{}: {mark}{}", self.path, self.line, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The one form of a rule's test: these files give these findings, and no others.
    pub(super) fn check(rule: Rule, files: &[(&str, &str)], expected: &[&str]) {
        let found: Vec<String> = rule(&Tree::of(files)).iter().map(Finding::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn every_rule_is_run_and_findings_are_in_order_of_place() {
        let tree = Tree::of(&[
            ("plan.txt", ""),
            ("docs/states.md", "[gone](gone.md) \n"),
            (
                "crates/abide-core/Cargo.toml",
                "[package]\nname = \"abide-core\"\n[dependencies]\nabide-store = {}\n",
            ),
            ("crates/abide-core/src/lib.rs", &long_function(801)),
        ]);
        let found: Vec<String> = findings(&tree).iter().map(Finding::to_string).collect();
        let places: Vec<&str> =
            found.iter().filter_map(|line| line.split_once(": ").map(|(place, _)| place)).collect();
        assert_eq!(
            places,
            [
                "crates/abide-core/Cargo.toml:4",
                "crates/abide-core/src/lib.rs:1",
                "crates/abide-core/src/lib.rs:1",
                "crates/abide-core/src/lib.rs:801",
                "docs/states.md:1",
                "docs/states.md:1",
                "plan.txt:1",
            ]
        );
    }

    #[test]
    fn a_warning_says_so() {
        assert_eq!(Finding::warns("a.rs", 3, "long").to_string(), "a.rs:3: warning: long");
        assert_eq!(Finding::fails("a.rs", 3, "long").to_string(), "a.rs:3: long");
    }

    pub(super) fn long_function(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    work();\n".repeat(lines - 2))
    }
}
