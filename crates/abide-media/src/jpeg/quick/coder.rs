//! Coefficients to bits, with codes that do not depend on the picture.

use std::io;

use super::super::bits::Writer;
use super::super::frame::torn;
use super::super::huffman::Codes;
use super::super::segments::{CODES, FRAMES, segments};
use super::transform::Block;

/// What a coefficient other than the first can be: of samples of 8 bits, none is further than 1020 from zero.
const VALUES: usize = 2_048;
/// Where an entry has its length, at most 26: a code, and behind it the bits of a value.
const LENGTH_BITS: u32 = 5;
const LENGTH: u32 = (1 << LENGTH_BITS) - 1;

/// The codes of brightness or of colour, by their symbols. An entry is a length and above it a code, with room for the
/// bits of a value, which are in the length too.
pub(super) struct Coder {
    mean: [u32; 16],
    other: [u32; 256],
}

/// How many bits each value takes, and above them the bits.
pub(super) struct Values([u16; VALUES]);

impl Values {
    pub(super) fn new() -> Values {
        Values(std::array::from_fn(|at| {
            // Negative ones are the upper half.
            let value = (at as i32) << 21 >> 21;
            let (size, bits) = sized(value);
            (bits << 4 | size) as u16
        }))
    }
}

/// How many bits a value takes, and the bits.
fn sized(value: i32) -> (u32, u32) {
    let size = 32 - value.unsigned_abs().leading_zeros();
    let bits = if value < 0 { value - 1 } else { value } as u32;
    (size, bits & ((1 << size) - 1))
}

impl Coder {
    fn of(mean: &Codes, other: &Codes) -> Coder {
        let entry = |codes: &Codes, symbol: u8| {
            let (code, length) = codes.get(symbol);
            let size = u32::from(symbol & 15);
            (u32::from(code) << (size + LENGTH_BITS)) | (u32::from(length) + size)
        };
        Coder {
            mean: std::array::from_fn(|size| entry(mean, size as u8)),
            other: std::array::from_fn(|symbol| entry(other, symbol as u8)),
        }
    }

    /// Appends a block. `before` is the first value of the block before it.
    #[inline]
    pub(super) fn put(&self, block: &Block, before: &mut i16, values: &Values, bits: &mut Writer) {
        let mean = block.values[0];
        let (size, step) = sized(i32::from(mean) - i32::from(*before));
        *before = mean;
        let entry = self.mean[(size & 15) as usize];
        bits.put(entry >> LENGTH_BITS | step, entry & LENGTH);

        let mut rest = block.places() & !1;
        let mut next = 1;
        while rest != 0 {
            let place = rest.trailing_zeros();
            rest &= rest - 1;
            let mut zeros = place - next;
            next = place + 1;
            while zeros > 15 {
                let entry = self.other[0xf0];
                bits.put(entry >> LENGTH_BITS, entry & LENGTH);
                zeros -= 16;
            }
            let value = values.0[block.values[place as usize & 63] as usize % VALUES];
            let entry = self.other[(zeros << 4 | u32::from(value & 15)) as usize & 255];
            bits.put(entry >> LENGTH_BITS | u32::from(value >> 4), entry & LENGTH);
        }
        if next < 64 {
            let entry = self.other[0];
            bits.put(entry >> LENGTH_BITS, entry & LENGTH);
        }
    }
}

/// Appends what stands in `jpeg` between its frame and the data of its scan, and reads the codes: for brightness, and for
/// colour if there is any.
pub(super) fn begin_scan(jpeg: &[u8], out: &mut Vec<u8>) -> io::Result<Vec<Coder>> {
    let (mut means, mut others) = (Vec::new(), Vec::new());
    for segment in segments(jpeg).skip_while(|segment| !FRAMES.contains(&segment.marker)).skip(1) {
        out.extend_from_slice(&jpeg[segment.at..segment.end()]);
        if segment.marker == CODES {
            let (head, symbols) = segment.content.split_first_chunk::<17>().ok_or_else(torn)?;
            let [class, of_length @ ..] = *head;
            let codes = Codes::new(of_length, symbols.to_vec());
            if class >> 4 == 0 { means.push(codes) } else { others.push(codes) }
        }
    }
    Ok(means.iter().zip(&others).map(|(mean, other)| Coder::of(mean, other)).collect())
}
