//! Who reads images, writes records and describes, as configured; and where the bytes of images are.

use std::path::Path;
use std::sync::Arc;

use abide_blob::{Bucket, Key};
use abide_core::job::RetryWish;
use abide_describe::ocr::{self, OcrError, Reader, Tesseract, Unread, Unusable, Vision};
use abide_describe::pinax::Pinax;
use abide_describe::{Child, Describer, Directory, Document, Untold};
use abide_fetch::{Ask, Fetcher};
use abide_llm::{Limiters, LlmError, Model, Usage};
use abide_organize::InputFile;
use abide_pipeline::contract::{
    Describe, DescribeRequest, Described, Doing, Extracted, Image, Images, Metadata, MetadataRequest, Ocr,
    OcrText, Paying, Spent, Undone, WorkError,
};
use abide_preprocess::asset::Asset;
use abide_preprocess::report::RefData;
use bytes::Bytes;

use super::downloads::fetcher;
use super::model::{client, model};
use crate::config::Config;
use crate::failure::Failure;

/// Bytes of what describes an asset.
const ASSET_BYTES: u64 = 64 * 1024;
/// What a question that takes a while may take.
const TELLING_MS: u64 = 120_000;
/// What models are shown of a directory, in tokens.
const SHOWN_TOKENS: usize = abide_describe::limits::SHOWN_TOKENS;

/// Who does what.
pub(crate) struct Crew {
    /// Reads images; if nobody does, why.
    pub(crate) reader: Result<Reader, String>,
    /// Writes records and describes.
    pub(crate) describer: Describer,
    /// The model, if one is configured.
    pub(crate) model: Option<Arc<dyn Model>>,
}

impl Crew {
    /// Everybody, as configured. What is asked for and cannot be had is an error; what is merely not there is said.
    pub(crate) async fn gather(config: &Config, limiters: &Limiters) -> Result<Crew, Failure> {
        let model = model(&config.llm, limiters, config.llm.timeout_ms.max(TELLING_MS))?;
        let describer = match &model {
            Some(model) => Describer::by(Arc::clone(model), SHOWN_TOKENS),
            None => Describer::builtin(),
        };
        let reader = reader(config, limiters).await?;
        Ok(Crew { reader, describer, model })
    }

    /// What reads images, for the pipeline.
    pub(crate) fn ocr(&self) -> Option<Arc<dyn Ocr>> {
        let reader = self.reader.as_ref().ok()?;
        Some(Arc::new(ReadBy(reader.clone())))
    }

    /// What writes records, for the pipeline.
    pub(crate) fn metadata(&self) -> Arc<dyn Metadata> {
        Arc::new(ToldBy(self.describer.clone()))
    }

    /// What describes, for the pipeline.
    pub(crate) fn describe(&self) -> Arc<dyn Describe> {
        Arc::new(ToldBy(self.describer.clone()))
    }
}

async fn reader(config: &Config, limiters: &Limiters) -> Result<Result<Reader, String>, Failure> {
    let of = &config.ocr;
    let wants_vision = of.kind == "vision" || of.kind == "auto" && !of.model.is_empty();
    if wants_vision {
        if of.model.is_empty() || config.llm.base_url.is_empty() {
            return Err(Failure::Unusable(
                "a model is to read images: set llm.base_url and ocr.model".to_owned(),
            ));
        }
        let client = client(&config.llm, &of.model, limiters, config.llm.timeout_ms.max(TELLING_MS))?;
        return Ok(client.map(|client| Reader::Vision(Vision::new(client))).ok_or_else(String::new));
    }
    if of.kind == "off" {
        return Ok(Err("ocr.kind is off".to_owned()));
    }
    let languages =
        of.languages.parse().map_err(|error: ocr::BadLanguages| Failure::Unusable(error.to_string()))?;
    match Tesseract::find(Path::new(&of.tesseract), languages).await {
        Ok(tesseract) => Ok(Ok(Reader::Tesseract(tesseract))),
        Err(Unusable::Missing(_)) if of.kind == "auto" => {
            Ok(Err(format!("there is no {}: apt install tesseract-ocr", of.tesseract)))
        }
        Err(error) => Err(Failure::Unusable(error.to_string())),
    }
}

struct ReadBy(Reader);

impl Ocr for ReadBy {
    fn read(&self, image: Image) -> Paying<'_, OcrText> {
        Box::pin(async move {
            let kind = image.reference.content_type.clone().unwrap_or_else(|| "image/jpeg".to_owned());
            // A variant is a JPEG, whatever it was made of.
            let content_type =
                if image.bytes.starts_with(&[0xff, 0xd8]) { "image/jpeg".to_owned() } else { kind };
            let image = ocr::Image { bytes: image.bytes.to_vec(), content_type, public_url: None };
            let read = self.0.read(&image).await.map_err(|unread| self.unread(unread))?;
            let spent = spent(read.usage, read.cost_micros, read.by.clone());
            Ok(OcrText { text: read.text, by: read.by, spent })
        })
    }
}

impl ReadBy {
    fn unread(&self, unread: Unread) -> Undone {
        let why = match unread.why {
            OcrError::Permanent(reason) => WorkError::Never(reason),
            OcrError::Transient(reason) => WorkError::Later(reason),
            OcrError::Limited { message, wait_ms } => match wait_ms {
                Some(wait_ms) => WorkError::After { reason: message, wait_ms },
                None => WorkError::Later(message),
            },
        };
        Undone { why, spent: paid(unread.spent, self.0.name()) }
    }
}

struct ToldBy(Describer);

