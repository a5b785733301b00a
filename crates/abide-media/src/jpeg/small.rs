//! The smallest file for its quality: coefficients are quantized so that bits and deviation together are least, as mozjpeg
//! does, and those that are not zero are kept. The scans that take the fewest bits are found by counting, and only they
//! are written.
//!
//! mozjpeg itself holds all coefficients of a picture twice, goes through all ways to quantize a block, and writes each scan
//! that might be good to measure it.

mod quantize;
mod scan;
mod search;
mod transform;

use std::io;

use super::Preset;
use super::block::unit;
use super::frame::{self, Frame, PROGRESSIVE};
use crate::pixels::{Attached, Colour};
use quantize::{Plane, Quantizer};
use transform::{Block, Table};

/// Pixels that are quantized at a time, about.
const BAND_PIXELS: usize = 1 << 18;

/// A progressive JPEG that grows by rows.
pub(crate) struct Small {
    width: usize,
    height: usize,
    colour: Colour,
    frame: Frame,
    components: Vec<Component>,
    /// Rows that have come.
    done: usize,
    /// Rows of blocks that are quantized at a time, of brightness.
    band: usize,
}

/// A component on its way.
struct Component {
    /// Samples across, whole blocks of all components.
    stride: usize,
    /// Blocks across that are in the picture.
    across: usize,
    /// Blocks down that are in the picture.
    down: usize,
    /// Eight rows of samples around zero, or twice as many where another component has half of them.
    samples: Vec<f32>,
    table: Table,
    blocks: Vec<Block>,
    quantizer: Quantizer,
    planes: Vec<Plane>,
}

impl Small {
    pub(super) fn new(
        (width, height): (usize, usize),
        colour: Colour,
        attached: &Attached,
        quality: u8,
    ) -> io::Result<Small> {
        let frame = Frame::read(&frame::sample(colour, attached, quality, Preset::Default)?)?;
        let unit = unit(colour);
        let component = |(index, of): (usize, &frame::Component)| {
            let halved = if index == 0 { 1 } else { 2 };
            let stride = width.next_multiple_of(unit) / halved;
            Component {
                stride,
                across: width.div_ceil(8 * halved),
                down: height.div_ceil(8 * halved),
                samples: vec![0.0; stride * unit / halved],
                table: if index == 0 { Table::of_brightness(&of.steps) } else { Table::of_colour(&of.steps) },
                blocks: Vec::new(),
                quantizer: Quantizer::new(of.steps[0]),
                planes: Vec::new(),
            }
        };
        let components = frame.components.iter().enumerate().map(component).collect();
        let band = (BAND_PIXELS / width.max(1) / unit).max(1) * unit / 8;
        Ok(Small { width, height, colour, frame, components, done: 0, band })
    }

    /// Appends whole rows.
    pub(super) fn rows(&mut self, rows: &[u8]) -> io::Result<()> {
        for row in rows.chunks_exact(self.width * self.colour.channels()) {
            if self.done == self.height {
                return Err(io::Error::other("there are more rows than the picture has"));
            }
            let unit = unit(self.colour);
            let at = self.done % unit;
            self.take(row, at);
            self.done += 1;
            // What is below the picture is like its last row.
            if self.done == self.height {
                (at + 1..unit).for_each(|below| self.take(row, below));
            }
            if self.done == self.height || at + 1 == unit {
                self.transform();
            }
        }
        Ok(())
    }

