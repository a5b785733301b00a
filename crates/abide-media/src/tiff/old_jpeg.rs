//! JPEG of the old style (compression 6), as scanners wrote it: a whole JPEG somewhere in the file, which strips may be parts of.

use super::directory::{Directory, Reader};
use super::layout::{CHUNKS, Chunk};
use crate::error::MediaError;

/// How this coding is numbered.
pub(super) const COMPRESSION: u64 = 6;

/// The JPEG that a page is, if it is one and not tables and strips apart, which nobody agreed on how to put together.
pub(super) fn whole(reader: &Reader<'_>, directory: &Directory) -> Result<Option<Chunk>, MediaError> {
    let is_old = reader.number(directory, 259)? == Some(COMPRESSION);
    let in_planes = reader.number(directory, 284)? == Some(2);
    let Some(at) = reader.number(directory, 513)?.filter(|_| is_old && !in_planes) else { return Ok(None) };
    if reader.input.read(at, 2)? != [0xff, 0xd8] {
        return Ok(None);
    }
    // Its length is left out, or is that of what is before the strips.
    let strips =
        reader.numbers(directory, 273, CHUNKS)?.into_iter().zip(reader.numbers(directory, 279, CHUNKS)?);
    let ends = strips.filter(|(strip, _)| *strip >= at).map(|(strip, bytes)| strip.saturating_add(bytes));
    let said = reader.number(directory, 514)?.map(|bytes| at.saturating_add(bytes));
    let end = ends.chain(said).max().unwrap_or(u64::MAX).min(reader.input.len());
    Ok(Some(Chunk { at, bytes: end - at }))
}

/// Samples of a pixel: these writers left out how many there are.
pub(super) fn samples(reader: &Reader<'_>, directory: &Directory) -> Result<u64, MediaError> {
    Ok(reader.numbers(directory, 258, 4)?.len().max(1) as u64)
}
