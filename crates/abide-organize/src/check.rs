//! A model's answer, made safe to act on: what can be repaired without guessing is repaired and reported, the rest is what
//! a second question asks for.

use crate::names::{Matcher, safe};
use crate::plan::{Group, Plan};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What a model answered: a plan of which nothing is sure.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// Groups.
    pub groups: Vec<AnswerGroup>,
    /// Files that it put in none.
    pub ungrouped_files: Vec<String>,
    /// How it decided.
    pub reorganization_description: String,
}

/// A group as a model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AnswerGroup {
    /// Its name.
    pub group_name: String,
    /// What is in it.
    pub description: String,
    /// Names, more or less.
    pub files: Vec<String>,
}

/// A checked answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// What can be acted on. Files that the answer left out are ungrouped.
    pub plan: Plan,
    /// Everything that was repaired, a sentence each.
    pub warnings: Vec<String>,
    /// Files that the answer did not mention: worth a second question.
    pub missing: Vec<String>,
    /// Names that are no file's and could not be matched.
    pub foreign: Vec<String>,
    /// Why the answer is not good enough as a whole: then the plan groups nothing.
    pub faults: Vec<Fault>,
}

/// Why an answer is not good enough as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// No overall description.
    #[error("there is no overall description")]
    NoDescription,
    /// Names of files were given and none of them is one.
    #[error("none of the names is a file of the directory")]
    NothingKnown,
}

/// Checks what a model answered about `files`.
#[must_use]
pub fn check(files: &[&str], answer: &Answer) -> Checked {
    let written = answer.groups.iter().flat_map(|group| &group.files).chain(&answer.ungrouped_files);
    let written: Vec<&str> = written.map(|name| name.as_str()).filter(|name| !is_folder(name)).collect();
    let matcher = Matcher::new(files.iter().copied(), written.iter().copied());
    let mut repair =
        Repair { matcher, warnings: Vec::new(), foreign: BTreeSet::new(), renamed: BTreeSet::new() };
    let groups = repair.groups(&answer.groups);
    let ungrouped = repair.files(&answer.ungrouped_files);
    let grouped: BTreeSet<&str> = groups.values().flat_map(|group| group.files.iter().copied()).collect();
    let twice = ungrouped.iter().filter(|name| grouped.contains(**name)).count();
    if twice > 0 {
        repair
            .warnings
            .push(format!("{twice} of the files were in a group and ungrouped as well: the group counts"));
    }
    let mentioned: BTreeSet<&str> = grouped.iter().chain(&ungrouped).copied().collect();
    let missing: Vec<String> =
        files.iter().filter(|name| !mentioned.contains(**name)).map(|name| (*name).to_owned()).collect();
    if !missing.is_empty() {
        repair
            .warnings
            .push(format!("{} of the files were not mentioned: they are ungrouped", missing.len()));
    }
    let Repair { foreign, mut warnings, .. } = repair;
    if !foreign.is_empty() {
        let names: Vec<&str> = foreign.iter().map(String::as_str).collect();
        warnings.push(format!("names that are no file's were dropped: {}", names.join(", ")));
    }
    let mut faults = Vec::new();
    if answer.reorganization_description.trim().is_empty() {
        faults.push(Fault::NoDescription);
    }
    if !written.is_empty() && mentioned.is_empty() {
        faults.push(Fault::NothingKnown);
    }
    let plan = Plan {
        groups: groups.into_values().map(Merged::into_group).collect(),
        ungrouped_files: in_order(files, |name| !grouped.contains(name)),
        reorganization_description: answer.reorganization_description.trim().to_owned(),
    };
    Checked { plan, warnings, missing, foreign: foreign.into_iter().collect(), faults }
}

fn in_order(files: &[&str], keep: impl Fn(&str) -> bool) -> Vec<String> {
    files.iter().filter(|name| keep(name)).map(|name| (*name).to_owned()).collect()
}

fn is_folder(name: &str) -> bool {
    name.ends_with(['/', '\\'])
}

/// Groups of the same safe name are one.
struct Merged<'a> {
    place: usize,
    name: String,
    description: String,
    files: Vec<&'a str>,
}

impl Merged<'_> {
    fn into_group(self) -> Group {
        let files = self.files.into_iter().map(str::to_owned).collect();
        Group { group_name: self.name, description: self.description, files }
    }
}

struct Repair<'a> {
    matcher: Matcher<'a>,
    warnings: Vec<String>,
    foreign: BTreeSet<String>,
    renamed: BTreeSet<String>,
}

impl<'a> Repair<'a> {
    /// Groups by the order of their first mention.
    fn groups(&mut self, answered: &[AnswerGroup]) -> BTreeMap<usize, Merged<'a>> {
        let mut by_name: BTreeMap<String, Merged<'a>> = BTreeMap::new();
        for (place, group) in answered.iter().enumerate() {
            let files = self.files(&group.files);
            let Some(name) = self.group_name(group, place) else { continue };
            if files.is_empty() {
                self.warnings
                    .push(format!("the group {name:?} had no file of the directory: it was dropped"));
                continue;
            }
            let description = group.description.trim();
            match by_name.get_mut(&name.to_lowercase()) {
                None => {
                    let description = if description.is_empty() {
                        self.warnings.push(format!("the group {name:?} had no description"));
                        format!("{} files.", files.len())
                    } else {
                        description.to_owned()
                    };
                    by_name.insert(name.to_lowercase(), Merged { place, name, description, files });
                }
                Some(first) => {
                    self.warnings.push(format!("two groups were named {name:?}: they are one"));
                    for file in files {
                        if !first.files.contains(&file) {
                            first.files.push(file);
                        }
                    }
                }
            }
        }
        by_name.into_values().map(|merged| (merged.place, merged)).collect()
    }

    fn group_name(&mut self, group: &AnswerGroup, place: usize) -> Option<String> {
        match safe(&group.group_name) {
            Some(name) if name == group.group_name => Some(name),
            Some(name) => {
                self.warnings.push(format!("the group {:?} is named {name:?}", group.group_name));
                Some(name)
            }
            None if group.files.is_empty() => None,
            None => {
                let name = format!("Group {}", place + 1);
                self.warnings.push(format!("a group had no usable name: it is named {name:?}"));
                Some(name)
            }
        }
    }

    /// The files that are meant, each once.
    fn files(&mut self, written: &[String]) -> Vec<&'a str> {
        let mut files = Vec::new();
        for name in written {
            if is_folder(name) {
                self.warnings.push(format!("{name:?} is a directory: it was dropped"));
                continue;
            }
            let Some(meant) = self.matcher.meant(name) else {
                self.foreign.insert(name.clone());
                continue;
            };
            if meant != name && self.renamed.insert(name.clone()) {
                self.warnings.push(format!("{name:?} was taken for {meant:?}"));
            }
            if !files.contains(&meant) {
                files.push(meant);
            }
        }
        files
    }
}
