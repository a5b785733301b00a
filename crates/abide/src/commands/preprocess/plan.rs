//! What is to be done: files that no earlier run brought to an end.

use std::collections::{BTreeMap, BTreeSet};

use abide_media::PdfSettings;

use super::Left;
use super::folder::{File, Folder};
use super::ledger::{End, Ledger, Seen};
use super::results::Results;
use crate::config::Config;

/// How files are to be converted.
#[derive(Debug)]
pub(super) struct How {
    pub(super) preset: &'static str,
    pub(super) pdf_dpi: u16,
    /// By which version, and what workers might hold: what failed by one may succeed by another.
    pub(super) by: String,
}

impl How {
    pub(super) fn of(config: &Config) -> How {
        let tasks = &config.preprocess;
        let memory = [tasks.memory_tiff_mb, tasks.memory_pdf_mb, tasks.memory_image_mb];
        let by = format!("{} {memory:?}", env!("CARGO_PKG_VERSION"));
        How { preset: config.launcher.preset, pdf_dpi: config.preprocess.pdf_dpi, by }
    }

    /// A file as it is now, and what is to be done with it.
    pub(super) fn seen(&self, file: &File) -> Seen {
        let is_drawn = file.content_type == "application/pdf" && self.pdf_dpi != PdfSettings::default().dpi;
        let how =
            if is_drawn { format!("{} {} dpi", self.preset, self.pdf_dpi) } else { self.preset.to_owned() };
        Seen { bytes: file.bytes, modified_ms: file.modified_ms, how }
    }
}

/// What is to be done with a folder.
#[derive(Debug)]
pub(super) struct Plan {
    /// Files in batches that are not over, as they are now.
    pub(super) begun: Vec<File>,
    /// Files that are in none.
    pub(super) fresh: Vec<File>,
    /// Those that are converted, and need nothing.
    pub(super) converted: u64,
}

impl Plan {
    pub(super) fn of(folder: &Folder, ledger: &Ledger, how: &How, results: &Results) -> Plan {
        let (mut begun, mut fresh, mut over) = (Vec::new(), Vec::new(), Vec::new());
        for file in &folder.files {
            let seen = how.seen(file);
            let is_begun =
                |path: &str| ledger.pending.iter().any(|batch| batch.files.get(path) == Some(&seen));
            let entry = ledger.entries.get(&file.path).filter(|entry| entry.counts_for(&seen, &ledger.by));
            match entry.map(|entry| (entry, entry.end == End::Converted)) {
                Some((entry, is_converted))
                    if !is_converted || entry.made.iter().all(|made| results.is_there(made)) =>
                {
                    over.push((file, is_converted));
                }
                _ if is_begun(&file.path) => begun.push(file.clone()),
                _ => fresh.push(file.clone()),
            }
        }
        // Files that would give results of one name get names together, so that each has its own.
        let names: BTreeSet<String> = fresh
            .iter()
            .filter(|file| file.is_convertible())
            .map(|file| stem(&file.path).to_owned())
            .collect();
        let mut converted = 0;
        for (file, is_converted) in over {
            if file.is_convertible() && names.contains(stem(&file.path)) {
                fresh.push(file.clone());
            } else {
                converted += u64::from(is_converted);
            }
        }
        fresh.sort_by(|a, b| a.path.cmp(&b.path));
        Plan { begun, fresh, converted }
    }

    /// Files that something is to be done with.
    pub(super) fn todo(&self, folder: &Folder) -> Folder {
        let mut files: Vec<File> = self.begun.iter().chain(&self.fresh).cloned().collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        folder.part(files)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.begun.is_empty() && self.fresh.is_empty()
    }
}

/// What the names of a file's results begin with: `a/b` for `a/b.tif`, and for `a/b-p0001.jpg`, which might be a page of it.
fn stem(path: &str) -> &str {
    let name_at = path.rfind('/').map_or(0, |at| at + 1);
    let stem = path[name_at..].rfind('.').map_or(path, |at| &path[..name_at + at]);
    match stem[name_at.min(stem.len())..].rsplit_once("-p") {
        Some((before, digits)) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            &stem[..name_at + before.len()]
        }
        _ => stem,
    }
}

/// Files that an earlier run knew and that are not in the folder any more. What is in a folder that cannot be looked into, or
/// cannot be used now, is not gone.
pub(super) fn gone(folder: &Folder, ledger: &Ledger) -> Vec<String> {
    let there: BTreeSet<&str> = folder.files.iter().map(|file| file.path.as_str()).collect();
    let hidden = |path: &str| {
        folder.closed.iter().chain(&folder.unusable).any(|Left { file, .. }| {
            path.strip_prefix(file.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                || file.is_empty()
        })
    };
    let gone = ledger.sources().into_iter().filter(|path| !there.contains(path.as_str()) && !hidden(path));
    gone.cloned().collect()
}

/// The files of a batch that was begun, as they were.
pub(super) fn begun(files: &BTreeMap<String, Seen>) -> Vec<File> {
    let file = |(path, seen): (&String, &Seen)| File::of(path.clone(), seen.bytes, seen.modified_ms);
    files.iter().map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn files_whose_results_might_have_one_name_have_one_stem() {
        for (path, expected) in [
            ("a.tif", "a"),
            ("b.x/a.tiff", "b.x/a"),
            ("b.x/a", "b.x/a"),
            ("box/a-p0001.jpg", "box/a"),
            ("box/a-p.jpg", "box/a-p"),
            ("box-p1/a.tar.pdf", "box-p1/a.tar"),
            ("-p12.png", ""),
            ("box/.tif", "box/"),
        ] {
            assert_eq!(stem(path), expected, "{path}");
        }
    }
}
