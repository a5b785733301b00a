//! Numbered series: names that are the same but for a number at their end.

use super::units::Unit;
use std::collections::BTreeMap;

/// Members that make a series.
const MEMBERS: usize = 3;
/// Words before the number of a page of a book.
const PAGES: [&str; 14] =
    ["p", "pg", "pp", "page", "pages", "seite", "s", "fol", "folio", "f", "bl", "blatt", "plate", "tafel"];
/// Other words that belong to a number.
const OTHERS: [&str; 6] = ["no", "nr", "scan", "sheet", "recto", "verso"];
/// Of everything, from this share on it is one book.
const BOOK: f64 = 0.8;

/// Groups of at least three units whose names differ by their last number only.
pub(super) fn series(units: &[Unit<'_>]) -> Vec<(Option<String>, Vec<usize>)> {
    let mut by_title: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, unit) in units.iter().enumerate() {
        if let Some(title) = title(&unit.written) {
            by_title.entry(title.to_lowercase()).or_default().push(index);
        }
    }
    let is_series = |members: &Vec<usize>| members.len() >= MEMBERS;
    let groups = by_title.into_values().filter(is_series);
    groups.map(|members| (title(&units[members[0]].written), members)).collect()
}

/// Whether nearly everything is pages of one book, which are not to be parted by what they happen to be about.
pub(super) fn is_one_book(units: &[Unit<'_>]) -> bool {
    let groups = series(units);
    let pages = |(_, members): &(Option<String>, Vec<usize>)| {
        members.len() as f64 >= BOOK * units.len() as f64
            && members.iter().all(|unit| has_page(&units[*unit].written))
    };
    groups.iter().any(pages)
}

/// Whether a name says that it is of a page.
fn has_page(written: &str) -> bool {
    let spaced = split_digits(written).replace(['_', '-', '.', '(', ')'], " ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let is_page = |pair: &[&str]| {
        PAGES.contains(&&*pair[0].to_lowercase()) && pair[1].bytes().all(|byte| byte.is_ascii_digit())
    };
    words.windows(2).any(is_page)
}

fn is_counter(word: &str) -> bool {
    let word = word.to_lowercase();
    PAGES.contains(&&*word) || OTHERS.contains(&&*word)
}

/// The name without the number at its end; `None` if there is no number, or nothing before it.
fn title(written: &str) -> Option<String> {
    let is_mark = |c: char| c.is_whitespace() || matches!(c, '_' | '-' | '.' | ',' | '(' | ')' | '#');
    let spaced: String = split_digits(written).chars().map(|c| if is_mark(c) { ' ' } else { c }).collect();
    let mut words: Vec<&str> = spaced.split_whitespace().collect();
    // "12 verso", "12a"
    while words.last().is_some_and(|word| is_counter(word) || is_letter(word)) {
        words.pop();
    }
    let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    let last = words.pop().filter(is_number)?;
    // A year at the end is not a number of a series.
    if last.len() == 4 && words.last().is_none_or(|word| !is_counter(word)) {
        let year: u32 = last.parse().ok()?;
        if (1_400..=2_100).contains(&year) {
            return None;
        }
    }
    while words.last().is_some_and(|word| is_counter(word)) {
        words.pop();
    }
    let has_word = words.iter().any(|word| word.chars().any(char::is_alphabetic));
    has_word.then(|| words.join(" "))
}

fn is_letter(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none()
}

/// Digits and letters apart: `p001` is `p 001`.
fn split_digits(written: &str) -> String {
    let mut spaced = String::with_capacity(written.len() + 8);
    let mut before: Option<char> = None;
    for c in written.chars() {
        if before.is_some_and(|before| {
            before.is_ascii_digit() != c.is_ascii_digit() && before.is_alphanumeric() && c.is_alphanumeric()
        }) {
            spaced.push(' ');
        }
        spaced.push(c);
        before = Some(c);
    }
    spaced
}

#[cfg(test)]
mod tests {
    use super::title;

    #[test]
    fn a_title_is_what_stands_before_the_number() {
        let cases = [
            ("Ledger A p001", Some("Ledger A")),
            ("ledger-a_012", Some("ledger a")),
            ("Minute book 3 page 017", Some("Minute book 3")),
            ("Atlas Tafel 4", Some("Atlas")),
            ("Codex 12 verso", Some("Codex")),
            ("IMG_0001", Some("IMG")),
            ("0001", None),
            ("letter", None),
            ("report 1885", None),
        ];
        for (written, expected) in cases {
            assert_eq!(title(written).as_deref(), expected, "{written}");
        }
    }
}
