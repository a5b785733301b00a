//! The pipeline: batches of directories through their phases, with whoever is configured to read and describe.

use std::sync::Arc;
use std::time::Duration;

use abide_describe::ocr::Reader;
use abide_pipeline::upload::Limits;
use abide_pipeline::{Options, Service, ServiceUrls, Setup, Site};
use abide_preprocess::Buckets;
use abide_server::PipelineService;

use super::Hosted;
use super::describing::{Crew, InArchive};
use crate::config::{self, Config};
use crate::failure::Failure;
use crate::host::runtime;

/// Adds the service; preprocessing, whose buckets it uses, is there before it.
pub(super) fn add(config: &Config, hosted: &mut Hosted) -> Result<(), Failure> {
    let crew = runtime()?.block_on(Crew::gather(config, &hosted.limiters))?;
    if let Err(reason) = crew.reader.as_ref().map_err(Clone::clone) {
        hosted.after_start.push(Box::new(move |_| {
            tracing::info!(target: "pipeline", reason, "images of batches are not read");
        }));
    }
    add_with(config, hosted, &crew)
}

/// The same, with these who read and describe.
pub(crate) fn add_with(config: &Config, hosted: &mut Hosted, crew: &Crew) -> Result<(), Failure> {
    let Some(preprocess) = &hosted.services.preprocess else { return Ok(()) };
    let buckets = preprocess.buckets().clone();
    let service = begin(config, hosted, crew, &buckets)?;
    let urls_good_for = Duration::from_secs(config.pipeline.presigned_url_expiry_s);
    let reader = crew.reader.as_ref().map(Reader::name).map_err(Clone::clone);
    let reader_is_model = matches!(crew.reader, Ok(Reader::Vision(_)));
    hosted.services.pipeline = Some(PipelineService { service, urls_good_for, reader, reader_is_model });
    Ok(())
}

/// Registers the service; it begins with the engine.
fn begin(config: &Config, hosted: &mut Hosted, crew: &Crew, buckets: &Buckets) -> Result<Service, Failure> {
    let setup = Setup {
        options: options(&config.pipeline),
        staging: buckets.staging.clone(),
        ocr: crew.ocr(),
        images: Arc::new(InArchive::new(buckets.archive.clone(), config)?),
        metadata: Some(crew.metadata()),
        describe: Some(crew.describe()),
        ocr_slots: config.ocr.slots,
        organizer_url: config.pipeline.organizer_url.clone(),
        organizer_token: Some(config.pipeline.organizer_token.clone()).filter(|token| !token.is_empty()),
        services: ServiceUrls {
            ocr: config.pipeline.ocr_url.clone(),
            pinax: config.pipeline.pinax_url.clone(),
            description: config.pipeline.description_url.clone(),
        },
        ocr_text_token_threshold: config.pipeline.ocr_text_token_threshold,
    };
    let service = Service::register(&mut hosted.registry, setup)?;
    let beginning = service.clone();
    hosted.after_start.push(Box::new(move |started| {
        // Without entities there is nothing to make: jobs wait for a server that has them.
        let Some(entities) = started.entities.clone() else { return };
        beginning.begin(Site { engine: started.engine.clone(), entities });
    }));
    Ok(service)
}

fn options(config: &config::Pipeline) -> Options {
    tracing::debug!(
        target: "pipeline",
        batch_size_cheimarros = config.batch_size_cheimarros,
        alarm_delay_ocr_ms = config.alarm_delay_ocr_ms,
        alarm_delay_reorganize_ms = config.alarm_delay_reorganize_ms,
        "accepted, and without effect"
    );
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
