//! What files are by their headers: they are of strangers, so no more than that is read here.

use std::fs;
use std::io::Read;
use std::path::Path;

use abide_media::Bounds;
use abide_preprocess::worker::Work;

use super::speed::Each;
use crate::commands::preprocess::folder::{File, Folder};

/// Files whose headers are looked at, as far from each other as the folder allows.
const LOOKED_AT: usize = 200;
/// Bytes of a JPEG per pixel, rather too many.
const BYTES_PER_PIXEL: f64 = 0.5;
/// Bytes of the images that are made of a document: for each of its own, and of each of its pages at least. A scan that is kept takes
/// its own bytes, a fax twenty times as many, and a page full of words a mebibyte and a half, however few they are in the document.
const PER_DOCUMENT_BYTE: u64 = 32;
const LEAST_PAGE_BYTES: u64 = 3 << 19;
/// Pixels of all smaller copies of an image together, at most.
const VARIANT_PIXELS: f64 = 6e6;
/// Pixels of a page of A4 as it is drawn.
const PAGE_PIXELS: u64 = 2_480 * 3_508;
/// Bytes of a document in which pages are counted; of those behind, as many are assumed.
const COUNTED_BYTES: u64 = 32 << 20;
/// Pages of a TIFF that are looked at, and bytes of an image whose header is.
const PAGES: u32 = 1_000;
const IMAGE_BYTES: u64 = 64 << 20;

/// What some files are, which stand for all.
pub(super) struct LookedAt<'a> {
    /// Files that will be converted.
    pub(super) count: usize,
    pub(super) some: Vec<Sample<'a>>,
}

/// A file that was looked at.
pub(super) struct Sample<'a> {
    pub(super) file: &'a File,
    /// What is done with it first.
    pub(super) work: Work,
    /// Whether an earlier run made its images, of which it is none.
    pub(super) is_made: bool,
    /// Of all its pages.
    pixels: u64,
    pub(super) pages: u64,
    /// Bytes of the images that are made of it, and of smaller copies.
    made_bytes: f64,
    /// As much of that as is known.
    least_bytes: f64,
}

/// Seconds of one worker: for the images that are made of a file, and for their smaller copies.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Cost {
    pub(super) converting: f64,
    pub(super) scaling: f64,
}

impl<'a> LookedAt<'a> {
    /// Looks at files as far from each other as the folder allows. Of those that are made already, only smaller copies are wanted.
    pub(super) fn of(folder: &'a Folder, is_made: impl Fn(&File) -> bool) -> LookedAt<'a> {
        let count = folder.convertible().count();
        let some = folder.convertible().step_by(count.div_ceil(LOOKED_AT).max(1));
        LookedAt { some: some.map(|file| Sample::of(folder, file, is_made(file))).collect(), count }
    }

    /// How many files each of those that were looked at stands for.
    pub(super) fn times(&self) -> f64 {
        self.count as f64 / self.some.len().max(1) as f64
    }

    /// Bytes of everything that is made: images in staging, which the archive shares, and in the folder of results, and smaller
    /// copies in both.
    pub(super) fn made_bytes(&self) -> u64 {
        self.bytes_of(|sample| sample.made_bytes)
    }

    /// As much of that as is known.
    pub(super) fn least_bytes(&self) -> u64 {
        self.bytes_of(|sample| sample.least_bytes)
    }

    fn bytes_of(&self, of: impl Fn(&Sample<'_>) -> f64) -> u64 {
        (2.0 * self.some.iter().map(of).sum::<f64>() * self.times()) as u64
    }
}

impl<'a> Sample<'a> {
    fn of(folder: &Folder, file: &'a File, is_made: bool) -> Sample<'a> {
        let work = match file.content_type {
            "image/tiff" => Work::Tiff,
            "application/pdf" => Work::Pdf,
            _ => Work::Image,
        };
        let (pixels, pages) = pixels(&folder.root.join(&file.path), file).unwrap_or((file.bytes, 1));
        let sample = Sample { file, work, is_made, pixels, pages, made_bytes: 0.0, least_bytes: 0.0 };
        let by_pixels = BYTES_PER_PIXEL * (sample.made() + sample.smaller());
        if file.content_type != "application/pdf" {
            return Sample { made_bytes: by_pixels, least_bytes: by_pixels, ..sample };
        }
        let of_images =
            file.bytes.saturating_mul(PER_DOCUMENT_BYTE).max(pages.saturating_mul(LEAST_PAGE_BYTES));
        // And as much for smaller copies.
        let made_bytes = by_pixels.min(2.0 * of_images as f64);
        Sample { made_bytes, least_bytes: made_bytes.min(file.bytes as f64), ..sample }
    }

    /// Pixels of the images that are made of it.
    fn made(&self) -> f64 {
        if self.is_to_be_made() { self.pixels as f64 } else { 0.0 }
    }

    /// Those of smaller copies.
    fn smaller(&self) -> f64 {
        (self.pixels as f64).min(self.pages as f64 * VARIANT_PIXELS)
    }

    /// Whether images are still to be made of it that it is not itself.
    pub(super) fn is_to_be_made(&self) -> bool {
        self.work != Work::Image && !self.is_made
    }

    /// What it will cost, as far as its header tells.
    pub(super) fn cost(&self, per_pixel: Each<f64>) -> Each<Cost> {
        per_pixel.map(|seconds| Cost { converting: self.made() * seconds, scaling: self.smaller() * seconds })
    }
}

/// How many pixels a file will be, on how many pages; none if its header does not say so. A PDF has none, and to read it takes a process with
/// limits: its pages are counted by the words that begin them.
fn pixels(path: &Path, file: &File) -> Option<(u64, u64)> {
    match file.content_type {
        "application/pdf" => pages(path, file.bytes).map(|pages| (pages * PAGE_PIXELS, pages)),
        "image/tiff" => probed(path),
        _ if file.bytes <= IMAGE_BYTES => probed(path),
        _ => None,
    }
}

fn probed(path: &Path) -> Option<(u64, u64)> {
    let bounds = Bounds { pages: PAGES, ..Bounds::default() };
    let probe = abide_media::probe(path, &bounds).ok()?;
    // What is no image by its bytes has none.
    let pages = u64::from(probe.pages);
    Some((u64::from(probe.width) * u64::from(probe.height) * pages, pages)).filter(|(pixels, _)| *pixels > 0)
}

fn pages(path: &Path, bytes: u64) -> Option<u64> {
    let mut text = Vec::new();
    fs::File::open(path).ok()?.take(COUNTED_BYTES).read_to_end(&mut text).ok()?;
    let is_page = |rest: &[u8]| {
        let value = rest.strip_prefix(b"/Type").map(<[u8]>::trim_ascii_start);
        let name = value.and_then(|rest| rest.strip_prefix(b"/Page"));
        name.is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_alphanumeric))
    };
    let named = (0..text.len()).filter(|at| text[*at] == b'/' && is_page(&text[*at..])).count() as u64;
    // Where objects are compressed, no page is named: scans take about so much.
    let counted = if named > 0 { named } else { text.len() as u64 / 100_000 + 1 };
    Some(counted * (bytes / (text.len() as u64).max(1)).max(1))
}
