//! Organizer and pipeline within a command: the services as they are by default, with whoever is configured to read,
//! group and describe.

use std::sync::Arc;

use abide_blob::Bucket;
use abide_llm::Model;

use super::Hosted;
use super::describing::{Crew, InArchive};
use crate::config::Config;
use crate::failure::Failure;

/// More tokens of texts than this, and what was read off images is left out of what metadata is extracted from.
const OCR_TEXT_TOKEN_THRESHOLD: usize = 10_000;

/// Adds the organizer; it begins with the engine.
pub(crate) fn organizer(config: &Config, hosted: &mut Hosted, crew: &Crew) -> Result<(), Failure> {
    let options = abide_organize::Options {
        model: crew.model.clone().map(|client| Arc::new(client) as Arc<dyn Model>),
        concurrency: config.llm.concurrency,
        ..abide_organize::Options::builtin()
    };
    let service = abide_organize::Service::register(&mut hosted.registry, options)?;
    hosted.after_start.push(Box::new(move |started| {
        let Some(entities) = &started.entities else { return };
        service.begin(abide_organize::Site {
            engine: started.engine.clone(),
            entities: Arc::clone(entities),
            orchestrator_url: format!("http://{}/orchestrator", started.address),
            token: Some(started.token.to_owned()),
        });
    }));
    Ok(())
}

/// Adds the pipeline; it begins with the engine.
pub(crate) fn pipeline(
    config: &Config,
    hosted: &mut Hosted,
    crew: &Crew,
    images: InArchive,
    staging: Bucket,
) -> Result<abide_pipeline::Service, Failure> {
    let setup = abide_pipeline::Setup {
        options: abide_pipeline::Options::default(),
        staging,
        ocr: crew.ocr(),
        images: Arc::new(images),
        metadata: Some(crew.metadata()),
        describe: Some(crew.describe()),
        ocr_slots: config.ocr.slots,
        organizer_url: String::new(),
        ocr_text_token_threshold: OCR_TEXT_TOKEN_THRESHOLD,
    };
    let service = abide_pipeline::Service::register(&mut hosted.registry, setup)?;
    let beginning = service.clone();
    hosted.after_start.push(Box::new(move |started| {
        if let Some(entities) = &started.entities {
            let (engine, entities) = (started.engine.clone(), Arc::clone(entities));
            beginning.begin(abide_pipeline::Site { engine, entities });
        }
    }));
    Ok(service)
}
