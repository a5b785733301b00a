//! Trials: some pages of a file, made as workers make them, to know how long all of it takes. Nothing is kept.

use super::Work;
use super::convert::{bounds, sides, target};
use abide_media::{Bounds, JpegSettings, PageFile, PdfSettings, Preset, first_pages, variants};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::Instant;

/// A file that is tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// Where it is.
    pub input: PathBuf,
    /// A directory for what is made, which goes with whoever has it tried.
    pub dir: PathBuf,
    /// What is done with it.
    pub work: Work,
    /// Dots per inch of pages that are drawn.
    pub pdf_dpi: u16,
    /// What the process may hold, in MiB.
    pub memory_mb: u32,
    /// No further page is begun after so much time.
    pub most: Duration,
}

/// What was made of a file so far with one preset, and how long that took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// Whether it is the fast preset.
    pub is_fast: bool,
    /// How many pages the file has, and how long it took to know that.
    pub of: u64,
    /// See above.
    pub opening: Duration,
    /// Pages that were made of it, and how long they took.
    pub pages: u64,
    /// See above.
    pub converting: Duration,
    /// Images of which smaller copies were made, and how long these took.
    pub images: u64,
    /// See above.
    pub scaling: Duration,
}

/// The part of its time that the fast preset gets: it comes first, and needs little.
const FAST_PART: u32 = 4;
/// More pages say little more.
const MOST_PAGES: u64 = 16;
/// Images of a file of which smaller copies are made: they take about the same each.
const MOST_IMAGES: u64 = 2;

impl Trial {
    /// Makes pages with the fast preset and then with the default one, until the time is over. After each, `tell` is told of all of
    /// that preset. It ends where the file is not as it should be: who converts it says why.
    pub fn run(&self, mut tell: impl FnMut(Tried) + Send) {
        let began = Instant::now();
        for (preset, most) in [(Preset::Fast, self.most / FAST_PART), (Preset::Default, self.most)] {
            let until = began + most;
            let jpeg = JpegSettings { preset, ..JpegSettings::default() };
            let tried = Tried::new(preset);
            let made = match self.work {
                Work::Image => self.scale(jpeg, tried, &mut tell),
                Work::Tiff | Work::Pdf => self.convert(jpeg, tried, until, &mut tell),
            };
            if made.is_none() {
                return;
            }
        }
    }

    fn convert(
        &self,
        jpeg: JpegSettings,
        mut tried: Tried,
        until: Instant,
        tell: &mut (impl FnMut(Tried) + Send),
    ) -> Option<()> {
        let settings = PdfSettings { dpi: self.pdf_dpi, jpeg };
        let bounds = bounds(Some(self.memory_mb.into()));
        let mut began = Instant::now();
        let wants_more = |page: Option<&PageFile>, of: usize| {
            tried.of = of as u64;
            if let Some(page) = page {
                tried.pages += 1;
                tried.converting += began.elapsed();
                tell(tried);
                self.add_smaller(page, jpeg, &bounds, &mut tried, tell);
                // What nobody will look at takes no room.
                let texts = page.text.iter().map(|text| &text.path);
                texts.chain([&page.path]).for_each(|path| drop(std::fs::remove_file(path)));
            } else {
                tried.opening = began.elapsed();
            }
            let goes_on = page.is_none() || (tried.pages < MOST_PAGES && Instant::now() < until);
            began = Instant::now();
            goes_on
        };
        first_pages(&self.input, &target(&self.dir), settings, &bounds, wants_more).ok().map(drop)
    }

    /// Makes smaller copies of a page, unless those of others told how long that takes.
    fn add_smaller(
        &self,
        page: &PageFile,
        jpeg: JpegSettings,
        bounds: &Bounds,
        tried: &mut Tried,
        tell: &mut impl FnMut(Tried),
    ) {
        let began = Instant::now();
        if tried.images < MOST_IMAGES
            && variants(&page.path, &target(&self.dir), &sides(), jpeg, bounds).is_ok()
        {
            tried.images += 1;
            tried.scaling += began.elapsed();
            tell(*tried);
        }
    }

    fn scale(&self, jpeg: JpegSettings, tried: Tried, tell: &mut impl FnMut(Tried)) -> Option<()> {
        let began = Instant::now();
        variants(&self.input, &target(&self.dir), &sides(), jpeg, &bounds(Some(self.memory_mb.into())))
            .ok()?;
        tell(Tried { of: 1, images: 1, scaling: began.elapsed(), ..tried });
        Some(())
    }
}

impl Tried {
    fn new(preset: Preset) -> Tried {
        let none = Duration::ZERO;
        let is_fast = preset == Preset::Fast;
        Tried { is_fast, of: 0, opening: none, pages: 0, converting: none, images: 0, scaling: none }
    }
}
