//! A plan: which files go together.

use serde::{Deserialize, Serialize};

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