    /// Takes a row of pixels as the row `at` of its unit.
    fn take(&mut self, row: &[u8], at: usize) {
        match &mut self.components[..] {
            [y] => {
                let samples = &mut y.samples[at * y.stride..(at + 1) * y.stride];
                for (sample, value) in samples.iter_mut().zip(row) {
                    *sample = f32::from(*value) - 128.0;
                }
                let last = samples[self.width - 1];
                samples[self.width..].fill(last);
            }
            [y, cb, cr] => {
                let bright = &mut y.samples[at * y.stride..(at + 1) * y.stride];
                for (sample, pixel) in bright.iter_mut().zip(row.chunks_exact(3)) {
                    let [r, g, b] = [pixel[0], pixel[1], pixel[2]].map(f32::from);
                    *sample = 0.299 * r + 0.587 * g + 0.114 * b - 128.0;
                }
                let last = bright[self.width - 1];
                bright[self.width..].fill(last);
                let half = at / 2 * cb.stride..(at / 2 + 1) * cb.stride;
                let (blue, red) = (&mut cb.samples[half.clone()], &mut cr.samples[half]);
                if at.is_multiple_of(2) {
                    blue.fill(0.0);
                    red.fill(0.0);
                }
                halve(row, blue, red);
            }
            _ => {}
        }
    }

    /// Transforms a unit of rows, and quantizes when there are enough.
    fn transform(&mut self) {
        let is_last = self.done == self.height;
        let halved = |index: usize| if index == 0 { 1 } else { 2 };
        for (index, component) in self.components.iter_mut().enumerate() {
            let taken: usize = component.planes.iter().map(|plane| plane.means.len()).sum();
            for rows in component.samples.chunks_exact(8 * component.stride) {
                // Blocks that only fill up a unit are not in the picture.
                if taken + component.blocks.len() < component.across * component.down {
                    let block = |at| Block::of(rows, component.stride, 8 * at, &component.table);
                    component.blocks.extend((0..component.across).map(block));
                }
            }
            let enough = component.blocks.len() / component.across >= (self.band / halved(index)).max(1);
            if enough || is_last {
                let plane = component.quantizer.rows(&component.blocks, component.across);
                component.planes.push(plane);
                component.blocks.clear();
            }
        }
    }

    pub(super) fn finish(self) -> io::Result<Vec<u8>> {
        if self.done != self.height {
            return Err(io::Error::other("there are fewer rows than the picture has"));
        }
        let planes: Vec<Vec<Plane>> = self.components.into_iter().map(|component| component.planes).collect();
        let found: Vec<_> = planes
            .iter()
            .zip(&self.frame.components)
            .flat_map(|(planes, component)| {
                search::scans(planes).into_iter().map(move |scan| (scan, planes, component.id))
            })
            .collect();
        let bytes: usize = found.iter().map(|(scan, ..)| scan.bytes()).sum();
        let mut out = Vec::with_capacity(bytes + bytes / 64 + (1 << 16));
        self.frame.write(&mut out, PROGRESSIVE, self.width as u16, self.height as u16);
        // Something of all colours is seen early: what each component begins with, then the rest.
        let (first, rest): (Vec<_>, Vec<_>) = found.iter().partition(|(scan, ..)| scan.is_first());
        for (scan, planes, id) in first.into_iter().chain(rest) {
            out = scan.write(planes, *id, out);
        }
        out.extend_from_slice(&[0xff, 0xd9]);
        Ok(out)
    }
}

/// Adds a row's part of each sample of colour, which is the mean of four pixels. Beyond the edge are pixels like the last.
fn halve(row: &[u8], blue: &mut [f32], red: &mut [f32]) {
    let mut last = [0.0, 0.0];
    let pairs = row.chunks(6);
    let pair_count = pairs.len();
    for ((blue, red), pair) in blue.iter_mut().zip(red.iter_mut()).zip(pairs) {
        let second = if pair.len() == 6 { &pair[3..] } else { pair };
        let [r, g, b] = [0, 1, 2].map(|at| f32::from(pair[at]) + f32::from(second[at]));
        last = [
            (-0.168_735_9 * r - 0.331_264_1 * g + 0.5 * b) * 0.25,
            (0.5 * r - 0.418_687_6 * g - 0.081_312_4 * b) * 0.25,
        ];
        *blue += last[0];
        *red += last[1];
    }
    for (blue, red) in blue.iter_mut().zip(red).skip(pair_count) {
        *blue += last[0];
        *red += last[1];
    }
}
