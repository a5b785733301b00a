//! Sabotage: breaks a copy of the tree in one way after the other, and each must be noticed.
//!
//! A proof is worth what it would notice. Each patch of [`patches::PATCHES`] takes one promise away; the seeds or tests
//! beside it must fail with it, and pass without it. A patch that no longer applies fails as well: then it has to follow
//! the code. A run that does not end is killed and counts as a failure of its own: a person who waits for a test that
//! hangs has not been told anything.

mod patches;
mod run;

use anyhow::{Context, bail};
use patches::{Catcher, PATCHES, Patch};
use run::Run;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Applies every patch whose name contains one of `names` to a copy of the tree, one at a time; all if there is none.
pub(crate) fn run(root: &Path, names: &[&str]) -> anyhow::Result<ExitCode> {
    let patches = chosen(names)?;
    let copy = std::env::temp_dir().join(format!("abide-sabotage-{}", std::process::id()));
    copy_tree(root, &copy)?;
    let all_caught = break_and_run(&copy, &patches);
    std::fs::remove_dir_all(&copy).with_context(|| format!("{} cannot be removed", copy.display()))?;
    Ok(if all_caught? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn chosen(names: &[&str]) -> anyhow::Result<Vec<&'static Patch>> {
    let fits = |patch: &Patch, name: &str| patch.name.contains(name);
    if let Some(unknown) = names.iter().find(|name| !PATCHES.iter().any(|patch| fits(patch, name))) {
        let all: Vec<&str> = PATCHES.iter().map(|patch| patch.name).collect();
        bail!("no patch has a name that contains {unknown:?}; there are:\n  {}", all.join("\n  "));
    }
    let is_chosen = |patch: &&Patch| names.is_empty() || names.iter().any(|name| fits(patch, name));
    Ok(PATCHES.iter().filter(is_chosen).collect())
}

fn break_and_run(copy: &Path, patches: &[&Patch]) -> anyhow::Result<bool> {
    let mut all_caught = true;
    let mut pass_unbroken: Vec<Catcher> = Vec::new();
    for patch in patches {
        let catcher = patch.catcher;
        if !pass_unbroken.contains(&catcher) {
            if let Some(why) = fails_unbroken(copy, catcher)? {
                bail!("without any patch, cargo {} does not pass: {why}", catcher.arguments().join(" "));
            }
            pass_unbroken.push(catcher);
        }
        let verdict = try_one(copy, patch)?;
        all_caught &= matches!(verdict, Verdict::Caught(_));
        println!("{:<9} {:<50} {}", verdict.word(), patch.name, catcher.arguments().join(" "));
        if let Verdict::Caught(line) | Verdict::DoesNotBuild(line) = &verdict {
            println!("          {line}");
        }
    }
    Ok(all_caught)
}

/// A catcher that fails anyway catches nothing.
fn fails_unbroken(copy: &Path, catcher: Catcher) -> anyhow::Result<Option<String>> {
    Ok(match (run::cargo(copy, &catcher.build())?, run::cargo(copy, &catcher.arguments())?) {
        (Run::Passed, Run::Passed) => None,
        (Run::Failed(why), _) | (_, Run::Failed(why)) => Some(why),
        (Run::Hung, _) | (_, Run::Hung) => Some("it does not end".to_owned()),
    })
}

/// What became of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    /// The catcher failed, as it must; with what it said.
    Caught(String),
    /// The catcher passed.
    Missed,
    /// The catcher did not end.
    Hung,
    /// The text it replaces is not there exactly once.
    DoesNotApply,
    /// The patched tree does not build; with what the compiler said.
    DoesNotBuild(String),
}

impl Verdict {
    fn word(&self) -> &'static str {
        match self {
            Verdict::Caught(_) => "caught",
            Verdict::Missed => "MISSED",
            Verdict::Hung => "HUNG",
            Verdict::DoesNotApply => "NO MATCH",
            Verdict::DoesNotBuild(_) => "NO BUILD",
        }
    }
}

fn try_one(copy: &Path, patch: &Patch) -> anyhow::Result<Verdict> {
    let path = copy.join(patch.file);
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    let Some(broken) = broken(&text, patch) else { return Ok(Verdict::DoesNotApply) };
    std::fs::write(&path, broken)?;
    let verdict = match run::cargo(copy, &patch.catcher.build())? {
        Run::Failed(why) => Verdict::DoesNotBuild(why),
        Run::Hung => Verdict::Hung,
        Run::Passed => match run::cargo(copy, &patch.catcher.arguments())? {
            Run::Passed => Verdict::Missed,
            Run::Failed(why) => Verdict::Caught(why),
            Run::Hung => Verdict::Hung,
        },
    };
    std::fs::write(&path, text)?;
    Ok(verdict)
}

/// The text with the patch applied, if what it replaces is there exactly once.
fn broken(text: &str, patch: &Patch) -> Option<String> {
    (text.matches(patch.find).count() == 1).then(|| text.replacen(patch.find, patch.replace, 1))
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

    #[test]
    fn a_name_chooses_and_an_unknown_one_is_refused() {
        let names =
            |given: &[&str]| -> Vec<&str> { chosen(given).unwrap().iter().map(|patch| patch.name).collect() };
        assert_eq!(names(&["the fence"]), ["drop the fence"]);
        assert_eq!(names(&["late ack", "the fence"]), ["drop the fence", "let a late ack win"]);
        assert_eq!(names(&[]).len(), PATCHES.len());
        let refused = chosen(&["fence", "fnece"]).err().unwrap().to_string();
        assert!(refused.starts_with("no patch has a name that contains \"fnece\""), "{refused}");
    }
}
