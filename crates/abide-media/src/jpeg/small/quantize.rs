//! Coefficients to whole numbers: those for which bits and deviation together are least.

use super::super::huffman::Codes;
use super::transform::Block;

/// Blocks of one component, row by row.
#[derive(Default)]
pub(super) struct Plane {
    /// The first coefficient of each block.
    pub(super) means: Vec<i16>,
    /// Which of the other 63 of each block are not zero, in their order in a scan.
    pub(super) places: Vec<u64>,
    /// Those that are not.
    pub(super) values: Vec<i16>,
}

/// What a symbol costs that has not occurred yet.
const UNSEEN_BITS: f32 = 16.0;
/// Sixteen zeros.
const ZEROS: usize = 0xf0;
/// The largest that a file can hold.
const LARGEST: f32 = 1_023.0;
/// Values of a mean that are tried, at most.
const MEANS: usize = 9;

/// Quantizes the blocks of one component, and knows what symbols cost by those that went before.
pub(super) struct Quantizer {
    /// Symbols of means and of others, had every coefficient become the nearest number.
    of_means: [u32; 256],
    of_others: [u32; 256],
    /// The mean of the last block.
    mean: i32,
    /// How many values of a mean are tried: the finer the step, the more.
    tried: usize,
}

/// Bits of a number beside its sign.
fn size(magnitude: u32) -> usize {
    (32 - magnitude.leading_zeros()) as usize
}

fn nearest(steps: f32) -> i32 {
    steps.clamp(-LARGEST, LARGEST).round_ties_even() as i32
}

fn rates(counts: &[u32; 256]) -> [f32; 256] {
    let codes = Codes::of(counts);
    std::array::from_fn(|symbol| match codes.get(symbol as u8).1 {
        0 => UNSEEN_BITS,
        length => f32::from(length),
    })
}

impl Quantizer {
    pub(super) fn new(step_of_means: u16) -> Quantizer {
        let tried = ((2 + 60 / usize::from(step_of_means.max(1))) | 1).min(MEANS);
        Quantizer { of_means: [0; 256], of_others: [0; 256], mean: 0, tried }
    }

    /// The next rows of blocks, so many in a row.
    pub(super) fn rows(&mut self, blocks: &[Block], across: usize) -> Plane {
        self.count(blocks);
        let (of_means, of_others) = (rates(&self.of_means), rates(&self.of_others));
        let mut plane = Plane::default();
        for row in blocks.chunks(across.max(1)) {
            self.means(row, &of_means, &mut plane.means);
            for block in row {
                let places = others(block, &of_others, &mut plane.values);
                plane.places.push(places);
            }
        }
        plane.values.shrink_to_fit();
        plane
    }

    fn count(&mut self, blocks: &[Block]) {
        let mut before = self.mean;
        for block in blocks {
            let mean = nearest(block.steps[0]);
            self.of_means[size((mean - before).unsigned_abs())] += 1;
            before = mean;
            let mut last = 0;
            for (at, steps) in block.steps.iter().enumerate().skip(1) {
                if steps.abs() <= 0.5 {
                    continue;
                }
                let zeros = at - last - 1;
                self.of_others[ZEROS] += (zeros >> 4) as u32;
                self.of_others[(zeros & 15) << 4 | size(nearest(*steps).unsigned_abs())] += 1;
                last = at;
            }
            self.of_others[0] += u32::from(last < 63);
        }
    }

