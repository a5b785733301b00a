//! How much there is: files, and how many of them have a text.

use crate::directory::Directory;
use std::fmt;

/// Files of a directory and everything below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Extent {
    /// Files that somebody put there.
    pub(crate) files: usize,
    /// Texts: of their own, or read off them.
    pub(crate) texts: usize,
}

impl Extent {
    /// Of the files of a directory alone.
    pub(crate) fn of_files(directory: &Directory) -> Extent {
        let texts = directory.readable().into_iter().filter(|file| !file.text.trim().is_empty());
        Extent { files: directory.originals().count(), texts: texts.count() }
    }

    /// Of a directory with everything below it; none if some of its children do not say.
    pub(crate) fn of(directory: &Directory) -> Option<Extent> {
        let mut all = Extent::of_files(directory);
        for child in &directory.children {
            let record = child.pinax.as_ref()?;
            let of_child = match record.extent.as_deref() {
                Some(extent) => Extent::parse(extent)?,
                None if record.is_minimal() => Extent::default(),
                None => return None,
            };
            all.files += of_child.files;
            all.texts += of_child.texts;
        }
        Some(all)
    }

    /// As a record has it.
    pub(crate) fn parse(text: &str) -> Option<Extent> {
        let (files, texts) = match text.split_once(", ") {
            Some((files, texts)) => (files, texts.strip_suffix(" with text")?.parse().ok()?),
            None => (text, 0),
        };
        let files = files.strip_suffix("s").unwrap_or(files).strip_suffix(" file")?.parse().ok()?;
        Some(Extent { files, texts })
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", many(self.files, "file"))?;
        if self.texts > 0 { write!(f, ", {} with text", self.texts) } else { Ok(()) }
    }
}

/// `1 file`, `2 files`.
pub(crate) fn many(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_is_read_as_it_is_written() {
        for extent in [
            Extent { files: 1, texts: 0 },
            Extent { files: 1, texts: 1 },
            Extent { files: 154, texts: 60 },
            Extent { files: 2, texts: 5 },
        ] {
            assert_eq!(Extent::parse(&extent.to_string()), Some(extent), "{extent}");
        }
        for text in ["", "many files", "3 boxes", "3 files, some with text"] {
            assert_eq!(Extent::parse(text), None, "{text}");
        }
    }
}
