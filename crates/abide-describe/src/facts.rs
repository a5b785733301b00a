//! What can be said of a directory without a model: each fact occurs in its files or in what its children say.

use crate::dates::{self, Span};
use crate::directory::Directory;
use crate::limits::{CREATORS, SUBJECTS};
use crate::pinax::{Pinax, UNKNOWN};
use abide_llm::extract::Language;
use abide_llm::extract::mentions::{Mention, Mentions};
use std::collections::BTreeMap;

/// A name or word counts if it is in that share of the texts.
const TYPICAL: f64 = 0.2;
/// Characters of a line that may be a signature.
const SIGNATURE_CHARS: usize = 40;
/// Words of it.
const SIGNATURE_WORDS: usize = 4;
/// What may stand between the names of a person, in lower case.
const BETWEEN: [&str; 8] = ["von", "van", "de", "der", "di", "du", "la", "zu"];

/// What stands before the name in a signature, in lower case.
const CLOSINGS: [&str; 14] = [
    "dein", "deine", "ihr", "ihre", "euer", "eure", "your", "yours", "ton", "ta", "votre", "tuo", "tua",
    "signed",
];

/// What can be said of a directory.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// From when its files are.
    pub(crate) span: Option<Span>,
    /// Names that several texts have, the most common first.
    pub(crate) names: Vec<String>,
    /// Other words that they come back to.
    pub(crate) words: Vec<String>,
    /// Who signed.
    pub(crate) signers: Vec<String>,
    /// The language of most texts, if it is a known one.
    pub(crate) language: Option<&'static str>,
}

impl Facts {
    /// Of the files of a directory and what its children's records say.
    pub(crate) fn of(directory: &Directory) -> Facts {
        let mut mentions = Mentions::default();
        let mut signers = Counts::default();
        let mut languages: BTreeMap<&'static str, usize> = BTreeMap::new();
        let mut span: Option<Span> = None;
        let mut texts = 0;
        let mut see = |found: Span| span = Some(span.map_or(found, |known| known.with(found)));
        for (at, file) in directory.files.iter().enumerate() {
            if let Some(date) = dates::of_file(&file.name, &file.text) {
                see(Span::at(date));
            }
            if file.text.trim().is_empty() {
                continue;
            }
            texts += 1;
            mentions.look_at(at, &file.text);
            if let Some(signer) = signature(&file.text) {
                signers.add(signer, 1);
            }
            if let Some(code) = Language::surely_of(&file.text).and_then(Language::code) {
                *languages.entry(code).or_default() += 1;
            }
        }
        let (mut names, mut words) = (Counts::default(), Counts::default());
        let (own_names, own_words) = typical(&mentions, texts);
        own_names.iter().for_each(|(name, times)| names.add(name, *times));
        own_words.iter().for_each(|(word, times)| words.add(word, *times));
        let records = directory.children.iter().filter_map(|child| child.pinax.as_ref());
        for record in records.filter(|record| !record.is_minimal()) {
            if let Some(found) = Span::parse(&record.created) {
                see(found);
            }
            record.creator.iter().filter(|name| *name != UNKNOWN).for_each(|name| signers.add(name, 1));
            record.subjects.iter().for_each(|subject| words.add(subject, 1));
            if let Some(known) = record.language.as_deref().and_then(known_code) {
                *languages.entry(known).or_default() += 1;
            }
        }
        let all: usize = languages.values().sum();
        let most = languages.into_iter().find(|(_, times)| times * 2 > all);
        Facts {
            span,
            names: names.most(SUBJECTS),
            words: words.most(SUBJECTS),
            signers: signers.most(CREATORS),
            language: most.map(|(code, _)| code),
        }
    }

    /// The same with what a record says that was made from more than is at hand here.
    pub(crate) fn with(mut self, record: &Pinax) -> Facts {
        if let Some(found) = Span::parse(&record.created).filter(|_| !record.is_minimal()) {
            self.span = Some(self.span.map_or(found, |known| known.with(found)));
        }
        self.language = self.language.or_else(|| record.language.as_deref().and_then(known_code));
        if self.signers.is_empty() {
            self.signers = record.creator.iter().filter(|name| *name != UNKNOWN).cloned().collect();
        }
        if self.names.is_empty() && self.words.is_empty() {
            self.words.clone_from(&record.subjects);
        }
        self
    }

