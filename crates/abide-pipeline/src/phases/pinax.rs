//! Metadata: a record for each directory, from its texts and the records of its children.

use super::writing::Writing;
use crate::orders;
use crate::status::PhaseName;

pub(super) static PINAX: Writing = Writing {
    phase: PhaseName::Pinax,
    job: orders::PINAX,
    window: |options| options.batch_size_pinax,
    is_wanted: |config| config.pinax,
    unwanted: "pinax is false",
};