impl Metadata for ToldBy {
    fn extract(&self, request: MetadataRequest) -> Paying<'_, Extracted> {
        Box::pin(async move {
            let children = request.children.into_iter().map(|child| Child {
                name: child.label,
                pinax: child.what.and_then(|record| serde_json::from_value(record).ok()),
                description: None,
            });
            let directory = Directory {
                pi: request.pi.to_string(),
                name: request.directory_name,
                files: request.files.into_iter().map(document).collect(),
                children: children.collect(),
                institution: request.institution,
                access_url: None,
                custom_prompt: request.custom_prompt,
            };
            let made = self.0.record(&directory, this_year()).await.map_err(|error| self.untold(error))?;
            let pinax =
                serde_json::to_value(&made.pinax).map_err(|error| WorkError::Never(error.to_string()))?;
            let warnings = made.validation.warnings;
            Ok(Extracted { pinax, warnings, spent: spent(made.usage, made.cost_micros, made.by) })
        })
    }
}

impl Describe for ToldBy {
    fn describe(&self, request: DescribeRequest) -> Paying<'_, Described> {
        Box::pin(async move {
            let record: Option<Pinax> = request.pinax.and_then(|record| serde_json::from_value(record).ok());
            let children = request.children.into_iter().map(|child| Child {
                name: child.label,
                pinax: child.what.record.and_then(|record| serde_json::from_value(record).ok()),
                description: child.what.description,
            });
            let directory = Directory {
                pi: request.pi.to_string(),
                name: request.directory_name,
                files: request.files.into_iter().map(document).collect(),
                children: children.collect(),
                custom_prompt: request.custom_prompt,
                ..Directory::default()
            };
            let made =
                self.0.describe(&directory, record.as_ref()).await.map_err(|error| self.untold(error))?;
            let spent = spent(made.usage, made.cost_micros, made.by);
            Ok(Described { markdown: made.text, warnings: Vec::new(), spent })
        })
    }
}

fn document(file: InputFile) -> Document {
    Document { name: file.name, text: file.content }
}

fn spent(usage: Usage, cost_micros: u64, model: String) -> Spent {
    Spent { cost_usd: cost_micros as f64 / 1e6, tokens: usage.input_tokens + usage.output_tokens, model }
}

/// What answers took that are of no use.
fn paid(spent: abide_llm::Spent, model: String) -> Spent {
    if spent.usage == Usage::default() {
        Spent::default()
    } else {
        self::spent(spent.usage, spent.cost_micros, model)
    }
}

impl ToldBy {
    fn untold(&self, untold: Untold) -> Undone {
        let reason = untold.why.to_string();
        let why = match &untold.why {
            // It was asked for again, and told what is wrong, as often as that may help.
            LlmError::BadAnswer(_) => WorkError::Never(reason),
            error => match error.wait_ms() {
                Some(wait_ms) => WorkError::After { reason, wait_ms },
                None if error.is_retryable() => WorkError::Later(reason),
                None => WorkError::Never(reason),
            },
        };
        Undone { why, spent: paid(untold.spent, self.0.name().to_owned()) }
    }
}

fn this_year() -> u32 {
    u32::try_from(jiff::Zoned::now().year()).unwrap_or(2000)
}

/// Images in the archive of this machine, or wherever their URL says.
pub(crate) struct InArchive {
    archive: Bucket,
    fetcher: Fetcher,
}

impl InArchive {
    /// URLs in refs come from data: what fetches them is guarded.
    pub(crate) fn new(archive: Bucket, config: &Config) -> Result<InArchive, Failure> {
        Ok(InArchive { archive, fetcher: fetcher(config, config.downloads.max_per_host)? })
    }

    /// The asset that a URL names, if it is one of ours.
    async fn asset(&self, url: &str) -> Option<Asset> {
        let id = url.rsplit('/').next().filter(|id| !id.is_empty())?;
        let key = Key::new(&Asset::key(id)).ok()?;
        let described = self.archive.get_bytes(&key, ASSET_BYTES).await.ok()?;
        serde_json::from_slice(&described).ok()
    }

    /// From wherever a CDN has it: the middle size, or the whole.
    async fn fetch(&self, url: &str, bound: u64) -> Result<Bytes, WorkError> {
        let medium = format!("{url}/medium");
        let mut failed = WorkError::Never(format!("{url} cannot be fetched"));
        for url in [medium.as_str(), url] {
            let ask = Ask { bytes_max: bound, ..Ask::file(url) };
            let body = async { self.fetcher.open(&ask).await?.success()?.body().await };
            match body.await {
                Ok(bytes) => return Ok(bytes),
                Err(error) => {
                    failed = match error.retry() {
                        RetryWish::ByPolicy => WorkError::Later(error.to_string()),
                        RetryWish::AfterMs(wait_ms) | RetryWish::UncountedAfterMs(wait_ms) => {
                            WorkError::After { reason: error.to_string(), wait_ms }
                        }
                        RetryWish::Never => WorkError::Never(error.to_string()),
                    };
                }
            }
        }
        Err(failed)
    }
}

impl Images for InArchive {
    fn bytes<'a>(&'a self, reference: &'a RefData, bound: u64) -> Doing<'a, Bytes> {
        Box::pin(async move {
            let Some(asset) = self.asset(&reference.url).await else {
                return self.fetch(&reference.url, bound).await;
            };
            let variant = asset
                .serving("medium")
                .ok_or_else(|| WorkError::Never(format!("the asset at {} has no image", reference.url)))?;
            let key = Key::new(&variant.r2_key).map_err(|error| WorkError::Never(error.to_string()))?;
            let bytes = self.archive.get_bytes(&key, bound).await;
            bytes.map_err(|error| WorkError::Later(error.to_string()))
        })
    }
}

/// What the model is called, for people.
pub(crate) fn model_name(crew: &Crew) -> Option<String> {
    crew.model.as_ref().map(|model| model.name().to_owned())
}
