//! `cargo xtask fuzz`: starts the fuzzer of what parses, optimised.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Context;

pub(crate) fn run(root: &Path, args: &[&str]) -> anyhow::Result<ExitCode> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let status = Command::new(cargo)
        .current_dir(root)
        .args([
            "run",
            "--quiet",
            "--release",
            "--locked",
            "--package",
            "abide-media",
            "--example",
            "fuzz",
            "--",
        ])
        .args(args)
        .status()
        .context("cargo did not run")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
