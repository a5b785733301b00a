//! What a folder will need: room on the disk, and time. Files are of strangers, so only headers are looked at here.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use abide_media::{Bounds, JpegSettings, Preset, Target};
use tokio::time::Instant;

use super::folder::{File, Folder};
use crate::cli::PresetArg;
use crate::failure::Failure;

/// Files whose headers are looked at, as far from each other as the folder allows.
const LOOKED_AT: usize = 200;
/// Sides of the image that is converted to see how fast this machine is.
const SIDES: (u32, u32) = (640, 480);
/// What starting a worker and moving its bytes takes, beside pixels.
const PER_WORKER: Duration = Duration::from_millis(60);
/// Room for what is needed to go on, and for others.
const SPARE_BYTES: u64 = 64 << 20;
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

/// What a folder will need.
#[derive(Debug)]
pub(in crate::commands) struct Estimate {
    pub(in crate::commands) needed_bytes: u64,
    /// Of these, without what is only guessed: documents may be anything.
    least_bytes: u64,
    pub(in crate::commands) free_bytes: u64,
    default: Duration,
    fast: Duration,
}

impl Estimate {
    /// That of a folder whose files are kept with what is made of them.
    pub(in crate::commands) fn of(
        folder: &Folder,
        out: &Path,
        in_flight: usize,
    ) -> Result<Estimate, Failure> {
        let made = Estimate::of_rest(folder, out, in_flight, |_| false)?;
        let place = place_of(out);
        let there = fs::metadata(place).map_err(|error| Failure::Input { path: place.to_owned(), error })?;
        let copies = if there.dev() == folder.device { 0 } else { folder.bytes };
        let least_bytes = made.least_bytes + copies;
        Ok(Estimate { needed_bytes: made.needed_bytes + copies, least_bytes, ..made })
    }

    /// Computed from headers of some files and the speed of this machine, for a folder whose files are referred to wherever they are,
    /// and of which some images are made already and want their smaller copies.
    pub(super) fn of_rest(
        folder: &Folder,
        out: &Path,
        in_flight: usize,
        is_made: impl Fn(&File) -> bool,
    ) -> Result<Estimate, Failure> {
        let place = place_of(out);
        let unreadable = |error| Failure::Input { path: place.to_owned(), error };
        let looked_at = LookedAt::of(folder, is_made);
        let (default, fast) = times(&looked_at, in_flight)?;
        Ok(Estimate {
            needed_bytes: looked_at.bytes_of(|sample| sample.made_bytes) + SPARE_BYTES,
            least_bytes: looked_at.bytes_of(|sample| sample.least_bytes) + SPARE_BYTES,
            free_bytes: free_bytes(place).map_err(unreadable)?,
            default,
            fast,
        })
    }

    pub(in crate::commands) fn time(&self, preset: PresetArg) -> Duration {
        match preset {
            PresetArg::Default => self.default,
            PresetArg::Fast => self.fast,
        }
    }

    /// Whether there may be too little room, and nobody knows before it is tried.
    pub(super) fn may_not_fit(&self) -> bool {
        self.needed_bytes > self.free_bytes && self.least_bytes <= self.free_bytes
    }

    /// Refuses what would fill the disk, whatever is in documents.
    pub(in crate::commands) fn check(&self, out: &Path) -> Result<(), Failure> {
        if self.least_bytes <= self.free_bytes {
            return Ok(());
        }
        let (needed, free) = (self.needed_bytes, self.free_bytes);
        Err(Failure::NoRoom { path: out.to_owned(), needed, free })
    }
}

/// The folder that is there, of those that a path leads through.
fn place_of(out: &Path) -> &Path {
    out.ancestors().find(|place| place.exists()).unwrap_or(out)
}

/// What is free where a path is.
pub(super) fn free_bytes(path: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(path)?;
    Ok(disk.f_bavail * disk.f_frsize)
}

/// What some files are, which stand for all.
struct LookedAt {
    /// Files that will be converted.
    count: usize,
    some: Vec<Sample>,
}

/// A file that was looked at.
#[derive(Clone, Copy)]
struct Sample {
    /// Of all its pages.
    pixels: u64,
    pages: u64,
    /// Whether images are still to be made of it that it is not itself.
    is_to_be_made: bool,
    /// Bytes of the images that are made of it, and of smaller copies.
    made_bytes: f64,
    /// As much of that as is known.
    least_bytes: f64,
}

