//! What happened, in a line: short, and the same each time.

use abide_core::commit::{Commit, Reply};
use abide_engine::CallError;
use abide_engine::machine::Input;
use abide_store::{Write, Written};

pub(crate) fn of_input(input: &Input) -> String {
    match input {
        Input::Wrote { tokens, result, .. } => {
            let tokens: Vec<u64> = tokens.iter().map(|token| token.0).collect();
            match result {
                Ok(batch) => format!("is told of writes {tokens:?} at {}", batch.at.0),
                Err(error) => format!("is told of writes {tokens:?}: {error}"),
            }
        }
        Input::Answered { token, result } => match result {
            Ok(answer) => format!("is answered read {}: {answer:?}", token.0),
            Err(error) => format!("is answered read {}: {error}", token.0),
        },
        Input::Call(id, call, _) => {
            format!("is called {}: {} {} {:?}", id.0, call.object, call.body, call.key)
        }
        Input::Ask(id, write) => format!("is asked {}: {}", id.0, of_write(write)),
        other => format!("takes {other:?}"),
    }
}

pub(crate) fn of_reply(reply: &Result<Reply, CallError>) -> String {
    match reply {
        Ok(Reply::Now(json)) => json.to_string(),
        Ok(Reply::Later(ticket)) => format!("later under {ticket}"),
        Err(error) => format!("error: {error}"),
    }
}

pub(crate) fn of_write(write: &Write) -> String {
    match write {
        Write::Commit(commit) => of_commit(commit),
        other => format!("{other:?}"),
    }
}

fn of_commit(commit: &Commit) -> String {
    let Commit { object, fence, by, at, consumes, .. } = commit;
    let mut text = format!("commit {object} {fence:?} by {} at {} for {consumes:?}", by.0, at.0);
    let parts = [
        ("rows", commit.rows.len()),
        ("alarms", commit.alarms.len()),
        ("follows", commit.follows.len()),
        ("entries", commit.log.len()),
        ("tickets", commit.tickets.len()),
        ("cancels", commit.cancels.len()),
        ("jobs", commit.jobs.len()),
        ("messages", commit.messages.len()),
    ];
    for (name, count) in parts.into_iter().filter(|(_, count)| *count > 0) {
        text.push_str(&format!(", {count} {name}"));
    }
    text
}

pub(crate) fn of_written(written: &Written) -> String {
    format!("{written:?}")
}
