//! The configured model: one limiter and one purse for all services that ask it.

use std::sync::Arc;

use abide_engine::clock::SystemClock;
use abide_llm::{Client, Endpoint, Limiters, LlmError, Model, Price, Spent};
use abide_server::metrics::{Family, Sample, Sort, Value};

use crate::config::Llm;
use crate::failure::Failure;

/// How long a question waits for an endpoint that takes no more for now. Only then does it use up an attempt of its job.
const PATIENCE_MS: i64 = 10 * 60_000;

/// The configured model; none if what is built in is to do. One request may take `timeout_ms`.
pub(crate) fn model(
    config: &Llm,
    limiters: &Limiters,
    timeout_ms: u64,
) -> Result<Option<Arc<dyn Model>>, Failure> {
    if !config.base_url.is_empty() && config.model.is_empty() {
        let missing = "llm.base_url is set and llm.model is not: name one of its models".to_owned();
        return Err(Failure::Model(LlmError::Setup(missing)));
    }
    let client = client(config, &config.model, limiters, timeout_ms)?;
    Ok(client.map(|client| Arc::new(client) as Arc<dyn Model>))
}

/// What was spent on models since this process began, for `/metrics`.
pub(crate) fn families(limiters: &Limiters) -> Vec<Family> {
    let spent = limiters.spent();
    let family = |name, help, samples| Family { name, help, sort: Sort::Counter, samples };
    let sample = |labels: &[(&'static str, &str)], value: u64| Sample {
        labels: labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
        value: Value::Whole(value),
    };
    let of_each = |value: fn(&Spent) -> u64| {
        spent.iter().map(|(model, spent)| sample(&[("model", model)], value(spent))).collect()
    };
    let tokens = spent.iter().flat_map(|(model, Spent { usage, .. })| {
        let of = |direction, count| sample(&[("model", model), ("direction", direction)], count);
        [of("read", usage.input_tokens), of("written", usage.output_tokens)]
    });
    vec![
        family("abide_model_requests_total", "Requests to models.", of_each(|spent| spent.requests)),
        family("abide_model_tokens_total", "Tokens that models read and wrote.", tokens.collect()),
        family(
            "abide_model_cost_micros_total",
            "What they cost, in millionths.",
            of_each(|spent| spent.cost_micros),
        ),
    ]
}

/// A model at the configured endpoint; none if there is no endpoint.
pub(crate) fn client(
    config: &Llm,
    model: &str,
    limiters: &Limiters,
    timeout_ms: u64,
) -> Result<Option<Client>, Failure> {
    if config.base_url.is_empty() {
        return Ok(None);
    }
    let endpoint = Endpoint {
        api_key: Some(config.api_key.clone()).filter(|key| !key.is_empty()),
        timeout_ms,
        patience_ms: PATIENCE_MS,
        concurrency: config.concurrency,
        price: Price { input_micros: config.input_price_micros, output_micros: config.output_price_micros },
        purse: (config.budget_micros > 0).then(|| limiters.purse_of(config.budget_micros)),
        ..Endpoint::new(&config.base_url, model)
    };
    let client = Client::new(endpoint, limiters, Arc::new(SystemClock::new()));
    Ok(Some(client.map_err(Failure::Model)?))
}
