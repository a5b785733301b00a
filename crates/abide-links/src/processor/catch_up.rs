//! Where a long part of the log ends: links are begun there, and not before.
//!
//! What comes a page at a time may say of a link that it is there, and pages later that it is done. So behind a full page the
//! log is asked how far it goes, and what is pending is begun when everything up to there has come.

use super::refusal::No;
use super::rows::{CatchUp, Session};
use crate::event::{ToLinks, ToSync, sync};
use crate::limits::{FULL_PAGE, FULL_PAGE_BYTES};
use abide_core::log::LogEntry;
use abide_engine::{Halt, Turn};

/// Who asks the log: no request does, whose ids are never empty.
pub(super) const SESSION: &str = "";

/// A page was read, which brought something to begin or did not.
pub(super) fn has_read(turn: &mut Turn<'_>, page: &[LogEntry], has_new: bool) -> Result<(), Halt<No>> {
    let Some(session) = turn.get::<Session>("session")? else { return Ok(()) };
    match session.catch_up {
        CatchUp::Over if is_full(page) => {
            let log = sync(turn.object().name.as_str())?;
            turn.send(&log, &ToSync::AskHead { session: SESSION.to_owned() })?;
            Ok(turn.put("session", &Session { catch_up: CatchUp::Asked, ..session })?)
        }
        CatchUp::Over if has_new => begin(turn),
        CatchUp::To(head) if session.seen >= Some(head) => end(turn, session),
        CatchUp::Over | CatchUp::Asked | CatchUp::To(_) => Ok(()),
    }
}

/// The log goes so far.
pub(super) fn head_is(turn: &mut Turn<'_>, head: i64) -> Result<(), Halt<No>> {
    match turn.get::<Session>("session")? {
        Some(session) if session.seen >= Some(head) => end(turn, session),
        Some(session) => Ok(turn.put("session", &Session { catch_up: CatchUp::To(head), ..session })?),
        None => Ok(()),
    }
}

/// Whether the end of the log is still to come. Who asked for it a while ago and heard nothing will not hear of it any more.
pub(super) fn is_under_way(turn: &mut Turn<'_>) -> Result<bool, Halt<No>> {
    let Some(session) = turn.get::<Session>("session")? else { return Ok(false) };
    if session.catch_up == CatchUp::Asked {
        turn.put("session", &Session { catch_up: CatchUp::Over, ..session })?;
        return Ok(false);
    }
    Ok(session.catch_up != CatchUp::Over)
}

fn end(turn: &mut Turn<'_>, session: Session) -> Result<(), Halt<No>> {
    turn.put("session", &Session { catch_up: CatchUp::Over, ..session })?;
    begin(turn)
}

fn begin(turn: &mut Turn<'_>) -> Result<(), Halt<No>> {
    let me = turn.object().clone();
    Ok(turn.send(&me, &ToLinks::Begin)?)
}

/// Whether there may be more behind a page.
fn is_full(page: &[LogEntry]) -> bool {
    page.len() >= FULL_PAGE || page.iter().map(|entry| entry.value.len()).sum::<usize>() > FULL_PAGE_BYTES
}
