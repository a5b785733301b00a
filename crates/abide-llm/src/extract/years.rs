//! Years that names and texts say. In a name four digits are a year; in a text they may be pounds, a room or a page, so something
//! beside them must say that they are one. Rather none than a wrong one.

use super::calendar;

/// Years that papers may be from.
const POSSIBLE: std::ops::RangeInclusive<u32> = 1_400..=2_100;
/// Words that stand before a year and hardly before anything else.
const CUES: [&str; 50] = [
    "in",
    "im",
    "en",
    "nel",
    "anno",
    "ao",
    "domini",
    "year",
    "years",
    "jahr",
    "jahre",
    "jahren",
    "jahres",
    "année",
    "années",
    "año",
    "anni",
    "since",
    "seit",
    "depuis",
    "until",
    "till",
    "bis",
    "circa",
    "ca",
    "spring",
    "summer",
    "autumn",
    "winter",
    "frühjahr",
    "frühling",
    "sommer",
    "herbst",
    "printemps",
    "été",
    "automne",
    "hiver",
    "primavera",
    "estate",
    "autunno",
    "verano",
    "dated",
    "datiert",
    "daté",
    "copyright",
    "born",
    "died",
    "geboren",
    "gestorben",
    "founded",
];
/// What is counted: four digits before one of these are no year, whatever stands before them.
const COUNTED: [&str; 48] = [
    "pounds",
    "pound",
    "shillings",
    "pence",
    "guineas",
    "dollars",
    "cents",
    "francs",
    "marks",
    "mark",
    "gulden",
    "taler",
    "thaler",
    "kronen",
    "lire",
    "pesetas",
    "euro",
    "euros",
    "men",
    "women",
    "people",
    "persons",
    "soldiers",
    "copies",
    "pages",
    "seiten",
    "acres",
    "miles",
    "feet",
    "yards",
    "inches",
    "metres",
    "meters",
    "tons",
    "tonnes",
    "bushels",
    "barrels",
    "bales",
    "head",
    "volumes",
    "bände",
    "exemplare",
    "stück",
    "mann",
    "leute",
    "meter",
    "hours",
    "days",
];

/// Years in a name: four digits that stand alone.
pub fn in_name(name: &str) -> impl Iterator<Item = u32> {
    words(name).filter_map(|(_, word)| year(word))
}

/// Years that a text says to be years, with where they stand.
pub fn said(text: &str) -> impl Iterator<Item = (usize, u32)> {
    let words: Vec<(usize, &str)> = words(text).collect();
    let found: Vec<(usize, u32)> = (0..words.len())
        .filter_map(|nth| {
            let (at, word) = words[nth];
            year(word).filter(|_| is_said(text, &words, nth)).map(|year| (at, year))
        })
        .collect();
    found.into_iter()
}

fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let pieces = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    pieces.map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

fn number(word: &str) -> Option<u32> {
    word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok()).flatten()
}

fn year(word: &str) -> Option<u32> {
    number(word).filter(|year| word.len() == 4 && POSSIBLE.contains(year))
}

/// Whether what stands around the word says that it is a year.
fn is_said(text: &str, words: &[(usize, &str)], nth: usize) -> bool {
    let (at, word) = words[nth];
    let (before, after) = (&text[..at], &text[at + word.len()..]);
    let word_at = |nth: Option<usize>| nth.and_then(|nth| words.get(nth)).map_or("", |(_, word)| *word);
    let (last, last_but_one) = (word_at(nth.checked_sub(1)), word_at(nth.checked_sub(2)));
    let (next, next_but_one) = (word_at(nth.checked_add(1)), word_at(nth.checked_add(2)));
    let small = |word: &str, most: u32| number(word).is_some_and(|number| (1..=most).contains(&number));
    if is_date(last, last_but_one) || (is_joined(after) && small(next, 12) && small(next_but_one, 31)) {
        return true;
    }
    let line_before = before.rsplit('\n').next().unwrap_or_default().trim();
    let line_after = after.split('\n').next().unwrap_or_default().trim();
    let ends = line_after.is_empty() || line_after.starts_with(['.', ',', ';', ')', ']']);
    if COUNTED.contains(&next.to_lowercase().as_str()) || line_before.ends_with(['$', '£', '€', '#']) {
        return false;
    }
    let is_alone = line_before.is_empty() && (line_after.is_empty() || line_after.starts_with(':'));
    let is_bracketed = line_before.ends_with(['(', '[']) && line_after.starts_with([')', ']']);
    let has_place = line_before.ends_with(',') && last.starts_with(char::is_uppercase) && ends;
    is_alone || is_bracketed || has_place || is_span(word, after, next) || is_cued(last, last_but_one)
}

/// `4 March`, `March`, `March 4` or `4.3.` before it.
fn is_date(last: &str, last_but_one: &str) -> bool {
    let day = last.trim_end_matches(|c: char| c.is_alphabetic());
    let is_number = |word: &str, most: u32| number(word).is_some_and(|number| (1..=most).contains(&number));
    let is_month = |word: &str| calendar::month(word).is_some();
    is_month(last)
        || is_month(last_but_one) && is_number(day, 31)
        || is_number(last, 12) && is_number(last_but_one, 31)
        || is_number(last, 31) && is_number(last_but_one, 12)
}

/// Whether a number goes on behind it: `1887-03-04`.
fn is_joined(after: &str) -> bool {
    after.starts_with(['-', '/', '.', '–'])
}

/// `1885-1897`, `1885–97`: a later year is joined to it, or it to an earlier one.
fn is_span(word: &str, after: &str, next: &str) -> bool {
    let later = match next.len() {
        4 => year(next),
        2 => number(next)
            .filter(|short| *short > 12)
            .zip(number(word))
            .map(|(short, from)| from / 100 * 100 + short),
        _ => None,
    };
    is_joined(after) && later.zip(number(word)).is_some_and(|(to, from)| to > from)
}

fn is_cued(last: &str, last_but_one: &str) -> bool {
    let is_cue = |word: &str| CUES.contains(&word.to_lowercase().as_str());
    let is_season = |word: &str| is_cue(word) && word.chars().count() > 3;
    is_cue(last)
        || matches!(last.to_lowercase().as_str(), "of" | "des" | "de" | "del") && is_season(last_but_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_are_a_year_only_if_something_says_so() {
        for (text, expected) in [
            ("in 1887 or 1888", &[1887][..]),
            ("Berlin, den 4. März 1887. Im Jahre 1871", &[1887, 1871]),
            ("London, March 4th, 1887", &[1887]),
            ("4.3.1887 and 1887-03-04", &[1887, 1887]),
            ("Paris, 1887\n", &[1887]),
            ("1887\nThe harvest", &[1887]),
            ("the ledger (1868) of the winter of 1869", &[1868, 1869]),
            ("the war of 1870", &[]),
            ("1885-1897, 1885–97", &[1885, 1885]),
            ("Room 1815", &[]),
            ("The prize was 1750 pounds and 1640 shillings.", &[]),
            ("printed in 1750 copies", &[]),
            ("Call 1999 or 2001", &[]),
            ("page 1815, lot 1702.", &[]),
            ("12 Maria 1887", &[]),
            ("paid £1750, $1640", &[]),
        ] {
            assert_eq!(said(text).map(|(_, year)| year).collect::<Vec<_>>(), expected, "{text}");
        }
        assert_eq!(in_name("room_1815-1.jpg").collect::<Vec<_>>(), [1815]);
    }
}
