//! The organizer: directories into groups, by the configured model or without one.

use abide_core::limit::LimitPolicy;
use abide_core::name::LimitKey;
use abide_engine::registry::RegisterError;
use abide_organize::jobs::model_limit;
use abide_organize::{Options, Service, Site};

use super::Hosted;
use super::model::model;
use crate::config::Config;
use crate::failure::Failure;

pub(crate) fn add(config: &Config, hosted: &mut Hosted) -> Result<(), Failure> {
    let options = options(config, hosted)?;
    if let Some(model) = &options.model {
        let concurrency = u32::try_from(options.concurrency).unwrap_or(u32::MAX);
        let policy = LimitPolicy { concurrency: Some(concurrency), ..LimitPolicy::default() };
        let key = LimitKey::new(model_limit(model.name())).map_err(RegisterError::from)?;
        hosted.defaults.limits.push((key, policy));
    }
    let service = Service::register(&mut hosted.registry, options)?;
    hosted.services.organizer = Some(service.clone());
    let (url, token) =
        (config.organizer.orchestrator_url.clone(), config.organizer.orchestrator_token.clone());
    hosted.after_start.push(Box::new(move |started| {
        // Without entities there is nothing to group: jobs wait for a server that has them.
        let Some(entities) = started.entities.clone() else { return };
        let engine = started.engine.clone();
        let (orchestrator_url, token) = if url.is_empty() {
            (format!("http://{}/orchestrator", started.address), Some(started.token.to_owned()))
        } else {
            (url, Some(token).filter(|token| !token.is_empty()))
        };
        service.begin(Site { engine, entities, orchestrator_url, token });
    }));
    Ok(())
}

fn options(config: &Config, hosted: &Hosted) -> Result<Options, Failure> {
    let organizer = &config.organizer;
    let share: Option<f64> = organizer.token_budget_percentage.trim().parse().ok();
    let Some(token_budget_percentage) = share.filter(|share| *share > 0.0 && *share <= 1.0) else {
        let given = &organizer.token_budget_percentage;
        return Err(Failure::Unusable(format!(
            "organizer.token_budget_percentage: {given:?} is no share: say a number above 0 and up to 1, such as 0.3"
        )));
    };
    tracing::debug!(target: "organizer", alarm_interval_ms = organizer.alarm_interval_ms, "nothing polls");
    let model = model(&config.llm, &hosted.limiters, organizer.timeout_ms)?;
    let concurrency = if model.is_some() { config.llm.concurrency } else { config.jobs.workers };
    Ok(Options {
        model,
        concurrency,
        max_tokens: organizer.max_tokens,
        token_budget_percentage,
        max_retries_per_pi: organizer.max_retries_per_pi,
        max_callback_retries: organizer.max_callback_retries,
        retain_ms: organizer.retain_for_ms,
        batch_cap_micros: Some(organizer.batch_budget_micros).filter(|cap| *cap > 0),
    })
}
