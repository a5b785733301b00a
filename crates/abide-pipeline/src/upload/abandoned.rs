//! Uploads that nobody finishes: what came of them is deleted, and what is left of parts of files in any case.

use super::calls::{BatchStatus, State};
use super::intake::STATE;
use super::jobs::{QUEUE, SWEEP, SweepOrder};
use super::refusal::No;
use crate::limits::ABANDONED_MS;
use crate::service::Service;
use crate::work::{WorkError, run};
use abide_blob::Key;
use abide_core::job::{Finish, JobOutcome, JobState, NewJob};
use abide_engine::worker::Worker;
use abide_engine::{Halt, JobContext, Turn};
use serde_json::{Value, json};
use std::pin::Pin;

const ABANDONED: &str = "abandoned";

/// Something came: it is not abandoned for a while.
pub(super) fn watch(turn: &mut Turn<'_>) -> Result<(), Halt<No>> {
    Ok(turn.set_alarm(ABANDONED, turn.now().plus_ms(ABANDONED_MS))?)
}

/// Nothing came for long.
pub(super) fn wake(turn: &mut Turn<'_>) -> Result<(), Halt<No>> {
    let Some(mut state) = turn.get::<State>(STATE)? else { return Ok(()) };
    let is_whole = match state.status {
        BatchStatus::Uploading | BatchStatus::Failed => true,
        BatchStatus::Discovery | BatchStatus::Preprocessing | BatchStatus::Enqueued => false,
    };
    if is_whole {
        state.status = BatchStatus::Failed;
        state.error = Some("abandoned: nothing came for a week, and what had come is deleted".to_owned());
        turn.put(STATE, &state)?;
    }
    let batch_id = turn.object().name.as_str().to_owned();
    Ok(turn.enqueue(NewJob::of(QUEUE, SWEEP, &SweepOrder { batch_id, is_whole })?)?)
}

/// What was left is deleted, and an upload that was abandoned is forgotten.
pub(super) fn swept(turn: &mut Turn<'_>, outcome: &JobOutcome) -> Result<(), Halt<No>> {
    let state = turn.get::<State>(STATE)?;
    if outcome.state == JobState::Done && state.is_some_and(|state| state.status == BatchStatus::Failed) {
        turn.delete_self();
    }
    Ok(())
}

/// Deletes what is left.
#[derive(Clone)]
pub(crate) struct Sweep(pub(crate) Service);

impl Worker for Sweep {
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let service = self.0.clone();
        Box::pin(run(job, |order: SweepOrder| async move { sweep(&service, &order).await }))
    }
}

async fn sweep(service: &Service, order: &SweepOrder) -> Result<Value, WorkError> {
    let batch = &order.batch_id;
    let whole = order.is_whole.then(|| format!("staging/{batch}"));
    let mut deleted = 0;
    for prefix in whole.into_iter().chain([format!("uploads/{batch}")]) {
        let prefix = Key::new(&prefix).map_err(|error| WorkError::Never(error.to_string()))?;
        deleted += service.staging().delete_all(&prefix).await?;
    }
    Ok(json!({ "deleted": deleted }))
}
