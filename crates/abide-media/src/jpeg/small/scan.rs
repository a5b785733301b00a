//! One scan: some coefficients of a component, or some bits of them, counted and written.

use super::super::bits::Writer;
use super::super::huffman::Codes;
use super::quantize::Plane;

/// Runs of blocks that end early are counted up to this.
const LONGEST_RUN: u32 = 0x7fff;
/// Correction bits that may wait behind a run.
const WAITING_BITS: usize = 937;
/// Bytes of the markers of a scan and its table, beside the symbols.
const MARKER_BYTES: usize = 31;

/// What a scan holds of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// The first coefficient of each block.
    Means,
    /// Coefficients from the one to the other, without their lowest bits.
    Others { from: u32, to: u32, low: u32 },
    /// The next lower bit of all but the first; so many lower ones are left.
    NextBit { low: u32 },
}

/// A scan with its codes.
#[derive(Clone, Debug)]
pub(super) struct Scan {
    part: Part,
    codes: Codes,
    bits: u64,
}

impl Scan {
    /// Counts what a scan takes.
    pub(super) fn count(planes: &[Plane], part: Part) -> Scan {
        let mut counted = Counted { counts: [0; 256], bits: 0 };
        part.go(planes, &mut counted);
        let codes = Codes::of(&counted.counts);
        let bits = codes.bits(&counted.counts) + counted.bits;
        Scan { part, codes, bits }
    }

    /// The bytes that it takes in a file, about.
    pub(super) fn bytes(&self) -> usize {
        (self.bits / 8) as usize + self.codes.symbols.len() + MARKER_BYTES
    }

    /// Whether a picture begins with it.
    pub(super) fn is_first(&self) -> bool {
        self.part == Part::Means
    }

    /// Appends it to a file, of the component that is known by `id`.
    pub(super) fn write(&self, planes: &[Plane], id: u8, mut out: Vec<u8>) -> Vec<u8> {
        let (class, [from, to, high_low]) = match self.part {
            Part::Means => (0x00, [0, 0, 0]),
            Part::Others { from, to, low } => (0x10, [from as u8, to as u8, low as u8]),
            Part::NextBit { low } => (0x10, [1, 63, ((low + 1) << 4 | low) as u8]),
        };
        let length = 19 + self.codes.symbols.len();
        out.extend_from_slice(&[0xff, 0xc4, (length >> 8) as u8, length as u8, class]);
        out.extend_from_slice(&self.codes.of_length);
        out.extend_from_slice(&self.codes.symbols);
        out.extend_from_slice(&[0xff, 0xda, 0, 8, 1, id, 0, from, to, high_low]);
        let mut written = Written { codes: &self.codes, bits: Writer::new(out) };
        self.part.go(planes, &mut written);
        written.bits.end()
    }
}

/// Where symbols and bits go.
trait Sink {
    fn symbol(&mut self, symbol: u8);
    fn bits(&mut self, bits: u32, count: u32);
}

struct Counted {
    counts: [u32; 256],
    bits: u64,
}

impl Sink for Counted {
    fn symbol(&mut self, symbol: u8) {
        self.counts[usize::from(symbol)] += 1;
    }

    fn bits(&mut self, _: u32, count: u32) {
        self.bits += u64::from(count);
    }
}

struct Written<'a> {
    codes: &'a Codes,
    bits: Writer,
}

impl Sink for Written<'_> {
    fn symbol(&mut self, symbol: u8) {
        let (code, length) = self.codes.get(symbol);
        self.bits.put(u32::from(code), u32::from(length));
    }

    fn bits(&mut self, bits: u32, count: u32) {
        self.bits.put(bits & ((1 << count) - 1), count);
    }
}

impl Part {
    fn go(self, planes: &[Plane], sink: &mut impl Sink) {
        match self {
            Part::Means => means(planes, sink),
            Part::Others { from, to, low } => others(planes, from, to, low, sink),
            Part::NextBit { low } => next_bit(planes, low, sink),
        }
    }
}

/// How many bits a magnitude takes.
fn size(magnitude: u32) -> u32 {
    32 - magnitude.leading_zeros()
}

