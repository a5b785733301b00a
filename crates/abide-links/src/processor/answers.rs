//! Answers of models, kept by what they are about: a page that says what another one says is not paid for again, whichever link it
//! belongs to.

use super::refusal::No;
use super::rows::{Answered, Link, Session};
use abide_engine::{Halt, Turn};

/// What a model said about a text, if it is known.
pub(super) fn find(turn: &mut Turn<'_>, about: &str) -> Result<Option<Answered>, Halt<No>> {
    // Most stores have no model: nothing is looked for where there is nothing.
    let session: Option<Session> = turn.get("session")?;
    if session.is_some_and(|session| session.has_answers) { Ok(turn.get(&row(about))?) } else { Ok(None) }
}

/// Keeps what a model said. What it said about the same link before is forgotten: its page says something else now.
pub(super) fn keep(turn: &mut Turn<'_>, link: &Link, answered: &Answered) -> Result<(), Halt<No>> {
    let Some(about) = answered.about.as_ref().filter(|_| answered.summary.is_some()) else { return Ok(()) };
    let of_link = format!("answered/{}", link.id);
    let before: Option<String> = if link.attempts > 1 { turn.get(&of_link)? } else { None };
    if let Some(before) = before.filter(|before| before != about) {
        turn.delete(&row(&before));
    }
    turn.put(&of_link, about)?;
    turn.put(&row(about), answered)?;
    match turn.get::<Session>("session")? {
        Some(session) if !session.has_answers => {
            Ok(turn.put("session", &Session { has_answers: true, ..session })?)
        }
        Some(_) | None => Ok(()),
    }
}

fn row(about: &str) -> String {
    format!("answer/{about}")
}
