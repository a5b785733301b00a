//! Searching a collection: names, texts and descriptions.

use crate::collection::SourceFile;
use crate::limits::{EXCERPT_CHARS, HITS, QUERY_CHARS, READ_AT_ONCE};
use crate::text::{shown_name, text_of};
use crate::tree::{Branch, Tree};
use abide_entities::{EntityError, EntityId, EntityStore};
use abide_pipeline::FileKind;
use futures_util::{StreamExt, TryStreamExt, stream};
use icu_normalizer::ComposingNormalizerBorrowed;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Where something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// In a name.
    Name,
    /// In a text, or in what was read off an image.
    Text,
    /// In a description.
    Description,
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// In which entity.
    pub id: EntityId,
    /// Where that is in the collection.
    pub path: String,
    /// In which file; in the entity itself if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// In what of it.
    pub field: Field,
    /// What is around it.
    pub excerpt: String,
}

/// Every part and file that has all words of `query`, in whatever case, up to a bound. `known` says what became of which
/// file: what shows the same page is found once. The bool says whether there is more.
pub async fn search(
    store: &dyn EntityStore,
    tree: &Tree,
    known: &BTreeMap<String, SourceFile>,
    query: &str,
) -> Result<(Vec<Hit>, bool), EntityError> {
    let letters = |word: &str| word.chars().flat_map(folded).collect();
    let words: Vec<Vec<char>> = composed(query).split_whitespace().map(letters).collect();
    if words.is_empty() || query.chars().count() > QUERY_CHARS {
        return Err(EntityError::InvalidParams(format!(
            "a search has at least a word and at most {QUERY_CHARS} characters"
        )));
    }
    let sources = sources(known);
    let searches: Vec<_> =
        tree.branches().iter().map(|branch| of_branch(store, tree, branch, &sources, &words)).collect();
    let mut searches = stream::iter(searches).buffered(READ_AT_ONCE);
    let mut hits = Vec::new();
    while let Some(found) = searches.try_next().await? {
        hits.extend(found);
        if hits.len() > HITS {
            hits.truncate(HITS);
            return Ok((hits, true));
        }
    }
    Ok((hits, false))
}

/// One hit for each thing: what is around a word says more than a name that has it.
async fn of_branch(
    store: &dyn EntityStore,
    tree: &Tree,
    branch: &Branch,
    sources: &Sources<'_>,
    words: &[Vec<char>],
) -> Result<Vec<Hit>, EntityError> {
    let path = tree.path(&branch.entity.id);
    let hit = |file: Option<&str>, field: Field, text: &str| {
        let excerpt = excerpt(text, words)?;
        let file = file.map(str::to_owned);
        Some(Hit { id: branch.entity.id.clone(), path: path.clone(), file, field, excerpt })
    };
    let description = Tree::description(store, &branch.entity).await?;
    let described = description.and_then(|text| hit(None, Field::Description, &text));
    let mut hits: Vec<Hit> =
        described.or_else(|| hit(None, Field::Name, branch.label())).into_iter().collect();
    for thing in things(branch, sources) {
        let mut found = None;
        for component in &thing {
            let text = text_of(store, component, branch.entity.components[*component]).await?;
            found = text.and_then(|text| hit(Some(shown_name(component)), Field::Text, &text));
            if found.is_some() {
                break;
            }
        }
        let mut names = thing.iter().map(|component| shown_name(component));
        hits.extend(found.or_else(|| names.find_map(|name| hit(Some(name), Field::Name, name))));
    }
    Ok(hits)
}

/// Files that became several components, by each of these.
type Sources<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

fn sources(known: &BTreeMap<String, SourceFile>) -> Sources<'_> {
    let mut sources = Sources::new();
    for (path, file) in known.iter().filter(|(_, file)| file.made.len() > 1) {
        for component in &file.made {
            sources.entry(component).or_default().insert(path);
        }
    }
    sources
}

