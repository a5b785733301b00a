//! JPEG to pixels.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use mozjpeg::{ColorSpace, Decompress, Marker};

use super::encode::message;
use crate::error::MediaError;
use crate::pixels::{Colour, Orientation, Raster};

/// What a JPEG says of itself before its pixels.
#[derive(Clone, Debug)]
pub(crate) struct JpegHeader {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) components: usize,
    pub(crate) orientation: Orientation,
    pub(crate) profile: Option<Vec<u8>>,
    /// An Adobe marker is there: its CMYK is stored inverted.
    adobe: bool,
}

/// Reads the markers before the pixels.
pub(crate) fn header(bytes: &[u8]) -> Result<JpegHeader, MediaError> {
    let ends = Cell::new(false);
    caught(&ends, || {
        let decompress = open(bytes, &ends)?;
        Ok(read_header(decompress))
    })
}

/// The picture as stored, not yet upright, scaled down by `eighths`/8 while decoding.
pub(crate) fn decode_pixels(bytes: &[u8], eighths: u8) -> Result<Raster, MediaError> {
    let ends = Cell::new(false);
    let adobe = header(bytes)?.adobe;
    caught(&ends, || {
        let mut decompress = open(bytes, &ends)?;
        decompress.scale(eighths);
        let components = decompress.components().len();
        match components {
            1 => samples(decompress, ColorSpace::JCS_GRAYSCALE).map(|(width, height, data)| Raster {
                width,
                height,
                colour: Colour::Gray,
                data,
            }),
            4 => {
                let (width, height, inks) = samples(decompress, ColorSpace::JCS_CMYK)?;
                let mut data = Vec::with_capacity(inks.len() / 4 * 3);
                for ink in inks.chunks_exact(4) {
                    let ink = if adobe {
                        [255 - ink[0], 255 - ink[1], 255 - ink[2], 255 - ink[3]]
                    } else {
                        [ink[0], ink[1], ink[2], ink[3]]
                    };
                    data.extend_from_slice(&rgb_of_inks(ink));
                }
                Ok(Raster { width, height, colour: Colour::Rgb, data })
            }
            _ => samples(decompress, ColorSpace::JCS_RGB).map(|(width, height, data)| Raster {
                width,
                height,
                colour: Colour::Rgb,
                data,
            }),
        }
    })
}

/// How bright the pixels are, as stored.
pub(crate) fn decode_luma(bytes: &[u8]) -> Result<(u32, Vec<u8>), MediaError> {
    let ends = Cell::new(false);
    caught(&ends, || {
        let (width, _, data) = samples(open(bytes, &ends)?, ColorSpace::JCS_GRAYSCALE)?;
        Ok((width, data))
    })
}

/// How the samples of a JPEG inside another file are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// As numbers, without conversion.
    Plain,
    /// As YCbCr, to be given as RGB.
    Ycbcr,
}

/// Samples of a JPEG inside another file, whose own word on colours counts, not the JPEG's.
pub(crate) fn decode_samples(
    bytes: &[u8],
    meaning: Meaning,
) -> Result<(u32, u32, usize, Vec<u8>), MediaError> {
    let ends = Cell::new(false);
    caught(&ends, || {
        let decompress = open(bytes, &ends)?;
        let components = decompress.components().len();
        let guessed = decompress.color_space();
        let wanted = match (components, meaning) {
            (1, _) => ColorSpace::JCS_GRAYSCALE,
            (3, Meaning::Ycbcr) if guessed == ColorSpace::JCS_YCbCr => ColorSpace::JCS_RGB,
            // The library leaves samples alone when it is asked for what it takes them to be.
            (3 | 4, Meaning::Plain | Meaning::Ycbcr) => guessed,
            _ => return Err(io::Error::other(format!("{components} components"))),
        };
        let (width, height, mut data) = samples(decompress, wanted)?;
        if meaning == Meaning::Ycbcr && components == 3 && guessed != ColorSpace::JCS_YCbCr {
            for pixel in data.chunks_exact_mut(3) {
                let rgb = rgb_of_ycbcr([pixel[0], pixel[1], pixel[2]]);
                pixel.copy_from_slice(&rgb);
            }
        }
        Ok((width, height, components, data))
    })
}

/// CMYK without a profile: each ink takes its part of the light.
pub(crate) fn rgb_of_inks([c, m, y, k]: [u8; 4]) -> [u8; 3] {
    let light = |ink: u8| ((255 - u32::from(ink)) * (255 - u32::from(k)) + 127) / 255;
    [light(c) as u8, light(m) as u8, light(y) as u8]
}

