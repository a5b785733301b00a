//! A push, from the request to its end.

use abide_engine::{Answer, CallError, Engine};
use abide_links::sync::answer::Failure;
use abide_links::sync::{Call, Push, Reply, SyncLog};

/// How a push ends.
#[derive(Debug)]
pub(super) enum PushEnd {
    /// It is in the log.
    Durable,
    /// It is not, or that is not known.
    Failed(Failure),
    /// The engine does not take it any more.
    Stopping,
}

/// Appends what a client pushes. Once the engine has it, nothing stops it.
pub(super) async fn push_to(engine: &Engine, store_id: &str, push: Push) -> PushEnd {
    match engine.ask::<SyncLog>(store_id, &Call::Push(push)).await {
        Ok(Answer::Now(Reply::Appended { .. })) => PushEnd::Durable,
        Ok(Answer::Now(Reply::Ahead(ahead))) => PushEnd::Failed(Failure::ServerAhead(ahead)),
        Ok(Answer::Now(Reply::OtherBackend(other))) => PushEnd::Failed(Failure::BackendIdMismatch(other)),
        Ok(Answer::Now(Reply::Opened(_)) | Answer::Later(_)) => {
            unreachable!("a push is answered now, and not as an open")
        }
        Err(CallError::Stopping) => PushEnd::Stopping,
        Err(error) => PushEnd::Failed(Failure::Unknown(error.to_string())),
    }
}
