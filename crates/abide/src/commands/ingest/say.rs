//! What is said before anything is done: who reads and groups, what is lost without better ones, what it will take.

use std::time::Duration;

use abide_describe::Describer;
use abide_describe::limits::{READING_TOKENS, SHOWN_TOKENS};
use abide_describe::ocr::Reader;
use abide_llm::{Price, Usage};
use indicatif::{HumanBytes, HumanDuration};
use serde::Deserialize;
use serde_json::json;

use super::Order;
use crate::cli::PresetArg;
use crate::commands::preprocess::estimate::Estimate;
use crate::commands::preprocess::folder::Folder;
use crate::config::Config;
use crate::reach::{Client, Path, ReachError};
use crate::services::describing::{Crew, model_name};

/// What reading one image takes, about.
const READING: Duration = Duration::from_millis(1_500);
/// Tokens that an image of medium size is to a model that sees, about.
const IMAGE_TOKENS: u64 = 1_600;
/// What everything else takes for one directory, about.
const DESCRIBING: Duration = Duration::from_millis(60);

/// Who does what.
pub(super) struct Staff {
    /// What reads images; if nobody does, why.
    reader: Result<String, String>,
    /// Whether that is a model.
    reader_is_model: bool,
    /// The model that groups and describes, if one does.
    model: Option<String>,
}

#[derive(Deserialize)]
struct PipelineHealth {
    ocr: Option<String>,
    ocr_missing: Option<String>,
    #[serde(default)]
    ocr_is_model: bool,
}

#[derive(Deserialize)]
struct OrganizerHealth {
    model: Option<String>,
}

impl Staff {
    /// Those of this process.
    pub(super) fn of(crew: &Crew) -> Staff {
        Staff {
            reader: crew.reader.as_ref().map(Reader::name).map_err(Clone::clone),
            reader_is_model: matches!(crew.reader, Ok(Reader::Vision(_))),
            model: model_name(crew),
        }
    }

    /// Those of the server.
    pub(super) async fn ask(client: &Client) -> Result<Staff, ReachError> {
        let PipelineHealth { ocr, ocr_missing, ocr_is_model } =
            client.get(&Path::of(["orchestrator", "health"])).await?;
        let OrganizerHealth { model } = client.get(&Path::of(["organizer", "health"])).await?;
        let reader = ocr.ok_or_else(|| ocr_missing.unwrap_or_else(|| "the server reads none".to_owned()));
        Ok(Staff { reader, reader_is_model: ocr_is_model, model })
    }

    /// Tokens at most: a record, a description and a question about groups for each folder, and the images that a model reads.
    fn tokens_at_most(&self, folders: usize, images: usize) -> Usage {
        let mut usage = Usage::default();
        if self.model.is_some() {
            let each = Describer::tokens_of_a_model(SHOWN_TOKENS);
            usage.input_tokens += (each.input_tokens + each.input_tokens / 2) * folders as u64;
            usage.output_tokens += (each.output_tokens + each.output_tokens / 2) * folders as u64;
        }
        if self.reader_is_model {
            usage.input_tokens += IMAGE_TOKENS * images as u64;
            usage.output_tokens += u64::from(READING_TOKENS) * images as u64;
        }
        usage
    }
}

/// Files of a collection that is there, by what became of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    pub(super) unchanged: usize,
    pub(super) edited: usize,
    pub(super) gone: usize,
}

/// `"papers": 22 files`, or what is different in it.
fn extent(name: &str, part: &Folder, known: Option<Counts>) -> String {
    let files = part.files.len();
    match known {
        Some(Counts { unchanged, edited, gone }) if files + gone == 0 => {
            debug_assert_eq!(edited, 0, "edited files are among those that are brought in");
            format!("{name:?}: {unchanged} files, all of them as they were")
        }
        Some(Counts { unchanged, edited, gone }) if unchanged + edited + gone > 0 => {
            let new = files - edited;
            format!("{name:?}: {new} files are new, {edited} edited, {gone} gone, {unchanged} as they were")
        }
        Some(_) | None => format!("{name:?}: {files} files"),
    }
}

/// Says it of the files that are brought in, beside what is known of others if somebody looked.
pub(super) fn beforehand(
    order: &Order<'_>,
    folder: &Folder,
    known: Option<Counts>,
    staff: &Staff,
    estimate: &Estimate,
) {
    let Order { config, name, output, .. } = *order;
    let images = folder.convertible().count();
    let reading = match &staff.reader {
        Ok(reader) if staff.reader_is_model => {
            format!("OCR: the model {reader} at {}", config.llm.base_url)
        }
        Ok(reader) => format!("OCR: {reader}"),
        Err(why) => {
            format!("OCR: none ({why}): what is written on {images} images and PDFs will not be found")
        }
    };
    let grouping = match &staff.model {
        Some(model) => format!("organizer: the model {model} at {}", config.llm.base_url),
        None => {
            "organizer: built-in, by names, dates and words; a language model (llm.base_url) would also see \
                 what files mean, and would write descriptions in prose"
                .to_owned()
        }
    };
    let folders = match (folder.files.as_slice(), known) {
        ([], Some(Counts { gone: 0, .. })) => 0,
        (files, _) => {
            abide_collections::snapshot::directories(files.iter().map(|file| file.path.as_str())).len()
        }
    };
    let time = time(estimate, staff, images, folders, config);
    let usage = staff.tokens_at_most(folders, images);
    let price =
        Price { input_micros: config.llm.input_price_micros, output_micros: config.llm.output_price_micros };
    let cost = price.of(usage);
    let cost_text = cost_text(usage, cost);
    let text = format!(
        "{reading}\n{grouping}\ncollection {}; {} in {folders} folders; {images} to convert\n\
         disk: about {} needed, {} free\ntime: about {}\nmodel cost: {cost_text}",
        extent(name, folder, known),
        HumanBytes(folder.bytes),
        HumanBytes(estimate.needed_bytes + folder.bytes),
        HumanBytes(estimate.free_bytes),
        HumanDuration(time),
    );
    let document = json!({
        "collection": name,
        "ocr": staff.reader.as_ref().ok(),
        "ocr_missing": staff.reader.as_ref().err(),
        "organizer": staff.model.as_deref().unwrap_or("builtin"),
        "estimated_tokens": usage.input_tokens + usage.output_tokens,
        "files": folder.files.len(),
        "bytes": folder.bytes,
        "folders": folders,
        "to_convert": images,
        "needed_bytes": estimate.needed_bytes + folder.bytes,
        "free_bytes": estimate.free_bytes,
        "estimated_seconds": time.as_secs_f64(),
        "estimated_cost_micros": cost,
    });
    output.message(&text, &document);
}

/// What models may cost, for people.
fn cost_text(usage: Usage, cost: u64) -> String {
    match usage.input_tokens {
        0 => "nothing: no model is asked".to_owned(),
        _ if cost == 0 => {
            format!(
                "at most {} tokens; no price is configured (llm.input_price_micros)",
                usage.input_tokens + usage.output_tokens
            )
        }
        _ => format!("at most about {:.2} USD", cost as f64 / 1e6),
    }
}

fn time(estimate: &Estimate, staff: &Staff, images: usize, folders: usize, config: &Config) -> Duration {
    let reading = if staff.reader.is_ok() {
        READING * u32::try_from(images).unwrap_or(u32::MAX)
            / u32::try_from(config.ocr.slots.max(1)).unwrap_or(1)
    } else {
        Duration::ZERO
    };
    estimate.time(PresetArg::Default) + reading + DESCRIBING * u32::try_from(folders).unwrap_or(u32::MAX)
}
