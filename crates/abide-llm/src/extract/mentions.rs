//! Names and words that several texts have in common, as they are written there.

use super::vocabulary::{beginning, says_something};
use std::collections::{BTreeMap, BTreeSet};
use unicode_segmentation::UnicodeSegmentation;
use whatlang::Lang;

/// What was mentioned, by word in lower case.
#[derive(Debug, Clone, Default)]
pub struct Mentions {
    seen: BTreeMap<String, Mention>,
}

/// A word as texts write it.
#[derive(Debug, Clone, Default)]
pub struct Mention {
    /// In which texts it is.
    pub texts: BTreeSet<usize>,
    /// How often it is written.
    pub times: usize,
    as_name: usize,
    written: BTreeMap<String, usize>,
}

impl Mentions {
    /// Looks at the beginning of a text; `text` is what it is counted as, and may be given again for more of the same.
    pub fn look_at(&mut self, text: usize, content: &str) {
        let content = beginning(content);
        // German writes every noun with a capital.
        let capitals_tell = whatlang::detect_lang(content) != Some(Lang::Deu);
        for sentence in content.unicode_sentences() {
            for (place, word) in sentence.unicode_words().enumerate() {
                let lower = word.to_lowercase();
                if !says_something(&lower) {
                    continue;
                }
                let seen = self.seen.entry(lower).or_default();
                seen.texts.insert(text);
                seen.times += 1;
                seen.as_name += usize::from(
                    capitals_tell && place > 0 && word.chars().next().is_some_and(char::is_uppercase),
                );
                *seen.written.entry(word.to_owned()).or_default() += 1;
            }
        }
    }

    /// What was mentioned, by word in lower case.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Mention)> {
        self.seen.iter().map(|(word, mention)| (word.as_str(), mention))
    }
}

impl Mention {
    /// Whether it is mostly written with a capital in the middle of a sentence.
    #[must_use]
    pub const fn is_name(&self) -> bool {
        self.as_name * 2 > self.times
    }

    /// As it is mostly written.
    #[must_use]
    pub fn written(&self) -> &str {
        let most = self.written.iter().max_by(|one, other| one.1.cmp(other.1).then(other.0.cmp(one.0)));
        most.map_or("", |(written, _)| written.as_str())
    }
}
