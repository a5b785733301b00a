//! Every module says what it is; every library has a door plate.

use super::Finding;
use super::tree::Tree;

const DOOR_PLATE_LINES_MIN: usize = 4;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|(path, _)| is_source(path))
        .filter_map(|(path, text)| check_source(path, text))
        .collect()
}

fn is_source(path: &str) -> bool {
    let segments: Vec<&str> = path.split('/').collect();
    matches!(segments.as_slice(), ["crates", _, "src", ..] | ["xtask", "src", ..])
}

fn check_source(path: &str, text: &str) -> Option<Finding> {
    let doc_lines = text.lines().take_while(|line| line.starts_with("//!")).count();
    if doc_lines == 0 {
        Some(Finding::fails(path, 1, "begins without a `//!` line that says what it is"))
    } else if path.ends_with("/src/lib.rs") && doc_lines < DOOR_PLATE_LINES_MIN {
        let message = format!(
            "the door plate has {doc_lines} `//!` lines, at least {DOOR_PLATE_LINES_MIN}: \
             what it is for, what it knows, what it does not know, where to enter"
        );
        Some(Finding::fails(path, 1, message))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check as check_rule;
    use super::*;

    #[test]
    fn a_module_without_docs_is_found() {
        check_rule(
            check,
            &[
                ("crates/abide-core/src/job/lease.rs", "use std::fmt;\n//! Too late.\n"),
                ("crates/abide-core/src/time.rs", "//! Instants.\n"),
                ("crates/abide-core/tests/it/main.rs", "use std::fmt;\n"),
                ("xtask/src/ci.rs", ""),
            ],
            &[
                "crates/abide-core/src/job/lease.rs:1: begins without a `//!` line that says what it is",
                "xtask/src/ci.rs:1: begins without a `//!` line that says what it is",
            ],
        );
    }

    #[test]
    fn a_thin_door_plate_is_found() {
        check_rule(
            check,
            &[
                ("crates/abide-core/src/lib.rs", "//! One.\n//!\n//! Three.\n\n//! Apart.\n"),
                ("crates/abide-store/src/lib.rs", "//! One.\n//!\n//! Three.\n//! Four.\n"),
            ],
            &["crates/abide-core/src/lib.rs:1: the door plate has 3 `//!` lines, at least 4: \
               what it is for, what it knows, what it does not know, where to enter"],
        );
    }
}
