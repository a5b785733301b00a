//! Dates as papers write them, and as a record has them: a year, a day, or an interval `from/to` of either.

use abide_llm::extract::calendar::month;
use abide_llm::extract::years::said;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// A year, and the day in it if that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Date {
    year: u32,
    /// Month and day of it.
    day: Option<(u32, u32)>,
}

/// A time that something is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The earliest.
    pub from: Date,
    /// The latest; the same if there is one date only.
    pub to: Date,
}

/// Years that a record may have.
const POSSIBLE: std::ops::RangeInclusive<u32> = 1_000..=2_100;
/// Four digits in a text before this are rather a number of something.
const LIKELY_FROM: u32 = 1_400;
impl Date {
    /// A year.
    #[must_use]
    pub fn year(year: u32) -> Option<Date> {
        POSSIBLE.contains(&year).then_some(Date { year, day: None })
    }

    fn of_day(year: u32, month: u32, day: u32) -> Option<Date> {
        let fits = POSSIBLE.contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
        fits.then_some(Date { year, day: Some((month, day)) })
    }

    /// The year of it.
    #[must_use]
    pub const fn in_year(self) -> u32 {
        self.year
    }

    /// As a record has it: `YYYY` or `YYYY-MM-DD`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Date> {
        let mut parts = text.trim().split('-');
        let (year, month, day) = (parts.next()?, parts.next(), parts.next());
        let number = |text: &str, digits: usize| {
            (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit()))
                .then(|| text.parse::<u32>().ok())
                .flatten()
        };
        let year = number(year, 4)?;
        match (month, day, parts.next()) {
            (None, None, None) => Date::year(year),
            (Some(month), Some(day), None) => Date::of_day(year, number(month, 2)?, number(day, 2)?),
            _ => None,
        }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.day {
            None => write!(f, "{:04}", self.year),
            Some((month, day)) => write!(f, "{:04}-{month:02}-{day:02}", self.year),
        }
    }
}

impl Span {
    /// One date.
    #[must_use]
    pub const fn at(date: Date) -> Span {
        Span { from: date, to: date }
    }

    /// Both together.
    #[must_use]
    pub fn with(self, other: Span) -> Span {
        Span { from: self.from.min(other.from), to: self.to.max(other.to) }
    }

    /// As a record has it: a date, or two with a `/` between them.
    #[must_use]
    pub fn parse(text: &str) -> Option<Span> {
        match text.split_once('/') {
            None => Date::parse(text).map(Span::at),
            Some((from, to)) => {
                let (from, to) = (Date::parse(from)?, Date::parse(to)?);
                (from <= to).then_some(Span { from, to })
            }
        }
    }

    /// What a careless answer means: a well-formed one as it is, otherwise every year in it from the first to the last, so
    /// that `ca. 1885–1897` is `1885/1897` and `1887, March` is `1887`.
    #[must_use]
    pub fn read(text: &str) -> Option<Span> {
        Span::parse(text.trim()).or_else(|| {
            let years = years(text).collect::<Vec<u32>>();
            let (from, to) = (years.iter().min()?, years.iter().max()?);
            Some(Span { from: Date::year(*from)?, to: Date::year(*to)? })
        })
    }

