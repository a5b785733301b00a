//! How a large directory is grouped in parts that do not see each other: all by the same principle.

use super::units::Unit;
use super::{By, SAYS, Sorting, describe, sort, units};
use crate::contract::StrategizeResult;
use crate::file::InputFile;

const BY_SERIES: &str = "Group numbered series by their title.";
const BY_YEAR: &str = "Group by year.";
const BY_NAMES: &str = "Group by what names of files have in common: ";

/// What the parts of a directory go by.
pub(super) enum Principle {
    Series,
    Year,
    /// Words that names of files have.
    Names(Vec<String>),
}

/// The principle by which a sample of a directory falls into groups. Series and years have the same names in every part, and
/// so have subjects that show in the names of files; other subjects do not, so parts are not told to go by them.
#[must_use]
pub fn strategize(sample: &[InputFile]) -> StrategizeResult {
    let units = units::units(sample);
    let sorting = sort(&units);
    let names = sorting.as_ref().and_then(|sorting| names(&units, sorting));
    let (guidance, reasoning) = match (sorting.map(|sorting| sorting.by), names) {
        (Some(By::Series), _) => (BY_SERIES.to_owned(), "the sample consists of numbered series"),
        (Some(By::Year), _) => (BY_YEAR.to_owned(), "the sample falls into years"),
        (Some(By::Subject | By::Name), Some(names)) => {
            (format!("{BY_NAMES}{}.", names.join(", ")), "the sample falls into subjects that show in names")
        }
        (Some(By::Subject | By::Name), None) => {
            (String::new(), "the sample falls into subjects, which each part finds by itself")
        }
        (None, _) => (String::new(), "no groups stand out in the sample"),
    };
    StrategizeResult {
        should_coordinate: !guidance.is_empty(),
        guidance,
        reasoning: format!("{SAYS}: {reasoning}."),
    }
}

/// Words that tell each group from the rest by the names of its files; none if a group has no such word.
fn names(units: &[Unit<'_>], sorting: &Sorting) -> Option<Vec<String>> {
    let of_group = |(_, members): &(Option<String>, Vec<usize>)| {
        let members: Vec<&Unit<'_>> = members.iter().map(|index| &units[*index]).collect();
        Some(describe::titles(&members, units).join(" ")).filter(|title| !title.is_empty())
    };
    sorting.groups.iter().map(of_group).collect()
}

/// The principle that guidance of ours names; none for guidance of others.
pub(super) fn read(guidance: &str) -> Option<Principle> {
    match guidance.trim() {
        BY_SERIES => Some(Principle::Series),
        BY_YEAR => Some(Principle::Year),
        guidance => {
            let names = guidance.strip_prefix(BY_NAMES)?.strip_suffix('.')?;
            Some(Principle::Names(names.split(", ").map(str::to_owned).collect()))
        }
    }
}

/// Units by the first of these names that theirs has.
pub(super) fn by_names(units: &[Unit<'_>], names: &[String]) -> Vec<(Option<String>, Vec<usize>)> {
    let mut groups: Vec<(Option<String>, Vec<usize>)> =
        names.iter().map(|name| (Some(describe::capitals(name.split(' '))), Vec::new())).collect();
    for (index, unit) in units.iter().enumerate() {
        let words = describe::name_words(unit);
        let has = |name: &String| name.split(' ').all(|word| words.iter().any(|has| has == word));
        if let Some(group) = names.iter().position(has) {
            groups[group].1.push(index);
        }
    }
    groups.retain(|(_, members)| !members.is_empty());
    groups
}
