//! Text for pages, made by rule: sentences that differ, with words that can be told apart from those of menus.

/// Words of articles.
const WORDS: [&str; 48] = [
    "harbour", "glacier", "archive", "meadow", "lantern", "compass", "orchard", "granite", "current",
    "signal", "village", "canyon", "library", "engine", "sailor", "mountain", "weather", "bridge", "painter",
    "garden", "railway", "island", "market", "festival", "teacher", "machine", "forest", "river", "copper",
    "window", "letter", "museum", "captain", "doctor", "season", "winter", "summer", "stone", "paper",
    "clock", "bell", "tower", "measure", "record", "travel", "question", "answer", "morning",
];

const PATTERNS: [&str; 6] = [
    "The {a} near the {b} was rebuilt after the {c} had been found empty, and people still talk about the {d}.",
    "Nobody expected that a {a} could change the {b}, yet the {c} of that year proved how much the {d} mattered.",
    "When the {a} opened, visitors from the {b} asked about the {c}, which had never been shown beside a {d} before.",
    "In her notes, the {a} describes a {b} so large that the {c}, as she puts it, seemed to vanish behind the {d}.",
    "Most of the {a} was paid for by the {b}, although the {c} remained with the {d} until the very end.",
    "It took three years, two bridges and one {a} to bring the {b} back to the {c}, where the {d} waits today.",
];

/// Paragraph `number` of article `seed`: four or five sentences.
pub(crate) fn paragraph(seed: usize, number: usize) -> String {
    let word = |at: usize| WORDS[(seed * 31 + number * 17 + at * 7 + at * at) % WORDS.len()];
    let sentence = |at: usize| {
        let pattern = PATTERNS[(seed + number + at) % PATTERNS.len()];
        let at = at * 4;
        pattern
            .replace("{a}", word(at))
            .replace("{b}", word(at + 1))
            .replace("{c}", word(at + 2))
            .replace("{d}", word(at + 3))
    };
    (0..4 + number % 2).map(sentence).collect::<Vec<_>>().join(" ")
}

/// The first `count` paragraphs of an article.
pub(crate) fn paragraphs(seed: usize, count: usize) -> Vec<String> {
    (0..count).map(|number| paragraph(seed, number)).collect()
}

/// How much of `expected` was found and how much of `found` was expected, as one number.
pub(crate) fn token_f1(expected: &str, found: &str) -> f64 {
    let tokens = |text: &str| {
        let mut counts = std::collections::BTreeMap::<String, usize>::new();
        let lower = text.to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        for word in words.flat_map(pieces) {
            *counts.entry(word).or_default() += 1;
        }
        counts
    };
    let (expected, found) = (tokens(expected), tokens(found));
    let shared: usize =
        expected.iter().map(|(word, n)| (*n).min(found.get(word).copied().unwrap_or(0))).sum();
    let total = expected.values().sum::<usize>() + found.values().sum::<usize>();
    if total == 0 { 1.0 } else { 2.0 * shared as f64 / total as f64 }
}

/// A word, or its characters where a script has no spaces.
fn pieces(word: &str) -> Vec<String> {
    let unspaced = word.chars().any(|c| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}'));
    if unspaced { word.chars().map(String::from).collect() } else { vec![word.to_owned()] }
}
