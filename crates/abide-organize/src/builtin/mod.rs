//! Groups without a model: by numbered series, by what files are about, or by year.
//!
//! Deterministic: the same files give the same plan, in whatever order they come. It groups what clearly belongs together
//! and leaves the rest alone; it never makes one group of everything. Every fact in a description occurs in the files.

mod chance;
mod clusters;
mod describe;
mod existing;
mod series;
mod strategy;
mod units;
mod words;
mod years;

use crate::contract::MIN_FILES;
use crate::file::InputFile;
use crate::plan::{Group, Plan};
use strategy::Principle;
use units::Unit;

pub use existing::{Known, organize_beside};
pub use strategy::strategize;
pub use units::stem;

/// What it says about itself.
pub const SAYS: &str = "Sorted by the built-in organizer, without a language model";

/// A way to sort that worked: units of each group.
struct Sorting {
    by: By,
    groups: Vec<(Option<String>, Vec<usize>)>,
}

/// What binds the files of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Series,
    Subject,
    Name,
    Year,
}

/// Sorts files of a directory.
#[must_use]
pub fn organize(files: &[InputFile]) -> Plan {
    let units = units::units(files);
    let sorting = sort(&units);
    planned(files, &units, sorting)
}

/// Sorts a part of a large directory by the principle that [`strategize`] found for all of it; by whatever shows in it if the
/// guidance is not of ours.
#[must_use]
pub fn organize_part(files: &[InputFile], guidance: &str) -> Plan {
    let units = units::units(files);
    let sorting = match strategy::read(guidance) {
        Some(Principle::Series) => Some(Sorting { by: By::Series, groups: series::series(&units) }),
        Some(Principle::Year) => Some(Sorting { by: By::Year, groups: years::years(&units) }),
        Some(Principle::Names(names)) => {
            Some(Sorting { by: By::Name, groups: strategy::by_names(&units, &names) })
        }
        None => sort(&units),
    };
    planned(files, &units, sorting.filter(|sorting| !sorting.groups.is_empty()))
}

fn planned(files: &[InputFile], units: &[Unit<'_>], sorting: Option<Sorting>) -> Plan {
    let mut plan = match sorting {
        Some(sorting) => plan_of(files, units, &sorting),
        None => {
            let why = match files.len() {
                files if files < MIN_FILES => format!("fewer than {MIN_FILES} files are left as they are"),
                _ => "no groups stand out, so nothing was moved".to_owned(),
            };
            Plan { reorganization_description: format!("{SAYS}: {why}."), ..Plan::default() }
        }
    };
    let grouped = |file: &&InputFile| plan.groups.iter().any(|group| group.files.contains(&file.name));
    plan.ungrouped_files = files.iter().filter(|file| !grouped(file)).map(|file| file.name.clone()).collect();
    plan
}

fn sort(units: &[Unit<'_>]) -> Option<Sorting> {
    let series = series::series(units);
    if is_good(&series, units.len(), 0.6) {
        return Some(Sorting { by: By::Series, groups: series });
    }
    if series::is_one_book(units) {
        return None;
    }
    let subjects = clusters::clusters(units);
    let clear = subjects.as_ref().is_some_and(|found| found.clearness >= clusters::CLEAR);
    let years = years::years(units);
    let by_year = is_good(&years, units.len(), 0.7);
    match subjects {
        Some(found) if clear || !by_year => {
            let groups: Vec<_> = found.groups.into_iter().map(|group| (None, group)).collect();
            is_good(&groups, units.len(), 0.3).then_some(Sorting { by: By::Subject, groups })
        }
        Some(_) | None => by_year.then_some(Sorting { by: By::Year, groups: years }),
    }
}

/// At least two groups, none of everything, with that share of the units in them.
fn is_good(groups: &[(Option<String>, Vec<usize>)], units: usize, share: f64) -> bool {
    let grouped: usize = groups.iter().map(|(_, members)| members.len()).sum();
    groups.len() >= 2 && grouped as f64 >= share * units as f64
}

fn plan_of(files: &[InputFile], units: &[Unit<'_>], sorting: &Sorting) -> Plan {
    let mut groups: Vec<Group> = Vec::new();
    for (name, members) in &sorting.groups {
        let members: Vec<&Unit<'_>> = members.iter().map(|index| &units[*index]).collect();
        let about = describe::About::of(&members, units);
        let name = name.clone().unwrap_or_else(|| about.name());
        let name = unused(&groups, crate::names::safe(&name).unwrap_or_else(|| "Group".to_owned()));
        let is_in = |file: &InputFile| members.iter().any(|unit| unit.has(&file.name));
        let names = files.iter().filter(|file| is_in(file)).map(|file| file.name.clone()).collect();
        groups.push(Group { group_name: name, description: about.sentence(), files: names });
    }
    let by = match sorting.by {
        By::Series => "by numbered series",
        By::Subject => "by what the files are about",
        By::Name => "by what their names have in common",
        By::Year => "by year",
    };
    let reorganization_description = format!("{SAYS}: {by}, {} groups.", groups.len());
    Plan { groups, ungrouped_files: Vec::new(), reorganization_description }
}

fn unused(groups: &[Group], name: String) -> String {
    let is_used = |name: &str| groups.iter().any(|group| group.group_name.eq_ignore_ascii_case(name));
    if !is_used(&name) {
        return name;
    }
    let numbered = (2..).map(|n| format!("{name} {n}")).find(|numbered| !is_used(numbered));
    numbered.unwrap_or(name)
}
