//! What may lie in the root of the repository.

use std::collections::BTreeSet;

use super::Finding;
use super::tree::Tree;

const FILES: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "clippy.toml",
    "rustfmt.toml",
    "deny.toml",
];

/// `.` stands for every dotfile and dot folder.
const BEGINNINGS: &[&str] = &["LICENSE", "Cargo.", "."];

const FOLDERS: &[&str] = &["crates", "docs", "examples", "xtask"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let strays: BTreeSet<&str> = tree.paths().filter_map(stray).collect();
    let message = "has no place in the root: decisions go to docs/adr, code to crates, the rest away";
    strays.into_iter().map(|name| Finding::fails(name, 1, message)).collect()
}

/// The name in the root that `path` lies under, if it may not be there.
fn stray(path: &str) -> Option<&str> {
    let (name, is_expected) = match path.split_once('/') {
        Some((folder, _)) => (folder, FOLDERS.contains(&folder) || folder.starts_with('.')),
        None => {
            (path, FILES.contains(&path) || BEGINNINGS.iter().any(|beginning| path.starts_with(beginning)))
        }
    };
    (!is_expected).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::super::tests::check as check_rule;
    use super::*;

    #[test]
    fn strays_are_found_once() {
        let expected = [
            ("README.md", ""),
            ("LICENSE-MIT", ""),
            ("Cargo.lock", ""),
            (".gitignore", ""),
            (".ci/run", ""),
            ("crates/abide/PLAN.md", ""),
        ];
        check_rule(check, &expected, &[]);
        check_rule(
            check,
            &[("PLAN.md", ""), ("crates", ""), ("src/a.rs", ""), ("src/b.rs", "")],
            &["PLAN.md", "crates", "src"]
                .map(|name| {
                    format!("{name}:1: has no place in the root: decisions go to docs/adr, code to crates, the rest away")
                })
                .each_ref()
                .map(String::as_str),
        );
    }
}