    /// Names and words that it is about, names first.
    pub(crate) fn subjects(&self) -> Vec<String> {
        let mut subjects: Vec<String> = Vec::new();
        let halves = self.names.iter().take(SUBJECTS / 2).chain(&self.words);
        for subject in halves {
            if subjects.len() < SUBJECTS && !subjects.iter().any(|known| known.eq_ignore_ascii_case(subject))
            {
                subjects.push(subject.clone());
            }
        }
        subjects
    }
}

/// Words by how often they come.
#[derive(Default)]
struct Counts(BTreeMap<String, usize>);

impl Counts {
    fn add(&mut self, word: &str, times: usize) {
        *self.0.entry(word.to_owned()).or_default() += times;
    }

    fn most(self, bound: usize) -> Vec<String> {
        let mut words: Vec<(String, usize)> = self.0.into_iter().collect();
        words.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
        words.into_iter().take(bound).map(|(word, _)| word).collect()
    }
}

type Weighed = Vec<(String, usize)>;

/// Names and other words that a good part of the texts have, with in how many they are.
fn typical(mentions: &Mentions, texts: usize) -> (Weighed, Weighed) {
    let enough = (TYPICAL * texts as f64).max(if texts > 2 { 2.0 } else { 1.0 });
    let mut telling: Vec<(&str, &Mention)> =
        mentions.iter().filter(|(_, mention)| mention.texts.len() as f64 >= enough).collect();
    let weight = |mention: &Mention| (mention.texts.len(), mention.times);
    telling.sort_by(|one, other| weight(other.1).cmp(&weight(one.1)).then(one.0.cmp(other.0)));
    let (names, words): (Vec<_>, Vec<_>) = telling.into_iter().partition(|(_, mention)| mention.is_name());
    let weighed = |list: Vec<(&str, &Mention)>| {
        let first = list.into_iter().take(SUBJECTS);
        first.map(|(_, mention)| (mention.written().to_owned(), mention.texts.len())).collect()
    };
    (weighed(names), weighed(words))
}

/// The last line of a text if it is nothing but a name.
fn signature(text: &str) -> Option<&str> {
    let last = text.lines().rfind(|line| !line.trim().is_empty())?.trim();
    let mut last = last.trim_start_matches(['-', '—', '–', ' ']).trim_end_matches([',', '.', ' ']);
    // "Dein Karl Müller" is signed by Karl Müller.
    let is_closing = |word: &str| CLOSINGS.contains(&word.to_lowercase().as_str());
    while let Some((_, name)) = last.split_once(' ').filter(|(first, _)| is_closing(first)) {
        last = name.trim_start();
    }
    let words: Vec<&str> = last.split_whitespace().collect();
    let is_part = |word: &&str| {
        BETWEEN.contains(&word.to_lowercase().as_str())
            || word.starts_with(char::is_uppercase)
                && word.chars().all(|c| c.is_alphabetic() || matches!(c, '.' | '-' | '\''))
    };
    let names = words.iter().filter(|word| word.starts_with(char::is_uppercase)).count();
    let fits = last.chars().count() <= SIGNATURE_CHARS && (2..=SIGNATURE_WORDS).contains(&words.len());
    (fits && names >= 2 && words.iter().all(is_part)).then_some(last)
}

/// The code of a language as texts give it.
fn known_code(code: &str) -> Option<&'static str> {
    let known = ["de", "en", "es", "fr", "it", "nl", "pt"];
    known
        .into_iter()
        .find(|known| code.split('-').next().is_some_and(|code| code.eq_ignore_ascii_case(known)))
}

/// A language's name, for people.
pub(crate) fn language_name(code: &str) -> Option<&'static str> {
    let names = [
        ("de", "German"),
        ("en", "English"),
        ("es", "Spanish"),
        ("fr", "French"),
        ("it", "Italian"),
        ("nl", "Dutch"),
        ("pt", "Portuguese"),
    ];
    names.into_iter().find(|(known, _)| *known == code).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::signature;

    #[test]
    fn a_signature_is_a_name_and_nothing_else() {
        for (text, expected) in [
            ("Dear Anna,\nall is well.\nJohn M. Weber\n", Some("John M. Weber")),
            ("…\n— Karl von Hagen,", Some("Karl von Hagen")),
            ("…\nDein Karl Müller\n", Some("Karl Müller")),
            ("…\nIhre Anna", None),
            ("all is well.", None),
            ("Yours sincerely", None),
            ("Weber", None),
            ("In the Garden of Eden", None),
        ] {
            assert_eq!(signature(text), expected, "{text}");
        }
    }
}
