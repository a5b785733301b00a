//! The guide cannot drift: what it shows stands in the crate or in its tests, and the tests it names are there.

use std::path::Path;

const GUIDE: &str = include_str!("../../../../docs/writing-a-service.md");

fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

fn sources() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files =
        ["src", "tests/it"].into_iter().flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
    let files = files.map(|file| file.unwrap().path());
    // The one piece of the guide that is not in this crate, because routes are the server's.
    let route = root.join("../abide-server/src/add_a_route.rs");
    files.chain([route]).map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

/// Whether the lines of a block follow each other in a file, however they are indented.
fn stands_in(block: &str, source: &str) -> bool {
    let (block, source) = (lines(block), lines(source));
    source.windows(block.len()).any(|window| window == block)
}

#[test]
fn every_piece_of_code_in_the_guide_is_real() {
    let sources = sources();
    let blocks: Vec<&str> =
        GUIDE.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
    assert!(blocks.len() >= 5, "{}", blocks.len());
    for block in blocks {
        assert!(sources.iter().any(|source| stands_in(block, source)), "is nowhere:\n{block}");
    }
}

#[test]
fn every_test_that_the_guide_names_is_there() {
    let tasks = include_str!("tasks.rs");
    let named: Vec<&str> =
        GUIDE.split("`tasks::").skip(1).map(|rest| rest.split('`').next().unwrap_or_default()).collect();
    assert_eq!(named.len(), 5, "{named:?}");
    for name in named {
        assert!(tasks.contains(&format!("#[test]\nfn {name}()")), "there is no test tasks::{name}");
    }
}
