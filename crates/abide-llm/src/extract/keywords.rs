//! Keywords: the words that a text comes back to.

use super::language::Words;
use std::collections::BTreeMap;

const KEYWORDS: usize = 8;
const IN_TITLE: u64 = 3;

#[derive(Default)]
struct Count {
    weight: u64,
    first: usize,
    forms: BTreeMap<String, u64>,
}

/// The most important words of `text`, as they are mostly written there. One that comes once and not in the title is none.
pub(super) fn keywords(title: &str, text: &str, words: &Words) -> Vec<String> {
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    let in_title = words.telling(title).into_iter().map(|word| (word, IN_TITLE));
    let in_text = words.telling(text).into_iter().map(|word| (word, 1));
    for (at, ((form, stem), weight)) in in_title.chain(in_text).enumerate() {
        let is_name = form.chars().count() > 3 && form.chars().all(|c| c.is_alphanumeric() || c == '-');
        if !is_name || form.chars().all(|c| c.is_ascii_digit()) {
            continue;
        }
        let count = counts.entry(stem).or_insert_with(|| Count { first: at, ..Count::default() });
        count.weight += weight;
        *count.forms.entry(form.to_lowercase()).or_default() += 1;
    }
    let mut ranked: Vec<Count> = counts.into_values().filter(|count| count.weight > 1).collect();
    ranked.sort_by(|a, b| b.weight.cmp(&a.weight).then(a.first.cmp(&b.first)));
    let common = |count: Count| count.forms.into_iter().max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0)));
    ranked.into_iter().take(KEYWORDS).filter_map(common).map(|(form, _)| form).collect()
}
