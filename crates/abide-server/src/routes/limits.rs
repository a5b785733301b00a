//! `/v1/limits`: what keys allow and how much of it is used.

use crate::app::App;
use crate::body::JsonBody;
use crate::error::ApiError;
use crate::page;
use crate::params::Params;
use crate::path::At;
use crate::sentence::blocked;
use abide_core::limit::LimitPolicy;
use abide_core::name::LimitKey;
use abide_store::view::LimitView;
use abide_store::{Answer, Read, Write};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};

/// Rates of one limit.
const RATES: usize = 16;

/// Which limits to list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListParams {
    waiting: Option<bool>,
    after: Option<LimitKey>,
    limit: Option<usize>,
}

#[derive(Serialize)]
pub(crate) struct LimitPage {
    limits: Vec<LimitDocument>,
    next: Option<LimitKey>,
}

#[derive(Serialize)]
struct LimitDocument {
    #[serde(flatten)]
    view: LimitView,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// Limits that have a policy or are in use, by key; if asked for, only those at which jobs wait or do not. Then a page may
/// have fewer than there are.
pub(crate) async fn list(
    State(app): State<App>,
    Params(params): Params<ListParams>,
) -> Result<Json<LimitPage>, ApiError> {
    let limit = page::items(params.limit)?;
    let Answer::Limits(limits) = app.read(Read::Limits { after: params.after, limit }).await? else {
        unreachable!("the store answers about limits in kind")
    };
    let next = page::next(&limits, limit, |last| last.key.clone());
    let now = app.engine().now();
    let is_asked = |view: &LimitView| params.waiting.is_none_or(|waiting| waiting == (view.waiting > 0));
    let document = |view: LimitView| LimitDocument { why: view.blocked.map(|why| blocked(why, now)), view };
    Ok(Json(LimitPage { limits: limits.into_iter().filter(is_asked).map(document).collect(), next }))
}

#[derive(Serialize)]
pub(crate) struct PolicyDocument {
    key: LimitKey,
    policy: Option<LimitPolicy>,
}

/// Sets what a key (`host:example.org`) or a class of keys (`host:*`) allows.
pub(crate) async fn set(
    State(app): State<App>,
    At(key): At<LimitKey>,
    JsonBody(policy): JsonBody<LimitPolicy>,
) -> Result<Json<PolicyDocument>, ApiError> {
    if policy.rates.len() > RATES {
        return Err(ApiError::bad(format!(
            "{} rates are given: a limit has at most {RATES}",
            policy.rates.len()
        )));
    }
    if policy.concurrency == Some(0) {
        return Err(ApiError::bad(
            "concurrency is 0, which would let nothing start: give at least 1, or pause the queue",
        ));
    }
    let policy = Some(policy);
    app.write(Write::SetLimit { key: key.clone(), policy: policy.clone() }).await?;
    Ok(Json(PolicyDocument { key, policy }))
}

/// Removes the policy of a key or a class, and ends a key's rest; without one it allows everything, or what its class says.
pub(crate) async fn remove(
    State(app): State<App>,
    At(key): At<LimitKey>,
) -> Result<Json<PolicyDocument>, ApiError> {
    app.write(Write::SetLimit { key: key.clone(), policy: None }).await?;
    Ok(Json(PolicyDocument { key, policy: None }))
}
