//! Pixels to JPEG.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::quick::Quick;
use super::small::Small;
use super::{JpegSettings, Preset};
use crate::bounds::JPEG_SIDE;
use crate::error::{MediaError, within};
use crate::pixels::{Attached, Colour, Raster};

/// A JPEG that grows by rows.
pub(crate) enum Encoder {
    Small(Box<Small>),
    Quick(Box<Quick>),
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
        let quality = settings.quality.clamp(1, 100);
        let (width, height) = (width as u16, height as u16);
        caught(|| {
            Ok(match settings.preset {
                Preset::Default => {
                    let small = Small::new((width.into(), height.into()), colour, attached, quality)?;
                    Encoder::Small(Box::new(small))
                }
                Preset::Fast => {
                    let quick = Quick::new((width.into(), height.into()), colour, attached, quality)?;
                    Encoder::Quick(Box::new(quick))
                }
            })
        })
    }

    /// Appends whole rows.
    pub(crate) fn rows(&mut self, rows: &[u8]) -> Result<(), MediaError> {
        caught(|| match self {
            Encoder::Small(small) => small.rows(rows),
            Encoder::Quick(quick) => quick.rows(rows),
        })
    }

    pub(crate) fn finish(self) -> Result<Vec<u8>, MediaError> {
        caught(|| match self {
            Encoder::Small(small) => small.finish(),
            Encoder::Quick(quick) => quick.finish(),
        })
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
fn caught<T>(work: impl FnOnce() -> io::Result<T>) -> Result<T, MediaError> {
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
