//! The object: what it does for each sort of event.

use super::asked::GIVE_UP;
use super::calls::{Call, Reply};
use super::projection::{self, Meaning, get};
use super::refusal::No;
use super::rows::{CatchUp, Passed, PassedOver, Session, Work};
use super::together::together;
use super::work::{self, LOOK};
use super::{API_CLIENT, PROCESSOR_CLIENT, asked, catch_up, changes, duplicates, list};
use crate::event::{Event, LINKS, ToLinks, sync};
use crate::limits::{ANSWERS_BYTES, PASSED_OVER_KEPT};
use abide_core::event::Sender;
use abide_core::job::JobOutcome;
use abide_core::log::Seq;
use abide_core::time::Time;
use abide_engine::{Answer, Entries, Halt, Object, Turn, TurnError};

/// The row about events that were passed over.
pub(super) const PASSED_OVER: &str = "passed-over";

/// The kind of object that processes a store's links.
#[derive(Debug, Clone, Copy)]
pub struct Processor;

impl Object for Processor {
    const KIND: &'static str = LINKS;
    type Call = Call;
    type Reply = Reply;
    type Message = ToLinks;
    type Refusal = No;

    fn call(&self, turn: &mut Turn<'_>, call: Call) -> Result<Answer<Reply>, Halt<No>> {
        match call {
            call @ Call::Add { .. } => {
                follow(turn)?;
                asked::run(turn, call)
            }
            call @ Call::Update { .. } => asked::run(turn, call),
            Call::Get { id } => {
                let link = get(turn, &id)?.ok_or(No::UnknownLink(id))?;
                Ok(Reply::Links(vec![list::view(turn, &link)?]).into())
            }
            Call::Named { ids } => Ok(Reply::Links(list::named(turn, &ids)?).into()),
            Call::List(query) => Ok(Reply::Listed(list::list(turn, &query)?).into()),
            Call::UpdateListed { query, changes } => {
                let ids = list::list(turn, &query)?.links.into_iter().map(|link| link.id);
                let ids: Vec<String> = ids.collect();
                if ids.is_empty() {
                    return Ok(Reply::Added(Vec::new()).into());
                }
                asked::run(turn, Call::Update { ids, changes })
            }
            Call::Reprocess { id } => changes::reprocess(turn, &id),
            Call::Cancel { id } => {
                let link = get(turn, &id)?.ok_or_else(|| No::UnknownLink(id.clone()))?;
                let is_stopped = match turn.get::<Work>(&work::work_key(&id))? {
                    Some(under_way) => work::halt(turn, &id, &under_way)?,
                    None => link.is_pending(),
                };
                if is_stopped {
                    // It might be begun before the log says that it is not to be.
                    work::leave(turn, &id);
                    return changes::cancel(turn, &id);
                }
                Ok(Reply::Links(vec![list::view(turn, &link)?]).into())
            }
        }
    }

    fn message(&self, turn: &mut Turn<'_>, _from: Option<&Sender>, message: ToLinks) -> Result<(), Halt<No>> {
        match message {
            ToLinks::Poke => follow(turn),
            ToLinks::Begin => work::begin(turn),
            ToLinks::Head { session, head } if session == catch_up::SESSION => catch_up::head_is(turn, head),
            ToLinks::Head { session, head } => asked::head_is(turn, &session, head),
        }
    }

    fn entries(&self, turn: &mut Turn<'_>, entries: &Entries<'_>) -> Result<(), Halt<No>> {
        let Some(session) = turn.get::<Session>("session")? else { return Ok(()) };
        if session.source.is_some_and(|source| source != entries.source_incarnation) {
            // Another log begins in its place: so does another processor.
            let me = turn.object().clone();
            turn.delete_self();
            return Ok(turn.send(&me, &ToLinks::Poke)?);
        }
        let seen = entries.entries.last().map(|entry| entry.seq.0).or(session.seen);
        turn.put("session", &Session { source: Some(entries.source_incarnation), seen, ..session })?;
        let (mut has_new, mut passed, mut room) = (false, Vec::new(), ANSWERS_BYTES);
        // What an event misses, those behind it most likely miss, too: all of it is loaded before the turn runs again.
        together(entries.entries.iter().map(|entry| {
            let Ok(event) = entry.value.decode::<Event>() else { return Ok(()) };
            match take(turn, &event, entry.at)? {
                Taken::Nothing => {}
                Taken::NewWork => has_new = true,
                Taken::PassedOver(why) => passed.push(Passed { seq: entry.seq, name: event.name, why }),
            }
            if event.client_id == API_CLIENT {
                changes::came_back(turn, &event.session_id, &mut room)?;
            }
            Ok(())
        }))?;
        pass_over(turn, passed)?;
        asked::has_read(turn)?;
        catch_up::has_read(turn, entries.entries, has_new)
    }

