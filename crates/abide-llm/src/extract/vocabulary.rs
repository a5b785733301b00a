//! Words that say something, in any of the languages that papers of archives are mostly in.

use super::calendar;
use rust_stemmers::{Algorithm, Stemmer};
use std::collections::BTreeSet;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;
use whatlang::Lang;

/// How much of a text is looked at, in characters: what it is about is said early.
const LOOKED_AT: usize = 20_000;
/// Shortest word that says something, in characters.
const SHORTEST: usize = 3;

/// What every letter says, whatever it is about.
const FORMULAS: [&str; 40] = [
    "dear",
    "dearest",
    "sincerely",
    "truly",
    "faithfully",
    "regards",
    "greetings",
    "affectionate",
    "affectionately",
    "respectfully",
    "obedient",
    "sir",
    "madam",
    "lieber",
    "liebe",
    "liebes",
    "liebster",
    "geehrter",
    "geehrte",
    "verehrter",
    "verehrte",
    "grüße",
    "grüßen",
    "grüssen",
    "gruß",
    "gruss",
    "grüßt",
    "herzliche",
    "herzlichen",
    "herzlichst",
    "hochachtungsvoll",
    "cher",
    "chère",
    "chers",
    "salutations",
    "cordialement",
    "caro",
    "cara",
    "querido",
    "querida",
];

/// Words that say nothing.
static EMPTY_WORDS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    ["en", "de", "fr", "it", "es", "nl"]
        .into_iter()
        .flat_map(|language| stop_words::get(language).iter().map(|word| word.to_lowercase()))
        .collect()
});

/// The part of a text that is looked at.
#[must_use]
pub fn beginning(text: &str) -> &str {
    text.char_indices().nth(LOOKED_AT).map_or(text, |(at, _)| &text[..at])
}

/// Words of a text that say something, in lower case.
pub fn saying(text: &str) -> impl Iterator<Item = String> {
    text.unicode_words().map(str::to_lowercase).filter(|word| says_something(word))
}

/// Whether a word in lower case says something.
#[must_use]
pub fn says_something(word: &str) -> bool {
    word.chars().count() >= SHORTEST
        && word.chars().all(char::is_alphabetic)
        && !EMPTY_WORDS.contains(word)
        && !FORMULAS.contains(&word)
        && !calendar::is_named(word)
}

/// What makes stems in the language of a text.
#[must_use]
pub fn stemmer(text: &str) -> Stemmer {
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
