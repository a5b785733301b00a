//! Words that say something about a file.

use crate::file::InputFile;
use abide_llm::extract::vocabulary::{beginning, saying, stemmer};
use rust_stemmers::{Algorithm, Stemmer};
use std::collections::{BTreeMap, BTreeSet};

/// A word of a name counts like so many of the text.
const NAME_COUNTS: usize = 2;

/// The words of a unit by stem, with how often they occur; and as they are written.
pub(super) fn of_unit(name: &str, files: &[&InputFile]) -> (BTreeMap<String, usize>, BTreeSet<String>) {
    let mut counts = BTreeMap::new();
    let mut mentioned = BTreeSet::new();
    for file in files {
        let text = beginning(&file.content);
        let stemmer = stemmer(text);
        for word in saying(text) {
            *counts.entry(stemmer.stem(&word).into_owned()).or_default() += 1;
            mentioned.insert(word);
        }
    }
    let stemmer = Stemmer::create(Algorithm::English);
    for word in saying(&name.replace('_', " ")) {
        *counts.entry(stemmer.stem(&word).into_owned()).or_default() += NAME_COUNTS;
        mentioned.insert(word);
    }
    (counts, mentioned)
}
