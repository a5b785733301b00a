//! What is said in the directory about how it was reorganized: written anew from what every chunk says, so that the order in
//! which chunks finish does not matter.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What every chunk says, as it is kept beside the text.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Source {
    /// By batch and chunk.
    pub(super) chunks: BTreeMap<String, Chunk>,
}

/// What one chunk says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Chunk {
    /// How it was decided.
    pub(super) description: String,
    /// Its groups and what is in them.
    pub(super) groups: Vec<ChunkGroup>,
}

/// A group of a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChunkGroup {
    /// Its name.
    pub(super) name: String,
    /// Its entity.
    pub(super) pi: String,
    /// What is in it.
    pub(super) description: String,
}

impl Source {
    /// The text for people: how it was decided, and each group with what the first chunk that names it says.
    pub(super) fn text(&self) -> String {
        let mut text = "# Reorganization\n".to_owned();
        let mut said: Vec<&str> = Vec::new();
        for chunk in self.chunks.values() {
            let description = chunk.description.trim();
            if !description.is_empty() && !said.contains(&description) {
                said.push(description);
                text.push_str(&format!("\n{description}\n"));
            }
        }
        let mut groups: BTreeMap<&str, &ChunkGroup> = BTreeMap::new();
        for group in self.chunks.values().flat_map(|chunk| &chunk.groups) {
            groups.entry(&group.pi).or_insert(group);
        }
        let mut groups: Vec<&ChunkGroup> = groups.into_values().collect();
        groups.sort_by(|one, other| (&one.name, &one.pi).cmp(&(&other.name, &other.pi)));
        if !groups.is_empty() {
            text.push_str("\n## Groups\n");
        }
        for group in groups {
            text.push_str(&format!("\n### {}\n\n{}\n", group.name, group.description.trim()));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(description: &str, groups: &[(&str, &str)]) -> Chunk {
        let group = |(name, about): &(&str, &str)| ChunkGroup {
            name: (*name).to_owned(),
            pi: name.to_lowercase(),
            description: (*about).to_owned(),
        };
        Chunk { description: description.to_owned(), groups: groups.iter().map(group).collect() }
    }

    #[test]
    fn the_text_is_the_same_in_whatever_order_chunks_come() {
        let one = ("b:1".to_owned(), chunk("By sender.", &[("Letters", "From Ada."), ("Bills", "Paid.")]));
        let two = ("b:2".to_owned(), chunk("By sender.", &[("letters", "From Bob."), ("Atlas", "Maps.")]));
        let there = Source { chunks: BTreeMap::from([one.clone(), two.clone()]) };
        let back = Source { chunks: BTreeMap::from([two, one]) };
        assert_eq!(there.text(), back.text());
        assert_eq!(
            there.text(),
            "# Reorganization\n\nBy sender.\n\n## Groups\n\n### Atlas\n\nMaps.\n\n### Bills\n\nPaid.\n\n### Letters\n\nFrom Ada.\n"
        );
    }
}
