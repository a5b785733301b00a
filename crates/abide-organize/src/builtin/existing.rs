//! New files beside groups that exist: what belongs to one is added to it.

use super::organize;
use crate::contract::ExistingGroup;
use crate::file::InputFile;
use crate::plan::{Group, Plan};
use std::collections::{BTreeMap, BTreeSet};

/// A group that exists, with some of its files.
#[derive(Debug, Clone)]
pub struct Known {
    /// The group.
    pub group: ExistingGroup,
    /// Some of its files.
    pub files: Vec<InputFile>,
}

/// Sorts new files together with those of known groups. A group of which most known files are of one known group is that
/// group; it keeps its name and what is said about it.
#[must_use]
pub fn organize_beside(files: &[InputFile], known: &[Known]) -> Plan {
    let mut all = files.to_vec();
    let mut names: BTreeSet<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let mut home: BTreeMap<String, usize> = BTreeMap::new();
    for (index, known) in known.iter().enumerate() {
        // Of two files with one name the first says enough about what is where.
        for file in known.files.iter().filter(|file| names.insert(&file.name)) {
            home.insert(file.name.clone(), index);
            all.push(file.clone());
        }
    }
    let sorted = organize(&all);
    let mut groups: Vec<Group> = Vec::new();
    for group in sorted.groups {
        let mut votes: BTreeMap<usize, usize> = BTreeMap::new();
        for index in group.files.iter().filter_map(|name| home.get(name)) {
            *votes.entry(*index).or_default() += 1;
        }
        let fresh: Vec<String> = group.files.into_iter().filter(|name| !home.contains_key(name)).collect();
        if fresh.is_empty() {
            continue;
        }
        let winner = votes.iter().max_by_key(|(index, votes)| (**votes, usize::MAX - **index));
        match winner.map(|(index, _)| &known[*index].group) {
            Some(existing) => add(&mut groups, &existing.group_name, &existing.description, fresh),
            None if fresh.len() > 1 => add(&mut groups, &group.group_name, &group.description, fresh),
            None => {}
        }
    }
    let grouped: BTreeSet<&String> = groups.iter().flat_map(|group| &group.files).collect();
    let ungrouped = files.iter().map(|file| &file.name).filter(|name| !grouped.contains(name)).cloned();
    Plan {
        ungrouped_files: ungrouped.collect(),
        reorganization_description: sorted.reorganization_description,
        groups,
    }
}

fn add(groups: &mut Vec<Group>, name: &str, description: &str, files: Vec<String>) {
    match groups.iter_mut().find(|group| group.group_name.eq_ignore_ascii_case(name)) {
        Some(group) => group.files.extend(files),
        None => {
            let (group_name, description) = (name.to_owned(), description.to_owned());
            groups.push(Group { group_name, description, files });
        }
    }
}
