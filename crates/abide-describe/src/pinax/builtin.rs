//! A record without a model: dates, names, language and words that occur in the files.

use super::names::Names;
use super::record::{Draft, Pinax};
use crate::directory::Directory;
use crate::facts::Facts;
use crate::limits::CREATORS;

/// File names that end so are pictures.
const PICTURES: [&str; 8] = [".jpg", ".jpeg", ".png", ".tif", ".tiff", ".webp", ".gif", ".heic"];

pub(crate) fn record(directory: &Directory, facts: &Facts) -> Pinax {
    let draft = Draft {
        title: Some(title(&directory.name)),
        kind: Some(kind(directory).to_owned()),
        creator: Names::of(facts.signers.iter().take(CREATORS).cloned()),
        created: facts.span.map(|span| span.to_string()),
        language: facts.language.map(str::to_owned),
        subjects: Names::of(facts.subjects.clone()),
        ..Draft::default()
    };
    Pinax::finish(draft, directory)
}

/// A name as a title: without what stands for spaces in the names of folders.
pub(crate) fn title(name: &str) -> String {
    name.split(['_', ' ']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A single picture without words is one, a single text is one, everything else is a collection.
fn kind(directory: &Directory) -> &'static str {
    let mut originals = directory.originals();
    match (originals.next(), originals.next()) {
        (Some(file), None) if directory.children.is_empty() => {
            let name = file.name.trim_end_matches(".ref.json").to_lowercase();
            let has_words = directory.files.iter().any(|file| !file.text.trim().is_empty());
            let is_picture = PICTURES.iter().any(|end| name.ends_with(end)) && !has_words;
            if is_picture { "StillImage" } else { "Text" }
        }
        _ => "Collection",
    }
}
