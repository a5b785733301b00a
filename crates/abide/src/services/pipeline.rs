//! The pipeline: batches of directories through their phases, with whoever is configured to read and describe.

use std::sync::Arc;
use std::time::Duration;

use abide_pipeline::upload::Limits;
use abide_pipeline::{Options, Service, Setup, Site};
use abide_server::PipelineService;

use super::Hosted;
use super::describing::{Crew, InArchive};
use crate::config::{self, Config};
use crate::failure::Failure;
use crate::host::runtime;

/// Adds the service; preprocessing, whose buckets it uses, is there before it.
pub(super) fn add(config: &Config, hosted: &mut Hosted) -> Result<(), Failure> {
    let Some(preprocess) = &hosted.services.preprocess else { return Ok(()) };
    let buckets = preprocess.buckets().clone();
    let crew = runtime()?.block_on(Crew::gather(config, &hosted.limiters))?;
    if let Err(reason) = &crew.reader {
        tracing::info!(target: "pipeline", reason, "images of batches are not read");
    }
    let setup = Setup {
        options: options(&config.pipeline),
        staging: buckets.staging,
        ocr: crew.ocr(),
        images: Arc::new(InArchive::new(buckets.archive, &config.fetch)?),
        metadata: Some(crew.metadata()),
        describe: Some(crew.describe()),
        ocr_slots: config.ocr.slots,
        organizer_url: config.pipeline.organizer_url.clone(),
        ocr_text_token_threshold: config.pipeline.ocr_text_token_threshold,
    };
    let service = Service::register(&mut hosted.registry, setup)?;
    let urls_good_for = Duration::from_secs(config.pipeline.presigned_url_expiry_s);
    hosted.services.pipeline = Some(PipelineService { service: service.clone(), urls_good_for });
    hosted.after_start.push(Box::new(move |started| {
        // Without entities there is nothing to make: jobs wait for a server that has them.
        let Some(entities) = started.entities.clone() else { return };
        service.begin(Site { engine: started.engine.clone(), entities });
    }));
    Ok(())
}

fn options(config: &config::Pipeline) -> Options {
    Options {
        batch_size_ocr: config.batch_size_ocr,
        ocr_chunk_size: config.ocr_chunk_size,
        batch_size_reorganization: config.batch_size_reorganization,
        batch_size_pinax: config.batch_size_metadata,
        batch_size_description: config.batch_size_description,
        max_directory_retries: config.max_directory_retries,
        min_files: config.min_files,
        max_files: config.max_files,
        callback_timeout_ms: config.callback_timeout_ms,
        uploads: Limits { file_bytes: config.max_file_size, batch_bytes: config.max_batch_size },
        ..Options::default()
    }
}
