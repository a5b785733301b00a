//! What a file is and what converting it takes, from its header alone.

use std::path::Path;

use crate::bounds::Bounds;
use crate::error::{MediaError, within};
use crate::format::{Format, LOOKED_AT};
use crate::input::Input;
use crate::{image_file, pdf, tiff};

/// What a file is and what converting it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// By its bytes.
    pub format: Format,
    /// Its size.
    pub bytes: u64,
    /// Pages to come out; 1 for an image, 0 for what passes through.
    pub pages: u32,
    /// Pixels across of the first page; 0 where there are none to convert or, as in a PDF, none yet.
    pub width: u32,
    /// Pixels down of the first page.
    pub height: u32,
    /// What its costliest page is computed to hold at once.
    pub memory_bytes: u64,
}

/// Looks at a file without decoding it, and refuses what is past the bounds. Formats that pass through are not refused.
pub fn probe(path: &Path, bounds: &Bounds) -> Result<Probe, MediaError> {
    probe_input(&Input::open(path)?, bounds)
}

pub(crate) fn probe_input(input: &Input, bounds: &Bounds) -> Result<Probe, MediaError> {
    let format = format_of(input)?;
    let bytes = input.len();
    let passing = Probe { format, bytes, pages: 0, width: 0, height: 0, memory_bytes: 0 };
    match format.treatment() {
        crate::Treatment::PassThrough(_) => return Ok(passing),
        crate::Treatment::Tiff | crate::Treatment::Pdf | crate::Treatment::Image => {}
    }
    within("the file in bytes", bytes, bounds.file_bytes)?;
    match format.treatment() {
        crate::Treatment::Tiff => tiff::probe(input, bounds, passing),
        crate::Treatment::Pdf => pdf::probe(input, bounds, passing),
        crate::Treatment::Image => image_file::probe(input, bounds, passing),
        crate::Treatment::PassThrough(_) => Ok(passing),
    }
}

/// What the input is; an empty one is refused.
pub(crate) fn format_of(input: &Input) -> Result<Format, MediaError> {
    if input.len() == 0 {
        return Err(MediaError::Empty);
    }
    let looked_at = input.len().min(LOOKED_AT as u64);
    Ok(Format::of(&input.read(0, looked_at)?))
}

/// Opens a file that a conversion takes for `expected`.
pub(crate) fn open_as(
    path: &Path,
    bounds: &Bounds,
    expected: &'static str,
    fits: fn(Format) -> bool,
) -> Result<(Input, Format), MediaError> {
    let input = Input::open(path)?;
    let found = format_of(&input)?;
    if !fits(found) {
        return Err(MediaError::WrongFormat { expected, found });
    }
    within("the file in bytes", input.len(), bounds.file_bytes)?;
    Ok((input, found))
}
