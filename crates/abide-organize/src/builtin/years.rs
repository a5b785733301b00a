//! Years: the one in a file's name, or the first in its text.

use super::units::Unit;
use abide_llm::extract::years::{in_name, said};
use std::collections::{BTreeMap, BTreeSet};

/// More years than this are put together by decade.
const SINGLE_YEARS: usize = 15;

/// Groups of at least two units of the same year, or decade if there are many years.
pub(super) fn years(units: &[Unit<'_>]) -> Vec<(Option<String>, Vec<usize>)> {
    let found: Vec<Option<u32>> = units.iter().map(year).collect();
    let different: BTreeSet<u32> = found.iter().flatten().copied().collect();
    let by_decade = different.len() > SINGLE_YEARS;
    let mut by_time: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, year) in found.iter().enumerate() {
        if let Some(year) = year {
            by_time.entry(if by_decade { year / 10 * 10 } else { *year }).or_default().push(index);
        }
    }
    let named = |year: u32| if by_decade { format!("{year}s") } else { year.to_string() };
    let groups = by_time.into_iter().filter(|(_, members)| members.len() >= 2);
    groups.map(|(year, members)| (Some(named(year)), members)).collect()
}

/// The year in a unit's name, or the first in its text.
pub(super) fn year(unit: &Unit<'_>) -> Option<u32> {
    let in_texts = || unit.files.iter().find_map(|file| said(&file.content).next()).map(|(_, year)| year);
    in_name(&unit.stem).next().or_else(in_texts)
}
