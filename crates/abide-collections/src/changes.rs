//! What is different in a folder from what was brought into its collection.

use crate::collection::SourceFile;
use std::collections::{BTreeMap, BTreeSet};

/// A file as it is in the folder now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its bytes.
    pub bytes: u64,
    /// When it was last changed.
    pub modified_ms: i64,
    /// Its SHA-256, if it had to be read.
    pub digest: Option<String>,
}

/// What is different.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// Files that were not there.
    pub new: BTreeSet<String>,
    /// Files with another content.
    pub edited: BTreeSet<String>,
    /// Files with another time and the same content: nothing is to be done but to remember it.
    pub touched: BTreeSet<String>,
    /// Files that are not there any more.
    pub gone: BTreeSet<String>,
}

impl Changes {
    /// Whether the collection is as the folder is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.new.is_empty() && self.edited.is_empty() && self.gone.is_empty()
    }

    /// Files that are brought into the collection, new or again.
    pub fn brought(&self) -> impl Iterator<Item = &String> {
        self.new.iter().chain(&self.edited)
    }
}

/// Files that must be read to know whether they were edited: their bytes or times are others.
pub fn doubtful<'a>(
    known: &'a BTreeMap<String, SourceFile>,
    found: &'a BTreeMap<String, Found>,
) -> impl Iterator<Item = &'a String> {
    found.iter().filter_map(|(path, found)| {
        let known = known.get(path)?;
        let same = known.bytes == found.bytes && known.modified_ms == found.modified_ms;
        (!same).then_some(path)
    })
}

/// What is different. Doubtful files have their digest.
#[must_use]
pub fn changes(known: &BTreeMap<String, SourceFile>, found: &BTreeMap<String, Found>) -> Changes {
    let mut changes = Changes::default();
    for (path, now) in found {
        let list = match known.get(path) {
            None => &mut changes.new,
            Some(before) if before.bytes == now.bytes && before.modified_ms == now.modified_ms => continue,
            Some(before) if now.digest.as_ref() == Some(&before.digest) => &mut changes.touched,
            Some(_) => &mut changes.edited,
        };
        list.insert(path.clone());
    }
    changes.gone = known.keys().filter(|path| !found.contains_key(*path)).cloned().collect();
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_in_one_list_or_none() {
        let known = |bytes, modified_ms, digest: &str| SourceFile {
            bytes,
            modified_ms,
            digest: digest.to_owned(),
            made: Vec::new(),
            at: None,
            named: BTreeMap::new(),
        };
        let found = |bytes, modified_ms, digest: Option<&str>| Found {
            bytes,
            modified_ms,
            digest: digest.map(str::to_owned),
        };
        let before = BTreeMap::from([
            ("same".to_owned(), known(1, 1, "a")),
            ("touched".to_owned(), known(1, 1, "b")),
            ("edited".to_owned(), known(1, 1, "c")),
            ("gone".to_owned(), known(1, 1, "d")),
        ]);
        let now = BTreeMap::from([
            ("same".to_owned(), found(1, 1, None)),
            ("touched".to_owned(), found(1, 2, Some("b"))),
            ("edited".to_owned(), found(2, 2, Some("x"))),
            ("new".to_owned(), found(9, 9, None)),
        ]);
        let doubtful: Vec<&String> = doubtful(&before, &now).collect();
        assert_eq!(doubtful, ["edited", "touched"]);
        let one = |name: &str| BTreeSet::from([name.to_owned()]);
        let expected =
            Changes { new: one("new"), edited: one("edited"), touched: one("touched"), gone: one("gone") };
        assert_eq!(changes(&before, &now), expected);
        assert!(changes(&before, &now).brought().eq(["new", "edited"].iter()));
    }
}
