//! Handing over: a finished batch is delivered or told of, and its staging is emptied when nobody reads it any more.

use crate::batch::{Batch, TICK};
use crate::calls::{FilePage, OutputAnswer};
use crate::file::Place;
use crate::flow::Flow;
use crate::jobs::{self, Finished};
use crate::limits::PAGE_ITEMS;
use crate::refusal::No;
use crate::rows::{self, MESSAGE, MessageRow, STATE};
use crate::show;
use crate::state::{Delivery, State, Step};
use abide_core::job::{JobOutcome, JobState};
use abide_core::name::UniqueKey;
use abide_core::object::ObjectKey;
use abide_engine::{Halt, Turn};

/// The alarm that empties staging.
pub(crate) const SWEEP: &str = "sweep";
/// The shortest time until a batch that goes on is looked at again.
const SWEEP_AGAIN_MS: i64 = 60_000;

impl Batch {
    /// Every task is over.
    pub(crate) fn finish(&self, turn: &mut Turn<'_>, flow: &mut Flow<'_>) -> Result<(), Halt<No>> {
        flow.state.step = Step::Done;
        flow.state.completed_at = Some(turn.now());
        flow.state.finishes += 1;
        turn.clear_alarm(TICK)?;
        // Who was through with it before is not through with it as it is now.
        turn.clear_alarm(SWEEP)?;
        let MessageRow(message) = turn.get(MESSAGE)?.ok_or(No::Ended)?;
        let is_wanted = message.is_delivered();
        let State { finishes, has_tree, .. } = flow.state;
        let finished = Finished { message, finishes, has_tree };
        if self.options.delivers && is_wanted {
            flow.state.delivery = Some(Delivery::Pending);
            turn.enqueue(jobs::finalize(&finished)?)?;
        }
        if let Some(kind) = self.options.tell.as_ref().filter(|_| is_wanted) {
            let to = ObjectKey::new(kind, finished.message.batch_id.as_str())?;
            turn.send(&to, &jobs::Preprocessed { preprocessed: finished })?;
            // A message that is in the commit arrives.
            flow.state.delivery = flow.state.delivery.or(Some(Delivery::Delivered));
        }
        flow.note(turn, flow.state.shown())
    }

    /// The delivery is over.
    pub(crate) fn delivered(&self, turn: &mut Turn<'_>, outcome: &JobOutcome) -> Result<(), Halt<No>> {
        let mut flow = self.flow(turn)?;
        let current = outcome.unique_key.as_ref().map(UniqueKey::as_str)
            == Some(&jobs::finalize_key(flow.state.finishes));
        if flow.state.step != Step::Done || !current {
            return Ok(());
        }
        let delivery = match outcome.state {
            JobState::Done => Delivery::Delivered,
            JobState::Failed | JobState::Skipped | JobState::Cancelled => Delivery::Dead,
            JobState::Scheduled | JobState::Ready | JobState::Running => return Ok(()),
        };
        flow.state.delivery = Some(delivery);
        if delivery == Delivery::Delivered {
            turn.set_alarm(SWEEP, turn.now().plus_ms(self.options.staging_kept_ms))?;
        }
        flow.note(turn, flow.state.shown())?;
        flow.save(turn)
    }

    /// Whoever was told of the batch is through with it as it was then. One that was never there has nothing to empty, and
    /// one that goes on, or was finished again since, is still read.
    pub(crate) fn taken(&self, turn: &mut Turn<'_>, finishes: u32) -> Result<(), Halt<No>> {
        let state = turn.get::<State>(STATE)?;
        let is_last = |state: State| state.step == Step::Done && state.finishes == finishes;
        if state.is_some_and(is_last) {
            turn.set_alarm(SWEEP, turn.now().plus_ms(self.options.staging_kept_ms))?;
        }
        Ok(())
    }

    /// Empties staging, or waits again if the batch goes on: a task is tried again, or it is not delivered. Whoever may have taken
    /// the delivery here is asked first, and asked again if it does not answer.
    pub(crate) fn sweep(&self, turn: &mut Turn<'_>) -> Result<(), Halt<No>> {
        let state = rows::state(turn)?;
        let is_over = is_handed_over(&state);
        match &self.options.ask {
            None if is_over => return empty(turn, state.finishes),
            Some(kind) if is_over => {
                let to = ObjectKey::new(kind, turn.object().name.as_str())?;
                turn.send(&to, &jobs::MayEmpty { may_empty: state.finishes })?;
            }
            None | Some(_) => {}
        }
        let again_ms = self.options.staging_kept_ms.max(SWEEP_AGAIN_MS);
        Ok(turn.set_alarm(SWEEP, turn.now().plus_ms(again_ms))?)
    }
}

/// Whether a batch is done and delivered.
fn is_handed_over(state: &State) -> bool {
    state.step == Step::Done && state.delivery == Some(Delivery::Delivered)
}

/// Empties staging, unless the batch goes on or was finished again since.
pub(crate) fn empty(turn: &mut Turn<'_>, finishes: u32) -> Result<(), Halt<No>> {
    let is_its = |state: &State| is_handed_over(state) && !state.is_swept && state.finishes == finishes;
    let Some(state) = turn.get::<State>(STATE)?.filter(is_its) else { return Ok(()) };
    turn.clear_alarm(SWEEP)?;
    let MessageRow(message) = turn.get(MESSAGE)?.ok_or(No::Ended)?;
    turn.enqueue(jobs::sweep(&message)?)?;
    Ok(turn.put(STATE, &State { is_swept: true, ..state })?)
}

/// A page of the files of a batch that is done, as it was finished for the `finishes`th time.
pub(crate) fn handover(
    turn: &mut Turn<'_>,
    finishes: u32,
    after: Option<Place>,
) -> Result<OutputAnswer, Halt<No>> {
    let state = rows::state(turn)?;
    if state.step != Step::Done || state.finishes != finishes {
        return Err(No::NotFinished.into());
    }
    show::output(turn, &FilePage { after, limit: Some(PAGE_ITEMS) })
}
