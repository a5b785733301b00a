//! Collections: folders that became trees of entities.

use super::Hosted;
use crate::failure::Failure;

pub(crate) fn add(hosted: &mut Hosted) -> Result<(), Failure> {
    Ok(abide_collections::register(&mut hosted.registry)?)
}
