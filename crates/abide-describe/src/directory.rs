//! A directory as it is described.

use crate::pinax::Pinax;
use std::collections::BTreeSet;

/// A directory with its texts and what is known of its children.
#[derive(Debug, Clone, Default)]
pub struct Directory {
    /// The id of its entity.
    pub pi: String,
    /// What people call it.
    pub name: String,
    /// Its files.
    pub files: Vec<Document>,
    /// Its children, described already.
    pub children: Vec<Child>,
    /// What the institution that holds it is called, if somebody said so.
    pub institution: Option<String>,
    /// Where it can be looked at, if that is known.
    pub access_url: Option<String>,
    /// What whoever uploaded it wants of a model.
    pub custom_prompt: Option<String>,
}

/// A file and its text: its own, or what was read off it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Document {
    /// Its name.
    pub name: String,
    /// Its text; empty if there is none.
    pub text: String,
}

/// A directory within one.
#[derive(Debug, Clone, Default)]
pub struct Child {
    /// What people call it.
    pub name: String,
    /// Its record, if it has one.
    pub pinax: Option<Pinax>,
    /// Its description, if it has one.
    pub description: Option<String>,
}

/// What images and pages are made of.
const SCANS: [&str; 3] = [".tif", ".tiff", ".pdf"];

impl Directory {
    /// Whether there is nothing to say anything about.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.children.is_empty()
    }

    /// Files that somebody put there.
    pub(crate) fn originals(&self) -> impl Iterator<Item = &Document> {
        let scans = self.scans();
        self.files.iter().filter(move |file| !file.is_made_of(&scans))
    }

    /// Files whose words count: of two that show the same page the one that is a text, and no scan that others show.
    pub(crate) fn readable(&self) -> Vec<&Document> {
        let scans = self.scans();
        let named = self.named();
        let shown: BTreeSet<&str> =
            self.files.iter().filter(|file| file.is_made_of(&scans)).filter_map(Document::scan).collect();
        let texts = self.files.iter().filter(|file| !file.text.trim().is_empty());
        let texts: BTreeSet<&str> = texts.filter_map(|file| file.name.strip_suffix(".txt")).collect();
        let is_read_elsewhere = |file: &Document| match file.name.strip_suffix(".jpg.ref.json") {
            Some(stem) => file.is_made_of(&scans) && texts.contains(stem),
            None => file.text.is_empty() && file.makes(&named).is_some_and(|made| shown.contains(made)),
        };
        self.files.iter().filter(|file| !is_read_elsewhere(file)).collect()
    }

    /// What images and pages are named after that are made of files.
    fn scans(&self) -> BTreeSet<&str> {
        let named = self.named();
        self.files.iter().filter_map(|file| file.makes(&named)).collect()
    }

    /// What files would be named after if they were made of others.
    fn named(&self) -> BTreeSet<&str> {
        self.files.iter().filter_map(Document::scan).collect()
    }
}

impl Document {
    /// Its name as people know it.
    pub(crate) fn shown_name(&self) -> &str {
        self.name.strip_suffix(".ref.json").unwrap_or(&self.name)
    }

    /// What is made of it is named after this: its name without its ending, or all of it (`a.tif.jpg`) where another file beside it
    /// has that (`a.jpg`). None if nothing is made of such files.
    fn makes(&self, named: &BTreeSet<&str>) -> Option<&str> {
        let stem = stem_of_scan(&self.name)?;
        Some(if named.contains(self.name.as_str()) { &self.name } else { stem })
    }

    /// What it would be named after if it were made of another file.
    fn scan(&self) -> Option<&str> {
        let shown = self.shown_name();
        let page = |stem: &'_ str| -> Option<usize> {
            let (scan, number) = stem.rsplit_once("-p")?;
            (!number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())).then_some(scan.len())
        };
        if let Some(stem) = shown.strip_suffix(".jpg").filter(|_| shown.len() < self.name.len()) {
            return Some(&stem[..page(stem).unwrap_or(stem.len())]);
        }
        let stem = shown.strip_suffix(".txt")?;
        Some(&stem[..page(stem)?])
    }

    fn is_made_of(&self, scans: &BTreeSet<&str>) -> bool {
        self.scan().is_some_and(|scan| scans.contains(scan))
    }
}

fn stem_of_scan(name: &str) -> Option<&str> {
    let lower = name.to_ascii_lowercase();
    SCANS.iter().find(|ending| lower.ends_with(*ending)).map(|ending| &name[..name.len() - ending.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_of_a_file_is_told_from_it() {
        let names = [
            "inventory.pdf",
            "inventory-p0001.jpg.ref.json",
            "inventory-p0001.txt",
            "inventory-p0002.jpg.ref.json",
            "scan.TIFF",
            "scan.jpg.ref.json",
            "photo.jpg.ref.json",
            "inventory.txt",
            "note-p1.txt",
            "lost-p0001.txt",
        ];
        let text = |name: &str| if name.ends_with(".txt") { "words".to_owned() } else { String::new() };
        let file = |name: &&str| Document { name: (*name).to_owned(), text: text(name) };
        let directory = Directory { files: names.iter().map(file).collect(), ..Directory::default() };
        let originals: Vec<&str> = directory.originals().map(|file| file.name.as_str()).collect();
        let expected = [
            "inventory.pdf",
            "scan.TIFF",
            "photo.jpg.ref.json",
            "inventory.txt",
            "note-p1.txt",
            "lost-p0001.txt",
        ];
        assert_eq!(originals, expected);
        let readable: Vec<&str> = directory.readable().iter().map(|file| file.name.as_str()).collect();
        let expected = [
            "inventory-p0001.txt",
            "inventory-p0002.jpg.ref.json",
            "scan.jpg.ref.json",
            "photo.jpg.ref.json",
            "inventory.txt",
            "note-p1.txt",
            "lost-p0001.txt",
        ];
        assert_eq!(readable, expected);
    }

    /// Where `a.jpg` is beside `a.tif`, what is made of that is `a.tif.jpg`.
    #[test]
    fn an_image_beside_a_scan_of_its_name_is_not_made_of_it() {
        let names = [
            "a.tif",
            "a.jpg.ref.json",
            "a.tif.jpg.ref.json",
            "b.pdf",
            "b-p0001.jpg.ref.json",
            "b.pdf-p0001.jpg.ref.json",
            "b.pdf-p0001.txt",
        ];
        let file = |name: &&str| Document { name: (*name).to_owned(), ..Document::default() };
        let directory = Directory { files: names.iter().map(file).collect(), ..Directory::default() };
        let originals: Vec<&str> = directory.originals().map(|file| file.name.as_str()).collect();
        assert_eq!(originals, ["a.tif", "a.jpg.ref.json", "b.pdf", "b-p0001.jpg.ref.json"]);
        let readable: Vec<&str> = directory.readable().iter().map(|file| file.name.as_str()).collect();
        assert!(!readable.contains(&"a.tif") && !readable.contains(&"b.pdf"), "{readable:?}");
    }
}
