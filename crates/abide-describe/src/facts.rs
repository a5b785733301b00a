//! What can be said of a directory without a model: each fact occurs in its files or in what its children say.

use crate::dates::{self, Span};
use crate::directory::{Directory, Document};
use crate::extent::Extent;
use crate::limits::SUBJECTS;
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
    /// Names that several of its own texts have, the most common first.
    pub(crate) names: Vec<String>,
    /// Other words that they come back to.
    pub(crate) words: Vec<String>,
    /// Names and words that it and its children are about.
    pub(crate) subjects: Vec<String>,
    /// Who signed, the most frequent first.
    pub(crate) signers: Vec<String>,
    /// The language of most texts, if it is a known one and certainly is.
    pub(crate) language: Option<&'static str>,
}

impl Facts {
    /// Of the files of a directory and what its children's records say.
    pub(crate) fn of(directory: &Directory) -> Facts {
        let (mut mentions, mut told) = (Mentions::default(), Told::default());
        for (at, file) in directory.readable().into_iter().enumerate() {
            told.see(file);
            mentions.look_at(at, &file.text);
        }
        // A scan that others show has a name, which may have a date.
        directory.originals().filter(|file| file.text.is_empty()).for_each(|file| told.see(file));
        let (names, words) = typical(&mentions, told.texts);
        let mut subjects = Ranked::default();
        subjects.add(&both(&names, &words), told.texts);
        let records = directory.children.iter().filter_map(|child| child.pinax.as_ref());
        for record in records.filter(|record| !record.is_minimal()) {
            let texts = record.extent.as_deref().and_then(Extent::parse).map_or(1, |extent| extent.texts);
            told.hear(record, texts);
            subjects.add(&record.subjects, texts.max(1));
        }
        let language = told.language();
        let (span, signers) = (told.span, told.signers.most());
        Facts { span, names, words, subjects: subjects.most(SUBJECTS), signers, language }
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
        if self.subjects.is_empty() {
            self.subjects.clone_from(&record.subjects);
        }
        self
    }
}

/// What files and records tell, one after the other.
#[derive(Default)]
struct Told {
    span: Option<Span>,
    signers: Counts,
    /// Texts, of files and of children.
    texts: usize,
    /// How many of them are certainly in a language.
    languages: BTreeMap<&'static str, usize>,
}

impl Told {
    fn date(&mut self, found: Span) {
        self.span = Some(self.span.map_or(found, |known| known.with(found)));
    }

    fn see(&mut self, file: &Document) {
        if let Some(date) = dates::of_file(&file.name, &file.text) {
            self.date(Span::at(date));
        }
        if file.text.trim().is_empty() {
            return;
        }
        self.texts += 1;
        if let Some(signer) = signature(&file.text) {
            self.signers.add(signer);
        }
        if let Some(code) = Language::surely_of(&file.text).and_then(Language::code) {
            *self.languages.entry(code).or_default() += 1;
        }
    }

    fn hear(&mut self, record: &Pinax, texts: usize) {
        if let Some(found) = Span::parse(&record.created) {
            self.date(found);
        }
        record.creator.iter().filter(|name| *name != UNKNOWN).for_each(|name| self.signers.add(name));
        self.texts += texts;
        if let Some(known) = record.language.as_deref().and_then(known_code) {
            // More than half of its texts are; not more is known.
            *self.languages.entry(known).or_default() += texts / 2 + 1;
        }
    }

    fn language(&self) -> Option<&'static str> {
        self.languages.iter().find(|(_, sure)| **sure * 2 > self.texts).map(|(code, _)| *code)
    }
}

/// Names and words, names first, each once.
fn both(names: &[String], words: &[String]) -> Vec<String> {
    let mut both: Vec<String> = Vec::new();
    for subject in names.iter().take(SUBJECTS / 2).chain(words) {
        if both.len() < SUBJECTS && !both.iter().any(|known| known.eq_ignore_ascii_case(subject)) {
            both.push(subject.clone());
        }
    }
    both
}

/// Subjects of several sources: those count more that stand first, and those of sources with many texts.
#[derive(Default)]
struct Ranked(BTreeMap<String, (f64, String)>);

impl Ranked {
    fn add(&mut self, subjects: &[String], texts: usize) {
        for (rank, subject) in subjects.iter().enumerate() {
            let weight = texts as f64 / (rank + 1) as f64;
            let entry = self.0.entry(subject.to_lowercase()).or_insert_with(|| (0.0, subject.clone()));
            entry.0 += weight;
        }
    }

    fn most(self, bound: usize) -> Vec<String> {
        let mut subjects: Vec<(f64, String)> = self.0.into_values().collect();
        subjects.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
        subjects.into_iter().take(bound).map(|(_, subject)| subject).collect()
    }
}

/// Names by how often they come.
#[derive(Default)]
struct Counts(BTreeMap<String, usize>);

impl Counts {
    fn add(&mut self, name: &str) {
        *self.0.entry(name.to_owned()).or_default() += 1;
    }

    fn most(self) -> Vec<String> {
        let mut names: Vec<(String, usize)> = self.0.into_iter().collect();
        names.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
        names.into_iter().map(|(name, _)| name).collect()
    }
}

/// Names and other words that a good part of the texts have, the most common first.
fn typical(mentions: &Mentions, texts: usize) -> (Vec<String>, Vec<String>) {
    let enough = (TYPICAL * texts as f64).max(if texts > 2 { 2.0 } else { 1.0 });
    let mut telling: Vec<(&str, &Mention)> =
        mentions.iter().filter(|(_, mention)| mention.texts.len() as f64 >= enough).collect();
    let weight = |mention: &Mention| (mention.texts.len(), mention.times);
    telling.sort_by(|one, other| weight(other.1).cmp(&weight(one.1)).then(one.0.cmp(other.0)));
    let (names, words): (Vec<_>, Vec<_>) = telling.into_iter().partition(|(_, mention)| mention.is_name());
    let written = |list: Vec<(&str, &Mention)>| {
        list.into_iter().take(SUBJECTS).map(|(_, mention)| mention.written().to_owned()).collect()
    };
    (written(names), written(words))
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
