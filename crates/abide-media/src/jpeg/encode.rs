//! Pixels to JPEG.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mozjpeg::{ColorSpace, Compress, PixelDensity, PixelDensityUnit};

use super::{JpegSettings, Preset};
use crate::bounds::JPEG_SIDE;
use crate::error::{MediaError, within};
use crate::pixels::{Attached, Colour, Length, Raster};

/// A JPEG that grows by rows.
pub(crate) struct Encoder {
    started: mozjpeg::compress::CompressStarted<Vec<u8>>,
}

impl Encoder {
    pub(crate) fn start(
        width: u32,
        height: u32,
        colour: Colour,
        attached: &Attached,
        settings: JpegSettings,
    ) -> Result<Encoder, MediaError> {
        within("the longer side in pixels", u64::from(width.max(height)), u64::from(JPEG_SIDE))?;
        caught(|| {
            let mut compress = Compress::new(match colour {
                Colour::Gray => ColorSpace::JCS_GRAYSCALE,
                Colour::Rgb => ColorSpace::JCS_RGB,
            });
            if settings.preset == Preset::Fast {
                compress.set_fastest_defaults();
            }
            compress.set_size(width as usize, height as usize);
            compress.set_quality(f32::from(settings.quality.clamp(1, 100)));
            if settings.preset == Preset::Default {
                compress.set_progressive_mode();
                compress.set_optimize_scans(true);
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
                started.write_icc_profile(profile);
            }
            Ok(Encoder { started })
        })
    }

    /// Appends whole rows.
    pub(crate) fn rows(&mut self, rows: &[u8]) -> Result<(), MediaError> {
        caught(|| self.started.write_scanlines(rows))
    }

    pub(crate) fn finish(self) -> Result<Vec<u8>, MediaError> {
        caught(|| self.started.finish())
    }
}

/// A whole picture at once.
pub(crate) fn encode(
    raster: &Raster,
    attached: &Attached,
    settings: JpegSettings,
) -> Result<Vec<u8>, MediaError> {
    let mut encoder = Encoder::start(raster.width, raster.height, raster.colour, attached, settings)?;
    encoder.rows(&raster.data)?;
    encoder.finish()
}

/// libjpeg reports by unwinding. What it cannot write is a picture that no JPEG can hold.
fn caught<T>(work: impl FnOnce() -> std::io::Result<T>) -> Result<T, MediaError> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(MediaError::unsupported(format!("this picture as JPEG ({error})"))),
        Err(panic) => Err(MediaError::unsupported(format!("this picture as JPEG ({})", message(&*panic)))),
    }
}

/// What libjpeg said when it gave up.
pub(super) fn message(panic: &(dyn Any + Send)) -> &str {
    let text =
        panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("the JPEG library gave up").trim_start_matches("libjpeg fatal error: ")
}
