//! The pipeline within a command, with whoever is configured to read and describe.

use std::sync::Arc;

use abide_blob::Bucket;

use super::Hosted;
use super::describing::{Crew, InArchive};
use crate::config::Config;
use crate::failure::Failure;

/// Adds the pipeline; it begins with the engine.
pub(crate) fn pipeline(
    config: &Config,
    hosted: &mut Hosted,
    crew: &Crew,
    images: InArchive,
    staging: Bucket,
) -> Result<abide_pipeline::Service, Failure> {
    let of = &config.pipeline;
    let options = abide_pipeline::Options {
        batch_size_ocr: of.batch_size_ocr,
        ocr_chunk_size: of.ocr_chunk_size,
        batch_size_reorganization: of.batch_size_reorganization,
        batch_size_pinax: of.batch_size_metadata,
        batch_size_description: of.batch_size_description,
        max_directory_retries: of.max_directory_retries,
        min_files: of.min_files,
        max_files: of.max_files,
        callback_timeout_ms: of.callback_timeout_ms,
        ..abide_pipeline::Options::default()
    };
    let setup = abide_pipeline::Setup {
        options,
        staging,
        ocr: crew.ocr(),
        images: Arc::new(images),
        metadata: Some(crew.metadata()),
        describe: Some(crew.describe()),
        ocr_slots: config.ocr.slots,
        organizer_url: String::new(),
        ocr_text_token_threshold: of.ocr_text_token_threshold,
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