/// The files of a part. An image and a text of one name that were made of one file are one thing; texts come first.
fn things<'a>(branch: &'a Branch, sources: &Sources<'_>) -> Vec<Vec<&'a String>> {
    let of = |component: &str| sources.get(component);
    let is_same = |one: &str, other: &str| match (of(one), of(other)) {
        (Some(one), Some(other)) => !one.is_disjoint(other),
        (None, _) | (_, None) => false,
    };
    let mut by_stem: BTreeMap<&str, Vec<Vec<&String>>> = BTreeMap::new();
    for component in branch.files() {
        let things = by_stem.entry(stem(component)).or_default();
        match things.iter_mut().find(|thing| thing.iter().any(|other| is_same(other, component))) {
            Some(thing) => thing.push(component),
            None => things.push(vec![component]),
        }
    }
    let mut things: Vec<Vec<&String>> = by_stem.into_values().flatten().collect();
    things
        .iter_mut()
        .for_each(|thing| thing.sort_by_key(|component| FileKind::of(component) != FileKind::Text));
    things
}

/// A name as people know it, without its ending.
fn stem(component: &str) -> &str {
    let name = shown_name(component);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// What is around the first of `words` in a text that has them all.
fn excerpt(text: &str, words: &[Vec<char>]) -> Option<String> {
    let original: Vec<char> = composed(text).chars().collect();
    let mut letters = Vec::with_capacity(original.len());
    // Where each letter is in the text: some become two.
    let mut places = Vec::with_capacity(original.len());
    for (at, c) in original.iter().enumerate() {
        for letter in folded(*c) {
            letters.push(letter);
            places.push(at);
        }
    }
    let found: Option<Vec<usize>> = words.iter().map(|word| position(&letters, word)).collect();
    let at = *places.get(*found?.first()?)?;
    let from = at.saturating_sub(EXCERPT_CHARS);
    let to = (at + words[0].len() + EXCERPT_CHARS).min(original.len());
    let middle: String = original[from..to].iter().collect();
    let middle = middle.split_whitespace().collect::<Vec<_>>().join(" ");
    let (before, after) = (if from > 0 { "…" } else { "" }, if to < original.len() { "…" } else { "" });
    Some(format!("{before}{middle}{after}"))
}

/// A text whose letters with marks are one character each, as names of files are not everywhere.
fn composed(text: &str) -> Cow<'_, str> {
    ComposingNormalizerBorrowed::new_nfc().normalize(text)
}

/// A letter as it is compared: in lower case, and ß as the two that it also is written with.
fn folded(c: char) -> impl Iterator<Item = char> {
    let is_sharp = matches!(c, 'ß' | 'ẞ');
    let lower = (!is_sharp).then(|| c.to_lowercase()).into_iter().flatten();
    lower.chain(is_sharp.then_some(['s', 's']).into_iter().flatten())
}

/// Where a word is among letters.
fn position(letters: &[char], word: &[char]) -> Option<usize> {
    letters.windows(word.len().max(1)).position(|window| window == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_around_the_first_word() {
        let words = |text: &str| {
            let word = |word: &str| word.chars().flat_map(folded).collect::<Vec<char>>();
            text.split(' ').map(word).collect::<Vec<_>>()
        };
        assert_eq!(
            excerpt("The Nursery\nat Lindau", &words("lindau the")).as_deref(),
            Some("The Nursery at Lindau")
        );
        assert_eq!(excerpt("The nursery", &words("nursery orchid")), None);
        assert_eq!(excerpt("Frau Mu\u{308}ller", &words("müller")).as_deref(), Some("Frau Müller"));
        let long = format!("{} Straße {}", "x".repeat(100), "y".repeat(100));
        for written in ["straße", "STRASSE", "strasse"] {
            let found = excerpt(&long, &words(written)).unwrap();
            assert!(found.starts_with('…') && found.ends_with('…') && found.contains("Straße"), "{found}");
        }
    }
}
