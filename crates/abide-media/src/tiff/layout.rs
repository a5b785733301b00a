//! What a page is made of, checked against the bounds before a pixel is read.

use super::directory::{Directory, Order, Reader};
use super::old_jpeg;
use crate::bounds::{Bounds, JPEG_SIDE};
use crate::error::{MediaError, within};
use crate::pixels::{Attached, Colour, Length, Orientation, Resolution};

/// Strips or tiles that one page may have.
pub(super) const CHUNKS: u64 = 1 << 20;
/// What markers of a JPEG can carry.
const PROFILE_BYTES: u64 = 254 * 65_519;
/// JPEG tables are four of each kind, well under this.
const TABLES_BYTES: u64 = 64 << 10;
/// Uncompressed strips are read in pieces of so many rows.
const ROWS_AT_ONCE: u32 = 64;

/// One page, all of whose numbers agree.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) order: Order,
    pub(super) compression: Compression,
    pub(super) photometric: Photometric,
    pub(super) sample: Sample,
    /// Samples of a pixel, extra ones included.
    pub(super) samples: u32,
    pub(super) alpha: Alpha,
    pub(super) predictor: Predictor,
    pub(super) planes: u32,
    pub(super) chunk_width: u32,
    pub(super) chunk_height: u32,
    pub(super) tiled: bool,
    pub(super) chunks: Vec<Chunk>,
    pub(super) bits_reversed: bool,
    pub(super) jpeg_tables: Vec<u8>,
    pub(super) orientation: Orientation,
    pub(super) attached: Attached,
    pub(super) memory_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub(super) at: u64,
    pub(super) bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Huffman,
    Group3 { two_dimensional: bool },
    Group4,
    Lzw,
    Jpeg,
    Deflate,
    PackBits,
    Zstd,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Photometric {
    WhiteIsZero,
    BlackIsZero,
    Rgb,
    Palette(Vec<[u8; 3]>),
    Cmyk,
    /// How many luma samples share their chroma, across and down.
    Ycbcr(u32, u32),
}

/// What one sample is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sample {
    Unsigned {
        bits: u32,
    },
    /// 32 bits; what is black and what is white, and whether the file says so.
    Float {
        black: f32,
        white: f32,
        is_said: bool,
    },
}

