//! How a request moves on when a job of it is over.

use crate::contract::{FromOrganizer, Phase, PiResult, PiStatus};
use crate::jobs::{self, Delivery, JobKey, Judged, Order, Outcome, Published, Skipped, What};
use crate::options::Options;
use crate::organizer::{bad_job, forget_later};
use crate::refusal::No;
use crate::report;
use crate::rows::{self, Pi, ReplyTo, STATE, STRATEGY, State, Status, pi_key, plan_key, result_key};
use abide_core::job::{JobOutcome, JobState};
use abide_engine::{Halt, Turn};
use serde::de::DeserializeOwned;

/// A job of this run is over.
pub(crate) fn outcome(
    turn: &mut Turn<'_>,
    options: &Options,
    state: State,
    key: JobKey,
    outcome: &JobOutcome,
) -> Result<(), Halt<No>> {
    match key.what {
        What::Llm => {
            let Some(pi) = in_status(turn, key.place, Status::Processing)? else { return Ok(()) };
            let judged = read(outcome).unwrap_or_else(|reason| Judged::Failed { reason });
            judge(turn, key, pi, judged)?;
        }
        What::Publish => {
            let Some(pi) = in_status(turn, key.place, Status::Publishing)? else { return Ok(()) };
            match read(outcome).unwrap_or_else(|reason| Outcome::Failed { reason }) {
                Outcome::Published(published) => publish(turn, key.place, pi, *published)?,
                Outcome::Failed { reason } => fail(turn, key.place, pi, reason)?,
            }
        }
        What::Callback => return called_back(turn, options, state, key.place, outcome),
    }
    advance(turn, options, state)
}

fn in_status(turn: &mut Turn<'_>, place: usize, status: Status) -> Result<Option<Pi>, Halt<No>> {
    Ok(turn.get::<Pi>(&pi_key(place))?.filter(|pi| pi.status == status))
}

/// What a job came to; why it came to nothing otherwise.
fn read<T: DeserializeOwned>(outcome: &JobOutcome) -> Result<T, String> {
    let reason = || outcome.reason.clone().unwrap_or_else(|| "nobody said why".to_owned());
    match outcome.state {
        JobState::Done => {
            let result = outcome.result.as_ref().ok_or("the job has no result")?;
            result.decode().map_err(|error| format!("the job's result cannot be read: {error}"))
        }
        JobState::Skipped => Err(format!("the job was skipped: {}", reason())),
        JobState::Failed => Err(reason()),
        JobState::Cancelled => Err("the job was cancelled".to_owned()),
        JobState::Scheduled | JobState::Ready | JobState::Running => Err("the job is not over".to_owned()),
    }
}

fn judge(turn: &mut Turn<'_>, key: JobKey, pi: Pi, judged: Judged) -> Result<(), Halt<No>> {
    let place = key.place;
    // What went wrong before does not matter any more.
    let pi = Pi { error: None, ..pi };
    match judged {
        Judged::Planned(planned) => {
            turn.put(&plan_key(place), &*planned)?;
            turn.put(&pi_key(place), &Pi { status: Status::Publishing, ..pi })?;
            let order = Order { organizer: turn.object().name.as_str().to_owned(), run: key.run, place };
            turn.enqueue(jobs::publish(&order).map_err(bad_job)?)?;
        }
        Judged::Strategy(strategy) => {
            turn.put(STRATEGY, &strategy)?;
            turn.put(&pi_key(place), &Pi { status: Status::Done, ..pi })?;
        }
        Judged::Skipped(skipped) => {
            let Some(id) = pi.pi.clone() else { return fail(turn, place, pi, skipped.reason) };
            let Skipped { reason, files, tip, ver } = skipped;
            let result = PiResult {
                ungrouped_files: Some(files),
                group_entities: Some(Vec::new()),
                skipped: Some(reason),
                ..report::result(id, PiStatus::Success).at(tip, ver)
            };
            turn.put(&result_key(place), &result)?;
            turn.put(&pi_key(place), &Pi { status: Status::Done, ..pi })?;
        }
        Judged::Failed { reason } => fail(turn, place, pi, reason)?,
        Judged::Hopeless { reason } => fail(turn, place, Pi { is_hopeless: true, ..pi }, reason)?,
    }
    Ok(())
}

fn publish(turn: &mut Turn<'_>, place: usize, pi: Pi, published: Published) -> Result<(), Halt<No>> {
    let (Some(id), Some(planned)) = (pi.pi.clone(), turn.get::<jobs::Planned>(&plan_key(place))?) else {
        return fail(turn, place, pi, "its plan is gone".to_owned());
    };
    let Published { tip, ver, groups, ungrouped, warnings } = published;
    let mut metrics = planned.metrics;
    metrics.validation_warnings.extend(warnings);
    let result = PiResult {
        group_entities: Some(groups),
        ungrouped_files: Some(ungrouped),
        reorganization_description: Some(planned.plan.reorganization_description),
        llm_metrics: Some(metrics),
        ..report::result(id, PiStatus::Success).at(tip, ver)
    };
    turn.put(&result_key(place), &result)?;
    Ok(turn.put(&pi_key(place), &Pi { status: Status::Done, ..pi })?)
}

