//! `cargo xtask`: what a machine can check about this repository, in one command.
//!
//! It knows cargo and the text of the repository's files. It does not know any of our crates: it reads them as text, so
//! that it still builds and reports when they do not.
//! Enter at [`ci`] for the order of the gate and at [`tidy`] for the rules that clippy cannot hold.

mod ci;
mod fuzz;
mod npm_client;
mod parts;
mod sabotage;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

const HELP: &str = "\
The gate and its parts.

Usage: cargo xtask <COMMAND>

Commands:
  ci    The whole gate: fmt, tidy, clippy, a browser and tesseract, tests and doctests; stops at the first that fails
  tidy  Layers, lengths, module docs, forbidden text, the root's contents, links between documents
  fuzz  Mutated scans, documents and images, converted in limited processes: fuzz --help
  sabotage [NAME]...
        Breaks a copy of the tree in one way after the other; the seeds or tests must notice each. Takes a while
  help  This text
";

fn main() -> anyhow::Result<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["ci"] => ci::run(&repository_root()?),
        ["sabotage", names @ ..] => sabotage::run(&repository_root()?, names),
        ["tidy"] => tidy::run(&repository_root()?),
        ["fuzz", args @ ..] => fuzz::run(&repository_root()?, args),
        ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        [] => {
            eprint!("{HELP}");
            Ok(ExitCode::from(2))
        }
        unknown => {
            eprint!("error: no such command: {}\n\n{HELP}", unknown.join(" "));
            Ok(ExitCode::from(2))
        }
    }
}

/// Asked at run time: a path compiled in would be wrong for a binary from a shared target directory.
fn repository_root() -> anyhow::Result<PathBuf> {
    let own_directory = std::env::var_os("CARGO_MANIFEST_DIR")
        .context("CARGO_MANIFEST_DIR is not set: start this as `cargo xtask`, not by its path")?;
    let mut root = PathBuf::from(own_directory);
    root.pop();
    Ok(root)
}
