//! Trimming: finished items that are neither among the newest nor young are removed, by alarm.
//!
//! The alarm is set as long as a finished item is not old enough yet. One that is old enough but among the newest waits
//! for newer ones to come, and so a submission looks at those that it pushes out.

use crate::item::Item;
use crate::items::{self, Place, TALLY};
use crate::limits::{KEPT_NEWEST, TRIMMED_ITEMS};
use crate::work::WorkId;
use abide_engine::{Halt, Refusal, Turn};

/// The alarm.
pub(crate) const TRIM: &str = "trim";

/// An item finished: it will be old enough some time.
pub(crate) fn after_finish<E: Refusal>(turn: &mut Turn<'_>, retain_ms: i64) -> Result<(), Halt<E>> {
    if turn.alarm(TRIM)?.is_none() {
        turn.set_alarm(TRIM, turn.now().plus_ms(retain_ms))?;
    }
    Ok(())
}

/// So many items came, and pushed as many out of the newest: those that are old go at once.
pub(crate) fn after_submit<E: Refusal>(
    turn: &mut Turn<'_>,
    came: usize,
    retain_ms: i64,
) -> Result<(), Halt<E>> {
    let Some(last_pushed_out) = items::tally(turn)?.last_beyond() else { return Ok(()) };
    let before = Place(last_pushed_out.0.saturating_sub_unsigned(came as u64));
    let pushed_out = items::page(turn, Some(before), came)?;
    let now = turn.now();
    let is_old = |item: &Item| item.is_finished() && item.updated_at.plus_ms(retain_ms) <= now;
    if pushed_out.iter().any(|placed| is_old(&placed.item)) {
        turn.set_alarm(TRIM, now)?;
    }
    Ok(())
}

/// Removes what may be removed now, a part at a time. Gives what was removed.
pub(crate) fn trim<E: Refusal>(turn: &mut Turn<'_>, retain_ms: i64) -> Result<Vec<WorkId>, Halt<E>> {
    let mut tally = items::tally(turn)?;
    let looked_at = usize::try_from(KEPT_NEWEST).unwrap_or(0) + TRIMMED_ITEMS;
    let done = items::first_done(turn, looked_at)?;
    let mut next_at = (done.len() == looked_at).then(|| turn.now());
    let mut removed = Vec::new();
    for done in done {
        let old_at = done.finished_at.plus_ms(retain_ms);
        if old_at > turn.now() {
            next_at = Some(old_at);
            break;
        }
        if !tally.keeps(done.place) {
            items::remove(turn, &done, &mut tally);
            removed.push(done.id);
        }
    }
    if !removed.is_empty() {
        turn.put(TALLY, &tally)?;
    }
    if let Some(at) = next_at {
        turn.set_alarm(TRIM, at)?;
    }
    Ok(removed)
}
