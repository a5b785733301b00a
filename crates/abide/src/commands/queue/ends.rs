//! How attempts ended, as a server is told; and the ends that none has taken yet.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use abide_core::job::{AttemptEnd, CoolDown, Finish, LeaseRef, LeaseToken, RetryWish};
use abide_core::json::Json;
use abide_core::name::LimitKey;
use serde::Serialize;
use serde_json::Value;

use crate::reach::{Client, Path, ReachError};

/// Tells the server of `client` how an attempt ended. Telling it twice changes nothing.
pub(super) async fn tell(client: &Client, at: LeaseRef, finish: &Finish) -> Result<(), ReachError> {
    let path = Path::v1(["jobs", &at.job.to_string(), "finish"]);
    client.post::<Value>(&path, &document(at, finish)).await.map(drop)
}

/// Ends that no server has taken, for whoever owns the data directory next. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Untold {
    // Locked to add one or to take them all.
    ends: Arc<Mutex<Vec<(LeaseRef, Finish)>>>,
}

impl Untold {
    /// Keeps one.
    pub(super) fn keep(&self, at: LeaseRef, finish: Finish) {
        self.lock().push((at, finish));
    }

    /// Tells them all. What a server that ends does not take is for the next; what is refused now is another's.
    pub(super) async fn tell(&self, client: &Client) {
        let ends = std::mem::take(&mut *self.lock());
        for (at, finish) in ends {
            match tell(client, at, &finish).await {
                Ok(()) => {}
                Err(error) if error.is_passing() => self.keep(at, finish),
                Err(error) => {
                    tracing::warn!(target: "queue", job = %at.job, %error, "an attempt's end was not taken");
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(LeaseRef, Finish)>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How an attempt ended, as the server reads it.
#[derive(Serialize)]
struct FinishDocument<'a> {
    attempt: u32,
    token: LeaseToken,
    end: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<RetryWish>,
    refund: &'a [LimitKey],
    cool_down: &'a [CoolDown],
}

fn document(at: LeaseRef, finish: &Finish) -> FinishDocument<'_> {
    let (end, result, reason, retry) = match &finish.end {
        AttemptEnd::Done { result } => ("done", Some(result), None, None),
        AttemptEnd::Skipped { reason } => ("skipped", None, Some(reason.as_str()), None),
        AttemptEnd::Error { reason, retry } => ("error", None, Some(reason.as_str()), Some(*retry)),
        AttemptEnd::HandedBack => ("handed_back", None, None, None),
    };
    let Finish { refund, cool_down, .. } = finish;
    FinishDocument { attempt: at.attempt, token: at.token, end, result, reason, retry, refund, cool_down }
}
