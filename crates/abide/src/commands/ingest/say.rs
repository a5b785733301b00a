//! What is said before anything is done: who reads and groups, what is lost without better ones, what it will take.

use std::time::Duration;

use abide_collections::changes::Changes;
use abide_collections::snapshot::directories;
use abide_describe::ocr::Reader;
use abide_llm::Price;
use indicatif::{HumanBytes, HumanDuration};
use serde::Deserialize;
use serde_json::json;

use super::Order;
use super::cost::{Asked, Questions};
use super::look::Look;
use crate::cli::PresetArg;
use crate::commands::collection::print::count;
use crate::commands::preprocess::estimate::Estimate;
use crate::commands::preprocess::folder::Folder;
use crate::config::{Config, Llm};
use crate::reach::{Client, Path, ReachError};
use crate::services::describing::{Crew, model_name};

/// What reading one image takes, about.
const READING: Duration = Duration::from_millis(1_500);
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
    /// Where models are, for people.
    place: String,
    /// What their tokens cost.
    price: Price,
    /// Questions to them at a time.
    at_once: usize,
    /// What may be spent on them in all, in millionths; not bounded if none.
    budget_micros: Option<u64>,
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
    #[serde(default)]
    price: Price,
    #[serde(default)]
    concurrency: usize,
}

impl Staff {
    /// Those of this process.
    pub(super) fn of(crew: &Crew, config: &Llm) -> Staff {
        let (input_micros, output_micros) = (config.input_price_micros, config.output_price_micros);
        Staff {
            reader: crew.reader.as_ref().map(Reader::name).map_err(Clone::clone),
            reader_is_model: matches!(crew.reader, Ok(Reader::Vision(_))),
            model: model_name(crew),
            place: format!("at {}", config.base_url),
            price: Price { input_micros, output_micros },
            at_once: config.concurrency,
            budget_micros: Some(config.budget_micros).filter(|budget| *budget > 0),
        }
    }

    /// Those of the server.
    pub(super) async fn ask(client: &Client) -> Result<Staff, ReachError> {
        let PipelineHealth { ocr, ocr_missing, ocr_is_model } =
            client.get(&Path::of(["orchestrator", "health"])).await?;
        let OrganizerHealth { model, price, concurrency } =
            client.get(&Path::of(["organizer", "health"])).await?;
        let reader = ocr.ok_or_else(|| ocr_missing.unwrap_or_else(|| "the server reads none".to_owned()));
        let place = "of the server".to_owned();
        let (reader_is_model, at_once) = (ocr_is_model, concurrency);
        Ok(Staff { reader, reader_is_model, model, place, price, at_once, budget_micros: None })
    }

    /// Whether anybody reads images.
    pub(super) fn reads_images(&self) -> bool {
        self.reader.is_ok()
    }

    /// What models will be asked.
    fn questions(&self, order: &Order<'_>, look: &Look) -> Questions {
        let asked = Asked { about_parts: self.model.is_some(), about_images: self.reader_is_model };
        Questions::about(order.folder, &look.plan.changes, asked, order.config)
    }
}

/// `"papers": 22 files`, or what is different in it.
fn extent(name: &str, look: &Look) -> String {
    let Changes { new, edited, gone, .. } = &look.plan.changes;
    let (new, edited, gone) = (new.len(), edited.len(), gone.len());
    let unchanged = look.plan.found.len() - new - edited;
    match look.known.len() {
        0 => format!("{name:?}: {}", count(new, "file", "files")),
        _ if new + edited + gone == 0 => {
            format!("{name:?}: {}, all of them as they were", count(unchanged, "file", "files"))
        }
        _ => format!("{name:?}: {new} new, {edited} edited, {gone} removed, {unchanged} as they were"),
    }
}

/// Directories of which something is different.
fn folders(look: &Look) -> usize {
    let changes = &look.plan.changes;
    if changes.is_empty() {
        return 0;
    }
    directories(changes.brought().chain(&changes.gone).map(String::as_str)).len()
}

