//! Samples to coefficients: the discrete cosine transform of blocks of 8 × 8.

use super::super::block::{Lanes, ORDER, transposed};

/// The coefficients of a block in the order of a scan, each in units of its quantization step.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) steps: [f32; 64],
    /// What a deviation by one step costs, in bits: the less, the more there is in the block to hide it.
    pub(super) weight: f32,
}

/// The weight of a block falls with its energy from the one number over the other. In mozjpeg they are 2 to the power of 14.75
/// and of 16.5; with a little more in the first, files are as large as its own and as like.
const WEIGHT: f32 = 1.22 * 27_554.49;
const FLAT: f32 = 92_681.9;

/// Half of the cosines of 1 to 7 sixteenths of a half turn.
const COSINES: [f32; 8] = [
    0.353_553_4,
    0.490_392_64,
    0.461_939_77,
    0.415_734_8,
    0.353_553_4,
    0.277_785_12,
    0.191_341_72,
    0.097_545_16,
];

/// White, and what is white but for rounding, around zero.
const WHITE: f32 = 127.0;
const NEARLY_WHITE: f32 = 126.5;
/// The most by which white is made whiter.
const LIFT: f32 = 31.0;

/// Transforms along the first index, eight lanes at once.
#[expect(clippy::needless_range_loop, reason = "the lane is the second index of each row")]
fn transform(x: &mut [Lanes; 8]) {
    for lane in 0..8 {
        let [t0, t1, t2, t3] = [0, 1, 2, 3].map(|at| x[at][lane] + x[7 - at][lane]);
        let [t7, t6, t5, t4] = [0, 1, 2, 3].map(|at| x[at][lane] - x[7 - at][lane]);
        let (a0, a1, a2, a3) = (t0 + t3, t1 + t2, t1 - t2, t0 - t3);
        let [_, c1, c2, c3, c4, c5, c6, c7] = COSINES;
        x[0][lane] = (a0 + a1) * c4;
        x[4][lane] = (a0 - a1) * c4;
        x[2][lane] = a3 * c2 + a2 * c6;
        x[6][lane] = a3 * c6 - a2 * c2;
        x[1][lane] = t7 * c1 + t6 * c3 + t5 * c5 + t4 * c7;
        x[3][lane] = t7 * c3 - t6 * c7 - t5 * c1 - t4 * c5;
        x[5][lane] = t7 * c5 - t6 * c1 + t5 * c7 + t4 * c3;
        x[7][lane] = t7 * c7 - t6 * c5 + t5 * c3 - t4 * c1;
    }
}

/// How a component is quantized.
pub(super) struct Table {
    /// Reciprocals of the quantization steps.
    shares: [f32; 64],
    /// By how much white beside something else is made whiter.
    lift: f32,
}

impl Table {
    pub(super) fn of_brightness(steps: &[u16; 64]) -> Table {
        Table { lift: LIFT.min(2.0 * f32::from(steps[0])), ..Table::of_colour(steps) }
    }

    pub(super) fn of_colour(steps: &[u16; 64]) -> Table {
        Table { shares: steps.map(|step| 1.0 / f32::from(step.max(1))), lift: 0.0 }
    }
}

/// Decoders show what is whiter than white as white, and with it the waves that quantization leaves around an edge.
fn lift(x: &mut [Lanes; 8], by: f32) {
    let samples = x.as_flattened_mut();
    let count = samples.iter().filter(|sample| **sample > NEARLY_WHITE).count() as f32;
    if count == 0.0 || count == 64.0 || by == 0.0 {
        return;
    }
    // The mean stays one that a picture can have.
    let room = (64.0 * WHITE - samples.iter().sum::<f32>()) / count;
    for sample in samples.iter_mut().filter(|sample| **sample > NEARLY_WHITE) {
        *sample += by.min(room);
    }
}

impl Block {
    /// The block whose first sample is at `left` in the first of eight rows of samples around zero.
    pub(super) fn of(rows: &[f32], stride: usize, left: usize, table: &Table) -> Block {
        let mut x: [Lanes; 8] = [[0.0; 8]; 8];
        for (row, lanes) in x.iter_mut().enumerate() {
            let at = row * stride + left;
            lanes.copy_from_slice(&rows[at..at + 8]);
        }
        lift(&mut x, table.lift);
        transform(&mut x);
        let mut x = transposed(&x);
        transform(&mut x);
        let flat = x.as_flattened();
        let energy = flat.iter().map(|value| value * value).sum::<f32>() - flat[0] * flat[0];
        let steps = std::array::from_fn(|at| flat[usize::from(ORDER[at])] * table.shares[at]);
        let weight = 64.0 * WEIGHT / (FLAT + 64.0 / 63.0 * energy.max(0.0));
        Block { steps, weight }
    }
}
