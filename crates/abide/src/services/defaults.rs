//! Policies that queues and limits have until somebody sets others.

use abide_core::limit::LimitPolicy;
use abide_core::name::{LimitKey, QueueName};
use abide_core::queue::QueuePolicy;
use abide_engine::Engine;
use abide_engine::driver::EngineError;
use abide_store::{Answer, Read, Write};

use crate::failure::Failure;

/// What services want of queues and limits that nobody has said anything about.
#[derive(Debug, Clone, Default)]
pub(crate) struct Defaults {
    /// Queues that are not there yet begin like this.
    pub(crate) queues: Vec<NewQueue>,
    /// Limits without a policy get these.
    pub(crate) limits: Vec<(LimitKey, LimitPolicy)>,
}

/// How a queue begins.
#[derive(Debug, Clone)]
pub(crate) struct NewQueue {
    pub(crate) queue: QueueName,
    pub(crate) policy: QueuePolicy,
    /// Limits that begin with it. One that is removed later stays so.
    pub(crate) limits: Vec<(LimitKey, LimitPolicy)>,
}

impl Defaults {
    /// Sets what is missing. What somebody set is left as it is.
    pub(crate) async fn apply(self, engine: &Engine) -> Result<(), Failure> {
        self.try_apply(engine).await.map_err(Failure::Defaults)
    }

    async fn try_apply(self, engine: &Engine) -> Result<(), EngineError> {
        if !self.queues.is_empty() {
            let Answer::Queues(known) = engine.read(Read::Queues).await? else {
                unreachable!("the store answers about queues in kind")
            };
            for NewQueue { queue, policy, limits } in self.queues {
                if known.iter().all(|view| view.queue != queue) {
                    // The queue comes last: if this ends in between, the next process begins it again.
                    set_missing(engine, limits).await?;
                    engine.write(Write::SetQueue { queue, policy }).await?;
                }
            }
        }
        set_missing(engine, self.limits).await
    }
}

async fn set_missing(engine: &Engine, limits: Vec<(LimitKey, LimitPolicy)>) -> Result<(), EngineError> {
    for (key, policy) in limits {
        if !has_policy(engine, &key).await? {
            engine.set_limit(key, Some(policy)).await?;
        }
    }
    Ok(())
}

async fn has_policy(engine: &Engine, key: &LimitKey) -> Result<bool, EngineError> {
    let mut after = None;
    loop {
        let read = Read::Limits { after, limit: abide_core::limits::PAGE_ITEMS };
        let Answer::Limits(page) = engine.read(read).await? else {
            unreachable!("the store answers about limits in kind")
        };
        if let Some(view) = page.iter().find(|view| view.key == *key) {
            return Ok(view.policy.is_some());
        }
        match page.last() {
            Some(last) if last.key < *key => after = Some(last.key.clone()),
            Some(_) | None => return Ok(false),
        }
    }
}
