//! Sentences of a text: whole ones, without headings, lists of links and other scraps.

use super::language::{Words, is_unmarked, is_unspaced};
use std::collections::BTreeSet;
use unicode_segmentation::UnicodeSegmentation;

/// One sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sentence {
    /// As it is written, with single spaces.
    pub(super) text: String,
    /// What its telling words have in common with others.
    pub(super) stems: BTreeSet<String>,
}

/// Characters of a sentence whose end is not marked, at least.
const PHRASE_CHARS: usize = 40;

/// Words that end with a full stop in the middle of a sentence.
const ABBREVIATIONS: [&str; 40] = [
    "mr", "mrs", "ms", "dr", "prof", "st", "vs", "etc", "e.g", "i.e", "fig", "no", "inc", "ltd", "jr", "sr",
    "z.b", "d.h", "u.a", "bzw", "ca", "nr", "abs", "usw", "vgl", "hrsg", "m", "mme", "mlle", "p", "pp", "av",
    "cf", "ex", "env", "art", "vol", "ed", "approx", "dept",
];

/// Words that an item of a list has at least, so that it says something.
const ITEM_WORDS: usize = 4;
/// And how many of them are others.
const OTHER_WORDS: usize = 3;
/// Letters of one without spaces between its words.
const ITEM_LETTERS: usize = 8;
/// Words of a sentence or an item at most.
const MOST_WORDS: usize = 60;

/// The whole sentences of `text`, in order, each once.
pub(super) fn split(text: &str, words: &Words) -> Vec<Sentence> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for text in whole(text) {
        let stems = words.stems(&text);
        if stems.len() >= 3 && seen.insert(stems.clone()) {
            found.push(Sentence { text, stems });
        }
    }
    found
}

/// The same, also those whose words say little.
pub(super) fn of_any_words(text: &str, words: &Words) -> Vec<Sentence> {
    each_once(whole(text), words)
}

/// Lines of `text` that are no sentences and yet say something, in order, each once.
pub(super) fn items(text: &str, words: &Words) -> Vec<Sentence> {
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    each_once(lines.filter(|line| is_item(line)), words)
}

fn each_once(texts: impl Iterator<Item = String>, words: &Words) -> Vec<Sentence> {
    let mut seen = BTreeSet::new();
    let new = texts.filter(|text| seen.insert(text.to_lowercase()));
    new.map(|text| Sentence { stems: words.stems(&text), text }).collect()
}

fn whole(text: &str) -> impl Iterator<Item = String> {
    text.lines().flat_map(sentences_of).filter(|text| is_whole(text))
}

fn is_item(line: &str) -> bool {
    if line.contains(is_unspaced) {
        return line.chars().filter(|c| is_unspaced(*c)).count() >= ITEM_LETTERS;
    }
    let words: Vec<String> = line.unicode_words().map(str::to_lowercase).collect();
    let others: BTreeSet<&String> = words.iter().collect();
    (ITEM_WORDS..=MOST_WORDS).contains(&words.len()) && others.len() >= OTHER_WORDS
}

/// The sentences of one line, not torn apart behind abbreviations and single letters, nor within addresses and formulas.
fn sentences_of(line: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    // What stands between a piece and the one that it belongs to.
    let mut joint = None;
    let mut pieces = line.split_sentence_bounds().peekable();
    while let Some(piece) = pieces.next() {
        if piece.contains(is_unmarked) {
            out.extend(phrases(piece));
            joint = None;
            continue;
        }
        let goes_on = pieces.peek().is_some_and(|next| is_torn(piece, next));
        let piece = piece.split_whitespace().collect::<Vec<_>>().join(" ");
        let ends_short = ends_with_abbreviation(&piece);
        match out.last_mut().zip(joint) {
            Some((before, joint)) => {
                before.push_str(joint);
                before.push_str(&piece);
            }
            None => out.push(piece),
        }
        joint = match (goes_on, ends_short) {
            (true, _) => Some(""),
            (false, true) => Some(" "),
            (false, false) => None,
        };
    }
    out.retain(|text| text.contains(char::is_alphanumeric));
    out
}

/// Whether a mark between two pieces ends no sentence: what comes right behind it begins none, as in `/find?q=1` and `a != b`.
fn is_torn(piece: &str, next: &str) -> bool {
    piece.ends_with(['?', '!']) && !next.starts_with(|c: char| c.is_uppercase() || is_unspaced(c))
}

/// Parts of a text that says with spaces alone where one ends: as many as are as long as a sentence.
fn phrases(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for phrase in text.split_whitespace() {
        match out.last_mut().filter(|before| before.chars().count() < PHRASE_CHARS) {
            Some(before) => {
                before.push(' ');
                before.push_str(phrase);
            }
            None => out.push(phrase.to_owned()),
        }
    }
    out
}

fn ends_with_abbreviation(piece: &str) -> bool {
    let Some(before) = piece.trim_end().strip_suffix('.') else { return false };
    let last = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    let is_initial = last.chars().count() == 1 && last.chars().all(char::is_uppercase);
    let is_day = !last.is_empty() && last.len() <= 2 && last.bytes().all(|b| b.is_ascii_digit());
    is_initial || is_day || ABBREVIATIONS.contains(&last.to_lowercase().as_str())
}

/// Begins and ends like a sentence, and is neither too short to say anything nor too long to be one.
fn is_whole(text: &str) -> bool {
    let ended = text.trim_end_matches(['"', '\'', '”', '’', '»', '“', ')', ']', ' ']);
    let marked = ended.ends_with(['.', '!', '?', '…', '。', '！', '？', '။', '។']) && !ended.ends_with("...");
    let ends = marked || (text.contains(is_unmarked) && text.chars().count() >= PHRASE_CHARS);
    let first = text.chars().find(|c| c.is_alphanumeric());
    let begins = first.is_some_and(|c| !c.is_lowercase());
    let words = text.split_whitespace().count();
    ends && begins && (text.contains(is_unspaced) || (5..=MOST_WORDS).contains(&words))
}
