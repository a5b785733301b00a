//! Text read off images.

mod error;
mod language;
mod tesseract;
mod vision;

pub use error::{OcrError, Unread};
pub use language::{BadLanguages, Languages};
pub use tesseract::{Tesseract, Unusable};
pub use vision::Vision;

use abide_llm::Usage;

/// An image that is to be read.
#[derive(Debug, Clone, Default)]
pub struct Image {
    /// Its bytes, in a size that can be read well (the medium variant).
    pub bytes: Vec<u8>,
    /// What it is: `image/jpeg`.
    pub content_type: String,
    /// Where it is served to everybody, if it is; a model that can fetch it is told so.
    pub public_url: Option<String>,
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The text; empty if there is none in the image.
    pub text: String,
    /// What read it.
    pub by: String,
    /// Tokens that it took.
    pub usage: Usage,
    /// What they cost.
    pub cost_micros: u64,
}

/// What reads.
#[derive(Debug, Clone)]
pub enum Reader {
    /// A program of this machine.
    Tesseract(Tesseract),
    /// A model that sees.
    Vision(Vision),
}

impl Reader {
    /// What it is called.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Reader::Tesseract(tesseract) => tesseract.name(),
            Reader::Vision(vision) => vision.name().to_owned(),
        }
    }

    /// Reads an image.
    pub async fn read(&self, image: &Image) -> Result<Reading, Unread> {
        match self {
            Reader::Tesseract(tesseract) => Ok(tesseract.read(image).await?),
            Reader::Vision(vision) => vision.read(image).await,
        }
    }
}
