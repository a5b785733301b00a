//! A summary without a model: the sentences of a text that say most of what it says, word for word.

pub mod calendar;
mod keywords;
mod language;
pub mod mentions;
mod rank;
mod sentences;
pub mod vocabulary;
pub mod years;

pub use language::Language;

use crate::limits::SENTENCES;
use sentences::Sentence;

/// The name that summaries made here carry in place of a model's.
pub const EXTRACTIVE: &str = "abide/extractive-1";

/// What stands between items of a list, which have no full stop.
const BETWEEN_ITEMS: &str = "; ";

/// How long a summary may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length {
    /// In sentences.
    pub sentences: usize,
    /// In characters.
    pub chars: usize,
}

impl Length {
    /// Three sentences, 600 characters.
    pub const SHORT: Length = Length { sentences: 3, chars: 600 };
}

/// What was found in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extract {
    /// Sentences of the text in its order, with a space between them, or items of a list with semicolons; none if it has neither.
    pub summary: Option<String>,
    /// The words that it is about, the most important first, as they are written in it.
    pub keywords: Vec<String>,
    /// The language it seems to be in.
    pub language: Language,
}

/// Ranks the sentences and words of `text`; those of `title` count more. A text whose sentences say little by themselves has them all
/// the same, and one that is a list has some of its items.
#[must_use]
pub fn summarize(title: &str, text: &str, length: Length) -> Extract {
    let language = Language::of(text);
    let words = language.words();
    let about = words.stems(title);
    let best = |mut found: Vec<Sentence>, between: &str| {
        found.truncate(SENTENCES);
        let chosen = choose(&found, &rank::order(&found, &about), length);
        (!chosen.is_empty()).then(|| chosen.join(between))
    };
    let summary = best(sentences::split(text, &words), " ")
        .or_else(|| best(sentences::of_any_words(text, &words), " "))
        .or_else(|| best(sentences::items(text, &words), BETWEEN_ITEMS));
    Extract { summary, keywords: keywords::keywords(title, text, &words), language }
}

/// The sentences of `text` that say most of what it says, each by itself, in the order of the text.
#[must_use]
pub fn telling_sentences(title: &str, text: &str, length: Length) -> Vec<String> {
    let words = Language::of(text).words();
    let mut found = sentences::split(text, &words);
    found.truncate(SENTENCES);
    let chosen = choose(&found, &rank::order(&found, &words.stems(title)), length);
    chosen.into_iter().map(str::to_owned).collect()
}

/// The best sentences that fit and do not repeat each other, in the order of the text.
fn choose<'a>(found: &'a [Sentence], order: &[usize], length: Length) -> Vec<&'a str> {
    let mut chosen: Vec<usize> = Vec::new();
    let mut chars = 0;
    for &at in order {
        if chosen.len() >= length.sentences {
            break;
        }
        let sentence = &found[at];
        let more = sentence.text.chars().count() + usize::from(!chosen.is_empty());
        let repeats = chosen.iter().any(|other| rank::overlap(&found[*other].stems, &sentence.stems) > 0.6);
        if chars + more > length.chars || repeats {
            continue;
        }
        chars += more;
        chosen.push(at);
    }
    chosen.sort_unstable();
    chosen.iter().map(|at| found[*at].text.as_str()).collect()
}
