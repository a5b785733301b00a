//! Samples of any depth and meaning to pixels of 8 bits.

use super::directory::Order;
use super::layout::{Alpha, Compression, Layout, Photometric, Predictor, Sample};
use crate::jpeg::{rgb_of_inks, rgb_of_ycbcr};

/// Undoes the predictor in whole rows of a chunk.
pub(super) fn undo_predictor(layout: &Layout, rows: &mut [u8]) {
    let row_bytes = layout.row_bytes(layout.chunk_width) as usize;
    let stride = layout.samples_together() as usize;
    for row in rows.chunks_exact_mut(row_bytes) {
        match (layout.predictor, layout.sample.bits()) {
            (Predictor::None, _) => return,
            (Predictor::Horizontal, 8) => {
                for at in stride..row.len() {
                    row[at] = row[at].wrapping_add(row[at - stride]);
                }
            }
            (Predictor::Horizontal, 16) => add_up_16(layout.order, row, stride),
            (Predictor::Horizontal, _) => add_up_32(layout.order, row, stride),
            (Predictor::Float, _) => undo_float(layout.order, row, stride),
        }
    }
}

fn add_up_16(order: Order, row: &mut [u8], stride: usize) {
    for at in (stride * 2..row.len()).step_by(2) {
        let before = order.u16([row[at - stride * 2], row[at - stride * 2 + 1]]);
        let value = order.u16([row[at], row[at + 1]]).wrapping_add(before);
        row[at..at + 2].copy_from_slice(&order.bytes_of_u16(value));
    }
}

fn add_up_32(order: Order, row: &mut [u8], stride: usize) {
    let read = |row: &[u8], at: usize| order.u32([row[at], row[at + 1], row[at + 2], row[at + 3]]);
    for at in (stride * 4..row.len()).step_by(4) {
        let value = read(row, at).wrapping_add(read(row, at - stride * 4));
        row[at..at + 4].copy_from_slice(&order.bytes_of_u32(value));
    }
}

/// Bytes are differences, and stand apart by their weight, the heaviest first.
fn undo_float(order: Order, row: &mut [u8], stride: usize) {
    for at in stride..row.len() {
        row[at] = row[at].wrapping_add(row[at - stride]);
    }
    let count = row.len() / 4;
    let apart = row.to_vec();
    for (index, value) in row.chunks_exact_mut(4).enumerate() {
        let bits = [apart[index], apart[count + index], apart[2 * count + index], apart[3 * count + index]];
        value.copy_from_slice(&order.bytes_of_u32(u32::from_be_bytes(bits)));
    }
}

/// Appends the first `count` samples of a row, as 8 bits; indices of a palette stay as they are.
pub(super) fn to_eight_bits(layout: &Layout, row: &[u8], count: usize, out: &mut Vec<u8>) {
    match layout.sample {
        Sample::Unsigned { bits: 8 } => out.extend_from_slice(&row[..count]),
        Sample::Unsigned { bits: 16 } => out.extend(row.chunks_exact(2).take(count).map(|bytes| {
            let value = u32::from(layout.order.u16([bytes[0], bytes[1]]));
            ((value + 128) / 257) as u8
        })),
        Sample::Unsigned { bits: 32 } => out.extend(
            row.chunks_exact(4)
                .take(count)
                .map(|bytes| (layout.order.u32([bytes[0], bytes[1], bytes[2], bytes[3]]) >> 24) as u8),
        ),
        Sample::Unsigned { bits } => {
            let most = (1u32 << bits) - 1;
            let scaled = !matches!(layout.photometric, Photometric::Palette(_));
            for index in 0..count {
                let value = bits_at(row, index * bits as usize, bits as usize);
                out.push(if scaled { ((value * 255 + most / 2) / most) as u8 } else { value as u8 });
            }
        }
        Sample::Float { black, white, .. } => out.extend(row.chunks_exact(4).take(count).map(|bytes| {
            let value = f32::from_bits(layout.order.u32([bytes[0], bytes[1], bytes[2], bytes[3]]));
            // Not a number becomes black.
            ((value - black) / (white - black) * 255.0).round().clamp(0.0, 255.0) as u8
        })),
    }
}

