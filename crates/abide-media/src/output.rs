//! Files that a conversion writes: all of them, or none.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::MediaError;

/// Where results go: `dir/stem.jpg`, or `dir/stem-p0001.jpg` and on when there are pages.
#[derive(Clone, Debug)]
pub struct Target {
    /// A directory that exists.
    pub dir: PathBuf,
    /// The name of the input without its extension.
    pub stem: String,
}

/// A page as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageFile {
    /// Its number in the document, from 1.
    pub page: u32,
    /// A JPEG.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// How it came about.
    pub kind: PageKind,
    /// The text of the page, beside it as `….txt`; absent if the page has none.
    pub text: Option<TextFile>,
}

/// How the image of a page came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// Decoded and encoded at the resolution it had.
    Converted,
    /// Drawn at the resolution that was asked for.
    Rendered,
    /// The JPEG that the page consists of, byte for byte.
    Copied,
}

/// The text of a page as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFile {
    /// UTF-8, one line per line of the page.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
}

/// The files written so far. Dropped before [`Outputs::keep`], it removes them.
pub(crate) struct Outputs<'a> {
    target: &'a Target,
    written: Vec<PathBuf>,
}

impl<'a> Outputs<'a> {
    pub(crate) fn new(target: &'a Target) -> Outputs<'a> {
        Outputs { target, written: Vec::new() }
    }

    /// Writes `stem{suffix}` as a whole: a reader never sees half of it.
    pub(crate) fn write(&mut self, suffix: &str, bytes: &[u8]) -> Result<PathBuf, MediaError> {
        let path = self.target.dir.join(format!("{}{suffix}", self.target.stem));
        let part = self.target.dir.join(format!(".{}{suffix}.part", self.target.stem));
        let written = write_and_rename(&part, &path, bytes);
        if let Err(source) = written {
            // The part may not exist; the failure to report is the one above.
            fs::remove_file(&part).ok();
            return Err(MediaError::Io { path, source });
        }
        self.written.push(path.clone());
        Ok(path)
    }

    pub(crate) fn keep(mut self) {
        self.written.clear();
    }
}

impl Drop for Outputs<'_> {
    fn drop(&mut self) {
        for path in &self.written {
            // Nobody is left to be told; the caller hears of the conversion's own failure.
            fs::remove_file(path).ok();
        }
    }
}

fn write_and_rename(part: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = fs::File::create(part)?;
    file.write_all(bytes)?;
    fs::rename(part, path)
}