impl Sample {
    pub(super) fn bits(self) -> u32 {
        match self {
            Sample::Unsigned { bits } => bits,
            Sample::Float { .. } => 32,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alpha {
    None,
    /// Colours are multiplied by it already.
    Associated,
    Unassociated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Predictor {
    None,
    Horizontal,
    Float,
}

impl Layout {
    pub(super) fn read(
        reader: &Reader<'_>,
        directory: &Directory,
        bounds: &Bounds,
    ) -> Result<Layout, MediaError> {
        let side = |tag, what| -> Result<u32, MediaError> {
            let side = reader.number(directory, tag)?.filter(|side| *side > 0);
            let side = side.ok_or_else(|| MediaError::damaged(format!("it has no {what}")))?;
            within("the longer side in pixels", side, u64::from(JPEG_SIDE))?;
            Ok(side as u32)
        };
        let (width, height) = (side(256, "width")?, side(257, "height")?);
        within("the page in pixels", u64::from(width) * u64::from(height), bounds.pixels)?;
        let whole_jpeg = old_jpeg::whole(reader, directory)?;
        let compression = match whole_jpeg {
            Some(_) => Compression::Jpeg,
            None => compression(reader, directory)?,
        };
        let samples = match reader.number(directory, 277)? {
            Some(samples) => samples,
            None if whole_jpeg.is_some() => old_jpeg::samples(reader, directory)?,
            None => 1,
        };
        if samples == 0 || samples > 16 {
            return Err(MediaError::unsupported(format!("a pixel of {samples} samples")));
        }
        let sample = sample(reader, directory, samples)?;
        let photometric = photometric(reader, directory, sample, compression)?;
        let (alpha, samples) = (alpha(reader, directory, &photometric, samples)?, samples as u32);
        let planes = match reader.number(directory, 284)?.unwrap_or(1) {
            2 if samples > 1 => samples,
            1 | 2 => 1,
            other => return Err(MediaError::damaged(format!("its planar configuration is {other}"))),
        };
        let colour = photometric.colour();
        let orientation = Orientation::new(reader.number(directory, 274)?.unwrap_or(1));
        let resolution = resolution(reader, directory)?.map(|stored| orientation.resolution(stored));
        let profile = reader.bytes(directory, 34_675, "the ICC profile in bytes", PROFILE_BYTES)?;
        let tables = reader.bytes(directory, 347, "the JPEG tables in bytes", TABLES_BYTES)?;
        let mut layout = Layout {
            width,
            height,
            order: reader.order,
            compression,
            sample,
            samples,
            alpha,
            predictor: predictor(reader, directory)?,
            planes,
            chunk_width: width,
            chunk_height: height,
            tiled: directory.has(322),
            chunks: Vec::new(),
            bits_reversed: reader.number(directory, 266)? == Some(2),
            jpeg_tables: tables.unwrap_or_default(),
            orientation,
            attached: Attached::new(profile, resolution, colour),
            memory_bytes: 0,
            photometric,
        };
        layout.check_combination()?;
        match whole_jpeg {
            Some(whole) => (layout.chunks, layout.tiled) = (vec![whole], false),
            None => layout.read_chunks(reader, directory)?,
        }
        layout.memory_bytes = layout.memory();
        within("the memory to convert a page in bytes", layout.memory_bytes, bounds.memory_bytes)?;
        Ok(layout)
    }

    /// What the parts do not allow together.
    fn check_combination(&self) -> Result<(), MediaError> {
        let fax = matches!(
            self.compression,
            Compression::Huffman | Compression::Group3 { .. } | Compression::Group4
        );
        if fax && (self.sample.bits() != 1 || self.samples != 1) {
            return Err(MediaError::damaged("it is coded as a fax but not black and white"));
        }
        if self.compression == Compression::Jpeg && self.sample != (Sample::Unsigned { bits: 8 }) {
            return Err(MediaError::unsupported("JPEG of other than 8 bits inside TIFF"));
        }
        let needed = match self.photometric {
            Photometric::WhiteIsZero | Photometric::BlackIsZero | Photometric::Palette(_) => 1,
            Photometric::Rgb | Photometric::Ycbcr(..) => 3,
            Photometric::Cmyk => 4,
        };
        if self.samples < needed {
            return Err(MediaError::damaged(format!(
                "its pixels have {} samples, not {needed}",
                self.samples
            )));
        }
        if matches!(self.photometric, Photometric::Ycbcr(across, down) if across * down > 1)
            && self.compression != Compression::Jpeg
            && (self.planes > 1 || self.samples != 3 || self.predictor != Predictor::None)
        {
            return Err(MediaError::unsupported(
                "subsampled YCbCr in planes, with extra samples or with a predictor",
            ));
        }
        match (self.predictor, self.sample) {
            (Predictor::Horizontal, Sample::Unsigned { bits: 8 | 16 | 32 } | Sample::Float { .. })
            | (Predictor::Float, Sample::Float { .. })
            | (Predictor::None, _) => Ok(()),
            (predictor, sample) => Err(MediaError::unsupported(format!(
                "the predictor {predictor:?} with {} bits",
                sample.bits()
            ))),
        }
    }

    fn read_chunks(&mut self, reader: &Reader<'_>, directory: &Directory) -> Result<(), MediaError> {
        let (offsets, lengths) = if self.tiled {
            let side = |tag| -> Result<u32, MediaError> {
                let side =
                    reader.number(directory, tag)?.filter(|side| (1..=u64::from(JPEG_SIDE)).contains(side));
                side.map(|side| side as u32).ok_or_else(|| MediaError::damaged("its tiles have no size"))
            };
            (self.chunk_width, self.chunk_height) = (side(322)?, side(323)?);
            (324, 325)
        } else {
            let rows = reader.number(directory, 278)?.unwrap_or(u64::from(self.height));
            if rows == 0 {
                return Err(MediaError::damaged("its strips have no rows"));
            }
            self.chunk_height = rows.min(u64::from(self.height)) as u32;
            (273, 279)
        };
        let needed = u64::from(self.across()) * u64::from(self.down()) * u64::from(self.planes);
        within("the number of strips or tiles", needed, CHUNKS)?;
        let offsets = reader.numbers(directory, offsets, needed)?;
        let mut lengths = reader.numbers(directory, lengths, needed)?;
        if lengths.is_empty() && self.compression == Compression::None {
            lengths = offsets.iter().map(|_| self.chunk_bytes()).collect();
        }
        if (offsets.len() as u64) < needed || (lengths.len() as u64) < needed {
            let what = format!("it has {} strips or tiles of {needed}", offsets.len().min(lengths.len()));
            return Err(MediaError::damaged(what));
        }
        self.chunks =
            offsets.iter().zip(&lengths).map(|(at, bytes)| Chunk { at: *at, bytes: *bytes }).collect();
        if let Some(chunk) =
            self.chunks.iter().find(|chunk| chunk.at.saturating_add(chunk.bytes) > reader.input.len())
        {
            let what =
                format!("{} bytes at {} are past its end at {}", chunk.bytes, chunk.at, reader.input.len());
            return Err(MediaError::damaged(what));
        }
        self.split_strips();
        Ok(())
    }

    /// Uncompressed strips are read a few rows at a time, so that a page in one strip is not held as a whole.
    fn split_strips(&mut self) {
        let whole_rows =
            !matches!(self.photometric, Photometric::Ycbcr(..)) && self.planes == 1 && !self.tiled;
        if self.compression != Compression::None || !whole_rows || self.chunk_height <= ROWS_AT_ONCE {
            return;
        }
        let row = self.row_bytes(self.width);
        let (mut chunks, mut y) = (Vec::new(), 0);
        for strip in &self.chunks {
            let rows = self.chunk_height.min(self.height - y);
            // Strips whose rows would not end where pieces end stay as they are.
            if !rows.is_multiple_of(ROWS_AT_ONCE) && y + rows < self.height {
                return;
            }
            for first in (0..rows).step_by(ROWS_AT_ONCE as usize) {
                let skipped = u64::from(first) * row;
                let bytes = u64::from(ROWS_AT_ONCE.min(rows - first)) * row;
                chunks.push(Chunk {
                    at: strip.at + skipped,
                    bytes: bytes.min(strip.bytes.saturating_sub(skipped)),
                });
            }
            y += rows;
        }
        self.chunk_height = ROWS_AT_ONCE;
        self.chunks = chunks;
    }

    /// Chunks in a row of chunks.
    pub(super) fn across(&self) -> u32 {
        self.width.div_ceil(self.chunk_width)
    }

    /// Rows of chunks.
    pub(super) fn down(&self) -> u32 {
        self.height.div_ceil(self.chunk_height)
    }

    /// Samples that stand together in a chunk.
    pub(super) fn samples_together(&self) -> u32 {
        if self.planes > 1 { 1 } else { self.samples }
    }

    /// Bytes of a row of so many pixels in one plane.
    pub(super) fn row_bytes(&self, width: u32) -> u64 {
        (u64::from(width) * u64::from(self.samples_together()) * u64::from(self.sample.bits())).div_ceil(8)
    }

    /// Bytes of a whole chunk, decompressed.
    pub(super) fn chunk_bytes(&self) -> u64 {
        self.bytes_of_rows(self.chunk_height)
    }

    /// Bytes of the first rows of a chunk, decompressed.
    pub(super) fn bytes_of_rows(&self, rows: u32) -> u64 {
        match self.photometric {
            Photometric::Ycbcr(across, down)
                if across * down > 1 && self.compression != Compression::Jpeg =>
            {
                let units = u64::from(self.chunk_width.div_ceil(across)) * u64::from(rows.div_ceil(down));
                units * u64::from(across * down + 2)
            }
            _ => self.row_bytes(self.chunk_width) * u64::from(rows),
        }
    }

    /// Compressed and decompressed chunks, the picture if it must be turned, and what the encoder keeps.
    fn memory(&self) -> u64 {
        let compressed = self.chunks.iter().map(|chunk| chunk.bytes).max().unwrap_or(0);
        let row_of_chunks = self.chunk_bytes() * u64::from(self.across()) * u64::from(self.planes);
        let pixels = u64::from(self.width) * u64::from(self.height);
        let channels = self.photometric.colour().channels() as u64;
        let turned = if self.orientation == Orientation::UPRIGHT { 0 } else { 2 * channels * pixels };
        compressed
            + 2 * row_of_chunks
            + turned
            + crate::jpeg::encoder_memory(pixels, self.photometric.colour())
    }
}

impl Photometric {
    pub(super) fn colour(&self) -> Colour {
        match self {
            Photometric::WhiteIsZero | Photometric::BlackIsZero => Colour::Gray,
            Photometric::Rgb | Photometric::Palette(_) | Photometric::Cmyk | Photometric::Ycbcr(..) => {
                Colour::Rgb
            }
        }
    }
}

fn compression(reader: &Reader<'_>, directory: &Directory) -> Result<Compression, MediaError> {
    let unsupported = |what: &str| Err(MediaError::unsupported(format!("{what} inside TIFF")));
    match reader.number(directory, 259)?.unwrap_or(1) {
        1 => Ok(Compression::None),
        2 => Ok(Compression::Huffman),
        3 => {
            let options = reader.number(directory, 292)?.unwrap_or(0);
            if options & 2 != 0 {
                return unsupported("the uncompressed mode of Group 3");
            }
            Ok(Compression::Group3 { two_dimensional: options & 1 != 0 })
        }
        4 => Ok(Compression::Group4),
        5 => Ok(Compression::Lzw),
        6 => unsupported("JPEG of the old style (compression 6)"),
        7 => Ok(Compression::Jpeg),
        8 | 32_946 => Ok(Compression::Deflate),
        32_773 => Ok(Compression::PackBits),
        50_000 => Ok(Compression::Zstd),
        33_003..=33_005 | 34_712 => unsupported("JPEG 2000"),
        34_887 => unsupported("LERC"),
        34_661 => unsupported("JBIG"),
        34_925 => unsupported("LZMA"),
        50_001 => unsupported("WebP"),
        50_002 | 52_546 => unsupported("JPEG XL"),
        other => unsupported(&format!("compression {other}")),
    }
}

fn sample(reader: &Reader<'_>, directory: &Directory, samples: u64) -> Result<Sample, MediaError> {
    let bits = reader.numbers(directory, 258, samples)?;
    let first = bits.first().copied().unwrap_or(1);
    if bits.iter().any(|bits| *bits != first) {
        return Err(MediaError::unsupported("a pixel whose samples differ in their bits"));
    }
    let formats = reader.numbers(directory, 339, samples)?;
    let format = formats.first().copied().unwrap_or(1);
    if formats.iter().any(|other| *other != format) {
        return Err(MediaError::unsupported("a pixel whose samples differ in their format"));
    }
    match (format, first) {
        (1 | 4, 1..=16 | 32) => Ok(Sample::Unsigned { bits: first as u32 }),
        (3, 32) => {
            let black = reader.fractions(directory, 340, 1)?.first().copied().unwrap_or(0.0) as f32;
            let said = reader.fractions(directory, 341, 1)?.first().map(|white| *white as f32);
            // A range that is none says nothing.
            let said = said.filter(|white| *white > black);
            let (black, white) = match said {
                Some(white) => (black, white),
                None if black < 1.0 => (black, 1.0),
                None => (0.0, 1.0),
            };
            Ok(Sample::Float { black, white, is_said: said.is_some() })
        }
        (2, _) => Err(MediaError::unsupported("samples with a sign")),
        (3, bits) => Err(MediaError::unsupported(format!("floating point of {bits} bits"))),
        (5 | 6, _) => Err(MediaError::unsupported("complex samples")),
        (1 | 4, bits) => Err(MediaError::unsupported(format!("samples of {bits} bits"))),
        (format, _) => Err(MediaError::damaged(format!("its sample format is {format}"))),
    }
}

fn photometric(
    reader: &Reader<'_>,
    directory: &Directory,
    sample: Sample,
    compression: Compression,
) -> Result<Photometric, MediaError> {
    let fax = matches!(compression, Compression::Huffman | Compression::Group3 { .. } | Compression::Group4);
    let value = match reader.number(directory, 262)? {
        Some(value) => value,
        None if fax => 0,
        None => {
            return Err(MediaError::damaged(
                "it does not say what its numbers mean (no photometric interpretation)",
            ));
        }
    };
    match value {
        0 => Ok(Photometric::WhiteIsZero),
        1 => Ok(Photometric::BlackIsZero),
        2 => Ok(Photometric::Rgb),
        3 => palette(reader, directory, sample),
        4 => Err(MediaError::unsupported("a transparency mask")),
        5 => match reader.number(directory, 332)?.unwrap_or(1) {
            1 => Ok(Photometric::Cmyk),
            _ => Err(MediaError::unsupported("inks other than CMYK")),
        },
        6 => ycbcr(reader, directory, sample),
        8..=10 => Err(MediaError::unsupported("CIELab inside TIFF")),
        32_803 | 34_892 => Err(MediaError::unsupported("a raw camera image")),
        32_844 | 32_845 => Err(MediaError::unsupported("LogLuv inside TIFF")),
        other => Err(MediaError::unsupported(format!("photometric interpretation {other}"))),
    }
}

fn palette(reader: &Reader<'_>, directory: &Directory, sample: Sample) -> Result<Photometric, MediaError> {
    let Sample::Unsigned { bits: bits @ 1..=8 } = sample else {
        return Err(MediaError::unsupported(format!("a palette of {} bits", sample.bits())));
    };
    let colours = 1usize << bits;
    let map = reader.numbers(directory, 320, 3 * colours as u64)?;
    if map.len() < 3 * colours {
        return Err(MediaError::damaged(format!("its palette has {} numbers of {}", map.len(), 3 * colours)));
    }
    // Some writers fill in 8 bits of the 16 that are prescribed.
    let narrow = map.iter().all(|value| *value < 256);
    let eight = |value: u64| if narrow { value as u8 } else { (value >> 8) as u8 };
    let colour =
        |index: usize| [eight(map[index]), eight(map[colours + index]), eight(map[2 * colours + index])];
    Ok(Photometric::Palette((0..colours).map(colour).collect()))
}

fn ycbcr(reader: &Reader<'_>, directory: &Directory, sample: Sample) -> Result<Photometric, MediaError> {
    if sample != (Sample::Unsigned { bits: 8 }) {
        return Err(MediaError::unsupported("YCbCr of other than 8 bits"));
    }
    let shared = reader.numbers(directory, 530, 2)?;
    let (across, down) = match shared[..] {
        [] => (2, 2),
        [across, down] => (across, down),
        _ => return Err(MediaError::damaged("its chroma subsampling has one number")),
    };
    match (across, down) {
        (1 | 2 | 4, 1 | 2 | 4) => Ok(Photometric::Ycbcr(across as u32, down as u32)),
        _ => Err(MediaError::damaged(format!("its chroma subsampling is {across} by {down}"))),
    }
}

fn alpha(
    reader: &Reader<'_>,
    directory: &Directory,
    photometric: &Photometric,
    samples: u64,
) -> Result<Alpha, MediaError> {
    let own = match photometric {
        Photometric::WhiteIsZero | Photometric::BlackIsZero | Photometric::Palette(_) => 1,
        Photometric::Rgb | Photometric::Ycbcr(..) => 3,
        Photometric::Cmyk => 4,
    };
    if samples <= own || matches!(photometric, Photometric::Cmyk | Photometric::Palette(_)) {
        return Ok(Alpha::None);
    }
    Ok(match reader.number(directory, 338)? {
        Some(1) => Alpha::Associated,
        Some(2) => Alpha::Unassociated,
        _ => Alpha::None,
    })
}

fn predictor(reader: &Reader<'_>, directory: &Directory) -> Result<Predictor, MediaError> {
    match reader.number(directory, 317)?.unwrap_or(1) {
        1 => Ok(Predictor::None),
        2 => Ok(Predictor::Horizontal),
        3 => Ok(Predictor::Float),
        other => Err(MediaError::unsupported(format!("predictor {other}"))),
    }
}

fn resolution(reader: &Reader<'_>, directory: &Directory) -> Result<Option<Resolution>, MediaError> {
    let per = match reader.number(directory, 296)?.unwrap_or(2) {
        2 => Length::Inch,
        3 => Length::Centimetre,
        _ => return Ok(None),
    };
    let across = reader.fractions(directory, 282, 1)?.first().copied();
    let down = reader.fractions(directory, 283, 1)?.first().copied();
    let dots = |value: f64| {
        (value.is_finite() && value.round() >= 1.0 && value < 65_535.0).then(|| value.round() as u16)
    };
    Ok(across
        .zip(down)
        .and_then(|(across, down)| Some(Resolution { across: dots(across)?, down: dots(down)?, per })))
}