fn means(planes: &[Plane], sink: &mut impl Sink) {
    let mut before = 0;
    for mean in planes.iter().flat_map(|plane| &plane.means) {
        let step = i32::from(*mean) - before;
        before = i32::from(*mean);
        let count = size(step.unsigned_abs());
        sink.symbol(count as u8);
        sink.bits(if step < 0 { (step - 1) as u32 } else { step as u32 }, count);
    }
}

/// Blocks that end early, and correction bits that wait behind them.
#[derive(Default)]
struct Run {
    blocks: u32,
    waiting: Vec<u8>,
}

impl Run {
    fn end(&mut self, sink: &mut impl Sink) {
        if self.blocks > 0 {
            let count = size(self.blocks) - 1;
            sink.symbol((count << 4) as u8);
            sink.bits(self.blocks, count);
            self.blocks = 0;
        }
        for bit in self.waiting.drain(..) {
            sink.bits(u32::from(bit), 1);
        }
    }
}

fn others(planes: &[Plane], from: u32, to: u32, low: u32, sink: &mut impl Sink) {
    let wanted = (u64::MAX >> (63 - to)) & (u64::MAX << from);
    let skipped = !(u64::MAX << from);
    let mut run = Run::default();
    for plane in planes {
        let mut values = plane.values.as_slice();
        for places in &plane.places {
            let (own, later) = values.split_at(places.count_ones() as usize);
            values = later;
            let own = &own[(places & skipped).count_ones() as usize..];
            let (mut rest, mut next) = (places & wanted, from);
            for value in own {
                if rest == 0 {
                    break;
                }
                let place = rest.trailing_zeros();
                rest &= rest - 1;
                let magnitude = u32::from(value.unsigned_abs()) >> low;
                if magnitude == 0 {
                    continue;
                }
                if run.blocks > 0 {
                    run.end(sink);
                }
                let mut zeros = place - next;
                while zeros > 15 {
                    sink.symbol(0xf0);
                    zeros -= 16;
                }
                let count = size(magnitude);
                sink.symbol((zeros << 4 | count) as u8);
                sink.bits(if *value < 0 { !magnitude } else { magnitude }, count);
                next = place + 1;
            }
            if next <= to {
                run.blocks += 1;
                if run.blocks == LONGEST_RUN {
                    run.end(sink);
                }
            }
        }
    }
    run.end(sink);
}

fn next_bit(planes: &[Plane], low: u32, sink: &mut impl Sink) {
    let mut run = Run::default();
    // Correction bits of this block since its last symbol.
    let mut own_bits: Vec<u8> = Vec::new();
    for plane in planes {
        let mut values = plane.values.as_slice();
        for places in &plane.places {
            let (own, later) = values.split_at(places.count_ones() as usize);
            values = later;
            let new = own.iter().rposition(|value| u32::from(value.unsigned_abs()) >> low == 1);
            let (mut rest, mut next, mut zeros) = (*places, 1, 0);
            for (index, value) in own.iter().enumerate() {
                let place = rest.trailing_zeros();
                rest &= rest - 1;
                let magnitude = u32::from(value.unsigned_abs()) >> low;
                if magnitude == 0 {
                    continue;
                }
                zeros += place - next;
                next = place + 1;
                // Behind the last that is new, the end of the block says all.
                while zeros > 15 && new.is_some_and(|new| index <= new) {
                    run.end(sink);
                    sink.symbol(0xf0);
                    zeros -= 16;
                    own_bits.drain(..).for_each(|bit| sink.bits(u32::from(bit), 1));
                }
                if magnitude > 1 {
                    own_bits.push((magnitude & 1) as u8);
                    continue;
                }
                run.end(sink);
                sink.symbol((zeros << 4 | 1) as u8);
                sink.bits(u32::from(*value >= 0), 1);
                own_bits.drain(..).for_each(|bit| sink.bits(u32::from(bit), 1));
                zeros = 0;
            }
            if zeros > 0 || next <= 63 || !own_bits.is_empty() {
                run.blocks += 1;
                run.waiting.append(&mut own_bits);
                if run.blocks == LONGEST_RUN || run.waiting.len() > WAITING_BITS {
                    run.end(sink);
                }
            }
        }
    }
    run.end(sink);
}
