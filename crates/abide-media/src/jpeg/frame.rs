//! What stands in a file before its scans, as mozjpeg writes it for such a picture: its quantization tables too.

use std::io;

use mozjpeg::compress::CompressStarted;
use mozjpeg::qtable::{AnnexK_Chroma, AnnexK_Luma};
use mozjpeg::{ColorSpace, Compress, Marker, PixelDensity, PixelDensityUnit};

use super::Preset;
use super::segments::{FRAMES, segments};
use crate::pixels::{Attached, Colour, Length};

/// Bytes of a profile that one marker holds, beside its name and number.
const PROFILE_PIECE: usize = 65_533 - 14;
/// The marker of quantization tables.
const TABLES: u8 = 0xdb;

/// The marker of a frame in one scan that every decoder reads.
pub(super) const BASELINE: u8 = 0xc0;
/// The marker of a frame in scans that add to each other.
pub(super) const PROGRESSIVE: u8 = 0xc2;

/// The head of a file.
pub(super) struct Frame {
    /// Everything before the frame header: marker of the start, applications, quantization tables.
    before: Vec<u8>,
    /// The content of the frame header.
    header: Vec<u8>,
    pub(super) components: Vec<Component>,
}

/// A component: brightness, or a colour at half the resolution both ways.
#[derive(Clone, Debug)]
pub(super) struct Component {
    pub(super) id: u8,
    /// The quantization steps, in the order of a scan.
    pub(super) steps: [u16; 64],
}

/// What mozjpeg wrote is not a JPEG.
pub(super) fn torn() -> io::Error {
    io::Error::other("the encoder gave what cannot be read")
}

/// A picture of one pixel. Up to its pixels it says what a larger one says, but for the size.
pub(super) fn sample(
    colour: Colour,
    attached: &Attached,
    quality: u8,
    preset: Preset,
) -> io::Result<Vec<u8>> {
    let mut compress = Compress::new(match colour {
        Colour::Gray => ColorSpace::JCS_GRAYSCALE,
        Colour::Rgb => ColorSpace::JCS_RGB,
    });
    let quality = f32::from(quality);
    compress.set_size(1, 1);
    match preset {
        Preset::Default => {
            compress.set_quality(quality);
            compress.set_optimize_scans(false);
        }
        Preset::Fast => {
            compress.set_fastest_defaults();
            compress.set_luma_qtable(&AnnexK_Luma.scaled(quality, quality));
            compress.set_chroma_qtable(&AnnexK_Chroma.scaled(quality, quality));
        }
    }
    if colour == Colour::Rgb {
        compress.set_chroma_sampling_pixel_sizes((2, 2), (2, 2));
    }
    if let Some(resolution) = attached.resolution {
        let unit = match resolution.per {
            Length::Inch => PixelDensityUnit::Inches,
            Length::Centimetre => PixelDensityUnit::Centimeters,
        };
        compress.set_pixel_density(PixelDensity { unit, x: resolution.across, y: resolution.down });
    }
    let mut started = compress.start_compress(Vec::new())?;
    if let Some(profile) = &attached.profile {
        write_profile(&mut started, profile);
    }
    started.write_scanlines(&[0, 0, 0][..colour.channels()])?;
    started.finish()
}

impl Frame {
    /// The frame of a file whose coefficients come in one order.
    pub(super) fn read(jpeg: &[u8]) -> io::Result<Frame> {
        let mut tables = [None; 4];
        for segment in segments(jpeg) {
            if segment.marker == TABLES {
                read_tables(segment.content, &mut tables)?;
            }
            if FRAMES.contains(&segment.marker) {
                let parts = segment.content.get(6..).unwrap_or_default().chunks_exact(3);
                let component = |part: &[u8]| {
                    let steps = tables.get(usize::from(part[2])).copied().flatten();
                    Ok(Component { id: part[0], steps: steps.ok_or_else(torn)? })
                };
                let components = parts.map(component).collect::<io::Result<Vec<_>>>()?;
                let (before, header) = (jpeg[..segment.at].to_vec(), segment.content.to_vec());
                return Ok(Frame { before, header, components });
            }
        }
        Err(torn())
    }

    /// Writes the head of a file of this size, up to its first scan, whose frame has this marker.
    pub(super) fn write(&self, out: &mut Vec<u8>, marker: u8, width: u16, height: u16) {
        out.extend_from_slice(&self.before);
        let length = (self.header.len() + 2) as u16;
        out.extend_from_slice(&[0xff, marker]);
        out.extend_from_slice(&length.to_be_bytes());
        out.push(self.header[0]);
        out.extend_from_slice(&height.to_be_bytes());
        out.extend_from_slice(&width.to_be_bytes());
        out.extend_from_slice(&self.header[5..]);
    }
}

/// Pieces of a profile are numbered from 1; the library's own way of writing them begins at 0, which readers refuse.
fn write_profile(started: &mut CompressStarted<Vec<u8>>, profile: &[u8]) {
    let pieces = profile.chunks(PROFILE_PIECE);
    let count = pieces.len();
    for (number, piece) in (1..).zip(pieces) {
        let content = [b"ICC_PROFILE\0".as_slice(), &[number, count as u8], piece].concat();
        started.write_marker(Marker::APP(2), &content);
    }
}

fn read_tables(mut content: &[u8], tables: &mut [Option<[u16; 64]>; 4]) -> io::Result<()> {
    while let [head, rest @ ..] = content {
        let wide = head >> 4 != 0;
        let length = if wide { 128 } else { 64 };
        let steps = rest.get(..length).ok_or_else(torn)?;
        let step = |at: usize| {
            if wide { u16::from_be_bytes([steps[2 * at], steps[2 * at + 1]]) } else { u16::from(steps[at]) }
        };
        *tables.get_mut(usize::from(head & 15)).ok_or_else(torn)? = Some(std::array::from_fn(step));
        content = &rest[length..];
    }
    Ok(())
}
