//! A record without a model: dates, names, language and words that occur in the files.

use super::names::Names;
use super::record::{Draft, Pinax};
use crate::directory::Directory;
use crate::facts::Facts;

/// File names that end so are pictures.
const PICTURES: [&str; 8] = [".jpg", ".jpeg", ".png", ".tif", ".tiff", ".webp", ".gif", ".heic"];

pub(crate) fn record(directory: &Directory, facts: &Facts) -> Pinax {
    let draft = Draft {
        title: Some(title(&directory.name)),
        kind: Some(kind(directory).to_owned()),
        creator: Names::of(facts.signers.clone()),
        created: facts.span.map(|span| span.to_string()),
        language: facts.language.map(str::to_owned),
        subjects: Some(facts.subjects()),
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
    match directory.files.as_slice() {
        [file] if directory.children.is_empty() => {
            let name = file.name.trim_end_matches(".ref.json").to_lowercase();
            let is_picture = PICTURES.iter().any(|end| name.ends_with(end)) && file.text.trim().is_empty();
            if is_picture { "StillImage" } else { "Text" }
        }
        _ => "Collection",
    }
}
