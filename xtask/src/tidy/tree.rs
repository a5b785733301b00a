//! The repository's files as git sees them: tracked, or new and not ignored.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

/// Every file by its path from the root, with `/` between folders.
pub(super) struct Tree {
    files: BTreeMap<String, Content>,
}

enum Content {
    Text(String),
    Binary,
}

impl Tree {
    pub(super) fn load(root: &Path) -> anyhow::Result<Tree> {
        let paths = match listed_by_git(root) {
            Ok(paths) => paths,
            Err(error) => {
                eprintln!(
                    "note: git cannot list the files, so all but .git and target are checked: {error:#}"
                );
                let mut paths = Vec::new();
                walk(root, "", &mut paths)?;
                paths
            }
        };
        let mut files = BTreeMap::new();
        for path in paths {
            let on_disk = root.join(&path);
            // Listed but not a file: deleted and not yet staged, or a link to a folder.
            if on_disk.is_file() {
                let bytes = fs::read(&on_disk).with_context(|| format!("cannot read {path}"))?;
                files.insert(path, String::from_utf8(bytes).map_or(Content::Binary, Content::Text));
            }
        }
        Ok(Tree { files })
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Path and text of every file that is UTF-8.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, content)| match content {
            Content::Text(text) => Some((path.as_str(), text.as_str())),
            Content::Binary => None,
        })
    }

    pub(super) fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| path.ends_with(".rs"))
    }

    /// Whether `path` is a file or a folder with files; the root is the empty path.
    pub(super) fn holds(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty()
            || self.files.contains_key(path)
            || self.files.range(folder.clone()..).next().is_some_and(|(next, _)| next.starts_with(&folder))
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Tree {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), Content::Text((*text).to_owned())));
        Tree { files: files.collect() }
    }
}

fn listed_by_git(root: &Path) -> anyhow::Result<Vec<String>> {
    let listing = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("git did not start")?;
    if !listing.status.success() {
        bail!("{}", String::from_utf8_lossy(&listing.stderr).trim());
    }
    let listing = String::from_utf8(listing.stdout).context("a file's name is not UTF-8")?;
    if listing.is_empty() {
        bail!("it knows none here");
    }
    Ok(listing.split_terminator('\0').map(str::to_owned).collect())
}

fn walk(root: &Path, folder: &str, paths: &mut Vec<String>) -> anyhow::Result<()> {
    for entry in fs::read_dir(root.join(folder)).with_context(|| format!("cannot list {folder}"))? {
        let entry = entry?;
        let name = entry.file_name().into_string().ok().context("a file's name is not UTF-8")?;
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        match entry.file_type()?.is_dir() {
            true if matches!(path.as_str(), ".git" | "target") => {}
            true => walk(root, &path, paths)?,
            false => paths.push(path),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_files_and_the_folders_above_them() {
        let tree = Tree::of(&[("docs/adr/0001.md", ""), ("docs-old.md", "")]);
        let held = ["", "docs", "docs/adr", "docs/adr/0001.md", "docs-old.md"];
        let not_held = ["doc", "docs/adr/0001", "docs/ad", "docs-old.md/x", "zebra"];
        assert_eq!(held.map(|path| tree.holds(path)), [true; 5]);
        assert_eq!(not_held.map(|path| tree.holds(path)), [false; 5]);
    }

    #[test]
    fn walk_and_git_both_find_this_crate() {
        let own_directory = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut walked = Vec::new();
        walk(own_directory, "", &mut walked).unwrap();
        assert!(walked.contains(&"src/tidy/tree.rs".to_owned()));
        assert!(Tree::load(own_directory).unwrap().holds("src/tidy/tree.rs"));
    }
}