impl LookedAt {
    fn of(folder: &Folder, is_made: impl Fn(&File) -> bool) -> LookedAt {
        let count = folder.convertible().count();
        let some = folder.convertible().step_by(count.div_ceil(LOOKED_AT).max(1)).map(|file| {
            let path = folder.root.join(&file.path);
            let is_to_be_made =
                matches!(file.content_type, "image/tiff" | "application/pdf") && !is_made(file);
            let (pixels, pages) = pixels(&path, file).unwrap_or((file.bytes, 1));
            let sample = Sample { pixels, pages, is_to_be_made, made_bytes: 0.0, least_bytes: 0.0 };
            let by_pixels = BYTES_PER_PIXEL * coded(sample);
            if file.content_type != "application/pdf" {
                return Sample { made_bytes: by_pixels, least_bytes: by_pixels, ..sample };
            }
            let of_images =
                file.bytes.saturating_mul(PER_DOCUMENT_BYTE).max(pages.saturating_mul(LEAST_PAGE_BYTES));
            // And as much for smaller copies.
            let made_bytes = by_pixels.min(2.0 * of_images as f64);
            Sample { made_bytes, least_bytes: made_bytes.min(file.bytes as f64), ..sample }
        });
        LookedAt { some: some.collect(), count }
    }

    fn average(&self, of: impl Fn(Sample) -> f64) -> f64 {
        let sum: f64 = self.some.iter().map(|sample| of(*sample)).sum();
        sum / self.some.len().max(1) as f64
    }

    /// Bytes of everything that is made: images in staging, which the archive shares, and in the folder of results, and smaller
    /// copies in both.
    fn bytes_of(&self, of: impl Fn(Sample) -> f64) -> u64 {
        (2.0 * self.average(of) * self.count as f64) as u64
    }
}

/// Pixels that are coded for a file: those of the images that are made of it, and of smaller copies.
fn coded(Sample { pixels, pages, is_to_be_made, .. }: Sample) -> f64 {
    let made = if is_to_be_made { pixels as f64 } else { 0.0 };
    made + (pixels as f64).min(pages as f64 * VARIANT_PIXELS)
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

fn times(looked_at: &LookedAt, in_flight: usize) -> Result<(Duration, Duration), Failure> {
    if looked_at.some.is_empty() {
        return Ok((Duration::ZERO, Duration::ZERO));
    }
    let bounds = Bounds::default();
    let (count, per_file) = (looked_at.count as f64, looked_at.average(coded));
    // One for the file, if it is to be converted, and one for each image.
    let workers = looked_at.average(|sample| f64::from(u8::from(sample.is_to_be_made)) + sample.pages as f64);
    let of = |per_pixel: f64| {
        let starting = workers * PER_WORKER.as_secs_f64();
        let seconds = (per_file * per_pixel + starting) * count / in_flight.max(1) as f64;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    };
    let dir = tempfile::tempdir().map_err(Failure::System)?;
    let source = dir.path().join("speed.tif");
    fs::write(&source, sample()).map_err(Failure::System)?;
    let per_pixel = |preset: Preset| {
        let target = Target { dir: dir.path().to_owned(), stem: "speed".to_owned() };
        let settings = JpegSettings { preset, ..JpegSettings::default() };
        let began = Instant::now();
        abide_media::tiff_to_jpeg(&source, &target, settings, &bounds).ok();
        began.elapsed().as_secs_f64() / f64::from(SIDES.0 * SIDES.1)
    };
    Ok((of(per_pixel(Preset::Default)), of(per_pixel(Preset::Fast))))
}

/// An uncompressed TIFF with something like the detail of a scan.
fn sample() -> Vec<u8> {
    let (width, height) = SIDES;
    let mut tiff = b"II*\0\x08\0\0\0".to_vec();
    let bytes = width * height * 3;
    let data_at = 8 + 2 + 10 * 12 + 4 + 6;
    let bits_at = 8 + 2 + 10 * 12 + 4;
    let entries: [(u16, u16, u32, u32); 10] = [
        (256, 4, 1, width),
        (257, 4, 1, height),
        (258, 3, 3, bits_at),
        (259, 3, 1, 1),
        (262, 3, 1, 2),
        (273, 4, 1, data_at),
        (277, 3, 1, 3),
        (278, 4, 1, height),
        (279, 4, 1, bytes),
        (284, 3, 1, 1),
    ];
    tiff.extend(10_u16.to_le_bytes());
    for (tag, kind, count, value) in entries {
        tiff.extend(tag.to_le_bytes());
        tiff.extend(kind.to_le_bytes());
        tiff.extend(count.to_le_bytes());
        tiff.extend(value.to_le_bytes());
    }
    tiff.extend(0_u32.to_le_bytes());
    tiff.extend([8_u16, 8, 8].iter().flat_map(|bits| bits.to_le_bytes()));
    let mut noise = 12_345_u32;
    for at in 0..width * height {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let paper = 200 + (at / width * 40 / height) + (noise >> 28);
        let ink = if at % 37 < 5 && (at / width) % 23 < 11 { 120 } else { 0 };
        let value = u8::try_from(paper.saturating_sub(ink).min(255)).unwrap_or(255);
        tiff.extend([value, value, value.saturating_sub(12)]);
    }
    tiff
}
