//! Samples to whole coefficients: the discrete cosine transform after Arai, Agui and Nakajima, which leaves each coefficient
//! with a factor of its own, and division by the quantization steps, which takes the factors with it.

use super::super::block::{Lanes, ORDER, transposed};

/// Parts of a sample's unit.
const PARTS: f32 = 256.0;
/// The sum of a block of middle gray.
const MIDDLE: f32 = 64.0 * 128.0 * PARTS;
/// A number that has no place for fractions: what is added to it is rounded, and is in its lowest bits.
const WHOLE: f32 = 12_582_912.0;

/// What one dimension of the transform leaves to be divided by.
const FACTORS: [f32; 8] =
    [1.0, 1.387_039_9, 1.306_563, 1.175_875_6, 1.0, 0.785_694_96, 0.541_196_1, 0.275_899_38];

/// How the blocks of a component are quantized.
pub(super) struct Table {
    shares: [f32; 64],
}

impl Table {
    /// For steps in the order of a scan.
    pub(super) fn of(steps: &[u16; 64]) -> Table {
        let mut shares = [0.0; 64];
        for (at, step) in ORDER.into_iter().zip(steps) {
            let at = usize::from(at);
            let factors = FACTORS[at / 8] * FACTORS[at % 8] * 8.0 * PARTS;
            shares[at] = 1.0 / (f32::from(*step) * factors);
        }
        Table { shares }
    }
}

/// A block of whole coefficients in the order of a scan.
pub(super) struct Block {
    pub(super) values: [i16; 64],
}

/// Transforms along the first index, eight lanes at once.
#[inline]
#[expect(clippy::needless_range_loop, reason = "the lane is the second index of each row")]
fn transform(x: &mut [Lanes; 8]) {
    for lane in 0..8 {
        let [s0, s1, s2, s3] = [0, 1, 2, 3].map(|at| x[at][lane] + x[7 - at][lane]);
        let [d0, d1, d2, d3] = [0, 1, 2, 3].map(|at| x[at][lane] - x[7 - at][lane]);
        let (a0, a1, a2, a3) = (s0 + s3, s1 + s2, s1 - s2, s0 - s3);
        let turned = (a2 + a3) * 0.707_106_77;
        x[0][lane] = a0 + a1;
        x[4][lane] = a0 - a1;
        x[2][lane] = a3 + turned;
        x[6][lane] = a3 - turned;
        let (b0, b1, b2) = (d3 + d2, d2 + d1, d1 + d0);
        let shared = (b0 - b2) * 0.382_683_43;
        let (c0, c1, c2) = (0.541_196_1 * b0 + shared, b1 * 0.707_106_77, 1.306_563 * b2 + shared);
        let (e0, e1) = (d0 + c1, d0 - c1);
        x[5][lane] = e1 + c0;
        x[3][lane] = e1 - c0;
        x[1][lane] = e0 + c2;
        x[7][lane] = e0 - c2;
    }
}

impl Block {
    /// The block whose first sample is at `left` in the first of eight rows of samples.
    #[inline]
    pub(super) fn of(rows: &[u16], stride: usize, left: usize, table: &Table) -> Block {
        let mut x: [Lanes; 8] = [[0.0; 8]; 8];
        for (row, lanes) in x.iter_mut().enumerate() {
            let at = row * stride + left;
            for (lane, sample) in lanes.iter_mut().zip(&rows[at..at + 8]) {
                *lane = f32::from(*sample);
            }
        }
        transform(&mut x);
        let mut x = transposed(&x);
        transform(&mut x);
        x[0][0] -= MIDDLE;
        let mut whole = [0_i16; 64];
        for ((whole, value), share) in whole.iter_mut().zip(x.as_flattened()).zip(&table.shares) {
            *whole = (value * share + WHOLE).to_bits() as i16;
        }
        Block { values: ORDER.map(|at| whole[usize::from(at)]) }
    }

    /// Which coefficients are not zero: a bit for each, the first the lowest.
    #[inline]
    pub(super) fn places(&self) -> u64 {
        let present = self.values.map(|value| u8::from(value != 0));
        let mut places = 0;
        for (at, eight) in present.as_chunks::<8>().0.iter().enumerate() {
            // The product has the lowest bits of all eight bytes in its highest byte.
            let bits = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
            places |= bits << (8 * at);
        }
        places
    }
}
