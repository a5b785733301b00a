//! TIFF to JPEG, page by page.

mod bands;
mod codec;
mod directory;
mod layout;
mod old_jpeg;
mod samples;

use std::path::Path;

use directory::{Directory, Reader};
use layout::Layout;

use crate::bounds::Bounds;
use crate::error::{MediaError, within};
use crate::first::WantsMore;
use crate::format::Format;
use crate::input::Input;
use crate::jpeg::{self, Encoder, JpegSettings};
use crate::output::{Outputs, PageFile, PageKind, Target};
use crate::pixels::{Orientation, Raster};
use crate::probe::{Probe, open_as};

/// Converts every page of a TIFF, upright, with its ICC profile and resolution: `stem.jpg` for a single page, else
/// `stem-p0001.jpg` and on. Thumbnails of pages and masks are not pages. One page that fails fails the file.
pub fn tiff_to_jpeg(
    input: &Path,
    target: &Target,
    settings: JpegSettings,
    bounds: &Bounds,
) -> Result<Vec<PageFile>, MediaError> {
    let (input, _) = open_as(input, bounds, "TIFF", |format| format == Format::Tiff)?;
    pages_of(&input, target, settings, bounds, &mut |_, _| true)
}

/// The same, as long as somebody wants more pages.
pub(crate) fn pages_of(
    input: &Input,
    target: &Target,
    settings: JpegSettings,
    bounds: &Bounds,
    wants_more: &mut WantsMore<'_>,
) -> Result<Vec<PageFile>, MediaError> {
    let (reader, mut layouts) = pages(input, bounds)?;
    let count = layouts.len();
    let mut outputs = Outputs::new(target);
    let mut files = Vec::with_capacity(count);
    let mut goes_on = wants_more(None, count);
    for (page, layout) in (1..).zip(&mut layouts) {
        if !goes_on {
            break;
        }
        bands::find_white(&reader, layout)?;
        let bytes = page_to_jpeg(&reader, layout, settings)?;
        let suffix = if count == 1 { ".jpg".to_owned() } else { format!("-p{page:04}.jpg") };
        let path = outputs.write(&suffix, &bytes)?;
        let (width, height) = layout.orientation.sides(layout.width, layout.height);
        let bytes = bytes.len() as u64;
        let file = PageFile { page, path, bytes, width, height, kind: PageKind::Converted, text: None };
        goes_on = wants_more(Some(&file), count);
        files.push(file);
    }
    outputs.keep();
    Ok(files)
}

pub(crate) fn probe(input: &Input, bounds: &Bounds, probe: Probe) -> Result<Probe, MediaError> {
    let (_, layouts) = pages(input, bounds)?;
    let memory_bytes = layouts.iter().map(|layout| layout.memory_bytes).max().unwrap_or(0);
    let (width, height) =
        layouts.first().map(|first| first.orientation.sides(first.width, first.height)).unwrap_or_default();
    Ok(Probe { pages: layouts.len() as u32, width, height, memory_bytes, ..probe })
}

fn pages<'a>(input: &'a Input, bounds: &Bounds) -> Result<(Reader<'a>, Vec<Layout>), MediaError> {
    let reader = Reader::open(input)?;
    let directories = reader.directories(bounds.pages)?;
    let roles = directories.iter().map(|directory| role(&reader, directory));
    let roles = roles.collect::<Result<Vec<Role>, MediaError>>()?;
    // Copies of nothing are what there is.
    let wanted = if roles.contains(&Role::Page) { Role::Page } else { Role::Copy };
    let mut layouts = Vec::new();
    for (directory, _) in directories.iter().zip(&roles).filter(|(_, role)| **role == wanted) {
        within("the number of pages", layouts.len() as u64 + 1, u64::from(bounds.pages))?;
        layouts.push(Layout::read(&reader, directory, bounds)?);
    }
    if layouts.is_empty() { Err(MediaError::NoPages) } else { Ok((reader, layouts)) }
}

/// What a directory of the chain is, as it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Page,
    /// A smaller copy of a page.
    Copy,
    Mask,
}

fn role(reader: &Reader<'_>, directory: &Directory) -> Result<Role, MediaError> {
    let kind = reader.number(directory, 254)?.unwrap_or(0);
    let old_kind = reader.number(directory, 255)?.unwrap_or(0);
    Ok(match (kind & 0b100 != 0, kind & 1 != 0 || old_kind == 2) {
        (true, _) => Role::Mask,
        (false, true) => Role::Copy,
        (false, false) => Role::Page,
    })
}

/// Upright pages go to the encoder as they are read; others are held once to be turned.
fn page_to_jpeg(reader: &Reader<'_>, layout: &Layout, settings: JpegSettings) -> Result<Vec<u8>, MediaError> {
    let (width, height, colour) = (layout.width, layout.height, layout.photometric.colour());
    if layout.orientation == Orientation::UPRIGHT {
        let mut encoder = Encoder::start(width, height, colour, &layout.attached, settings)?;
        bands::each_band(reader, layout, |rows| encoder.rows(rows))?;
        return encoder.finish();
    }
    let mut data = Vec::with_capacity(width as usize * height as usize * colour.channels());
    bands::each_band(reader, layout, |rows| {
        data.extend_from_slice(rows);
        Ok(())
    })?;
    let upright = Raster { width, height, colour, data }.upright(layout.orientation);
    jpeg::encode(&upright, &layout.attached, settings)
}
