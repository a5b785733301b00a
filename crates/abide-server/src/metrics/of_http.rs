//! Requests, by route and status.

use super::family::{Family, Sort};
use abide_engine::meter::Histogram;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The route of requests that fit none.
pub(crate) const UNKNOWN: &str = "unknown";

/// Counts requests. Bounded: routes are templates, methods and statuses are those that the server knows.
#[derive(Debug, Default)]
pub(crate) struct HttpMeter {
    // Locked for one addition at the end of each request, and to be copied when somebody looks.
    routes: Mutex<BTreeMap<String, Methods>>,
}

/// What was counted of each method of a route.
type Methods = BTreeMap<&'static str, RouteCounts>;

#[derive(Debug, Clone)]
struct RouteCounts {
    statuses: BTreeMap<u16, u64>,
    times: Histogram,
}

impl HttpMeter {
    /// Notes a request that was answered.
    pub(crate) fn note(&self, method: &str, route: &str, status: u16, took: Duration) {
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        if !routes.contains_key(route) {
            routes.insert(route.to_owned(), Methods::new());
        }
        let Some(methods) = routes.get_mut(route) else { return };
        let new = || RouteCounts { statuses: BTreeMap::new(), times: Histogram::of_times() };
        let counts = methods.entry(known(method)).or_insert_with(new);
        *counts.statuses.entry(status).or_default() += 1;
        counts.times.note(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }

    pub(super) fn families(&self) -> [Family; 2] {
        let routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut requests =
            Family::new("abide_http_requests_total", Sort::Counter, "Requests, by route and status.");
        let mut times = Family::new(
            "abide_http_request_seconds",
            Sort::Times,
            "From the head of a request to the head of its answer.",
        );
        for (route, method, counts) in routes
            .iter()
            .flat_map(|(route, methods)| methods.iter().map(move |(method, counts)| (route, method, counts)))
        {
            for (status, count) in &counts.statuses {
                let status = status.to_string();
                requests.add(&[("method", method), ("route", route), ("status", &status)], *count);
            }
            times.add(&[("method", method), ("route", route)], &counts.times);
        }
        [requests, times]
    }
}

/// A method that the server knows: anybody may send any word.
pub(crate) fn known(method: &str) -> &'static str {
    ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]
        .into_iter()
        .find(|known| *known == method)
        .unwrap_or("OTHER")
}
