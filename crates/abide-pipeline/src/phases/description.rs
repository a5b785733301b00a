//! Descriptions: a text for each directory, from its metadata, its texts and the descriptions of its children.

use super::writing::Writing;
use crate::orders;
use crate::status::PhaseName;

pub(super) static DESCRIPTION: Writing = Writing {
    phase: PhaseName::Description,
    job: orders::DESCRIBE,
    window: |options| options.batch_size_description,
    is_wanted: |config| config.describe,
    unwanted: "describe is false",
};
