//! A strip or tile from the file to plain samples. Nothing grows past what the layout computed.

use std::borrow::Cow;
use std::io::Read;

use flate2::{Decompress, FlushDecompress, Status};
use hayro_ccitt::{DecodeSettings, DecoderContext, EncodingMode};
use weezl::BitOrder;

use super::layout::{Compression, Layout, Photometric};
use crate::error::MediaError;
use crate::jpeg::{self, Meaning};

/// The largest window that a zstd frame may ask for: 128 MiB, as the tool itself allows.
const ZSTD_WINDOW_LOG: u32 = 27;

/// Decompresses `rows` rows of a chunk into exactly as many bytes as they take.
pub(super) fn decompress(layout: &Layout, mut raw: Vec<u8>, rows: u32) -> Result<Vec<u8>, MediaError> {
    let needed = layout.bytes_of_rows(rows) as usize;
    if layout.bits_reversed && layout.compression != Compression::Jpeg {
        raw.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
    }
    let (name, out) = match layout.compression {
        Compression::None => return plain(raw, needed),
        Compression::Huffman | Compression::Group3 { .. } | Compression::Group4 => {
            return fax(layout, &raw, rows);
        }
        Compression::Jpeg => return embedded_jpeg(layout, &raw, rows),
        Compression::Lzw => ("LZW", lzw(&raw, needed)),
        Compression::Deflate => ("deflate", deflate(&raw, needed)),
        Compression::PackBits => ("PackBits", pack_bits(&raw, needed)),
        Compression::Zstd => ("zstd", zstd(&raw, needed)),
    };
    match out {
        Some(out) if out.len() == needed => Ok(out),
        Some(out) => {
            Err(MediaError::damaged(format!("its {name} data gives {} bytes of {needed}", out.len())))
        }
        None => Err(MediaError::damaged(format!("its {name} data cannot be read"))),
    }
}

fn plain(mut raw: Vec<u8>, needed: usize) -> Result<Vec<u8>, MediaError> {
    if raw.len() < needed {
        return Err(MediaError::damaged(format!("a strip or tile has {} bytes of {needed}", raw.len())));
    }
    raw.truncate(needed);
    Ok(raw)
}

fn lzw(mut raw: &[u8], needed: usize) -> Option<Vec<u8>> {
    let mut decoder = weezl::decode::Decoder::with_tiff_size_switch(BitOrder::Msb, 8);
    let mut out = vec![0; needed];
    let mut filled = 0;
    while filled < needed {
        let step = decoder.decode_bytes(raw, &mut out[filled..]);
        filled += step.consumed_out;
        raw = &raw[step.consumed_in..];
        match step.status.ok()? {
            weezl::LzwStatus::Ok if step.consumed_in + step.consumed_out > 0 => {}
            weezl::LzwStatus::Ok | weezl::LzwStatus::Done | weezl::LzwStatus::NoProgress => break,
        }
    }
    out.truncate(filled);
    Some(out)
}

fn deflate(raw: &[u8], needed: usize) -> Option<Vec<u8>> {
    let mut decoder = Decompress::new(true);
    let mut out = vec![0; needed];
    loop {
        let (read, written) = (decoder.total_in(), decoder.total_out());
        let status = decoder
            .decompress(&raw[read as usize..], &mut out[written as usize..], FlushDecompress::None)
            .ok()?;
        let still = (decoder.total_in(), decoder.total_out()) == (read, written);
        if status == Status::StreamEnd || still || decoder.total_out() as usize == needed {
            break;
        }
    }
    out.truncate(decoder.total_out() as usize);
    Some(out)
}

fn zstd(raw: &[u8], needed: usize) -> Option<Vec<u8>> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(raw).ok()?;
    decoder.window_log_max(ZSTD_WINDOW_LOG).ok()?;
    let mut out = Vec::with_capacity(needed);
    decoder.take(needed as u64).read_to_end(&mut out).ok()?;
    Some(out)
}

