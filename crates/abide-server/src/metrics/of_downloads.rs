//! Downloads of this process, by resolver.

use super::family::{Family, Sort};
use abide_downloads::meter::Counts;
use std::collections::BTreeMap;

/// The method of every request.
const VERB: &str = "GET";

/// Families of the service.
pub(super) fn families(downloads: &BTreeMap<String, Counts>) -> [Family; 5] {
    let mut attempts =
        Family::new("contentdownload_attempts_total", Sort::Counter, "Attempts at downloads that ended.");
    let mut retries = Family::new(
        "contentdownload_retries_total",
        Sort::Counter,
        "Attempts at downloads that are followed by another.",
    );
    let mut outcomes =
        Family::new("contentdownload_outcomes_total", Sort::Counter, "Downloads that are over.");
    let mut bytes =
        Family::new("contentdownload_bytes_total", Sort::Counter, "Bytes that came and were kept.");
    let mut latency = Family::new(
        "contentdownload_http_latency_ms",
        Sort::Millis,
        "From a request to the head of its reply, for files that came.",
    );
    for (resolver, counts) in downloads {
        let resolver = ("resolver", resolver.as_str());
        for ((status, reason), count) in &counts.attempts {
            let status = status.map_or_else(String::new, |status| status.to_string());
            let labels = [resolver, ("status", status.as_str()), ("reason", reason.as_str()), ("verb", VERB)];
            attempts.add(&labels, *count);
        }
        for (reason, count) in &counts.retries {
            retries.add(&[resolver, ("reason", reason.as_str())], *count);
        }
        for ((outcome, reason), count) in &counts.outcomes {
            outcomes.add(&[resolver, ("outcome", outcome.as_str()), ("reason", reason.as_str())], *count);
        }
        bytes.add(&[resolver], counts.bytes);
        latency.add(&[resolver, ("verb", VERB)], &counts.latency);
    }
    [attempts, retries, outcomes, bytes, latency]
}
