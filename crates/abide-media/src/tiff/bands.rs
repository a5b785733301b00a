//! The pixels of a page from top to bottom, a band of rows at a time.

use super::codec;
use super::directory::Reader;
use super::layout::{Compression, Layout, Photometric, Predictor, Sample};
use super::samples::{spread_chroma, to_eight_bits, to_pixels, undo_predictor};
use crate::error::MediaError;

/// Rows that are handed on at once.
const BAND: u32 = 64;

/// Hands every row of the page to `sink`, in order, as pixels of 8 bits.
pub(super) fn each_band(
    reader: &Reader<'_>,
    layout: &Layout,
    mut sink: impl FnMut(&[u8]) -> Result<(), MediaError>,
) -> Result<(), MediaError> {
    let (mut samples, mut pixels) = (Vec::new(), Vec::new());
    for down in 0..layout.down() {
        let rows = layout.chunk_height.min(layout.height - down * layout.chunk_height);
        let chunks = row_of_chunks(reader, layout, down, rows)?;
        for first in (0..rows).step_by(BAND as usize) {
            pixels.clear();
            for row in first..rows.min(first + BAND) {
                samples.clear();
                gather(layout, &chunks, row as usize, &mut samples);
                to_pixels(layout, &samples, &mut pixels);
            }
            sink(&pixels)?;
        }
    }
    Ok(())
}

/// What is white among numbers that go beyond 1, if a file does not say it.
const WHITES: [f32; 2] = [255.0, 65_535.0];

/// Finds what is white on a page of floating point whose file does not say it: 1, unless more than half of its samples are beyond
/// that. Highlights may be, in pictures of which 1 is white.
pub(super) fn find_white(reader: &Reader<'_>, layout: &mut Layout) -> Result<(), MediaError> {
    let Sample::Float { black, is_said: false, .. } = layout.sample else { return Ok(()) };
    let (mut all, mut beyond, mut most) = (0_u64, 0_u64, 1.0_f32);
    for down in 0..layout.down() {
        let rows = layout.chunk_height.min(layout.height - down * layout.chunk_height);
        for bytes in row_of_chunks(reader, layout, down, rows)?.iter().flat_map(|chunk| chunk.chunks_exact(4))
        {
            let value = f32::from_bits(layout.order.u32([bytes[0], bytes[1], bytes[2], bytes[3]]));
            all += 1;
            beyond += u64::from(value > 1.0);
            most = if value.is_finite() { most.max(value) } else { most };
        }
    }
    if beyond * 2 > all {
        let white = WHITES.into_iter().find(|white| most <= *white).unwrap_or(most);
        layout.sample = Sample::Float { black, white, is_said: true };
    }
    Ok(())
}

/// The chunks side by side at one height, plane after plane, decompressed.
fn row_of_chunks(
    reader: &Reader<'_>,
    layout: &Layout,
    down: u32,
    rows: u32,
) -> Result<Vec<Vec<u8>>, MediaError> {
    let across = layout.across() as usize;
    let per_plane = across * layout.down() as usize;
    // A tile is stored whole even where it reaches past the page.
    let stored_rows = if layout.tiled { layout.chunk_height } else { rows };
    let mut decoded = Vec::with_capacity(across * layout.planes as usize);
    for plane in 0..layout.planes as usize {
        for column in 0..across {
            let chunk = layout.chunks[plane * per_plane + down as usize * across + column];
            let raw = reader.input.read(chunk.at, chunk.bytes)?;
            let mut bytes = codec::decompress(layout, raw, stored_rows)?;
            if layout.predictor != Predictor::None && layout.compression != Compression::Jpeg {
                undo_predictor(layout, &mut bytes);
            }
            decoded.push(bytes);
        }
    }
    Ok(decoded)
}

/// One row over all chunks: samples of 8 bits, those of a pixel together.
fn gather(layout: &Layout, chunks: &[Vec<u8>], row: usize, out: &mut Vec<u8>) {
    let across = layout.across() as usize;
    let row_bytes = layout.row_bytes(layout.chunk_width) as usize;
    let subsampled = matches!(layout.photometric, Photometric::Ycbcr(across, down) if across * down > 1);
    let together = layout.samples_together() as usize;
    let mut planes = Vec::new();
    for (index, chunk) in chunks.iter().enumerate() {
        let left = (index % across) * layout.chunk_width as usize;
        let count = (layout.chunk_width as usize).min(layout.width as usize - left);
        if subsampled && layout.compression != Compression::Jpeg {
            spread_chroma(layout, chunk, row, count, out);
            continue;
        }
        let bytes = &chunk[row * row_bytes..(row + 1) * row_bytes];
        if layout.planes == 1 {
            to_eight_bits(layout, bytes, count * together, out);
        } else {
            to_eight_bits(layout, bytes, count, &mut planes);
        }
    }
    let width = layout.width as usize;
    if layout.planes > 1 {
        for x in 0..width {
            out.extend((0..layout.planes as usize).map(|plane| planes[plane * width + x]));
        }
    }
}
