//! Reads that do not hang on each other.
//!
//! A read that is not in memory ends the run of a turn, which begins again when it is. A turn that reads a hundred rows one
//! after the other would run a hundred times; read together, they are loaded together.

use super::projection::get;
use super::refusal::No;
use super::rows::Link;
use abide_engine::{Halt, Turn};

/// Does every read, also those behind one that is not in memory.
pub(super) fn together<T>(reads: impl Iterator<Item = Result<T, Halt<No>>>) -> Result<Vec<T>, Halt<No>> {
    let read: Vec<Result<T, Halt<No>>> = reads.collect();
    read.into_iter().collect()
}

/// Those links of these ids that there are.
pub(super) fn links<'a>(
    turn: &mut Turn<'_>,
    ids: impl Iterator<Item = &'a str>,
) -> Result<Vec<Link>, Halt<No>> {
    Ok(together(ids.map(|id| get(turn, id)))?.into_iter().flatten().collect())
}
