//! The first pages of a document: what whoever wants to know how long all of them take has made.

use std::path::Path;

use crate::bounds::Bounds;
use crate::error::MediaError;
use crate::format::Format;
use crate::output::{PageFile, Target};
use crate::pdf::{self, PdfSettings};
use crate::probe::open_as;
use crate::tiff;

/// Told of how many pages a document has, first without a page and then with each as it is there; says whether the next one is to
/// be made.
pub(crate) type WantsMore<'a> = dyn FnMut(Option<&PageFile>, usize) -> bool + Send + 'a;

/// Makes pages of a TIFF or a PDF, as [`tiff_to_jpeg`](crate::tiff_to_jpeg) and [`pdf_to_pages`](crate::pdf_to_pages) do, until
/// `wants_more` says that it has enough. It is told of how many pages the document has, once it is open and then with each page. What
/// is on pages that are not made stays unknown.
pub fn first_pages(
    input: &Path,
    target: &Target,
    settings: PdfSettings,
    bounds: &Bounds,
    mut wants_more: impl FnMut(Option<&PageFile>, usize) -> bool + Send,
) -> Result<Vec<PageFile>, MediaError> {
    let has_pages = |format| matches!(format, Format::Tiff | Format::Pdf);
    let (input, format) = open_as(input, bounds, "TIFF or PDF", has_pages)?;
    if format == Format::Pdf {
        return pdf::pages_of(&input, target, settings, bounds, &mut wants_more);
    }
    tiff::pages_of(&input, target, settings.jpeg, bounds, &mut wants_more)
}
