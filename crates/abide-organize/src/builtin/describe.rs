//! Descriptions: how many files, from when, which names and words; each fact occurs in the files.

use super::units::Unit;
use super::years;
use abide_llm::extract::mentions::{Mention, Mentions};

/// Names and words that are mentioned.
const MENTIONED: usize = 4;
/// A name or word is typical if that share of the group's units have it.
const TYPICAL: f64 = 0.5;

/// What a group is about.
pub(super) struct About {
    files: usize,
    years: Option<(u32, u32)>,
    /// Words that the names of all files have, and no others do.
    titles: Vec<String>,
    /// Written with a capital in the middle of sentences.
    names: Vec<String>,
    words: Vec<String>,
}

impl About {
    pub(super) fn of(members: &[&Unit<'_>], all: &[Unit<'_>]) -> About {
        let mut seen = Mentions::default();
        for (index, unit) in members.iter().enumerate() {
            for file in &unit.files {
                seen.look_at(index, &file.content);
            }
            seen.look_at(index, &unit.written.replace(['_', '-'], " "));
        }
        let years: Vec<u32> = members.iter().filter_map(|unit| years::year(unit)).collect();
        let span = years.iter().min().copied().zip(years.iter().max().copied());
        let files = members.iter().map(|unit| unit.files.len()).sum();
        let (names, words) = typical(&seen, members.len(), all);
        About { files, years: span, titles: titles(members, all), names, words }
    }

    /// A short name.
    pub(super) fn name(&self) -> String {
        let mentioned = || self.names.iter().chain(&self.words).take(2);
        let mut parts: Vec<&str> = match self.titles.as_slice() {
            [] => mentioned().map(String::as_str).collect(),
            titles => titles.iter().map(String::as_str).collect(),
        };
        if parts.is_empty() {
            parts.push("Group");
        }
        capitals(parts.into_iter())
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

/// The words by which whoever named the files told the group from the rest, in the order of the first name.
pub(super) fn titles(members: &[&Unit<'_>], all: &[Unit<'_>]) -> Vec<String> {
    let everywhere: Vec<Vec<String>> = all.iter().map(name_words).collect();
    let tells = |word: &String| {
        let having = everywhere.iter().filter(|words| words.contains(word)).count();
        members.iter().all(|unit| name_words(unit).contains(word)) && having == members.len()
    };
    let mut titles: Vec<String> = members.first().map(|unit| name_words(unit)).unwrap_or_default();
    titles.retain(tells);
    titles.dedup();
    titles.truncate(3);
    titles
}

/// The words of a unit's name, in lower case.
pub(super) fn name_words(unit: &Unit<'_>) -> Vec<String> {
    const LETTERS: usize = 3;
    let words = unit.stem.split(|c: char| !c.is_alphabetic());
    words.filter(|word| word.chars().count() >= LETTERS).map(str::to_owned).collect()
}

/// Words, each with a capital.
pub(super) fn capitals<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(capital).collect::<Vec<_>>().join(" ")
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Names and other words that most units of the group have and few others do, the most telling first.
fn typical(seen: &Mentions, members: usize, all: &[Unit<'_>]) -> (Vec<String>, Vec<String>) {
    let mut telling: Vec<(f64, &Mention, &str)> = seen
        .iter()
        .filter(|(_, seen)| seen.texts.len() as f64 >= TYPICAL * members as f64)
        .map(|(word, seen)| {
            let everywhere =
                all.iter().filter(|unit| unit.mentioned.contains(word)).count().max(seen.texts.len());
            (seen.texts.len() as f64 * (1.0 + all.len() as f64 / everywhere as f64).ln(), seen, word)
        })
        .collect();
    telling.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.2.cmp(other.2)));
    let (mut names, mut words) = (Vec::new(), Vec::new());
    for (_, seen, _) in telling {
        let list = if seen.is_name() { &mut names } else { &mut words };
        if list.len() < MENTIONED {
            list.push(seen.written().to_owned());
        }
    }
    (names, words)
}
