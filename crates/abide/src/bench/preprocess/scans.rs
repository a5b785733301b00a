//! Scans made for the bench: paper with grain, strokes like letters, a photograph.

use std::path::{Path, PathBuf};

use super::super::BenchError;

/// A kind of scan.
pub(super) struct Kind {
    pub(super) name: &'static str,
    width: usize,
    height: usize,
    channels: usize,
    /// How strong the grain of the paper is.
    grain: u64,
    /// How much of the page is a photograph, in percent of its sides.
    photograph: usize,
}

/// Every kind, from the largest: 12 megapixels of colour, A4 at 300 dpi in gray, a photograph.
pub(super) const KINDS: &[Kind] = &[
    Kind { name: "colour page", width: 4_000, height: 3_000, channels: 3, grain: 7, photograph: 33 },
    Kind { name: "gray page", width: 2_480, height: 3_508, channels: 1, grain: 3, photograph: 0 },
    Kind { name: "photograph", width: 3_000, height: 2_000, channels: 3, grain: 3, photograph: 100 },
];

/// Rows of a strip.
const STRIP: usize = 64;

/// A scan as a file.
pub(super) struct Scan {
    pub(super) path: PathBuf,
    channels: usize,
    /// Where its samples begin; they reach to the end.
    samples_at: usize,
}

impl Scan {
    /// How bright its pixels are, as JPEG counts it.
    pub(super) fn luma(&self) -> Result<Vec<u8>, BenchError> {
        let mut file = std::fs::read(&self.path)?;
        let samples = file.split_off(self.samples_at);
        if self.channels == 1 {
            return Ok(samples);
        }
        let luma = |pixel: &[u8]| {
            let [r, g, b] = [pixel[0], pixel[1], pixel[2]].map(u32::from);
            ((19_595 * r + 38_470 * g + 7_471 * b + 32_768) >> 16) as u8
        };
        Ok(samples.chunks_exact(3).map(luma).collect())
    }
}

/// Writes a scan, its sides shortened to so many percent.
pub(super) fn make(dir: &Path, kind: &Kind, seed: u32, percent: u32) -> Result<Scan, BenchError> {
    let shortened = |side: usize| (side * percent as usize / 100).max(64);
    let mut page = Page {
        width: shortened(kind.width),
        height: shortened(kind.height),
        channels: kind.channels,
        samples: Vec::new(),
        draws: 0x9e37_79b9 + u64::from(seed),
    };
    page.paper(kind.grain);
    page.letters();
    page.photograph(kind.photograph);
    let mut file = header(&page);
    let samples_at = file.len();
    file.extend_from_slice(&page.samples);
    let path = dir.join(format!("{}-{seed}.tif", kind.name.replace(' ', "-")));
    std::fs::write(&path, file)?;
    Ok(Scan { path, channels: kind.channels, samples_at })
}

struct Page {
    width: usize,
    height: usize,
    channels: usize,
    samples: Vec<u8>,
    draws: u64,
}

impl Page {
    /// Xorshift.
    fn draw(&mut self) -> u64 {
        self.draws ^= self.draws << 13;
        self.draws ^= self.draws >> 7;
        self.draws ^= self.draws << 17;
        self.draws
    }

    /// Yellowish, darker towards a corner, with grain.
    fn paper(&mut self, grain: u64) {
        const TINT: [i32; 3] = [0, -6, -22];
        for y in 0..self.height {
            for x in 0..self.width {
                let draw = self.draw();
                let shade = 222 + (x * 14 / self.width) as i32 - (y * 10 / self.height) as i32;
                for (channel, tint) in TINT.iter().enumerate().take(self.channels) {
                    let noise = ((draw & grain) + (draw >> (20 + 3 * channel) & 3)) as i32;
                    self.samples.push((shade + tint + noise).clamp(0, 255) as u8);
                }
            }
        }
    }

    /// Lines of letters, each a few strokes.
    fn letters(&mut self) {
        for line in (150..self.height.saturating_sub(160)).step_by(62) {
            for left in (200..self.width.saturating_sub(240)).step_by(34) {
                let letter = self.draw();
                let strokes = if letter.is_multiple_of(6) { 0 } else { 4 };
                for stroke in 0..strokes {
                    self.stroke(left, line, letter >> (12 * stroke));
                }
            }
        }
    }

