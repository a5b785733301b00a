//! Streams whose bytes are damaged. The library makes of such what it can and says nothing, so that a page comes out blank.

use flate2::{Decompress, FlushDecompress, Status};
use hayro::hayro_syntax::Filter;
use hayro::hayro_syntax::object::{Array, Object, Stream};
use hayro::hayro_syntax::page::Page;

/// Bytes that are inflated at a time, and thrown away.
const PIECE: usize = 64 * 1024;

/// What is wrong with what a page is drawn from, of which at most so many bytes are looked at.
pub(super) fn wrong_with_contents(page: &Page<'_>, most: u64) -> Option<&'static str> {
    const CORRUPT: &str = "what is to be drawn on it is corrupt";
    match page.raw().get::<Object<'_>>(b"Contents".as_slice())? {
        Object::Stream(stream) => is_corrupt(&stream, most).then_some(CORRUPT),
        Object::Array(parts) => parts_are_corrupt(&parts, most).then_some(CORRUPT),
        Object::Null(_) => None,
        _ => Some("what is to be drawn on it is not there"),
    }
}

fn parts_are_corrupt(parts: &Array<'_>, most: u64) -> bool {
    parts.iter::<Object<'_>>().any(|part| matches!(&part, Object::Stream(stream) if is_corrupt(stream, most)))
}

/// Whether the deflated bytes of a stream break a rule of the coding, or are not those whose sum is behind them. One that is only
/// cut off, as many are by a byte or two, is not corrupt.
pub(super) fn is_corrupt(stream: &Stream<'_>, most: u64) -> bool {
    if stream.filters().first() != Some(&Filter::FlateDecode) {
        return false;
    }
    let data = stream.raw_data();
    let has_header =
        data.len() > 2 && data[0] & 0x0f == 8 && u16::from_be_bytes([data[0], data[1]]).is_multiple_of(31);
    let (mut rest, mut piece) = (&data[..], vec![0; PIECE]);
    let mut inflate = Decompress::new(has_header);
    while inflate.total_out() < most {
        let (taken, given) = (inflate.total_in(), inflate.total_out());
        match inflate.decompress(rest, &mut piece, FlushDecompress::None) {
            Err(_) => return true,
            Ok(Status::StreamEnd) => return false,
            Ok(Status::Ok | Status::BufError) => {
                let read = usize::try_from(inflate.total_in() - taken).unwrap_or(usize::MAX);
                rest = rest.get(read..).unwrap_or_default();
                if read == 0 && inflate.total_out() == given {
                    return false;
                }
            }
        }
    }
    false
}
