//! Words that say something about a file.

use crate::file::InputFile;
use rust_stemmers::{Algorithm, Stemmer};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;
use whatlang::Lang;

/// How much of a text is looked at, in characters: what it is about is said early.
const LOOKED_AT: usize = 20_000;
/// A word of a name counts like so many of the text.
const NAME_COUNTS: usize = 2;
/// Shortest word that says something, in characters.
const SHORTEST: usize = 3;

/// Words that say nothing, in the languages that scans of archives are mostly in.
static EMPTY_WORDS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    ["en", "de", "fr", "it", "es", "nl"]
        .into_iter()
        .flat_map(|language| stop_words::get(language).iter().map(|word| word.to_lowercase()))
        .collect()
});

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

/// The part of a text that is looked at.
pub(super) fn beginning(text: &str) -> &str {
    text.char_indices().nth(LOOKED_AT).map_or(text, |(at, _)| &text[..at])
}

/// Words of a text that say something, in lower case.
pub(super) fn saying(text: &str) -> impl Iterator<Item = String> {
    text.unicode_words().map(str::to_lowercase).filter(|word| says_something(word))
}

/// Whether a word in lower case says something.
pub(super) fn says_something(word: &str) -> bool {
    word.chars().count() >= SHORTEST && word.chars().all(char::is_alphabetic) && !EMPTY_WORDS.contains(word)
}

/// Whether a text writes every noun with a capital.
pub(super) fn is_german(text: &str) -> bool {
    whatlang::detect_lang(text) == Some(Lang::Deu)
}

/// What makes stems in the language of a text.
fn stemmer(text: &str) -> Stemmer {
    let algorithm = match whatlang::detect_lang(text) {
        Some(Lang::Deu) => Algorithm::German,
        Some(Lang::Fra) => Algorithm::French,
        Some(Lang::Ita) => Algorithm::Italian,
        Some(Lang::Spa) => Algorithm::Spanish,
        Some(Lang::Nld) => Algorithm::Dutch,
        Some(_) | None => Algorithm::English,
    };
    Stemmer::create(algorithm)
}
