//! Scans, PDF pages and images: decoded within bounds, converted, scaled.
//!
//! Files in, files out. The crate knows formats, pixels and what a conversion costs; it knows no network, no queue and no
//! engine, and reads no configuration. It trusts no byte of its input: every size is computed from the header and compared
//! with [`Bounds`] before it is allocated. What a hostile file can still take is time and, in the libraries underneath,
//! stack: callers that convert files of strangers do so in a process with limits.
//!
//! Enter by [`probe`], which says what a file is and what converting it takes, then by [`tiff_to_jpeg`],
//! [`pdf_to_pages`] or [`variants`]. Each writes whole files into a directory or, when it fails, none. Whoever only wants to
//! know what a document takes makes its [`first_pages`].

mod bounds;
mod error;
mod first;
mod format;
mod image_file;
mod input;
mod jpeg;
mod likeness;
mod output;
mod pdf;
mod pixels;
mod png;
mod probe;
mod tiff;

pub use bounds::Bounds;
pub use error::MediaError;
pub use first::first_pages;
pub use format::{Format, Treatment};
pub use image_file::{Variant, Variants, variants};
pub use jpeg::{JpegSettings, Preset};
pub use likeness::{luma, psnr, ssim};
pub use output::{PageFile, PageKind, Target, TextFile};
pub use pdf::{PdfSettings, pdf_to_pages};
pub use probe::{Probe, probe};
pub use tiff::tiff_to_jpeg;