/// A number of at most 16 bits, the first bit the heaviest.
fn bits_at(row: &[u8], at: usize, bits: usize) -> u32 {
    let byte = |index: usize| u32::from(row.get(index).copied().unwrap_or(0));
    let window = byte(at / 8) << 16 | byte(at / 8 + 1) << 8 | byte(at / 8 + 2);
    window >> (24 - at % 8 - bits) & ((1 << bits) - 1)
}

/// Appends pixels made of samples of 8 bits, [`Layout::samples`] of them to a pixel.
pub(super) fn to_pixels(layout: &Layout, samples: &[u8], out: &mut Vec<u8>) {
    let count = layout.samples as usize;
    match &layout.photometric {
        Photometric::BlackIsZero if count == 1 => out.extend_from_slice(samples),
        Photometric::WhiteIsZero if count == 1 => out.extend(samples.iter().map(|value| 255 - value)),
        Photometric::BlackIsZero => {
            out.extend(samples.chunks_exact(count).map(|pixel| on_white(layout.alpha, pixel[0], pixel[1])));
        }
        Photometric::WhiteIsZero => {
            out.extend(
                samples.chunks_exact(count).map(|pixel| on_white(layout.alpha, 255 - pixel[0], pixel[1])),
            );
        }
        Photometric::Palette(colours) => {
            for pixel in samples.chunks_exact(count) {
                out.extend_from_slice(&colours[usize::from(pixel[0])]);
            }
        }
        Photometric::Cmyk => {
            for pixel in samples.chunks_exact(count) {
                out.extend_from_slice(&rgb_of_inks([pixel[0], pixel[1], pixel[2], pixel[3]]));
            }
        }
        // JPEG data comes out of its decoder as RGB.
        Photometric::Ycbcr(..) if layout.compression != Compression::Jpeg || layout.planes > 1 => {
            for pixel in samples.chunks_exact(count) {
                out.extend_from_slice(&rgb_of_ycbcr([pixel[0], pixel[1], pixel[2]]));
            }
        }
        Photometric::Rgb | Photometric::Ycbcr(..) if count == 3 => out.extend_from_slice(samples),
        Photometric::Rgb | Photometric::Ycbcr(..) => {
            for pixel in samples.chunks_exact(count) {
                out.extend(pixel[..3].iter().map(|value| on_white(layout.alpha, *value, pixel[3])));
            }
        }
    }
}

/// What is seen of a value before white paper.
fn on_white(alpha: Alpha, value: u8, opacity: u8) -> u8 {
    match alpha {
        Alpha::None => value,
        Alpha::Associated => value.saturating_add(255 - opacity),
        Alpha::Unassociated => {
            ((u32::from(value) * u32::from(opacity) + 255 * (255 - u32::from(opacity)) + 127) / 255) as u8
        }
    }
}

/// One row of subsampled YCbCr, spread to three samples a pixel, from units of `across × down` luma and two chroma.
pub(super) fn spread_chroma(layout: &Layout, chunk: &[u8], row: usize, count: usize, out: &mut Vec<u8>) {
    let Photometric::Ycbcr(across, down) = layout.photometric else { return };
    let (across, down) = (across as usize, down as usize);
    let unit_bytes = across * down + 2;
    let units = (layout.chunk_width as usize).div_ceil(across);
    let first = row / down * units * unit_bytes;
    for x in 0..count {
        let unit = &chunk[first + x / across * unit_bytes..][..unit_bytes];
        out.extend_from_slice(&[
            unit[row % down * across + x % across],
            unit[unit_bytes - 2],
            unit[unit_bytes - 1],
        ]);
    }
}
