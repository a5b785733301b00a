//! Requests that must not be decided before the whole log has been read.
//!
//! A name that no tag has here may be one that a client gave a tag a moment ago: whoever would make a tag first asks the log
//! how far it goes, and goes on when everything up to there has come. A request for which that does not happen is refused in
//! the end: nothing of it is done then, and whoever waits for it knows.

use super::calls::{Call, Reply};
use super::changes::{self, To};
use super::refusal::{NOT_DONE, No};
use super::rows::{Asked, Session};
use crate::event::{ToLinks, ToSync, sync};
use crate::limits::{ASKED_MS, GIVEN_UP_PER_TURN, LOOK_MS, PAGE_LINKS};
use abide_engine::{Answer, Halt, Refusal, Turn};

/// Refuses requests that have waited too long.
pub(super) const GIVE_UP: &str = "give-up";

/// Does what is asked, now or when the log has been read.
pub(super) fn run(turn: &mut Turn<'_>, call: Call) -> Result<Answer<Reply>, Halt<No>> {
    if !changes::would_make_a_tag(turn, &call)? {
        return go(turn, &call, To::Caller);
    }
    let Some(session) = turn.get::<Session>("session")?.filter(|session| session.seen.is_some()) else {
        return go(turn, &call, To::Caller);
    };
    let (id, ticket) = (turn.seed().uuid(), turn.open_ticket());
    let at = turn.now();
    turn.put(&key(&id), &Asked { call, ticket: ticket.clone(), head: None, at })?;
    turn.put("session", &Session { asked: session.asked + 1, ..session })?;
    if turn.alarm(GIVE_UP)?.is_none_or(|set| set <= at) {
        turn.set_alarm(GIVE_UP, at.plus_ms(ASKED_MS))?;
    }
    let log = sync(turn.object().name.as_str())?;
    turn.send(&log, &ToSync::AskHead { session: id })?;
    Ok(Answer::Later(ticket))
}

/// The log goes so far.
pub(super) fn head_is(turn: &mut Turn<'_>, id: &str, head: i64) -> Result<(), Halt<No>> {
    let Some(session) = turn.get::<Session>("session")? else { return Ok(()) };
    let Some(asked) = turn.get::<Asked>(&key(id))? else { return Ok(()) };
    if session.seen < Some(head) {
        return Ok(turn.put(&key(id), &Asked { head: Some(head), ..asked })?);
    }
    turn.delete(&key(id));
    turn.put("session", &Session { asked: session.asked.saturating_sub(1), ..session })?;
    match go(turn, &asked.call, To::Ticket(&asked.ticket)) {
        Err(Halt::Refused(no)) => {
            turn.resolve_refused(&asked.ticket, no.code(), &no.to_string());
            Ok(())
        }
        gone => gone.map(drop),
    }
}

/// More of the log has been read: what waited for that is done next, each in a turn of its own, so that the log does not
/// wait for it.
pub(super) fn has_read(turn: &mut Turn<'_>) -> Result<(), Halt<No>> {
    let Some(session) = turn.get::<Session>("session")?.filter(|session| session.asked > 0) else {
        return Ok(());
    };
    let waiting: Vec<(String, Asked)> = turn.scan("asked/", None, PAGE_LINKS)?;
    let me = turn.object().clone();
    for (key, asked) in waiting {
        let Some(head) = asked.head.filter(|head| session.seen >= Some(*head)) else { continue };
        let session = key.trim_start_matches("asked/").to_owned();
        turn.put(&key, &Asked { head: None, ..asked })?;
        turn.send(&me, &ToLinks::Head { session, head })?;
    }
    Ok(())
}

/// Refuses what has waited too long: the log is not read any further, or the turn that was to do it fails again and again.
pub(super) fn give_up(turn: &mut Turn<'_>) -> Result<(), Halt<No>> {
    let Some(session) = turn.get::<Session>("session")? else { return Ok(()) };
    let now = turn.now();
    let waiting: Vec<(String, Asked)> = turn.scan("asked/", None, GIVEN_UP_PER_TURN)?;
    let is_whole = waiting.len() < GIVEN_UP_PER_TURN;
    let (late, early): (Vec<_>, Vec<_>) =
        waiting.into_iter().partition(|(_, asked)| now.since(asked.at) >= ASKED_MS);
    for (key, Asked { ticket, .. }) in &late {
        turn.delete(key);
        let message =
            "the log of this store could not be read to its end in time: nothing was done, try again";
        turn.resolve_refused(ticket, NOT_DONE, message);
    }
    let given_up = u32::try_from(late.len()).unwrap_or(u32::MAX);
    turn.put("session", &Session { asked: session.asked.saturating_sub(given_up), ..session })?;
    let next = match early.iter().map(|(_, asked)| asked.at.plus_ms(ASKED_MS)).min() {
        // Those that were not looked at may be late, too.
        _ if !is_whole && !late.is_empty() => Some(now.plus_ms(1)),
        _ if !is_whole => Some(now.plus_ms(LOOK_MS)),
        next => next,
    };
    match next {
        Some(at) => Ok(turn.set_alarm(GIVE_UP, at)?),
        None => Ok(()),
    }
}

fn go(turn: &mut Turn<'_>, call: &Call, to: To<'_>) -> Result<Answer<Reply>, Halt<No>> {
    match call {
        Call::Add { links, tags, source } => changes::add(turn, links, tags, source, to),
        Call::Update { ids, changes } => changes::update(turn, ids, changes, to),
        Call::Get { .. }
        | Call::Named { .. }
        | Call::List(_)
        | Call::UpdateListed { .. }
        | Call::Reprocess { .. }
        | Call::Cancel { .. } => unreachable!("only what may make a tag comes here"),
    }
}

fn key(id: &str) -> String {
    format!("asked/{id}")
}
