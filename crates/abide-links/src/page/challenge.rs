//! Pages that ask whether somebody is human, in place of the page that was asked for.

/// Words in a page's own text, at most, for it to be a challenge.
const WORDS: usize = 120;

const TITLES: [&str; 12] = [
    "just a moment",
    "attention required",
    "access denied",
    "are you a robot",
    "are you human",
    "robot check",
    "security check",
    "verify you are human",
    "bot verification",
    "ddos protection",
    "pardon our interruption",
    "checking your browser",
];

/// Whether a page with this title and text stands in the way of another.
pub(super) fn is_challenge(title: Option<&str>, text: &str) -> bool {
    let title = title.unwrap_or_default().to_lowercase();
    TITLES.iter().any(|known| title.starts_with(known)) && text.split_whitespace().count() < WORDS
}