fn pack_bits(raw: &[u8], needed: usize) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(needed);
    let mut rest = raw;
    while out.len() < needed {
        let Some((&head, tail)) = rest.split_first() else { break };
        rest = tail;
        let room = needed - out.len();
        match head as i8 {
            -128 => {}
            head @ 0..=127 => {
                let count = head as usize + 1;
                if rest.len() < count {
                    break;
                }
                out.extend_from_slice(&rest[..count.min(room)]);
                rest = &rest[count..];
            }
            head @ -127..=-1 => {
                let Some((&value, tail)) = rest.split_first() else { break };
                out.resize(out.len() + (1 - isize::from(head)).unsigned_abs().min(room), value);
                rest = tail;
            }
        }
    }
    Some(out)
}

/// Rows of a fax as bits, black ones set.
struct Rows {
    out: Vec<u8>,
    row_bytes: usize,
    width: u32,
    rows_left: u32,
}

impl hayro_ccitt::Decoder for Rows {
    fn push_row(&mut self, changes: &[u32]) {
        if self.rows_left == 0 {
            return;
        }
        self.rows_left -= 1;
        let start = self.out.len();
        self.out.resize(start + self.row_bytes, 0);
        let row = &mut self.out[start..];
        for run in changes.chunks(2) {
            let end = run.get(1).copied().unwrap_or(self.width).min(self.width);
            set_bits(row, run[0].min(end) as usize, end as usize);
        }
    }
}

fn set_bits(row: &mut [u8], from: usize, to: usize) {
    let mut at = from;
    while at < to {
        if at.is_multiple_of(8) && to - at >= 8 {
            row[at / 8] = 0xff;
            at += 8;
        } else {
            row[at / 8] |= 0x80 >> (at % 8);
            at += 1;
        }
    }
}

fn fax(layout: &Layout, raw: &[u8], rows: u32) -> Result<Vec<u8>, MediaError> {
    let (encoding, marked, aligned) = match layout.compression {
        Compression::Group4 => (EncodingMode::Group4, false, false),
        Compression::Group3 { two_dimensional: true } => (EncodingMode::Group3_2D, true, false),
        Compression::Group3 { two_dimensional: false } => (EncodingMode::Group3_1D, true, false),
        _ => (EncodingMode::Group3_1D, false, true),
    };
    let settings = DecodeSettings {
        columns: layout.chunk_width,
        rows,
        end_of_block: !aligned,
        end_of_line: marked,
        rows_are_byte_aligned: aligned,
        encoding,
        strict: false,
    };
    let row_bytes = layout.row_bytes(layout.chunk_width) as usize;
    let mut decoded = Rows {
        out: Vec::with_capacity(row_bytes * rows as usize),
        row_bytes,
        width: layout.chunk_width,
        rows_left: rows,
    };
    let outcome = hayro_ccitt::decode(raw, &mut decoded, &mut DecoderContext::new(settings));
    if decoded.rows_left > 0 {
        let rows_read = rows - decoded.rows_left;
        let why = outcome.err().map(|error| format!(" ({error:?})")).unwrap_or_default();
        return Err(MediaError::damaged(format!("its fax data gives {rows_read} rows of {rows}{why}")));
    }
    Ok(decoded.out)
}

fn embedded_jpeg(layout: &Layout, raw: &[u8], rows: u32) -> Result<Vec<u8>, MediaError> {
    let stream = with_tables(&layout.jpeg_tables, raw);
    let header = jpeg::header(&stream)?;
    let (width, height) = (layout.chunk_width, layout.chunk_height);
    let samples = layout.samples_together() as usize;
    if header.width != width || header.height < rows || header.height > height || header.components != samples
    {
        return Err(MediaError::damaged(format!(
            "a JPEG of {}×{} with {} components stands for {width}×{rows} with {samples}",
            header.width, header.height, header.components
        )));
    }
    let meaning = if matches!(layout.photometric, Photometric::Ycbcr(..)) && samples == 3 {
        Meaning::Ycbcr
    } else {
        Meaning::Plain
    };
    let (_, _, _, mut data) = jpeg::decode_samples(&stream, meaning)?;
    data.truncate(width as usize * rows as usize * samples);
    Ok(data)
}

/// The tables of the page and the stream of the chunk as one JPEG: the end of the one and the start of the other left out.
fn with_tables<'a>(tables: &[u8], raw: &'a [u8]) -> Cow<'a, [u8]> {
    let Some(tables) = tables.strip_suffix(b"\xff\xd9") else { return Cow::Borrowed(raw) };
    let stream = raw.strip_prefix(b"\xff\xd8").unwrap_or(raw);
    Cow::Owned([tables, stream].concat())
}
