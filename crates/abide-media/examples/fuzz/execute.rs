//! The conversions that are tried.

use std::fs;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use abide_media::{
    Bounds, JpegSettings, MediaError, PdfSettings, Preset, Target, pdf_to_pages, probe, tiff_to_jpeg,
    variants,
};

use crate::mutate::Corpus;
use crate::planted::{self, Bug};

/// What is fuzzed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tiff,
    Pdf,
    Image,
    /// Not of the crate: the fuzzer itself is tried.
    Planted(Bug),
}

impl Kind {
    pub(crate) const ALL: [Kind; 3] = [Kind::Tiff, Kind::Pdf, Kind::Image];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Tiff => "tiff",
            Kind::Pdf => "pdf",
            Kind::Image => "image",
            Kind::Planted(Bug::Panic) => "planted-panic",
            Kind::Planted(Bug::Memory) => "planted-memory",
            Kind::Planted(Bug::Loop) => "planted-loop",
        }
    }

    /// The one with this name.
    pub(crate) fn named(name: &str) -> Option<Kind> {
        let planted = [Bug::Panic, Bug::Memory, Bug::Loop].map(Kind::Planted);
        Kind::ALL.into_iter().chain(planted).find(|kind| kind.name() == name)
    }

    /// The part of the corpus that it begins with.
    pub(crate) fn corpus(self) -> &'static str {
        match self {
            Kind::Tiff | Kind::Pdf | Kind::Image => self.name(),
            Kind::Planted(_) => Kind::Tiff.name(),
        }
    }

    /// Pieces of the format's language, which chance alone would hardly write.
    pub(crate) fn words(self) -> &'static [&'static str] {
        match self {
            Kind::Pdf => &[
                " 0 R",
                " 0 obj\n",
                "endobj\n",
                "<<",
                ">>",
                "[",
                "]",
                "(",
                ")",
                "/Kids",
                "/Parent",
                "/Prev",
                "/Length",
                "/Filter",
                "/FlateDecode",
                "/LZWDecode",
                "/ASCII85Decode",
                "/RunLengthDecode",
                "/DCTDecode",
                "/CCITTFaxDecode",
                "/JBIG2Decode",
                "/JPXDecode",
                "/Predictor 12",
                "/Columns",
                "/Contents",
                "/Resources",
                "/XObject",
                "/Form",
                "/Pattern",
                "/Shading",
                "/SMask",
                "/ObjStm",
                "/XRef",
                "/Encrypt",
                "stream\n",
                "endstream\n",
                "startxref\n",
                "trailer\n",
                " re f ",
                " Do ",
                " Tj ",
                " cm ",
                " sh ",
                " q ",
                " BT ",
                " -1 ",
                " 99999999999 ",
                " 1e38 ",
                " 0.00001 ",
            ],
            Kind::Tiff | Kind::Image | Kind::Planted(_) => &[],
        }
    }
}

/// Small enough that what is computed stays far below what a child may have.
fn bounds() -> Bounds {
    Bounds { pixels: 1 << 20, memory_bytes: 64 << 20, pages: 8, text_bytes: 1 << 16, ..Bounds::default() }
}

/// Converts the mutations of a range of runs and reports each by a line.
pub(crate) fn all(kind: Kind, corpus: &Corpus, seed: u64, runs: Range<u64>) -> anyhow::Result<()> {
    std::panic::set_hook(Box::new(|_| {}));
    let dir = tempfile::tempdir()?;
    let mut reports = std::io::stdout().lock();
    for run in runs {
        let outcome = convert(kind, &corpus.mutated(seed, run), dir.path())?;
        writeln!(reports, "{outcome}")?;
    }
    Ok(())
}

/// Converts one file and says what came of it.
pub(crate) fn once(kind: Kind, input: &[u8]) -> anyhow::Result<&'static str> {
    convert(kind, input, tempfile::tempdir()?.path())
}

fn convert(kind: Kind, input: &[u8], dir: &Path) -> anyhow::Result<&'static str> {
    if let Kind::Planted(bug) = kind {
        return Ok(planted::read(input, bug));
    }
    let path = dir.join("in");
    fs::write(&path, input)?;
    let target = Target { dir: dir.to_owned(), stem: "out".to_owned() };
    let jpeg = JpegSettings { quality: 80, preset: Preset::Fast };
    let bounds = bounds();
    let probed = probe(&path, &bounds);
    let converted = match kind {
        Kind::Tiff => tiff_to_jpeg(&path, &target, jpeg, &bounds).map(drop),
        Kind::Pdf => pdf_to_pages(&path, &target, PdfSettings { dpi: 36, jpeg }, &bounds).map(drop),
        Kind::Image | Kind::Planted(_) => variants(&path, &target, &[16, 24], jpeg, &bounds).map(drop),
    };
    if converted.is_ok() {
        probed?;
    }
    Ok(converted.as_ref().map_or_else(MediaError::code, |()| "converted"))
}
