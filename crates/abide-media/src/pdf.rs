//! PDF to pages: an image of each, and its text beside it.

mod content;
mod streams;
mod survey;
mod text;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hayro::hayro_interpret::{InterpreterSettings, InterpreterWarning};
use hayro::hayro_syntax::object::Dict;
use hayro::hayro_syntax::page::Page;
use hayro::hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use hayro::vello_cpu::color::palette::css::WHITE;
use hayro::{PixmapSettings, RenderCache, RenderSettings};

use crate::bounds::Bounds;
use crate::error::{MediaError, within};
use crate::first::WantsMore;
use crate::format::Format;
use crate::input::Input;
use crate::jpeg::{self, JpegSettings};
use crate::output::{Outputs, PageFile, PageKind, Target, TextFile};
use crate::pixels::{Attached, Colour, Length, Raster, Resolution};
use crate::probe::{Probe, open_as};
use content::examine;
use streams::Streams;
use survey::{Density, Survey, survey};

/// How pages are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PdfSettings {
    /// Dots per inch of pages that are drawn. A page that is one scan keeps the scan's own, one that is covered by finer images
    /// takes theirs.
    pub dpi: u16,
    /// How the images are written.
    pub jpeg: JpegSettings,
}

impl Default for PdfSettings {
    fn default() -> PdfSettings {
        PdfSettings { dpi: 300, jpeg: JpegSettings::default() }
    }
}

/// The library addresses pixels by 16 bits.
const SIDE: u64 = u16::MAX as u64;
const POINTS_PER_INCH: f32 = 72.0;
/// Objects may nest, forms may draw forms: the library recurses, within bounds that this covers.
const STACK_BYTES: usize = 64 << 20;

/// Makes an image of every page, `stem-p0001.jpg` and on, with the text of the page, if it has any, as `stem-p0001.txt`.
pub fn pdf_to_pages(
    input: &Path,
    target: &Target,
    settings: PdfSettings,
    bounds: &Bounds,
) -> Result<Vec<PageFile>, MediaError> {
    let (input, _) = open_as(input, bounds, "PDF", |format| format == Format::Pdf)?;
    pages_of(&input, target, settings, bounds, &mut |_, _| true)
}

/// The same, as long as somebody wants more pages.
pub(crate) fn pages_of(
    input: &Input,
    target: &Target,
    settings: PdfSettings,
    bounds: &Bounds,
    wants_more: &mut WantsMore<'_>,
) -> Result<Vec<PageFile>, MediaError> {
    let data = input.read_all()?;
    on_a_deep_stack(|| {
        let pdf = open(data, bounds)?;
        let cache = RenderCache::new();
        let mut outputs = Outputs::new(target);
        let mut files = Vec::with_capacity(pdf.pages().len());
        let mut streams = Streams::default();
        let mut goes_on = wants_more(None, pdf.pages().len());
        for (number, page) in (1..).zip(pdf.pages().iter()) {
            if !goes_on {
                break;
            }
            let converted = convert(page, number, &cache, settings, bounds, &mut streams, &mut outputs);
            let file = converted.map_err(|error| on_page(number, error))?;
            goes_on = wants_more(Some(&file), pdf.pages().len());
            files.push(file);
        }
        outputs.keep();
        Ok(files)
    })
}

pub(crate) fn probe(input: &Input, bounds: &Bounds, probe: Probe) -> Result<Probe, MediaError> {
    let data = input.read_all()?;
    let bytes = data.len() as u64;
    on_a_deep_stack(|| {
        let pdf = open(data, bounds)?;
        let dpi = f32::from(PdfSettings::default().dpi);
        let costs = pdf.pages().iter().map(|page| {
            let (width, height) = page.render_dimensions();
            let pixels = f64::from(width * dpi / POINTS_PER_INCH) * f64::from(height * dpi / POINTS_PER_INCH);
            drawing_memory(pixels as u64)
        });
        let memory_bytes = bytes + costs.max().unwrap_or(0);
        Ok(Probe { pages: pdf.pages().len() as u32, memory_bytes, ..probe })
    })
}