/// Full-range YCbCr of ITU-R BT.601, as JFIF and TIFF use it.
pub(crate) fn rgb_of_ycbcr([y, cb, cr]: [u8; 3]) -> [u8; 3] {
    let (y, cb, cr) = (i32::from(y) << 16, i32::from(cb) - 128, i32::from(cr) - 128);
    let clamp = |value: i32| ((value + (1 << 15)) >> 16).clamp(0, 255) as u8;
    [clamp(y + 91_881 * cr), clamp(y - 22_554 * cb - 46_802 * cr), clamp(y + 116_130 * cb)]
}

fn open<'a>(bytes: &'a [u8], ends: &'a Cell<bool>) -> io::Result<Decompress<Watched<'a>>> {
    let kept = [Marker::APP(1), Marker::APP(2), Marker::APP(14)];
    Decompress::with_markers(&kept).from_reader(Watched { rest: bytes, ends })
}

fn samples(decompress: Decompress<Watched<'_>>, wanted: ColorSpace) -> io::Result<(u32, u32, Vec<u8>)> {
    let mut started = decompress.to_colorspace(wanted)?;
    let (width, height) = (started.width() as u32, started.height() as u32);
    let data = started.read_scanlines::<u8>()?;
    started.finish()?;
    Ok((width, height, data))
}

fn read_header(decompress: Decompress<Watched<'_>>) -> JpegHeader {
    let mut orientation = Orientation::UPRIGHT;
    let mut adobe = false;
    let mut pieces: Vec<(u8, &[u8])> = Vec::new();
    for marker in decompress.markers() {
        match marker.marker {
            Marker::APP(1) => orientation = exif_orientation(marker.data).unwrap_or(orientation),
            Marker::APP(2) => {
                if let Some([sequence, _, piece @ ..]) = marker.data.strip_prefix(b"ICC_PROFILE\0") {
                    pieces.push((*sequence, piece));
                }
            }
            Marker::APP(14) => adobe |= marker.data.starts_with(b"Adobe"),
            _ => {}
        }
    }
    pieces.sort_by_key(|(sequence, _)| *sequence);
    let profile: Vec<u8> = pieces.iter().flat_map(|(_, piece)| piece.iter().copied()).collect();
    JpegHeader {
        width: decompress.width() as u32,
        height: decompress.height() as u32,
        components: decompress.components().len(),
        orientation,
        profile: (!profile.is_empty()).then_some(profile),
        adobe,
    }
}

/// Tag 274 of the first directory of an Exif block.
fn exif_orientation(data: &[u8]) -> Option<Orientation> {
    let tiff = data.strip_prefix(b"Exif\0\0").unwrap_or(data);
    let little = match tiff.get(..2)? {
        b"II" => true,
        b"MM" => false,
        _ => return None,
    };
    let short = |at: usize| {
        let bytes = [*tiff.get(at)?, *tiff.get(at + 1)?];
        Some(if little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    };
    let long = |at: usize| {
        let (one, other) = (u32::from(short(at)?), u32::from(short(at + 2)?));
        Some(if little { other << 16 | one } else { one << 16 | other })
    };
    let directory = long(4)? as usize;
    let entries = short(directory)?;
    (0..usize::from(entries)).find_map(|index| {
        let at = directory.checked_add(2 + index * 12)?;
        (short(at)? == 274).then(|| short(at + 8).map(|value| Orientation::new(u64::from(value))))?
    })
}

/// libjpeg fills what is missing with gray and only murmurs; this notices that it ran out of bytes.
struct Watched<'a> {
    rest: &'a [u8],
    ends: &'a Cell<bool>,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.rest.read(buffer)
    }
}

impl BufRead for Watched<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.rest.is_empty() {
            self.ends.set(true);
        }
        Ok(self.rest)
    }

    fn consume(&mut self, count: usize) {
        self.rest.consume(count);
    }
}

fn caught<T>(ends: &Cell<bool>, work: impl FnOnce() -> io::Result<T>) -> Result<T, MediaError> {
    let done = catch_unwind(AssertUnwindSafe(work));
    if ends.get() {
        return Err(MediaError::damaged("the JPEG data ends too early"));
    }
    match done {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(MediaError::damaged(format!("the JPEG data is wrong ({error})"))),
        Err(panic) => Err(MediaError::damaged(format!("the JPEG data is wrong ({})", message(&*panic)))),
    }
}
