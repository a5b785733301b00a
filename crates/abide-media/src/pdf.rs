//! PDF to pages: an image of each, and its text beside it.

mod damage;
mod survey;
mod text;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hayro::hayro_interpret::{InterpreterSettings, InterpreterWarning, WarningSinkFn};
use hayro::hayro_syntax::object::Dict;
use hayro::hayro_syntax::page::Page;
use hayro::hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use hayro::vello_cpu::color::palette::css::WHITE;
use hayro::{PixmapSettings, RenderCache, RenderSettings};

use crate::bounds::Bounds;
use crate::error::{MediaError, within};
use crate::format::Format;
use crate::input::Input;
use crate::jpeg::{self, JpegSettings};
use crate::output::{Outputs, PageFile, PageKind, Target, TextFile};
use crate::pixels::{Attached, Colour, Length, Raster, Resolution};
use crate::probe::{Probe, open_as};
use survey::{Survey, survey};

/// How pages are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PdfSettings {
    /// Dots per inch of pages that are drawn. A page that is one scan keeps the scan's own.
    pub dpi: u16,
    /// How the images are written.
    pub jpeg: JpegSettings,
}

impl Default for PdfSettings {
    fn default() -> PdfSettings {
        PdfSettings { dpi: 300, jpeg: JpegSettings::default() }
    }
}

/// What is said of a page with an image that nobody would see.
const LOST_IMAGE: &str = "an image on it cannot be decoded";
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
    pages_of(&input, target, settings, bounds)
}

pub(crate) fn pages_of(
    input: &Input,
    target: &Target,
    settings: PdfSettings,
    bounds: &Bounds,
) -> Result<Vec<PageFile>, MediaError> {
    let data = input.read_all()?;
    on_a_deep_stack(|| {
        let pdf = open(data, bounds)?;
        let cache = RenderCache::new();
        let mut outputs = Outputs::new(target);
        let mut files = Vec::with_capacity(pdf.pages().len());
        for (number, page) in (1..).zip(pdf.pages().iter()) {
            files.push(convert(page, number, &cache, settings, bounds, &mut outputs)?);
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

/// How a page becomes pixels.
struct Plan {
    across: f32,
    down: f32,
    resolution: u16,
    kind: PageKind,
}

fn convert<'a>(
    page: &'a Page<'a>,
    number: u32,
    cache: &RenderCache<'a>,
    settings: PdfSettings,
    bounds: &Bounds,
    outputs: &mut Outputs<'_>,
) -> Result<PageFile, MediaError> {
    let surveyed = survey(page, bounds)?;
    let wrong = damage::wrong_with_contents(page, bounds.memory_bytes).or(surveyed.damage);
    if let Some(wrong) = wrong {
        return Err(damaged(number, wrong));
    }
    let (image, width, height, kind) = match &surveyed.copyable {
        Some(copy) => (copy.bytes.clone(), copy.width, copy.height, PageKind::Copied),
        None => {
            let plan = plan(page, &surveyed, settings, bounds);
            let raster = draw(page, number, cache, &plan, bounds)?;
            let resolution = Resolution { across: plan.resolution, down: plan.resolution, per: Length::Inch };
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

/// A scan is drawn so that its pixels fall on pixels, and a page that images cover so that nothing of the finest is lost, if there
/// is room for that.
fn plan(page: &Page<'_>, surveyed: &Survey, settings: PdfSettings, bounds: &Bounds) -> Plan {
    match surveyed.scan {
        Some(scan) => Plan {
            across: scan.across,
            down: scan.down,
            resolution: (scan.across * POINTS_PER_INCH).round().clamp(1.0, 65_535.0) as u16,
            kind: PageKind::Converted,
        },
        None => {
            let set = f32::from(settings.dpi.max(1)) / POINTS_PER_INCH;
            let finest = surveyed
                .finest
                .filter(|finest| *finest > set && measure(page, (*finest, *finest), bounds).is_ok());
            let scale = finest.unwrap_or(set);
            let resolution = (scale * POINTS_PER_INCH).round().clamp(1.0, 65_535.0) as u16;
            Plan { across: scale, down: scale, resolution, kind: PageKind::Rendered }
        }
    }
}

/// Whether a page may be drawn at this scale.
fn measure(page: &Page<'_>, (across, down): (f32, f32), bounds: &Bounds) -> Result<(), MediaError> {
    let (width, height) = page.render_dimensions();
    let (width, height) = (f64::from(width * across), f64::from(height * down));
    if !(width >= 1.0 && height >= 1.0) {
        return Err(MediaError::damaged(format!("a page measures {width} × {height} pixels")));
    }
    within("the longer side of a page in pixels", width.max(height).ceil() as u64, SIDE)?;
    let pixels = (width * height).ceil() as u64;
    within("the page in pixels", pixels, bounds.pixels)?;
    within("the memory to draw a page in bytes", drawing_memory(pixels), bounds.memory_bytes)
}

/// The library leaves out a part of a pixel: a side that lacks next to nothing of a whole number of them gets it.
fn whole(points: f32, scale: f32) -> f32 {
    let pixels = points * scale;
    let missing = pixels.round() - pixels;
    if missing > 0.0 && missing < 0.02 { (pixels.round() + 0.004) / points } else { scale }
}

fn damaged(number: u32, what: &str) -> MediaError {
    MediaError::damaged(format!("page {number}: {what}"))
}

fn draw<'a>(
    page: &'a Page<'a>,
    number: u32,
    cache: &RenderCache<'a>,
    plan: &Plan,
    bounds: &Bounds,
) -> Result<Raster, MediaError> {
    measure(page, (plan.across, plan.down), bounds)?;
    let (width, height) = page.render_dimensions();
    let (x_scale, y_scale) = (whole(width, plan.across), whole(height, plan.down));
    let shown = PixmapSettings { x_scale, y_scale, bg_color: WHITE };
    let is_lost = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&is_lost);
    let warning_sink: WarningSinkFn = Arc::new(move |warning| {
        if matches!(warning, InterpreterWarning::ImageDecodeFailure) {
            noted.store(true, Ordering::Relaxed);
        }
    });
    let settings = InterpreterSettings { warning_sink, ..InterpreterSettings::default() };
    let pixmap = hayro::render(page, cache, &settings, &RenderSettings::default(), &shown);
    if is_lost.load(Ordering::Relaxed) {
        return Err(damaged(number, LOST_IMAGE));
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
