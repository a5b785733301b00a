//! Whom a URL for an output is lent to: one attempt of a task, as long as it is under way.

use crate::asset::Asset;
use crate::buckets::Which;
use crate::calls::{AttemptRef, Call, CheckAnswer};
use crate::jobs;
use crate::rows;
use crate::service::{Originals, Service};
use crate::worker::Wanted;
use abide_blob::{BlobError, Key, Signer};
use abide_core::object::Incarnation;
use std::fmt;

/// One attempt of a task of a batch, in the words of a URL: `{batch}/{task}/{life}/{attempt}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Of which batch.
    pub batch: String,
    /// Which attempt.
    pub attempt: AttemptRef,
}

impl Holder {
    /// Reads one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Holder> {
        let mut parts = text.split('/');
        let mut next = || parts.next().filter(|part| !part.is_empty());
        let (batch, task_id) = (next()?.to_owned(), next()?.to_owned());
        let (life, attempt) = (Incarnation(next()?.parse().ok()?), next()?.parse().ok()?);
        let attempt = AttemptRef { life, task_id, attempt };
        parts.next().is_none().then_some(Holder { batch, attempt })
    }

    /// What asks its batch whether it is still under way. That it was lent the URL, the URL proves.
    #[must_use]
    pub fn check(&self, signer: &Signer) -> Call {
        let signature = jobs::sign(signer, &self.batch, &self.attempt);
        Call::Check { attempt: self.attempt.clone(), signature }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AttemptRef { life, task_id, attempt } = &self.attempt;
        write!(f, "{}/{task_id}/{}/{attempt}", self.batch, life.0)
    }
}

impl Service {
    /// Lets a blob share the bytes of a task's input. Whether the buckets can.
    pub async fn share_input(
        &self,
        task: &CheckAnswer,
        (which, key): (Which, &Key),
    ) -> Result<bool, BlobError> {
        let input = Key::new(&task.input.r2_key)?;
        let (bucket, staging) = (self.buckets().get(which), &self.buckets().staging);
        match self.originals() {
            Originals::Kept => bucket.share(key, staging, &input).await,
            Originals::Referred => bucket.refer(key, staging, &input).await,
        }
    }

    /// Whether a blob is one of those that the worker of an attempt may put.
    #[must_use]
    pub fn may_put(&self, holder: &Holder, task: &CheckAnswer, wanted: &Wanted) -> bool {
        let CheckAnswer { input, asset_id } = task;
        match wanted.bucket {
            Which::Archive => {
                wanted.key.starts_with(&format!("archive/{}/{asset_id}/", holder.batch))
                    || wanted.key == Asset::key(asset_id)
            }
            Which::Staging => {
                let phase = rows::read_task_id(&holder.batch, self.phases(), &holder.attempt.task_id);
                phase.is_some_and(|(phase, _)| self.phases()[phase].may_put(input, &wanted.key))
            }
        }
    }
}