    /// The years of it, for people.
    #[must_use]
    pub fn years(self) -> String {
        match (self.from.year, self.to.year) {
            (from, to) if from == to => from.to_string(),
            (from, to) => format!("{from} to {to}"),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.from == self.to { write!(f, "{}", self.from) } else { write!(f, "{}/{}", self.from, self.to) }
    }
}

/// The date of a file: the one in its name or, if there is none, the first in its text that is certainly one.
#[must_use]
pub fn of_file(name: &str, text: &str) -> Option<Date> {
    first_in(name, |_| true).or_else(|| {
        let years: BTreeSet<usize> = said(text).map(|(at, _)| at).collect();
        first_in(text, |at| years.contains(&at))
    })
}

/// The first date in a text: a whole one, or a year where `is_year` says that four digits are one.
fn first_in(text: &str, is_year: impl Fn(usize) -> bool) -> Option<Date> {
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let place = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    (0..words.len()).find_map(|at| {
        whole(&words[at..]).or_else(|| lone_year(words[at]).filter(|_| is_year(place(words[at]))))
    })
}

/// `1887 03 04`, `18870304`, `4 März 1887`, `March 4 1887`, `4 3 1887`.
fn whole(words: &[&str]) -> Option<Date> {
    let number = |word: &str| word.trim_end_matches(|c: char| c.is_alphabetic()).parse::<u32>().ok();
    if let [word, ..] = words
        && word.len() == 8
        && word.bytes().all(|byte| byte.is_ascii_digit())
    {
        return Date::of_day(number(&word[..4])?, number(&word[4..6])?, number(&word[6..])?);
    }
    let [first, second, third, ..] = words else { return None };
    if let (Some(year), Some(month), Some(day)) = (lone_number(first, 4), number(second), number(third)) {
        return Date::of_day(year, month, day);
    }
    let year = lone_number(third, 4)?;
    if let Some(month) = month(second) {
        return Date::of_day(year, month, number(first)?);
    }
    if let Some(month) = month(first) {
        return Date::of_day(year, month, number(second)?);
    }
    Date::of_day(year, number(second)?, number(first)?)
}

fn lone_number(word: &str, digits: usize) -> Option<u32> {
    let fits = word.len() == digits && word.bytes().all(|byte| byte.is_ascii_digit());
    fits.then(|| word.parse().ok()).flatten()
}

fn lone_year(word: &str) -> Option<Date> {
    lone_number(word, 4).filter(|year| *year >= LIKELY_FROM).and_then(Date::year)
}

/// Years in a text: four digits that stand alone, and the two after a dash if they are later and no month (`1885-97`).
fn years(text: &str) -> impl Iterator<Item = u32> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let mut before: Option<u32> = None;
    words.filter_map(move |word| {
        let year = lone_year(word.trim_end_matches('s')).map(Date::in_year);
        let short = before.zip(lone_number(word, 2).filter(|short| *short > 12));
        let short = short.map(|(before, short)| before / 100 * 100 + short);
        let later = short.filter(|later| before.is_some_and(|before| *later > before));
        before = year;
        year.or(later)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_they_are_written() {
        for (text, expected) in [
            ("1887", "1887"),
            ("1887-03-04", "1887-03-04"),
            ("1885/1897", "1885/1897"),
            ("1885-1897", "1885/1897"),
            ("ca. 1885–97", "1885/1897"),
            ("between 1897 and 1885", "1885/1897"),
            ("1880s", "1880"),
            ("March 1887", "1887"),
            ("1887-03", "1887"),
            ("1901-05", "1901"),
            ("1897/1885", "1885/1897"),
            ("1750-02-31-1", "1750"),
        ] {
            assert_eq!(Span::read(text).map(|span| span.to_string()).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "unknown", "87", "12345", "0999"] {
            assert_eq!(Span::read(text), None, "{text}");
        }
    }

    #[test]
    fn a_file_is_from_the_date_in_its_name_or_the_first_in_its_text() {
        for (name, text, expected) in [
            ("1887-03-04_Weber.txt", "written 1901", Some("1887-03-04")),
            ("letter_18870304.txt", "", Some("1887-03-04")),
            ("a.txt", "Berlin, den 4. März 1887. Im Jahre 1871", Some("1887-03-04")),
            ("a.txt", "London, March 4th, 1887", Some("1887-03-04")),
            ("a.txt", "Paris, le 4 août 1887", Some("1887-08-04")),
            ("a.txt", "4.3.1887", Some("1887-03-04")),
            ("a.txt", "in 1887 or 1888", Some("1887")),
            ("a.txt", "page 1200 of 4000", None),
            ("a.txt", "12 Maria 1887", None),
            ("a.txt", "The prize was 1750 pounds and 1640 shillings. Room 1815.", None),
            ("a.txt", "Call 1999 or 2001", None),
            ("room 1815.txt", "", Some("1815")),
        ] {
            let found = of_file(name, text).map(|date| date.to_string());
            assert_eq!(found.as_deref(), expected, "{name} {text}");
        }
    }
}
