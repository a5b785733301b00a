//! How many requests a host may have at a time: what the limits say that are kept, also where redirects lead.

use std::future::Future;

use abide_core::limit::LimitPolicy;
use abide_core::limits::PAGE_ITEMS;
use abide_core::name::LimitKey;
use abide_engine::Engine;
use abide_fetch::caps::{Cap, Caps};
use abide_store::{Answer, Read};
use serde::Deserialize;

use crate::reach::{Client, Path, ReachError};

/// Limits that are looked at to find one.
const LOOKS: usize = 10;

/// Asks the engine of this process.
pub(crate) struct OfEngine(pub(crate) Engine);

/// Asks the server that has the limits.
pub(crate) struct OfServer(pub(crate) Client);

#[derive(Deserialize)]
struct LimitPage {
    limits: Vec<Limit>,
}

#[derive(Deserialize)]
struct Limit {
    key: LimitKey,
    policy: Option<LimitPolicy>,
}

impl Caps for OfEngine {
    fn of(&self, host: &str) -> Cap {
        let (engine, host) = (self.0.clone(), host.to_owned());
        Box::pin(cap_of(host, move |after| {
            let engine = engine.clone();
            async move {
                let Answer::Limits(found) = engine.read(Read::Limits { after, limit: LOOKS }).await.ok()?
                else {
                    return None;
                };
                Some(found.into_iter().map(|view| Limit { key: view.key, policy: view.policy }).collect())
            }
        }))
    }
}

impl Caps for OfServer {
    fn of(&self, host: &str) -> Cap {
        let (client, host) = (self.0.clone(), host.to_owned());
        Box::pin(cap_of(host, move |after| {
            let client = client.clone();
            async move {
                let path = Path::v1(["limits"]).with("after", after).with("limit", Some(LOOKS));
                let page: LimitPage = client.get(&path).await.ok()?;
                Some(page.limits)
            }
        }))
    }
}

/// What `key` allows by a policy of its own, or by that of its class.
pub(crate) async fn policy_of(client: &Client, key: &LimitKey) -> Result<Option<LimitPolicy>, ReachError> {
    for key in [Some(key.clone()), key.class()].into_iter().flatten() {
        let mut after = before(&key);
        loop {
            let path = Path::v1(["limits"]).with("after", after).with("limit", Some(PAGE_ITEMS));
            let LimitPage { limits } = client.get(&path).await?;
            let is_on_the_next =
                limits.len() == PAGE_ITEMS && limits.last().is_some_and(|last| last.key < key);
            after = limits.last().map(|last| last.key.clone()).filter(|_| is_on_the_next);
            let found = limits.into_iter().find(|limit| limit.key == key);
            match found.and_then(|limit| limit.policy) {
                Some(policy) => return Ok(Some(policy)),
                None if after.is_none() => break,
                None => {}
            }
        }
    }
    Ok(None)
}

/// The cap by the host's own limit, or by that of all hosts. A limit without concurrency caps nothing.
async fn cap_of<F: Future<Output = Option<Vec<Limit>>>>(
    host: String,
    list: impl Fn(Option<LimitKey>) -> F,
) -> Option<usize> {
    for key in [format!("host:{host}"), "host:*".to_owned()] {
        let key = LimitKey::new(key).ok()?;
        let found = list(before(&key)).await?.into_iter().find(|limit| limit.key == key);
        if let Some(policy) = found.and_then(|limit| limit.policy) {
            return Some(policy.concurrency.map_or(usize::MAX, |cap| cap as usize));
        }
    }
    None
}

/// A key after which `key` is listed, with little between them.
fn before(key: &LimitKey) -> Option<LimitKey> {
    let mut text = key.as_str().to_owned();
    let last = text.pop()?;
    text.push(char::from_u32(u32::from(last).checked_sub(1)?)?);
    LimitKey::new(text).ok()
}
