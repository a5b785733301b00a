//! Commands of preprocessing.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorkerTask {
    /// Make JPEGs of a TIFF.
    Tiff,
    /// Make pages of a PDF.
    Pdf,
    /// Make variants of an image.
    Image,
    /// Make some pages of a file, and say how long that took: for this program's own estimates.
    #[value(hide = true)]
    Trial,
}

/// How much effort goes into JPEGs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PresetArg {
    /// As small as possible.
    Default,
    /// Many times faster, at a cost in bytes.
    Fast,
}

/// A folder that is to be preprocessed.
#[derive(Debug, Args)]
pub(crate) struct PreprocessArgs {
    /// Folder with scans, PDFs and images; nothing is written to it.
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,

    /// Where results go, and what is needed to go on after a stop; beside DIR, with `-web` in its name, by default.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,

    /// How JPEGs are made.
    #[arg(long, value_name = "PRESET", default_value = "default")]
    pub(crate) preset: PresetArg,

    /// Replace files in --out that this command did not write; without it, they are named and nothing is begun.
    #[arg(long)]
    pub(crate) overwrite: bool,

    /// Remove results of files that are not in DIR any more, unless somebody changed them; without it, they are named.
    #[arg(long)]
    pub(crate) prune: bool,

    /// Only say what would be done and how long it would take.
    #[arg(long)]
    pub(crate) dry_run: bool,
}