    /// Means of a row of blocks: each is coded as the difference to the one before it.
    fn means(&mut self, row: &[Block], rates: &[f32; 256], means: &mut Vec<i16>) {
        let mut costs = [0.0_f32; MEANS];
        let mut values = [self.mean; MEANS];
        let mut before = 1;
        let mut ways: Vec<[u8; MEANS]> = Vec::with_capacity(row.len());
        for block in row {
            let first = nearest(block.steps[0]) - (self.tried / 2) as i32;
            let (mut next_costs, mut next_values, mut way) = ([0.0; MEANS], [0; MEANS], [0; MEANS]);
            for nth in 0..self.tried {
                let value = (first + nth as i32).clamp(-(LARGEST as i32), LARGEST as i32);
                let away = value as f32 - block.steps[0];
                let mut least = f32::MAX;
                for from in 0..before {
                    let bits = size((value - values[from]).unsigned_abs());
                    let cost = costs[from] + rates[bits] + bits as f32;
                    if cost < least {
                        (least, way[nth]) = (cost, from as u8);
                    }
                }
                next_costs[nth] = least + block.weight * away * away;
                next_values[nth] = value;
            }
            (costs, values, before) = (next_costs, next_values, self.tried);
            ways.push(way);
        }
        let best = (0..before).min_by(|a, b| costs[*a].total_cmp(&costs[*b])).unwrap_or(0);
        self.mean = values[best];
        let start = means.len();
        means.resize(start + row.len(), 0);
        let mut at = best;
        for ((mean, block), way) in means[start..].iter_mut().zip(row).zip(&ways).rev() {
            let first = nearest(block.steps[0]) - (self.tried / 2) as i32;
            *mean = (first + at as i32).clamp(-(LARGEST as i32), LARGEST as i32) as i16;
            at = usize::from(way[at]);
        }
    }
}

/// A coefficient that might not be zero, and the best way to it.
#[derive(Clone, Copy, Default)]
struct Stop {
    at: usize,
    value: i16,
    /// The stop before it.
    before: usize,
    /// What it costs to come here, less what it would cost to have left out everything.
    gained: f32,
    /// The least gain of this and all stops before.
    least: f32,
}

/// Appends the other coefficients of a block that are not zero, and gives their places.
fn others(block: &Block, rates: &[f32; 256], values: &mut Vec<i16>) -> u64 {
    let Block { steps, weight } = block;
    // What it costs to leave out everything up to here.
    let mut left_out = [0.0_f32; 64];
    for at in 1..64 {
        left_out[at] = left_out[at - 1] + weight * steps[at] * steps[at];
    }
    let mut stops = [Stop::default(); 64];
    let mut count = 1;
    for at in 1..64 {
        let away = steps[at].abs();
        if away > 0.5 {
            stops[count] = reach(&stops[..count], (at, away, *weight), left_out[at - 1], left_out[at], rates);
            if steps[at] < 0.0 {
                stops[count].value = -stops[count].value;
            }
            count += 1;
        }
    }
    // From the last stop on, the rest is left out.
    let all = left_out[63];
    let end = |stop: &Stop| all + stop.gained + if stop.at < 63 { rates[0] } else { 0.0 };
    let best = (0..count).min_by(|a, b| end(&stops[*a]).total_cmp(&end(&stops[*b]))).unwrap_or(0);
    let (mut places, mut stop, first) = (0, best, values.len());
    while stop > 0 {
        places |= 1 << stops[stop].at;
        values.push(stops[stop].value);
        stop = stops[stop].before;
    }
    values[first..].reverse();
    places
}

/// The best way to a coefficient that is so many steps away from zero.
fn reach(
    stops: &[Stop],
    (at, away, weight): (usize, f32, f32),
    left_out_before: f32,
    left_out: f32,
    rates: &[f32; 256],
) -> Stop {
    let largest = nearest(away);
    let sizes = size(largest.unsigned_abs());
    // By its size, the value of it that is nearest: bits and deviation.
    let mut costs = [0.0_f32; 12];
    let value = |size: usize| if size < sizes { (1 << size) - 1 } else { largest };
    for (size, cost) in costs.iter_mut().enumerate().take(sizes + 1).skip(1) {
        let deviation = value(size) as f32 - away;
        *cost = size as f32 + weight * deviation * deviation;
    }
    let (mut least_cost, mut best) = (f32::MAX, (0, 0));
    for (from, stop) in stops.iter().enumerate().rev() {
        // Nothing further back can be better.
        if left_out_before + stop.least >= least_cost {
            break;
        }
        let zeros = at - 1 - stop.at;
        let here = left_out_before + stop.gained + (zeros >> 4) as f32 * rates[ZEROS];
        for size in 1..=sizes {
            let cost = here + costs[size] + rates[(zeros & 15) << 4 | size];
            if cost < least_cost {
                (least_cost, best) = (cost, (from, value(size)));
            }
        }
    }
    let gained = least_cost - left_out;
    let least = stops.last().map_or(gained, |stop| stop.least.min(gained));
    Stop { at, value: best.1 as i16, before: best.0, gained, least }
}
