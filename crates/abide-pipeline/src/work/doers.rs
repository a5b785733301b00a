//! Who does the outside work of a batch: traits that the program names implementations of.

use abide_entities::EntityId;
use abide_organize::InputFile;
use abide_preprocess::report::RefData;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::future::Future;
use std::pin::Pin;

/// Work that is on its way.
pub type Doing<'a, T> = Pin<Box<dyn Future<Output = Result<T, WorkError>> + Send + 'a>>;

/// Why work was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkError {
    /// It cannot be done, now or later.
    #[error("{0}")]
    Never(String),
    /// It may be done later.
    #[error("{0}")]
    Later(String),
    /// It may be done after so long: somebody asks for patience.
    #[error("{reason}")]
    After {
        /// What was said.
        reason: String,
        /// How long.
        wait_ms: i64,
    },
}

/// Work that was not done, and what it took all the same.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{why}")]
pub struct Undone {
    /// Why it was not.
    pub why: WorkError,
    /// What was paid for answers that are of no use.
    pub spent: Spent,
}

impl<E: Into<WorkError>> From<E> for Undone {
    fn from(why: E) -> Undone {
        Undone { why: why.into(), spent: Spent::default() }
    }
}

/// Work that is on its way and may cost something, whatever comes of it.
pub type Paying<'a, T> = Pin<Box<dyn Future<Output = Result<T, Undone>> + Send + 'a>>;

/// An image that is to be read.
#[derive(Debug, Clone)]
pub struct Image {
    /// What stands for it: its URL, type, size, name.
    pub reference: RefData,
    /// Its bytes: of the middle size, if there is one.
    pub bytes: Bytes,
}

/// Gets the bytes of images that refs stand for.
pub trait Images: Send + Sync {
    /// The bytes, at most `bound`.
    fn bytes<'a>(&'a self, reference: &'a RefData, bound: u64) -> Doing<'a, Bytes>;
}

/// What was read off an image.
#[derive(Debug, Clone, PartialEq)]
pub struct OcrText {
    /// The text.
    pub text: String,
    /// What read it: `tesseract 5.3.0 (deu+eng)`.
    pub by: String,
    /// What it took.
    pub spent: Spent,
}

/// Reads images.
pub trait Ocr: Send + Sync {
    /// Reads one.
    fn read(&self, image: Image) -> Paying<'_, OcrText>;
}

/// What a model took; nothing if none was asked.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// US dollars.
    pub cost_usd: f64,
    /// Tokens in both directions.
    pub tokens: u64,
    /// The model, or `built-in`.
    pub model: String,
}

/// What a child of a node brings to it.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildText<T> {
    /// Which.
    pub pi: EntityId,
    /// What people call it.
    pub label: String,
    /// Its metadata, or its description.
    pub what: T,
}

/// What metadata is extracted from.
#[derive(Debug, Clone, PartialEq)]
pub struct MetadataRequest {
    /// Of which entity.
    pub pi: EntityId,
    /// The name of its directory.
    pub directory_name: String,
    /// Its texts, and what was read off its images.
    pub files: Vec<InputFile>,
    /// All its children, with their metadata if they have it.
    pub children: Vec<ChildText<Option<Value>>>,
    /// Its former metadata.
    pub previous: Option<Value>,
    /// What people want.
    pub custom_prompt: Option<String>,
    /// The institution, if it is given.
    pub institution: Option<String>,
}

/// Metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct Extracted {
    /// `pinax.json`.
    pub pinax: Value,
    /// What people should know.
    pub warnings: Vec<String>,
    /// What it took.
    pub spent: Spent,
}

/// Extracts metadata.
pub trait Metadata: Send + Sync {
    /// Of one directory.
    fn extract(&self, request: MetadataRequest) -> Paying<'_, Extracted>;
}

/// What a description is written from.
#[derive(Debug, Clone, PartialEq)]
pub struct DescribeRequest {
    /// Of which entity.
    pub pi: EntityId,
    /// The name of its directory.
    pub directory_name: String,
    /// Its metadata.
    pub pinax: Option<Value>,
    /// Its texts, and what was read off its images.
    pub files: Vec<InputFile>,
    /// All its children.
    pub children: Vec<ChildText<ChildSaid>>,
    /// Its former description.
    pub previous: Option<String>,
    /// What people want.
    pub custom_prompt: Option<String>,
}

/// What is said of a child, as far as anything is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChildSaid {
    /// Its description.
    pub description: Option<String>,
    /// Its metadata.
    pub record: Option<Value>,
}

/// A description.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    /// `description.md`.
    pub markdown: String,
    /// What people should know.
    pub warnings: Vec<String>,
    /// What it took.
    pub spent: Spent,
}

/// Describes directories.
pub trait Describe: Send + Sync {
    /// One of them.
    fn describe(&self, request: DescribeRequest) -> Paying<'_, Described>;
}