    /// Twenty-two steps of a pen of 4 × 4 pixels: down, across or along a diagonal.
    fn stroke(&mut self, left: usize, top: usize, draw: u64) {
        let (x, y) = (left + (draw % 12) as usize, top + (draw >> 4) as usize % 20);
        let (across, down) = [(1, 0), (0, 1), (1, 1)][(draw >> 9) as usize % 3];
        for step in 0..22 {
            for dot in 0..16 {
                let (x, y) = (x + across * step + dot % 4, y + down * step + dot / 4);
                let at = (y * self.width + x) * self.channels;
                for sample in self.samples.get_mut(at..at + self.channels).unwrap_or_default() {
                    *sample = *sample / 6 + 20;
                }
            }
        }
    }

    /// Waves of several lengths with noise, in the lower right corner.
    fn photograph(&mut self, percent: usize) {
        let (width, height) = (self.width * percent / 100, self.height * percent / 100);
        for y in 0..height {
            for x in 0..width {
                let noise = (self.draw() & 15) as f64 - 8.0;
                let (u, v) = (x as f64 / width as f64, y as f64 / height as f64);
                let coarse = (u * 40.0).sin() * (v * 31.0 + u * 9.0).cos() * 50.0;
                let value = coarse + (u * 173.0 + v * 91.0).sin() * 18.0;
                let colour = [120.0 + value, 110.0 + value * 0.8 - v * 40.0, 90.0 + u * 60.0 - value * 0.5];
                let at = ((self.height - height + y) * self.width + self.width - width + x) * self.channels;
                for (sample, colour) in self.samples[at..at + self.channels].iter_mut().zip(colour) {
                    *sample = (colour + noise).clamp(0.0, 255.0) as u8;
                }
            }
        }
    }
}

/// Everything of an uncompressed TIFF before its samples.
fn header(page: &Page) -> Vec<u8> {
    let (width, channels) = (page.width as u32, page.channels as u32);
    let row = width * channels;
    let strips = page.height.div_ceil(STRIP);
    let entries = 10;
    let after = 8 + 2 + entries * 12 + 4;
    let (bits_at, offsets_at) = (after, after + 8);
    let sizes_at = offsets_at + strips as u32 * 4;
    let samples_at = sizes_at + strips as u32 * 4;
    let photometric = if channels == 3 { 2 } else { 1 };
    let bits = if channels == 3 { bits_at } else { 8 };
    let [offsets, sizes] =
        if strips == 1 { [samples_at, row * page.height as u32] } else { [offsets_at, sizes_at] };
    let strips_count = strips as u32;
    let fields: [(u16, u16, u32, u32); 10] = [
        (256, 4, 1, width),
        (257, 4, 1, page.height as u32),
        (258, 3, channels, bits),
        (259, 3, 1, 1),
        (262, 3, 1, photometric),
        (273, 4, strips_count, offsets),
        (277, 3, 1, channels),
        (278, 4, 1, STRIP as u32),
        (279, 4, strips_count, sizes),
        (284, 3, 1, 1),
    ];
    let mut file = b"II\x2a\0\x08\0\0\0".to_vec();
    file.extend((entries as u16).to_le_bytes());
    for (tag, kind, count, value) in fields {
        file.extend([tag.to_le_bytes(), kind.to_le_bytes()].concat());
        file.extend([count.to_le_bytes(), value.to_le_bytes()].concat());
    }
    file.extend([0, 0, 0, 0, 8, 0, 8, 0, 8, 0, 0, 0]);
    let starts = (0..strips).map(|strip| (strip * STRIP) as u32);
    file.extend(starts.clone().flat_map(|start| (samples_at + start * row).to_le_bytes()));
    let rows = starts.map(|start| (page.height as u32 - start).min(STRIP as u32));
    file.extend(rows.flat_map(|rows| (rows * row).to_le_bytes()));
    file
}