fn open(data: Vec<u8>, bounds: &Bounds) -> Result<Pdf, MediaError> {
    within("the memory to read the document in bytes", data.len() as u64, bounds.memory_bytes)?;
    let pdf = Pdf::new(data).map_err(|error| match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => {
            MediaError::Encrypted { what: "it needs a password" }
        }
        LoadPdfError::Decryption(DecryptionError::UnsupportedAlgorithm) => {
            MediaError::Encrypted { what: "in a way that is not known" }
        }
        LoadPdfError::Decryption(DecryptionError::MissingIDEntry | DecryptionError::InvalidEncryption) => {
            MediaError::damaged("its encryption contradicts itself")
        }
        LoadPdfError::Invalid => MediaError::damaged("it has no readable page tree"),
    })?;
    if pdf.pages().is_empty() {
        return Err(MediaError::NoPages);
    }
    within("the number of pages", pdf.pages().len() as u64, u64::from(bounds.pages))?;
    let found = pdf.pages().len();
    match said_pages(&pdf) {
        Some(said) if said > found => {
            Err(MediaError::damaged(format!("it says that it has {said} pages, and {found} can be found")))
        }
        _ => Ok(pdf),
    }
}

/// How many pages the document says that it has. The library leaves out those that it does not find.
fn said_pages(pdf: &Pdf) -> Option<usize> {
    let root: Dict<'_> = pdf.xref().get(pdf.xref().root_id())?;
    let pages: Dict<'_> = root.get(b"Pages".as_slice())?;
    usize::try_from(pages.get::<i32>(b"Count".as_slice())?).ok()
}

/// Runs on a thread with room for what the library recurses; what panics there is a damaged file.
fn on_a_deep_stack<T: Send>(work: impl FnOnce() -> Result<T, MediaError> + Send) -> Result<T, MediaError> {
    let gave_up = || MediaError::damaged("the PDF library gave up on it");
    std::thread::scope(|scope| {
        let caught = move || catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(gave_up()));
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, caught);
        let thread =
            thread.map_err(|source| MediaError::Io { path: "a thread for the PDF".into(), source })?;
        thread.join().unwrap_or_else(|_| Err(gave_up()))
    })
}

/// Says on which page.
fn on_page(number: u32, error: MediaError) -> MediaError {
    match error {
        MediaError::Damaged { what } => MediaError::Damaged { what: format!("page {number}: {what}") },
        MediaError::Unsupported { what } => {
            MediaError::Unsupported { what: format!("page {number}: {what}") }
        }
        other => other,
    }
}

/// How a page becomes pixels.
struct Plan {
    density: Density,
    kind: PageKind,
}

fn convert<'a>(
    page: &'a Page<'a>,
    number: u32,
    cache: &RenderCache<'a>,
    settings: PdfSettings,
    bounds: &Bounds,
    streams: &mut Streams,
    outputs: &mut Outputs<'_>,
) -> Result<PageFile, MediaError> {
    let content = examine(page, streams, bounds)?;
    let surveyed = survey(page, bounds)?;
    let (image, width, height, kind) = match &surveyed.copyable {
        Some(copy) if content.keeps_colours => {
            (copy.bytes.clone(), copy.width, copy.height, PageKind::Copied)
        }
        _ => {
            let plan = plan(page, &surveyed, settings, bounds);
            let raster = draw(page, cache, plan.density, bounds)?;
            let dots = |density: f32| (density * POINTS_PER_INCH).round().clamp(1.0, 65_535.0) as u16;
            let Density { across, down } = plan.density;
            let resolution = Resolution { across: dots(across), down: dots(down), per: Length::Inch };
            let attached = Attached::new(None, Some(resolution), raster.colour);
            (jpeg::encode(&raster, &attached, settings.jpeg)?, raster.width, raster.height, plan.kind)
        }
    };
    let path = outputs.write(&format!("-p{number:04}.jpg"), &image)?;
    let text = match surveyed.text {
        text if text.is_empty() => None,
        text => {
            let path = outputs.write(&format!("-p{number:04}.txt"), text.as_bytes())?;
            Some(TextFile { path, bytes: text.len() as u64 })
        }
    };
    Ok(PageFile { page: number, path, bytes: image.len() as u64, width, height, kind, text })
}

