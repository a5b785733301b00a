//! How a large directory is grouped in parts that do not see each other: all by the same principle.

use super::{By, SAYS, sort, units};
use crate::contract::StrategizeResult;
use crate::file::InputFile;

const BY_SERIES: &str = "Group numbered series by their title.";
const BY_YEAR: &str = "Group by year.";

/// The principle by which a sample of a directory falls into groups. Series and years have the same names in every part; what
/// files are about does not, so parts are not told to go by it.
#[must_use]
pub fn strategize(sample: &[InputFile]) -> StrategizeResult {
    let by = sort(&units::units(sample)).map(|sorting| sorting.by);
    let guidance = match by {
        Some(By::Series) => BY_SERIES,
        Some(By::Year) => BY_YEAR,
        Some(By::Subject) | None => "",
    };
    let reasoning = match by {
        Some(By::Series) => "the sample consists of numbered series",
        Some(By::Year) => "the sample falls into years",
        Some(By::Subject) => "the sample falls into subjects, which each part finds by itself",
        None => "no groups stand out in the sample",
    };
    StrategizeResult {
        should_coordinate: !guidance.is_empty(),
        guidance: guidance.to_owned(),
        reasoning: format!("{SAYS}: {reasoning}."),
    }
}

/// The principle that guidance of ours names; none for guidance of others.
pub(super) fn read(guidance: &str) -> Option<By> {
    match guidance.trim() {
        BY_SERIES => Some(By::Series),
        BY_YEAR => Some(By::Year),
        _ => None,
    }
}