    fn outcome(&self, turn: &mut Turn<'_>, outcome: &JobOutcome) -> Result<(), Halt<No>> {
        work::outcome(turn, outcome)
    }

    fn alarm(&self, turn: &mut Turn<'_>, name: &str, _at: Time) -> Result<(), Halt<No>> {
        match name {
            LOOK => work::look(turn),
            GIVE_UP => asked::give_up(turn),
            _ => Ok(()),
        }
    }
}

/// What came of an event.
enum Taken {
    Nothing,
    NewWork,
    PassedOver(String),
}

/// Takes one event. One that cannot be taken is passed over: everything behind it in the log would wait for it for ever.
fn take(turn: &mut Turn<'_>, event: &Event, at: Time) -> Result<Taken, Halt<No>> {
    let mut taken = || {
        let has_new = match projection::apply(turn, event, at)? {
            Meaning::Nothing => false,
            Meaning::PassedOver(why) => return Ok(Taken::PassedOver(why)),
            Meaning::Touched(id) => work::reconsider(turn, &id)?,
            Meaning::Again(id) => match get(turn, &id)? {
                Some(link) if link.duplicate_of.is_some() => {
                    duplicates::ask_again(turn, &link, event.seq_num)?;
                    false
                }
                Some(_) | None => work::again(turn, &id)?,
            },
            // What it wrote itself is of an attempt that it has stopped already.
            Meaning::Cancelled(id) if !is_own(turn, event)? => {
                work::cancelled(turn, &id)?;
                false
            }
            Meaning::Ended(id) | Meaning::Cancelled(id) => {
                work::ended(turn, &id)?;
                work::hand_on(turn, &id)?
            }
            Meaning::Doubled(id) => work::note(turn, &id)?,
            Meaning::Succeeded { id, by } => work::reconsider(turn, &id)? | work::reconsider(turn, &by)?,
        };
        Ok(if has_new { Taken::NewWork } else { Taken::Nothing })
    };
    match taken() {
        Err(Halt::Failed(
            error @ (TurnError::OverBound(_) | TurnError::BadName(_) | TurnError::BadValue { .. }),
        )) => Ok(Taken::PassedOver(error.to_string())),
        taken => taken,
    }
}

/// Whether this processor wrote an event.
fn is_own(turn: &mut Turn<'_>, event: &Event) -> Result<bool, Halt<No>> {
    let session: Option<Session> = turn.get("session")?;
    Ok(event.client_id == PROCESSOR_CLIENT && session.is_some_and(|session| session.id == event.session_id))
}

/// Keeps a note of events that were passed over.
fn pass_over(turn: &mut Turn<'_>, passed: Vec<Passed>) -> Result<(), Halt<No>> {
    if passed.is_empty() {
        return Ok(());
    }
    let PassedOver { mut count, mut last } = turn.get(PASSED_OVER)?.unwrap_or_default();
    for event in passed {
        let store = turn.object().name.as_str();
        tracing::warn!(target: "links", store, seq = event.seq.0, name = event.name, why = event.why, "passed over");
        count += 1;
        last.push(event);
    }
    let old = last.len().saturating_sub(PASSED_OVER_KEPT);
    Ok(turn.put(PASSED_OVER, &PassedOver { count, last: last.split_off(old) })?)
}

/// Follows the store's log from its beginning, once. From then on the cursor is kept with the object.
fn follow(turn: &mut Turn<'_>) -> Result<(), Halt<No>> {
    if turn.get::<Session>("session")?.is_none() {
        let id = turn.seed().uuid();
        let catch_up = CatchUp::Over;
        turn.put(
            "session",
            &Session { id, source: None, seen: Some(0), asked: 0, has_answers: false, catch_up },
        )?;
        let log = sync(turn.object().name.as_str())?;
        turn.follow(&log, Seq(0));
    }
    Ok(())
}