/// A scan is drawn so that its pixels fall on pixels, unless they are no squares: a fax has twice as many across as down, and would
/// look squashed. Other pages so that nothing of the images that cover them is lost, as
/// far as the bounds let it.
fn plan(page: &Page<'_>, surveyed: &Survey, settings: PdfSettings, bounds: &Bounds) -> Plan {
    let evened = |density: Density| Some(density.evened()).filter(|even| size(page, *even, bounds).is_ok());
    if let Some(density) = surveyed.scan {
        let density = evened(density).unwrap_or(density);
        return Plan { density, kind: PageKind::Converted };
    }
    let least = f32::from(settings.dpi.max(1)) / POINTS_PER_INCH;
    let at_least = |factor: f32, density: Density| Density {
        across: (factor * density.across).max(least),
        down: (factor * density.down).max(least),
    };
    let images = surveyed.images.map_or(Density { across: least, down: least }, Density::evened);
    let mut density = at_least(1.0, images);
    while density.across.max(density.down) > least && size(page, density, bounds).is_err() {
        density = at_least(0.95, density);
    }
    Plan { density, kind: PageKind::Rendered }
}

/// How many pixels a page takes, if it can be drawn.
fn size(page: &Page<'_>, density: Density, bounds: &Bounds) -> Result<(), MediaError> {
    let (width, height) = page.render_dimensions();
    let (width, height) = (f64::from(width * density.across), f64::from(height * density.down));
    if !(width >= 1.0 && height >= 1.0) {
        return Err(MediaError::damaged(format!("it measures {width} × {height} pixels")));
    }
    within("the longer side of a page in pixels", width.max(height).ceil() as u64, SIDE)?;
    let pixels = (width * height).ceil() as u64;
    within("the page in pixels", pixels, bounds.pixels)?;
    within("the memory to draw a page in bytes", drawing_memory(pixels), bounds.memory_bytes)
}

/// How far from a whole number of pixels a page is taken to be one that was not computed exactly.
const INEXACT: f64 = 0.1;

/// The density at which a side has a whole number of pixels, if it nearly does. The library cuts what is left over.
fn whole(side: f32, density: f32) -> f32 {
    let exact = f64::from(side) * f64::from(density);
    let pixels = exact.round();
    if (exact - pixels).abs() > INEXACT {
        return density;
    }
    let mut density = (pixels / f64::from(side)) as f32;
    while f64::from(side * density) < pixels {
        density = density.next_up();
    }
    density
}

fn draw<'a>(
    page: &'a Page<'a>,
    cache: &RenderCache<'a>,
    density: Density,
    bounds: &Bounds,
) -> Result<Raster, MediaError> {
    size(page, density, bounds)?;
    let (width, height) = page.render_dimensions();
    let (x_scale, y_scale) = (whole(width, density.across), whole(height, density.down));
    let shown = PixmapSettings { x_scale, y_scale, bg_color: WHITE };
    let undecoded = Arc::new(AtomicBool::new(false));
    let noticed = Arc::clone(&undecoded);
    let settings = InterpreterSettings {
        warning_sink: Arc::new(move |warning| {
            if matches!(warning, InterpreterWarning::ImageDecodeFailure) {
                noticed.store(true, Ordering::Relaxed);
            }
        }),
        ..InterpreterSettings::default()
    };
    let pixmap = hayro::render(page, cache, &settings, &RenderSettings::default(), &shown);
    if undecoded.load(Ordering::Relaxed) {
        return Err(MediaError::damaged("an image cannot be decoded"));
    }
    let (width, height) = (u32::from(pixmap.width()), u32::from(pixmap.height()));
    let rgba = pixmap.data_as_u8_slice();
    let gray = rgba.chunks_exact(4).all(|pixel| pixel[0] == pixel[1] && pixel[1] == pixel[2]);
    let (colour, channels) = if gray { (Colour::Gray, 1) } else { (Colour::Rgb, 3) };
    let mut data = Vec::with_capacity(width as usize * height as usize * channels);
    for pixel in rgba.chunks_exact(4) {
        data.extend_from_slice(&pixel[..channels]);
    }
    Ok(Raster { width, height, colour, data })
}

/// The picture of four bytes, the copy of three, what is drawn before they are mixed, and the encoder.
fn drawing_memory(pixels: u64) -> u64 {
    pixels.saturating_mul(4 + 3 + 4) + jpeg::encoder_memory(pixels, Colour::Rgb)
}
