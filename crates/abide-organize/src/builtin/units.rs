//! Units: files that are one thing, such as a photograph and the note beside it.

use super::words;
use crate::file::InputFile;
use std::collections::{BTreeMap, BTreeSet};

/// What a name may end in, beside what makes it that name.
const EXTENSIONS: [&str; 26] = [
    ".ref.json",
    ".jpg",
    ".jpeg",
    ".png",
    ".gif",
    ".tiff",
    ".tif",
    ".bmp",
    ".webp",
    ".jp2",
    ".heic",
    ".pdf",
    ".txt",
    ".md",
    ".json",
    ".xml",
    ".xmp",
    ".csv",
    ".html",
    ".htm",
    ".rtf",
    ".doc",
    ".docx",
    ".ocr",
    ".alto",
    ".hocr",
];

/// Files that are one thing.
#[derive(Debug)]
pub(super) struct Unit<'a> {
    /// Their common name, without extensions, in lower case.
    pub(super) stem: String,
    /// As it is written.
    pub(super) written: String,
    pub(super) files: Vec<&'a InputFile>,
    /// Words that say something, by stem, with how often they occur.
    pub(super) words: BTreeMap<String, usize>,
    /// The same words as they are written, in lower case.
    pub(super) mentioned: BTreeSet<String>,
}

impl Unit<'_> {
    pub(super) fn has(&self, name: &str) -> bool {
        self.files.iter().any(|file| file.name == name)
    }
}

/// The units of a directory, by name.
pub(super) fn units(files: &[InputFile]) -> Vec<Unit<'_>> {
    let mut by_stem: BTreeMap<String, Vec<&InputFile>> = BTreeMap::new();
    for file in files {
        by_stem.entry(stem(&file.name).to_lowercase()).or_default().push(file);
    }
    by_stem.into_iter().map(|(stem, files)| unit(stem, files)).collect()
}

fn unit(lower: String, mut files: Vec<&InputFile>) -> Unit<'_> {
    files.sort_by(|one, other| one.name.cmp(&other.name));
    let (words, mentioned) = words::of_unit(&lower, &files);
    Unit { written: stem(&files[0].name).to_owned(), stem: lower, files, words, mentioned }
}

/// A name without its extensions.
#[must_use]
pub fn stem(name: &str) -> &str {
    let mut stem = name.trim();
    loop {
        let ends = |extension: &&&str| {
            let at = stem.len().checked_sub(extension.len());
            at.and_then(|at| stem.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(extension))
        };
        match EXTENSIONS.iter().find(ends) {
            Some(extension) if extension.len() < stem.len() => stem = &stem[..stem.len() - extension.len()],
            Some(_) | None => return stem,
        }
    }
}
