//! What is looked for in a PNG before a decoder sees it.

use std::io::{self, Read};
use std::ops::Range;

use flate2::read::ZlibDecoder;

/// Bytes of a colour profile, at most: none that describes pixels has as many.
const PROFILE_BYTES: u64 = 8 << 20;
/// What is before the first chunk; in each, before its data and behind it.
const SIGNATURE: usize = 8;
const HEAD: usize = 8;
const CHECK_SUM: usize = 4;

/// The sides that the first chunk claims. What a decoder says of those that are too large, nobody understands.
pub(crate) fn sides(bytes: &[u8]) -> Option<(u32, u32)> {
    Some((number(bytes, 16)?, number(bytes, 20)?))
}

/// Takes out a profile that inflates to more than one has, or does not inflate, and all behind the first, which a PNG has not: a
/// decoder holds all of what comes of a few bytes. An image without a profile is still an image.
pub(crate) fn drop_bombs(bytes: &mut Vec<u8>) {
    let (mut at, mut kept, mut is_first) = (SIGNATURE, SIGNATURE, true);
    while let Some(chunk) = chunk(bytes, at) {
        let is_dropped = match &bytes[chunk.start + 4..chunk.start + HEAD] {
            b"iCCP" => {
                let data = &bytes[chunk.start + HEAD..chunk.end - CHECK_SUM];
                !std::mem::take(&mut is_first) || !is_profile(data)
            }
            // Profiles are before pixels, or they do not count.
            b"IDAT" => break,
            _ => false,
        };
        at = chunk.end;
        if !is_dropped {
            let length = chunk.len();
            bytes.copy_within(chunk, kept);
            kept += length;
        }
    }
    if kept < at {
        drop(bytes.drain(kept..at));
    }
}

/// The chunk at a place, if it is all there.
fn chunk(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let data = usize::try_from(number(bytes, at)?).ok()?;
    let end = at.checked_add(HEAD + CHECK_SUM)?.checked_add(data)?;
    (end <= bytes.len()).then_some(at..end)
}

/// Whether a name, how it is coded and deflated bytes are a profile that may be held.
fn is_profile(data: &[u8]) -> bool {
    let Some(name) = data.iter().position(|byte| *byte == 0) else { return false };
    let Some(deflated) = data.get(name + 2..) else { return false };
    let mut inflated = ZlibDecoder::new(deflated).take(PROFILE_BYTES + 1);
    io::copy(&mut inflated, &mut io::sink()).is_ok_and(|bytes| bytes <= PROFILE_BYTES)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}
