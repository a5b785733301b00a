//! A plan: which files go together.

use crate::contract::FileInput;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Files that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// A name that is safe as a directory name.
    pub group_name: String,
    /// What they are.
    pub description: String,
    /// Which they are, by name.
    pub files: Vec<String>,
}

/// Which files go together. Every file of the directory is in at least one group or ungrouped, never both.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// The groups; none is empty, no two have the same name.
    pub groups: Vec<Group>,
    /// Files that belong to no group.
    pub ungrouped_files: Vec<String>,
    /// How it was decided, for people.
    pub reorganization_description: String,
}

impl Plan {
    /// The plan without groups of files alone that an earlier run left in no group: what is as it was stays as it was.
    #[must_use]
    pub fn with_new_files(self, files: &[FileInput]) -> Plan {
        let former: BTreeSet<&str> =
            files.iter().filter(|file| file.former).map(|file| file.name.as_str()).collect();
        let has_new = |group: &Group| group.files.iter().any(|file| !former.contains(file.as_str()));
        let (groups, dropped): (Vec<Group>, Vec<Group>) = self.groups.into_iter().partition(has_new);
        let grouped: BTreeSet<&String> = groups.iter().flat_map(|group| &group.files).collect();
        let left = dropped.into_iter().flat_map(|group| group.files).filter(|file| !grouped.contains(file));
        let mut ungrouped: Vec<String> = self.ungrouped_files.into_iter().chain(left).collect();
        let mut seen = BTreeSet::new();
        ungrouped.retain(|file| seen.insert(file.clone()));
        Plan {
            groups,
            ungrouped_files: ungrouped,
            reorganization_description: self.reorganization_description,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_a_file_that_is_new() {
        let group = |name: &str, files: &[&str]| Group {
            group_name: name.to_owned(),
            description: String::new(),
            files: files.iter().map(|file| (*file).to_owned()).collect(),
        };
        let plan = Plan {
            groups: vec![group("A", &["new", "old1"]), group("B", &["old1", "old2"]), group("C", &["old2"])],
            ungrouped_files: vec!["old3".to_owned()],
            reorganization_description: String::new(),
        };
        assert_eq!(plan.clone().with_new_files(&[]), plan);
        let former =
            ["old1", "old2", "old3"].map(|name| FileInput { former: true, ..FileInput::named(name) });
        let left = plan.with_new_files(&former);
        assert_eq!(left.groups, [group("A", &["new", "old1"])]);
        assert_eq!(left.ungrouped_files, ["old3", "old2"]);
    }
}
