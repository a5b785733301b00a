//! Many times faster, at a cost in bytes: one scan with fixed codes, a band of rows at a time.

mod coder;
mod colour;
mod transform;

use std::io;

use super::Preset;
use super::bits::Writer;
use super::block::unit;
use super::frame::{self, BASELINE, Frame, torn};
use crate::pixels::{Attached, Colour};
use coder::{Coder, Values, begin_scan};
use colour::{Rows, repeat_last};
use transform::{Block, Table};

/// A baseline JPEG that grows by rows.
pub(crate) struct Quick {
    width: usize,
    height: usize,
    colour: Colour,
    /// Rows that have come.
    done: usize,
    /// Pixels of the band that is not full.
    held: Vec<u8>,
    components: Vec<Component>,
    /// Of brightness, and of colour.
    coders: Vec<Coder>,
    values: Values,
    bits: Writer,
}

/// A component on its way.
struct Component {
    /// Samples across, whole blocks of all components.
    stride: usize,
    /// Blocks of a unit, across and down.
    side: usize,
    /// A band of samples in 256ths.
    samples: Vec<u16>,
    table: Table,
    /// The first value of the block before.
    before: i16,
}

impl Quick {
    pub(super) fn new(
        (width, height): (usize, usize),
        colour: Colour,
        attached: &Attached,
        quality: u8,
    ) -> io::Result<Quick> {
        let sample = frame::sample(colour, attached, quality, Preset::Fast)?;
        let frame = Frame::read(&sample)?;
        let mut out = Vec::new();
        frame.write(&mut out, BASELINE, width as u16, height as u16);
        let coders = begin_scan(&sample, &mut out)?;
        if coders.len() < frame.components.len().min(2) {
            return Err(torn());
        }
        let unit = unit(colour);
        let component = |(index, of): (usize, &frame::Component)| {
            let side = if index == 0 { unit / 8 } else { 1 };
            let stride = width.div_ceil(unit) * side * 8;
            let samples = vec![0; stride * side * 8];
            Component { stride, side, samples, table: Table::of(&of.steps), before: 0 }
        };
        let components = frame.components.iter().enumerate().map(component).collect();
        let (values, bits) = (Values::new(), Writer::new(out));
        Ok(Quick { width, height, colour, done: 0, held: Vec::new(), components, coders, values, bits })
    }

    /// Appends whole rows.
    pub(super) fn rows(&mut self, mut rows: &[u8]) -> io::Result<()> {
        let row_bytes = self.width * self.colour.channels();
        self.done += rows.len() / row_bytes;
        if self.done > self.height {
            return Err(io::Error::other("there are more rows than the picture has"));
        }
        let band_bytes = unit(self.colour) * row_bytes;
        while !rows.is_empty() {
            if self.held.is_empty() && rows.len() >= band_bytes {
                let (band, later) = rows.split_at(band_bytes);
                self.band(band);
                rows = later;
                continue;
            }
            let (now, later) = rows.split_at(rows.len().min(band_bytes - self.held.len()));
            self.held.extend_from_slice(now);
            rows = later;
            if self.held.len() == band_bytes {
                let mut band = std::mem::take(&mut self.held);
                self.band(&band);
                band.clear();
                self.held = band;
            }
        }
        Ok(())
    }

    /// Codes the rows of a unit, or the last ones. What is below the picture is like its last row.
    fn band(&mut self, rows: &[u8]) {
        let row_bytes = self.width * self.colour.channels();
        let last = rows.len() / row_bytes - 1;
        let row = |at: usize| &rows[at.min(last) * row_bytes..][..row_bytes];
        match &mut self.components[..] {
            [y] => {
                for (at, samples) in y.samples.chunks_exact_mut(y.stride).enumerate() {
                    for (sample, value) in samples.iter_mut().zip(row(at)) {
                        *sample = u16::from(*value) << 8;
                    }
                    repeat_last(samples, self.width);
                }
            }
            [y, cb, cr] => {
                let bright = y.samples.chunks_exact_mut(2 * y.stride);
                let colours =
                    cb.samples.chunks_exact_mut(cb.stride).zip(cr.samples.chunks_exact_mut(cr.stride));
                for (at, (bright, (blue, red))) in bright.zip(colours).enumerate() {
                    let (upper, lower) = bright.split_at_mut(y.stride);
                    Rows { upper, lower, blue, red }.fill(row(2 * at), row(2 * at + 1));
                }
            }
            _ => {}
        }
        self.code();
    }

    /// Codes a band of samples.
    fn code(&mut self) {
        let units = self.width.div_ceil(unit(self.colour));
        for at in 0..units {
            for (index, component) in self.components.iter_mut().enumerate() {
                let Component { stride, side, samples, table, before } = component;
                let coder = &self.coders[index.min(1)];
                for down in 0..*side {
                    for across in 0..*side {
                        let rows = &samples[down * 8 * *stride..];
                        let block = Block::of(rows, *stride, (at * *side + across) * 8, table);
                        coder.put(&block, before, &self.values, &mut self.bits);
                    }
                }
            }
        }
    }

    pub(super) fn finish(mut self) -> io::Result<Vec<u8>> {
        if self.done != self.height {
            return Err(io::Error::other("there are fewer rows than the picture has"));
        }
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() {
            self.band(&held);
        }
        let mut out = self.bits.end();
        out.extend_from_slice(&[0xff, 0xd9]);
        Ok(out)
    }
}