/// Says it of the files that are brought in, beside what is known of others.
pub(super) fn beforehand(
    order: &Order<'_>,
    folder: &Folder,
    look: &Look,
    staff: &Staff,
    estimate: &Estimate,
) {
    let Order { config, name, output, .. } = *order;
    let images = folder.convertible().count();
    let reading = match &staff.reader {
        Ok(reader) if staff.reader_is_model => {
            format!("OCR: the model {reader} {}", staff.place)
        }
        Ok(reader) => format!("OCR: {reader}"),
        Err(why) if images == 0 => format!("OCR: none ({why})"),
        Err(why) => {
            format!("OCR: none ({why}): what is written on {images} images and PDFs will not be found")
        }
    };
    let grouping = match &staff.model {
        Some(model) => format!("organizer: the model {model} {}", staff.place),
        None => {
            "organizer: built-in, by names, dates and words; a language model (llm.base_url) would also see \
                 what files mean, and would write descriptions in prose"
                .to_owned()
        }
    };
    let folders = folders(look);
    let questions = staff.questions(order, look);
    let time = time(estimate, staff, images, folders, config) + questions.time(staff.at_once);
    let cost = staff.price.of(questions.usage);
    let cost_text = cost_text(&questions, cost, staff.budget_micros);
    let going_on = look.pending().map(|what| format!("\nan earlier run was stopped: first, {what} goes on"));
    let text = format!(
        "{reading}\n{grouping}\ncollection {}; {} in {}; {images} to convert\n\
         disk: about {} needed, {} free\ntime: about {}\nmodel cost: {cost_text}{}",
        extent(name, look),
        HumanBytes(folder.bytes),
        count(folders, "folder", "folders"),
        HumanBytes(estimate.needed_bytes + folder.bytes),
        HumanBytes(estimate.free_bytes),
        HumanDuration(time),
        going_on.unwrap_or_default(),
    );
    let document = json!({
        "collection": name,
        "ocr": staff.reader.as_ref().ok(),
        "ocr_missing": staff.reader.as_ref().err(),
        "organizer": staff.model.as_deref().unwrap_or("builtin"),
        "estimated_questions": questions.count,
        "estimated_tokens": questions.usage.input_tokens + questions.usage.output_tokens,
        "files": folder.files.len(),
        "new": look.plan.changes.new.len(),
        "edited": look.plan.changes.edited.len(),
        "removed": look.plan.changes.gone.len(),
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

/// What models may cost, for people, and what that rests on.
fn cost_text(questions: &Questions, cost: u64, budget_micros: Option<u64>) -> String {
    if questions.count == 0 {
        return "nothing: no model is asked".to_owned();
    }
    let usage = questions.usage;
    let tokens = usage.input_tokens + usage.output_tokens;
    let most = match cost {
        0 => format!("up to about {tokens} tokens; no price is configured (llm.input_price_micros)"),
        cost => format!("up to about {:.2} USD", cost as f64 / 1e6),
    };
    let budget = budget_micros.map(|budget| {
        format!(
            "; never more than {:.2} USD with all that was spent before (llm.budget_micros)",
            budget as f64 / 1e6
        )
    });
    format!(
        "{most}, for up to about {} questions if groups have two files and answers are as long as they may be; what must be \
         asked again comes on top{}",
        questions.count,
        budget.unwrap_or_default()
    )
}

fn time(estimate: &Estimate, staff: &Staff, images: usize, folders: usize, config: &Config) -> Duration {
    // What a model reads is among its questions.
    let reading = if staff.reader.is_ok() && !staff.reader_is_model {
        READING * u32::try_from(images).unwrap_or(u32::MAX)
            / u32::try_from(config.ocr.slots.max(1)).unwrap_or(1)
    } else {
        Duration::ZERO
    };
    estimate.time(PresetArg::Default) + reading + DESCRIBING * u32::try_from(folders).unwrap_or(u32::MAX)
}
