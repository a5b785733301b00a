//! Descriptions: how many files, from when, which names and words; each fact occurs in the files.

use super::units::Unit;
use super::{words, years};
use std::collections::{BTreeMap, BTreeSet};
use unicode_segmentation::UnicodeSegmentation;

/// Names and words that are mentioned.
const MENTIONED: usize = 4;
/// A name or word is typical if that share of the group's units have it.
const TYPICAL: f64 = 0.5;

/// What a group is about.
pub(super) struct About {
    files: usize,
    years: Option<(u32, u32)>,
    /// Written with a capital in the middle of sentences.
    names: Vec<String>,
    words: Vec<String>,
}

/// A word as units write it.
#[derive(Default)]
struct Seen {
    units: BTreeSet<usize>,
    as_name: usize,
    times: usize,
    written: BTreeMap<String, usize>,
}

impl About {
    pub(super) fn of(members: &[&Unit<'_>], all: &[Unit<'_>]) -> About {
        let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
        for (index, unit) in members.iter().enumerate() {
            for file in &unit.files {
                look_at(words::beginning(&file.content), index, &mut seen);
            }
            look_at(&unit.written.replace(['_', '-'], " "), index, &mut seen);
        }
        let years: Vec<u32> = members.iter().filter_map(|unit| years::year(unit)).collect();
        let span = years.iter().min().copied().zip(years.iter().max().copied());
        let files = members.iter().map(|unit| unit.files.len()).sum();
        let (names, words) = typical(&seen, members.len(), all);
        About { files, years: span, names, words }
    }

    /// A short name.
    pub(super) fn name(&self) -> String {
        let mut parts: Vec<&str> = self.names.iter().chain(&self.words).take(2).map(String::as_str).collect();
        if parts.is_empty() {
            parts.push("Group");
        }
        let words: Vec<String> = parts.into_iter().map(capital).collect();
        words.join(" ")
    }

    /// A sentence or two.
    pub(super) fn sentence(&self) -> String {
        let mut sentence = format!("{} files", self.files);
        match self.years {
            Some((first, last)) if first == last => sentence.push_str(&format!(", {first}")),
            Some((first, last)) => sentence.push_str(&format!(", {first} to {last}")),
            None => {}
        }
        sentence.push('.');
        for (what, list) in [("Names", &self.names), ("Words", &self.words)] {
            if !list.is_empty() {
                sentence.push_str(&format!(" {what}: {}.", list.join(", ")));
            }
        }
        sentence
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn look_at(text: &str, unit: usize, seen: &mut BTreeMap<String, Seen>) {
    let capitals_tell = !words::is_german(text);
    for sentence in text.unicode_sentences() {
        for (place, word) in sentence.unicode_words().enumerate() {
            let lower = word.to_lowercase();
            if !words::says_something(&lower) {
                continue;
            }
            let seen = seen.entry(lower).or_default();
            seen.units.insert(unit);
            seen.times += 1;
            seen.as_name += usize::from(
                capitals_tell && place > 0 && word.chars().next().is_some_and(char::is_uppercase),
            );
            *seen.written.entry(word.to_owned()).or_default() += 1;
        }
    }
}

/// Names and other words that most units of the group have and few others do, the most telling first.
fn typical(seen: &BTreeMap<String, Seen>, members: usize, all: &[Unit<'_>]) -> (Vec<String>, Vec<String>) {
    let mut telling: Vec<(f64, &Seen, &str)> = seen
        .iter()
        .filter(|(_, seen)| seen.units.len() as f64 >= TYPICAL * members as f64)
        .map(|(word, seen)| {
            let everywhere =
                all.iter().filter(|unit| unit.mentioned.contains(word)).count().max(seen.units.len());
            (seen.units.len() as f64 * (1.0 + all.len() as f64 / everywhere as f64).ln(), seen, word.as_str())
        })
        .collect();
    telling.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.2.cmp(other.2)));
    let (mut names, mut words) = (Vec::new(), Vec::new());
    for (_, seen, word) in telling {
        let list = if seen.as_name * 2 > seen.times { &mut names } else { &mut words };
        let most = seen.written.iter().max_by(|one, other| one.1.cmp(other.1).then(other.0.cmp(one.0)));
        if list.len() < MENTIONED {
            list.push(most.map_or(word, |(written, _)| written.as_str()).to_owned());
        }
    }
    (names, words)
}
