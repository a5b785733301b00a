//! Which scans of a component take the fewest bytes.

use super::quantize::Plane;
use super::scan::{Part, Scan};

/// Bits that may be left to scans of their own.
const LOW_BITS: u32 = 3;
/// Where the first scan of the others may end, in the order in which they are tried.
const ENDS: [u32; 5] = [2, 8, 5, 12, 18];

/// The scans of a component, in the order in which they are written.
pub(super) fn scans(planes: &[Plane]) -> Vec<Scan> {
    let count = |part| Scan::count(planes, part);
    let others = |from, to, low| count(Part::Others { from, to, low });
    let bytes = |scans: &[Scan]| scans.iter().map(Scan::bytes).sum::<usize>();

    // How many low bits are worth scans of their own.
    let mut low = 0;
    let mut upper = vec![others(1, 8, 0), others(9, 63, 0)];
    let mut next_bits: Vec<Scan> = Vec::new();
    while low < LOW_BITS {
        let next_bit = count(Part::NextBit { low });
        let further = vec![others(1, 8, low + 1), others(9, 63, low + 1)];
        if bytes(&further) + next_bit.bytes() >= bytes(&upper) {
            break;
        }
        next_bits.insert(0, next_bit);
        upper = further;
        low += 1;
    }

    // Where the rest is best parted, if at all.
    let eight = bytes(&upper);
    let whole = vec![others(1, 63, low)];
    let mut best = if bytes(&whole) <= eight { whole } else { upper };
    for (tried, end) in ENDS.into_iter().enumerate().filter(|(_, end)| *end != 8) {
        // Neighbours of what is not better are not better.
        let is_parted = best.len() == 2;
        if tried > 1 && !is_parted {
            break;
        }
        let parted = vec![others(1, end, low), others(end + 1, 63, low)];
        if bytes(&parted) < bytes(&best) {
            best = parted;
        }
    }
    let mut found = vec![count(Part::Means)];
    found.append(&mut best);
    found.append(&mut next_bits);
    found
}
