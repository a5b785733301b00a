//! Languages: which one a text is in, which of its words say nothing, and what words have in common.

use rust_stemmers::{Algorithm, Stemmer};
use std::collections::{BTreeSet, HashSet};
use unicode_segmentation::UnicodeSegmentation;
use whatlang::Lang;

/// Letters that a text needs so that its language can be told for sure.
const SURE_LETTERS: usize = 50;

/// A language whose words are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// English.
    English,
    /// German.
    German,
    /// French.
    French,
    /// Spanish.
    Spanish,
    /// Italian.
    Italian,
    /// Portuguese.
    Portuguese,
    /// Dutch.
    Dutch,
    /// Any other: its words are taken as they are.
    Other,
}

impl Language {
    /// The language of `text`.
    #[must_use]
    pub fn of(text: &str) -> Language {
        whatlang::detect_lang(&start(text)).map_or(Language::Other, Language::known)
    }

    /// The language of `text`, if the text is long and clear enough to tell.
    #[must_use]
    pub fn surely_of(text: &str) -> Option<Language> {
        let start = start(text);
        if start.chars().filter(|c| c.is_alphabetic()).count() < SURE_LETTERS {
            return None;
        }
        let found = whatlang::detect(&start).filter(whatlang::Info::is_reliable);
        found.map(|found| Language::known(found.lang()))
    }

    const fn known(lang: Lang) -> Language {
        match lang {
            Lang::Eng => Language::English,
            Lang::Deu => Language::German,
            Lang::Fra => Language::French,
            Lang::Spa => Language::Spanish,
            Lang::Ita => Language::Italian,
            Lang::Por => Language::Portuguese,
            Lang::Nld => Language::Dutch,
            _ => Language::Other,
        }
    }

    /// Its code, if it is a known one.
    #[must_use]
    pub const fn code(self) -> Option<&'static str> {
        match self {
            Language::English => Some("en"),
            Language::German => Some("de"),
            Language::French => Some("fr"),
            Language::Spanish => Some("es"),
            Language::Italian => Some("it"),
            Language::Portuguese => Some("pt"),
            Language::Dutch => Some("nl"),
            Language::Other => None,
        }
    }

    fn algorithm(self) -> Option<Algorithm> {
        match self {
            Language::English => Some(Algorithm::English),
            Language::German => Some(Algorithm::German),
            Language::French => Some(Algorithm::French),
            Language::Spanish => Some(Algorithm::Spanish),
            Language::Italian => Some(Algorithm::Italian),
            Language::Portuguese => Some(Algorithm::Portuguese),
            Language::Dutch => Some(Algorithm::Dutch),
            Language::Other => None,
        }
    }

    /// What is known of its words.
    pub(super) fn words(self) -> Words {
        let stops = self.code().and_then(stop_words::lookup).unwrap_or_default();
        Words { stops: stops.iter().copied().collect(), stemmer: self.algorithm().map(Stemmer::create) }
    }
}

/// What is known of a language's words.
pub(super) struct Words {
    stops: HashSet<&'static str>,
    stemmer: Option<Stemmer>,
}

impl Words {
    /// The words of `text` that say something, each with its stem.
    pub(super) fn telling<'t>(&self, text: &'t str) -> Vec<(&'t str, String)> {
        let telling = text.unicode_words().filter_map(|word| {
            let lower = word.to_lowercase();
            let is_telling = lower.chars().count() > 2
                && lower.chars().any(char::is_alphabetic)
                && !self.stops.contains(lower.as_str());
            is_telling.then(|| (word, self.stem(&lower)))
        });
        telling.collect()
    }

    /// The stems of the words of `text` that say something.
    pub(super) fn stems(&self, text: &str) -> BTreeSet<String> {
        self.telling(text).into_iter().map(|(_, stem)| stem).chain(pairs(text)).collect()
    }

    fn stem(&self, lower: &str) -> String {
        match &self.stemmer {
            Some(stemmer) => stemmer.stem(lower).into_owned(),
            None => lower.to_owned(),
        }
    }
}

/// Pairs of letters where there is no space between words: they stand for what words have in common.
fn pairs(text: &str) -> impl Iterator<Item = String> {
    let pairs = text.chars().zip(text.chars().skip(1));
    pairs.filter(|(a, b)| is_unspaced(*a) && is_unspaced(*b)).map(|(a, b)| [a, b].iter().collect())
}

/// Whether a letter is of a script that puts no space between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese.
pub(super) fn is_unspaced(letter: char) -> bool {
    matches!(letter,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
}

/// Whether a letter is of a script that does not mark where a sentence ends either: Thai and Lao.
pub(super) fn is_unmarked(letter: char) -> bool {
    matches!(letter, '\u{e00}'..='\u{eff}')
}

/// As much of a text as says which language it is.
fn start(text: &str) -> String {
    text.chars().take(4_000).collect()
}
