//! What papers say and what they are.
//!
//! What it is for: text read off an image, a metadata record (PINAX) and a description of a directory; each by a model, or
//! without one.
//! What it knows: `tesseract`, prompts, which fields a record must have and how careless answers are put right; names, dates
//! and words of texts.
//! What it does not know: entities, jobs, stores, config. It gets texts and bytes and gives texts back.
//! Where to enter: [`ocr::Reader`] for images, [`Describer`] for directories.

mod budget;
pub mod dates;
mod describer;
mod description;
mod directory;
mod extent;
mod facts;
pub mod limits;
pub mod ocr;
pub mod pinax;

pub use describer::{Described, Describer, Recorded, Untold};
pub use directory::{Child, Directory, Document};
