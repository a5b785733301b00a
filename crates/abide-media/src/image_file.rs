//! Images to smaller copies for the web.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};

use crate::bounds::Bounds;
use crate::error::{MediaError, within};
use crate::format::{Format, Treatment};
use crate::input::Input;
use crate::jpeg::{self, JpegSettings};
use crate::output::{Outputs, Target};
use crate::pixels::{Attached, Colour, Orientation, Raster};
use crate::png;
use crate::probe::{Probe, open_as};

/// An image and its smaller copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variants {
    /// By its bytes.
    pub format: Format,
    /// Pixels across of the image, upright.
    pub width: u32,
    /// Pixels down of the image, upright.
    pub height: u32,
    /// One per bound that the image exceeds, in the order of the bounds.
    pub variants: Vec<Variant>,
}

/// A smaller copy: upright, over white where it was transparent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The square that it fits inside.
    pub bound: u32,
    /// A JPEG, `stem-{bound}.jpg`.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
}

/// Makes a copy for each of `sides` that the image exceeds: it fits inside a square of that side, and is never enlarged.
pub fn variants(
    input: &Path,
    target: &Target,
    sides: &[u32],
    settings: JpegSettings,
    bounds: &Bounds,
) -> Result<Variants, MediaError> {
    let (input, format) =
        open_as(input, bounds, "an image that is decoded", |format| format.treatment() == Treatment::Image)?;
    variants_of(&input, format, target, sides, settings, bounds)
}

pub(crate) fn variants_of(
    input: &Input,
    format: Format,
    target: &Target,
    sides: &[u32],
    settings: JpegSettings,
    bounds: &Bounds,
) -> Result<Variants, MediaError> {
    let bytes = read(input, format)?;
    let shape = shape(&bytes, format, bounds)?;
    let (width, height) = shape.orientation.sides(shape.width, shape.height);
    let longest = width.max(height);
    let mut wanted: Vec<u32> = sides.iter().copied().filter(|side| *side > 0 && longest > *side).collect();
    wanted.sort_unstable_by(|a, b| b.cmp(a));
    wanted.dedup();
    let Some(&largest) = wanted.first() else {
        return Ok(Variants { format, width, height, variants: Vec::new() });
    };

    let decoded = decode(&bytes, format, &shape, largest, bounds)?;
    let attached = Attached::new(shape.profile, None, decoded.colour);
    let mut outputs = Outputs::new(target);
    let mut made = Vec::new();
    let mut current = decoded;
    for side in wanted {
        let (upright_width, upright_height) = fit_inside(width, height, side);
        let (scaled_width, scaled_height) = shape.orientation.sides(upright_width, upright_height);
        current = scale(&current, scaled_width, scaled_height)?;
        let upright = current.clone().upright(shape.orientation);
        let bytes = jpeg::encode(&upright, &attached, settings)?;
        let path = outputs.write(&format!("-{side}.jpg"), &bytes)?;
        let (width, height, bytes) = (upright.width, upright.height, bytes.len() as u64);
        made.push(Variant { bound: side, path, bytes, width, height });
    }
    let in_order =
        sides.iter().filter_map(|side| made.iter().find(|variant| variant.bound == *side).cloned());
    let variants = in_order.collect();
    outputs.keep();
    Ok(Variants { format, width, height, variants })
}

pub(crate) fn probe(input: &Input, bounds: &Bounds, probe: Probe) -> Result<Probe, MediaError> {
    let shape = shape(&read(input, probe.format)?, probe.format, bounds)?;
    let (width, height) = shape.orientation.sides(shape.width, shape.height);
    Ok(Probe { pages: 1, width, height, memory_bytes: shape.memory_bytes, ..probe })
}

/// The file, without what only harms whoever decodes it.
fn read(input: &Input, format: Format) -> Result<Vec<u8>, MediaError> {
    let mut bytes = input.read_all()?;
    if format == Format::Png {
        png::drop_bombs(&mut bytes);
    }
    Ok(bytes)
}

/// What the header says.
struct Shape {
    width: u32,
    height: u32,
    orientation: Orientation,
    profile: Option<Vec<u8>>,
    memory_bytes: u64,
}

