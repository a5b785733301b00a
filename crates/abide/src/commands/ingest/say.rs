//! What is said before anything is done: who reads and groups, what is lost without better ones, what it will take.

use std::time::Duration;

use abide_llm::{Price, Usage};
use indicatif::{HumanBytes, HumanDuration};
use serde_json::json;

use crate::cli::PresetArg;
use crate::commands::preprocess::estimate::Estimate;
use crate::commands::preprocess::folder::Folder;
use crate::config::Config;
use crate::output::Output;
use crate::services::describing::{Crew, model_name};

/// What reading one image takes, about.
const READING: Duration = Duration::from_millis(1_500);
/// What everything else takes for one directory, about.
const DESCRIBING: Duration = Duration::from_millis(60);

pub(super) fn beforehand(
    name: &str,
    folder: &Folder,
    crew: &Crew,
    estimate: &Estimate,
    config: &Config,
    output: Output,
) {
    let images = folder.convertible().count();
    let reading = match &crew.reader {
        Ok(reader) => format!("OCR: {}", reader.name()),
        Err(why) => {
            format!("OCR: none ({why}): what is written on {images} images and PDFs will not be found")
        }
    };
    let model = model_name(crew);
    let grouping = match &model {
        Some(model) => format!("organizer: the model {model} at {}", config.llm.base_url),
        None => {
            "organizer: built-in, by names, dates and words; a language model (llm.base_url) would also see \
                 what files mean, and would write descriptions in prose"
                .to_owned()
        }
    };
    let folders =
        abide_collections::snapshot::directories(folder.files.iter().map(|file| file.path.as_str())).len();
    let time = time(estimate, crew, images, folders, config);
    let (usage, cost) = cost(crew, config, folders);
    let cost_text = match model {
        None => "nothing: no model is asked".to_owned(),
        Some(_) if cost == 0 => {
            format!(
                "at most {} tokens; no price is configured (llm.input_price_micros)",
                usage.input_tokens + usage.output_tokens
            )
        }
        Some(_) => format!("at most about {:.2}", cost as f64 / 1e6),
    };
    let text = format!(
        "{reading}\n{grouping}\ncollection {name:?}: {} files, {} in {folders} folders; {images} to convert\n\
         disk: about {} needed, {} free\ntime: about {}\nmodel cost: {cost_text}",
        folder.files.len(),
        HumanBytes(folder.bytes),
        HumanBytes(estimate.needed_bytes + folder.bytes),
        HumanBytes(estimate.free_bytes),
        HumanDuration(time),
    );
    let document = json!({
        "collection": name,
        "ocr": crew.reader.as_ref().ok().map(abide_describe::ocr::Reader::name),
        "ocr_missing": crew.reader.as_ref().err(),
        "organizer": model_name(crew).unwrap_or_else(|| "builtin".to_owned()),
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

fn time(estimate: &Estimate, crew: &Crew, images: usize, folders: usize, config: &Config) -> Duration {
    let reading = if crew.reader.is_ok() {
        READING * u32::try_from(images).unwrap_or(u32::MAX)
            / u32::try_from(config.ocr.slots.max(1)).unwrap_or(1)
    } else {
        Duration::ZERO
    };
    estimate.time(PresetArg::Default) + reading + DESCRIBING * u32::try_from(folders).unwrap_or(u32::MAX)
}

/// Tokens at most, and what they cost in millionths: a record, a description and a question about groups for each folder.
fn cost(crew: &Crew, config: &Config, folders: usize) -> (Usage, u64) {
    let each = crew.describer.tokens_at_most();
    let folders = folders as u64;
    let usage = Usage {
        input_tokens: (each.input_tokens + each.input_tokens / 2) * folders,
        output_tokens: (each.output_tokens + each.output_tokens / 2) * folders,
    };
    let price =
        Price { input_micros: config.llm.input_price_micros, output_micros: config.llm.output_price_micros };
    (usage, price.of(usage))
}
