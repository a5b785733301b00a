//! Phases: what a batch goes through, one file each.
//!
//! A phase is self-contained: which files it takes, how its tasks are run, what an outcome must say, and what a file
//! becomes. Adding one is a file here and a line in [`ALL`]; `docs/adding-a-phase.md` shows how.

pub mod image;
pub mod pdf;
pub mod tiff;

use crate::file::ProcessableFile;
use crate::options::PhaseSettings;
use crate::report::Report;

/// One phase of a batch.
pub trait Phase: Send + Sync {
    /// Its name: the batch's status while it runs.
    fn name(&self) -> &'static str;

    /// One word: in its tasks' ids, the kind of its jobs, and what its worker is called.
    fn tag(&self) -> &'static str;

    /// Whether it makes a task of this file.
    fn takes(&self, file: &ProcessableFile) -> bool;

    /// How its tasks are run, unless somebody says otherwise.
    fn settings(&self) -> PhaseSettings;

    /// Whether its worker may put this key of staging for a file: what is named after the whole file, unless it says otherwise.
    /// Keys of the archive below the asset of its task it may put in any phase.
    fn may_put(&self, file: &ProcessableFile, key: &str) -> bool {
        key.strip_prefix(&file.r2_key).is_some_and(|end| end.starts_with('.') && !end.contains('/'))
    }

    /// Whether what a worker reports is complete; the reason if not. Of a report of many pages, this sees the first part;
    /// that the pages go on, and are as many as `page_count` says, is looked after.
    fn accepts(&self, file: &ProcessableFile, report: &Report) -> Result<(), String>;

    /// What a file becomes when its task is completed: nothing, itself, another or many. The first takes its place. A report
    /// of many pages comes a part at a time, and of the parts behind the first only what is behind the first file counts.
    fn transform(&self, file: &ProcessableFile, report: &Report) -> Vec<ProcessableFile>;
}

/// A chain of phases: the next of each is the one behind it.
pub type Phases = &'static [&'static dyn Phase];

/// Every phase, in the order in which a batch goes through them.
pub static ALL: Phases = &[&tiff::TiffConversion, &pdf::PdfSplitting, &image::ImageProcessing];

/// Whether a key is `stem.jpg`, or that of a page: `stem-p0001.jpg`, `stem-p0001.txt`.
fn is_page(stem: &str, key: &str) -> bool {
    let Some(end) = key.strip_prefix(stem) else { return false };
    let page = end.strip_prefix("-p").and_then(|page| page.split_once('.'));
    let is_numbered = |(number, end): (&str, &str)| {
        number.bytes().all(|digit| digit.is_ascii_digit()) && matches!(end, "jpg" | "txt")
    };
    end == ".jpg" || page.is_some_and(is_numbered)
}
