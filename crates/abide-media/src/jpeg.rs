//! Pixels to JPEG and back.

mod bits;
mod block;
mod decode;
mod encode;
mod frame;
mod huffman;
mod quick;
mod segments;
mod small;

pub(crate) use decode::{
    Meaning, decode_luma, decode_pixels, decode_samples, header, rgb_of_inks, rgb_of_ycbcr,
};
pub(crate) use encode::{Encoder, encode};

use crate::pixels::Colour;

/// How much effort goes into a JPEG.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// The smallest file for its quality: progressive, quantized by rate and distortion.
    #[default]
    Default,
    /// Many times faster, at a cost in bytes.
    Fast,
}

/// How a JPEG is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JpegSettings {
    /// 1 to 100.
    pub quality: u8,
    /// Effort.
    pub preset: Preset,
}

impl Default for JpegSettings {
    fn default() -> JpegSettings {
        JpegSettings { quality: 95, preset: Preset::Default }
    }
}

/// What the encoder holds of so many pixels, at most: coefficients of 16 bits and which of them are not zero, chroma at a
/// quarter, and the file.
pub(crate) fn encoder_memory(pixels: u64, colour: Colour) -> u64 {
    match colour {
        Colour::Gray => pixels * 4,
        Colour::Rgb => pixels * 6,
    }
}
