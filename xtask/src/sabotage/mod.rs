//! Sabotage: breaks a copy of the tree in one way after the other, and each must be noticed.
//!
//! A proof is worth what it would notice. Each patch of [`patches::PATCHES`] takes one promise away; the seeds or tests
//! beside it must fail with it. A patch that no longer applies fails as well: then it has to follow the code.

mod patches;

use anyhow::{Context, bail};
use patches::{Catcher, PATCHES, Patch};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

/// Applies every patch whose name contains `only` to a copy of the tree, one at a time.
pub(crate) fn run(root: &Path, only: &str) -> anyhow::Result<ExitCode> {
    let copy = std::env::temp_dir().join(format!("abide-sabotage-{}", std::process::id()));
    copy_tree(root, &copy)?;
    let mut missed = 0;
    for patch in PATCHES.iter().filter(|patch| patch.name.contains(only)) {
        let verdict = try_one(&copy, patch)?;
        missed += u32::from(verdict != Verdict::Caught);
        println!("{:<12} {:<44} {}", verdict.word(), patch.name, patch.catcher.arguments().join(" "));
    }
    std::fs::remove_dir_all(&copy).with_context(|| format!("{} cannot be removed", copy.display()))?;
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What became of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// The catcher failed, as it must.
    Caught,
    /// The catcher passed.
    Missed,
    /// The text it replaces is not there exactly once.
    DoesNotApply,
    /// The patched tree does not build.
    DoesNotBuild,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Verdict::Caught => "caught",
            Verdict::Missed => "MISSED",
            Verdict::DoesNotApply => "NO MATCH",
            Verdict::DoesNotBuild => "NO BUILD",
        }
    }
}

fn try_one(copy: &Path, patch: &Patch) -> anyhow::Result<Verdict> {
    let path = copy.join(patch.file);
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    let Some(broken) = broken(&text, patch) else { return Ok(Verdict::DoesNotApply) };
    std::fs::write(&path, broken)?;
    let built = cargo(copy, &patch.catcher.build())?;
    let verdict = if built.status.success() {
        match cargo(copy, &patch.catcher.arguments())?.status.success() {
            true => Verdict::Missed,
            false => Verdict::Caught,
        }
    } else {
        eprintln!("{}", String::from_utf8_lossy(&built.stderr));
        Verdict::DoesNotBuild
    };
    std::fs::write(&path, text)?;
    Ok(verdict)
}

/// The text with the patch applied, if what it replaces is there exactly once.
fn broken(text: &str, patch: &Patch) -> Option<String> {
    (text.matches(patch.find).count() == 1).then(|| text.replacen(patch.find, patch.replace, 1))
}

fn cargo(copy: &Path, arguments: &[&str]) -> anyhow::Result<Output> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.args(arguments).current_dir(copy).env_remove("CARGO_MANIFEST_DIR");
    command.output().with_context(|| format!("cargo {} could not run", arguments.join(" ")))
}

/// Copies every file that git knows of.
fn copy_tree(root: &Path, copy: &Path) -> anyhow::Result<()> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output()?;
    if !listed.status.success() {
        bail!("git does not list the files of {}", root.display());
    }
    for name in listed.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let name = PathBuf::from(String::from_utf8_lossy(name).into_owned());
        let (from, to) = (root.join(&name), copy.join(&name));
        if let Some(parent) = to.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::copy(&from, &to).with_context(|| format!("{} cannot be copied", from.display()))?;
    }
    Ok(())
}

impl Catcher {
    fn arguments(self) -> Vec<&'static str> {
        match self {
            Catcher::Seeds(count) => {
                vec!["run", "-q", "-p", "abide-sim", "--", "--no-shrink", "--seeds", count]
            }
            Catcher::Test(krate, name) => vec!["test", "-q", "-p", krate, "--test", "it", name],
            Catcher::Unit(krate, name) => vec!["test", "-q", "-p", krate, "--lib", name],
        }
    }

    fn build(self) -> Vec<&'static str> {
        match self {
            Catcher::Seeds(_) => vec!["build", "-q", "-p", "abide-sim"],
            Catcher::Test(krate, _) => vec!["test", "-q", "-p", krate, "--test", "it", "--no-run"],
            Catcher::Unit(krate, _) => vec!["test", "-q", "-p", krate, "--lib", "--no-run"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every patch fits the tree it is in: otherwise it must follow the code.
    #[test]
    fn every_patch_applies() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for patch in PATCHES {
            let text = std::fs::read_to_string(root.join(patch.file)).unwrap();
            assert!(broken(&text, patch).is_some_and(|broken| broken != text), "{}", patch.name);
        }
        assert!(PATCHES.len() >= 15);
    }
}