fn shape(bytes: &[u8], format: Format, bounds: &Bounds) -> Result<Shape, MediaError> {
    let (width, height, orientation, profile) = if format == Format::Jpeg {
        let header = jpeg::header(bytes)?;
        (header.width, header.height, header.orientation, header.profile)
    } else {
        if let Some((width, height)) = png::sides(bytes).filter(|_| format == Format::Png) {
            within("the image in pixels", u64::from(width) * u64::from(height), bounds.pixels)?;
        }
        let mut decoder =
            reader(bytes, format, bounds)?.into_decoder().map_err(|error| refused(error, format))?;
        let (width, height) = decoder.dimensions();
        // An image with an unreadable profile or orientation is still an image.
        let orientation = decoder.orientation().map(|it| Orientation::new(u64::from(it.to_exif()))).ok();
        let profile = decoder.icc_profile().ok().flatten();
        (width, height, orientation.unwrap_or(Orientation::UPRIGHT), profile)
    };
    if width == 0 || height == 0 {
        return Err(MediaError::damaged("it has no pixels"));
    }
    let pixels = u64::from(width) * u64::from(height);
    within("the image in pixels", pixels, bounds.pixels)?;
    // The file, what the decoder gives with up to 8 bytes a pixel, and a copy of 3.
    let memory_bytes = bytes.len() as u64 + pixels.saturating_mul(11);
    within("the memory to convert the image in bytes", memory_bytes, bounds.memory_bytes)?;
    Ok(Shape { width, height, orientation, profile, memory_bytes })
}

fn reader<'a>(
    bytes: &'a [u8],
    format: Format,
    bounds: &Bounds,
) -> Result<ImageReader<Cursor<&'a [u8]>>, MediaError> {
    let format = match format {
        Format::Png => ImageFormat::Png,
        Format::Webp => ImageFormat::WebP,
        Format::Gif => ImageFormat::Gif,
        Format::Bmp => ImageFormat::Bmp,
        found => return Err(MediaError::WrongFormat { expected: "an image that is decoded", found }),
    };
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(bounds.memory_bytes);
    reader.limits(limits);
    Ok(reader)
}

fn decode(
    bytes: &[u8],
    format: Format,
    shape: &Shape,
    largest: u32,
    bounds: &Bounds,
) -> Result<Raster, MediaError> {
    if format == Format::Jpeg {
        let longest = u64::from(shape.width.max(shape.height));
        // Decoding at a fraction is cheap; at twice the size that is wanted it costs no sharpness.
        let eighths = (u64::from(largest) * 2 * 8).div_ceil(longest).clamp(1, 8) as u8;
        return jpeg::decode_pixels(bytes, eighths);
    }
    let decoded = reader(bytes, format, bounds)?.decode().map_err(|error| refused(error, format))?;
    Ok(on_white(decoded))
}

/// Without transparency, in 8 bits.
fn on_white(decoded: DynamicImage) -> Raster {
    let (width, height) = (decoded.width(), decoded.height());
    if matches!(decoded, DynamicImage::ImageLuma8(_) | DynamicImage::ImageLuma16(_)) {
        return Raster { width, height, colour: Colour::Gray, data: decoded.into_luma8().into_raw() };
    }
    if !decoded.color().has_alpha() {
        return Raster { width, height, colour: Colour::Rgb, data: decoded.into_rgb8().into_raw() };
    }
    let mut data = Vec::with_capacity(width as usize * height as usize * 3);
    for pixel in decoded.into_rgba8().into_raw().chunks_exact(4) {
        let opacity = u32::from(pixel[3]);
        data.extend(
            pixel[..3]
                .iter()
                .map(|value| ((u32::from(*value) * opacity + 255 * (255 - opacity) + 127) / 255) as u8),
        );
    }
    Raster { width, height, colour: Colour::Rgb, data }
}

/// The largest sides of the same proportion inside a square.
fn fit_inside(width: u32, height: u32, side: u32) -> (u32, u32) {
    let longest = u64::from(width.max(height));
    let scaled = |length: u32| ((u64::from(length) * u64::from(side) + longest / 2) / longest).max(1) as u32;
    (scaled(width), scaled(height))
}

fn scale(raster: &Raster, width: u32, height: u32) -> Result<Raster, MediaError> {
    let kind = match raster.colour {
        Colour::Gray => PixelType::U8,
        Colour::Rgb => PixelType::U8x3,
    };
    let source = ImageRef::new(raster.width, raster.height, &raster.data, kind);
    let source =
        source.map_err(|error| MediaError::damaged(format!("its pixels cannot be scaled ({error})")))?;
    let mut scaled = Image::new(width, height, kind);
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Lanczos3));
    let resized = Resizer::new().resize(&source, &mut scaled, &options);
    resized.map_err(|error| MediaError::damaged(format!("its pixels cannot be scaled ({error})")))?;
    Ok(Raster { width, height, colour: raster.colour, data: scaled.into_vec() })
}

fn refused(error: image::ImageError, format: Format) -> MediaError {
    let format = format.name();
    match error {
        image::ImageError::Unsupported(error) => {
            MediaError::unsupported(format!("this kind of {format} ({error})"))
        }
        image::ImageError::Limits(_) => {
            MediaError::damaged(format!("its {format} data asks for more memory than an image may take"))
        }
        image::ImageError::IoError(_)
        | image::ImageError::Decoding(_)
        | image::ImageError::Encoding(_)
        | image::ImageError::Parameter(_) => {
            MediaError::damaged(format!("its {format} data is wrong or ends too early"))
        }
    }
}
