//! Names: made safe, and matched with what a model wrote instead of them.

use std::collections::{BTreeMap, BTreeSet};

/// Characters that no directory name should have.
const UNSAFE: [char; 9] = ['/', '\\', ':', '*', '?', '"', '<', '>', '|'];
/// Longest group name, in bytes.
const NAME_BYTES: usize = 120;
/// A name that is a prefix of another must be at least this much of it.
const PREFIX_SHARE: f64 = 0.6;
/// Least share of common words.
const WORDS_SHARE: f64 = 0.7;
/// By how much the best must be ahead of the second.
const AHEAD: f64 = 0.1;
/// What a name may end in without being another name.
const IMAGE_EXTENSIONS: [&str; 8] = [".jpg", ".jpeg", ".png", ".gif", ".tiff", ".tif", ".bmp", ".webp"];

/// The name without what a directory name must not have; `None` if nothing is left.
#[must_use]
pub fn safe(name: &str) -> Option<String> {
    let replaced: String =
        name.chars().map(|c| if UNSAFE.contains(&c) { '-' } else { c }).filter(|c| !c.is_control()).collect();
    let words = replaced.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut end = words.len().min(NAME_BYTES);
    while !words.is_char_boundary(end) {
        end -= 1;
    }
    // A leading dot hides a directory, a trailing one is lost on some systems.
    let trimmed = words[..end].trim_matches(['.', ' ']);
    (!trimmed.trim_matches('-').is_empty()).then(|| trimmed.to_owned())
}

/// A file's name as it is compared: case, extensions of images and of references, and runs of white space do not count.
#[must_use]
pub fn plain(name: &str) -> String {
    let lower = name.to_lowercase();
    let lower = lower.trim();
    let stem = lower.strip_suffix(".ref.json").unwrap_or(lower);
    let stem = IMAGE_EXTENSIONS.iter().find_map(|extension| stem.strip_suffix(extension)).unwrap_or(stem);
    stem.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The numbers in a name, in order of size, without leading zeros.
fn numbers(plain: &str) -> Vec<&str> {
    let digits = plain.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty());
    let mut numbers: Vec<&str> = digits.map(|run| run.trim_start_matches('0')).collect();
    numbers.sort_unstable();
    numbers
}

fn words(plain: &str) -> BTreeSet<&str> {
    let ends = |c: char| c.is_whitespace() || matches!(c, '_' | '-' | '.');
    plain.split(ends).filter(|word| !word.is_empty()).collect()
}

fn common_share(one: &BTreeSet<&str>, other: &BTreeSet<&str>) -> f64 {
    let common = one.intersection(other).count() as f64;
    let all = one.union(other).count() as f64;
    if all == 0.0 { 1.0 } else { common / all }
}

/// Finds out which files are meant by names that are not quite theirs. One file is meant by at most one name, numbers must
/// agree, and where two files fit about equally well none is meant: rather no answer than a guess.
#[derive(Debug)]
pub struct Matcher<'a> {
    originals: Vec<Original<'a>>,
    meant: BTreeMap<String, Option<usize>>,
}

#[derive(Debug)]
struct Original<'a> {
    name: &'a str,
    plain: String,
    claimed: bool,
}

impl<'a> Matcher<'a> {
    /// A matcher for these files and everything that was written about them.
    pub fn new(
        originals: impl IntoIterator<Item = &'a str>,
        written: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let originals: Vec<Original<'a>> =
            originals.into_iter().map(|name| Original { name, plain: plain(name), claimed: false }).collect();
        let mut matcher = Matcher { originals, meant: BTreeMap::new() };
        let written: BTreeSet<&str> = written.into_iter().collect();
        let mut left = Vec::new();
        for name in written {
            match matcher.originals.iter().position(|original| original.name == name) {
                Some(index) => matcher.claim(name, index),
                None => left.push(name),
            }
        }
        for step in [Matcher::by_plain_name, Matcher::by_beginning, Matcher::by_words] {
            left = matcher.match_all(left, step);
        }
        for name in left {
            matcher.meant.insert(name.to_owned(), None);
        }
        matcher
    }

    /// The file that is meant by a name that was given to [`Matcher::new`].
    #[must_use]
    pub fn meant(&self, written: &str) -> Option<&'a str> {
        self.meant.get(written).copied().flatten().map(|index| self.originals[index].name)
    }

    fn claim(&mut self, written: &str, index: usize) {
        self.originals[index].claimed = true;
        self.meant.insert(written.to_owned(), Some(index));
    }

    /// Claims what a step finds and no other name finds as well. Gives what is left.
    fn match_all<'n>(&mut self, names: Vec<&'n str>, step: fn(&Self, &str) -> Option<usize>) -> Vec<&'n str> {
        let found: Vec<Option<usize>> = names.iter().map(|name| step(self, &plain(name))).collect();
        let mut left = Vec::new();
        for (name, index) in names.iter().zip(&found) {
            let is_alone = |index| found.iter().filter(|other| **other == Some(index)).count() == 1;
            match index {
                Some(index) if is_alone(*index) => self.claim(name, *index),
                Some(_) | None => left.push(*name),
            }
        }
        left
    }

    fn free(&self) -> impl Iterator<Item = (usize, &Original<'a>)> {
        self.originals.iter().enumerate().filter(|(_, original)| !original.claimed)
    }

    fn by_plain_name(&self, written: &str) -> Option<usize> {
        only(self.free().filter(|(_, original)| original.plain == written))
    }

    fn by_beginning(&self, written: &str) -> Option<usize> {
        let fits = |one: &str, other: &str| {
            let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
            long.starts_with(short) && short.len() as f64 >= PREFIX_SHARE * long.len() as f64
        };
        let numbers_of = numbers(written);
        only(
            self.free().filter(|(_, original)| {
                fits(&original.plain, written) && numbers(&original.plain) == numbers_of
            }),
        )
    }

    fn by_words(&self, written: &str) -> Option<usize> {
        let (words_of, numbers_of) = (words(written), numbers(written));
        let mut scored: Vec<(f64, usize)> = self
            .free()
            .filter(|(_, original)| numbers(&original.plain) == numbers_of)
            .map(|(index, original)| (common_share(&words(&original.plain), &words_of), index))
            .filter(|(score, _)| *score >= WORDS_SHARE)
            .collect();
        scored.sort_by(|one, other| other.0.total_cmp(&one.0));
        match scored[..] {
            [(_, index)] => Some(index),
            [(best, index), (second, _), ..] if best - second >= AHEAD => Some(index),
            _ => None,
        }
    }
}

fn only<'x, T: 'x>(mut found: impl Iterator<Item = (usize, T)>) -> Option<usize> {
    let (index, _) = found.next()?;
    found.next().is_none().then_some(index)
}