fn fail(turn: &mut Turn<'_>, place: usize, pi: Pi, reason: String) -> Result<(), Halt<No>> {
    if let Some(id) = pi.pi.clone() {
        let (error, retryable) = (Some(reason.clone()), Some(!pi.is_hopeless));
        let result = PiResult { error, retryable, ..report::result(id, PiStatus::Error) };
        turn.put(&result_key(place), &result)?;
    }
    Ok(turn.put(&pi_key(place), &Pi { status: Status::Failed, error: Some(reason), ..pi })?)
}

/// Nothing is wanted of the request any more: its jobs are cancelled, and what is not over is given up for that reason. One whose
/// answer is on its way is left alone.
pub(crate) fn cancel(
    turn: &mut Turn<'_>,
    options: &Options,
    state: State,
    reason: &str,
) -> Result<(), Halt<No>> {
    if state.phase == Phase::Callback || state.phase.is_final() {
        return Ok(());
    }
    for (place, pi) in rows::pis::<No>(turn)?.into_iter().enumerate() {
        let what = match pi.status {
            Status::Pending => None,
            Status::Processing => Some(What::Llm),
            Status::Publishing => Some(What::Publish),
            Status::Done | Status::Failed => continue,
        };
        if let Some(what) = what {
            turn.cancel(&JobKey { what, run: state.run, place }.text().map_err(bad_job)?);
        }
        fail(turn, place, pi, reason.to_owned())?;
    }
    finish(turn, options, State { phase: Phase::Error, error: Some(reason.to_owned()), ..state })
}

/// The phase that follows from where the directories are; the callback when all are through.
fn advance(turn: &mut Turn<'_>, options: &Options, state: State) -> Result<(), Halt<No>> {
    let pis = rows::pis::<No>(turn)?;
    let any = |statuses: &[Status]| pis.iter().any(|pi| statuses.contains(&pi.status));
    let phase = if any(&[Status::Pending, Status::Processing]) {
        Phase::Processing
    } else if any(&[Status::Publishing]) {
        Phase::Publishing
    } else {
        Phase::Callback
    };
    match phase {
        Phase::Callback => tell(turn, options, State { phase, ..state }, &pis),
        _ if phase == state.phase => Ok(()),
        _ => Ok(turn.put(STATE, &State { phase, ..state })?),
    }
}

/// Tells whoever asked.
fn tell(turn: &mut Turn<'_>, options: &Options, state: State, pis: &[Pi]) -> Result<(), Halt<No>> {
    let parts = report::parts(turn, &state, pis)?;
    match &state.reply_to {
        ReplyTo::Sender(sender) => {
            for payload in parts {
                turn.answer(sender, &FromOrganizer::OrganizerCallback(Box::new(payload)))?;
            }
            finish(turn, options, State { phase: Phase::Done, ..state })
        }
        ReplyTo::Orchestrator => {
            let undelivered = (0..parts.len()).collect();
            for (part, payload) in parts.into_iter().enumerate() {
                let delivery = Delivery { batch_id: state.batch_id.clone(), payload };
                turn.enqueue(jobs::callback(&delivery, state.run, part, options).map_err(bad_job)?)?;
            }
            Ok(turn.put(STATE, &State { undelivered, ..state })?)
        }
    }
}

/// A part of the callback was taken, or given up. A dead letter that is replayed may still be taken.
fn called_back(
    turn: &mut Turn<'_>,
    options: &Options,
    mut state: State,
    part: usize,
    outcome: &JobOutcome,
) -> Result<(), Halt<No>> {
    if !matches!(state.phase, Phase::Callback | Phase::Error) {
        return Ok(());
    }
    if outcome.state == JobState::Done {
        state.undelivered.retain(|undelivered| *undelivered != part);
        if state.undelivered.is_empty() {
            return finish(turn, options, State { phase: Phase::Done, error: None, ..state });
        }
        return Ok(turn.put(STATE, &state)?);
    }
    let reason = read::<serde_json::Value>(outcome).err().unwrap_or_default();
    let error = Some(format!("the callback could not be delivered: {reason}"));
    finish(turn, options, State { phase: Phase::Error, error, ..state })
}

fn finish(turn: &mut Turn<'_>, options: &Options, state: State) -> Result<(), Halt<No>> {
    let completed_at = Some(turn.now());
    turn.put(STATE, &State { completed_at, ..state })?;
    Ok(forget_later(turn, options.retain_ms)?)
}
