//! Words of the calendar, in English, German, French, Italian and Spanish.

/// Names of months.
const MONTHS: [&[&str]; 12] = [
    &["january", "januar", "jänner", "janvier", "gennaio", "enero"],
    &["february", "februar", "février", "febbraio", "febrero"],
    &["march", "märz", "maerz", "mars", "marzo"],
    &["april", "avril", "aprile", "abril"],
    &["may", "mai", "maggio", "mayo"],
    &["june", "juni", "juin", "giugno", "junio"],
    &["july", "juli", "juillet", "luglio", "julio"],
    &["august", "août", "agosto"],
    &["september", "septembre", "settembre", "septiembre"],
    &["october", "oktober", "octobre", "ottobre", "octubre"],
    &["november", "novembre", "noviembre"],
    &["december", "dezember", "décembre", "dicembre", "diciembre"],
];
/// Names of days.
const DAYS: [&str; 30] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "montag",
    "dienstag",
    "mittwoch",
    "donnerstag",
    "freitag",
    "samstag",
    "sonnabend",
    "sonntag",
    "lundi",
    "mardi",
    "mercredi",
    "jeudi",
    "vendredi",
    "samedi",
    "dimanche",
    "lunedì",
    "martedì",
    "mercoledì",
    "giovedì",
    "venerdì",
    "sabato",
    "domenica",
    "domingo",
];

/// The number of the month that a word names or is short for.
#[must_use]
pub fn month(word: &str) -> Option<u32> {
    let lower = word.to_lowercase();
    let is_short_for = |name: &&str| lower.chars().count() >= 3 && name.starts_with(&lower);
    let at = MONTHS.iter().position(|names| names.iter().any(is_short_for))?;
    u32::try_from(at + 1).ok()
}

/// Whether a word in lower case names a month or a day: it says when, and nobody is called by it.
#[must_use]
pub fn is_named(lower: &str) -> bool {
    DAYS.contains(&lower) || MONTHS.iter().any(|names| names.contains(&lower))
}
