//! Links that lead to the same page: clients write what they like, and one of them stands for all.
//!
//! `same/{hash}` names the link that stands for a page. Another one that comes while it is there is its duplicate: it is not
//! listed, nothing is fetched for it, and it gets what the other one got. When the one that stands for the page is deleted,
//! the oldest of the others takes its place, and `same/{hash}` tells the rest: `duplicate_of` of a link is the one that stood
//! for the page when it came. Past [`DUPLICATES`] of them a link stands for itself.

use super::projection::{get, put};
use super::refusal::No;
use super::rows::{Link, Processing, Status};
use super::work::{append, event, fetched_event, summarized_event};
use crate::hash::hash;
use crate::identity::Identity;
use crate::limits::{DUPLICATES, DUPLICATES_BYTES, ID_BYTES};
use crate::stamp::iso;
use abide_core::json::Json;
use abide_engine::{Halt, Turn};
use serde_json::json;

/// A link is there, new or again. Whether another one stands for its page.
pub(super) fn came(turn: &mut Turn<'_>, id: &str) -> Result<bool, Halt<No>> {
    let Some(link) = get(turn, id)? else { return Ok(false) };
    let Some(same) = same_key(&link.url) else { return Ok(false) };
    let stands = match turn.get::<String>(&same)?.filter(|other| other != id) {
        Some(other) => get(turn, &other)?.filter(|other| other.deleted_at.is_none()),
        None => None,
    };
    let Some(stands) = stands else {
        turn.put(&same, &link.id)?;
        return Ok(false);
    };
    let mut duplicates = without(&stands.duplicates, id);
    duplicates.push(id.to_owned());
    if are_too_many(&duplicates)? {
        return Ok(false);
    }
    put(
        turn,
        Some(&link),
        &Link { duplicate_of: Some(stands.id.clone()), duplicates: Vec::new(), ..link.clone() },
    )?;
    put(turn, Some(&stands), &Link { duplicates, ..stands.clone() })?;
    Ok(true)
}

/// Whether the link that stands for the page of `url` has all duplicates that it may.
pub(super) fn are_all(turn: &mut Turn<'_>, url: &str) -> Result<bool, Halt<No>> {
    let Some(same) = same_key(url) else { return Ok(true) };
    let Some(stands) = turn.get::<String>(&same)? else { return Ok(false) };
    let Some(Link { mut duplicates, deleted_at: None, .. }) = get(turn, &stands)? else { return Ok(false) };
    duplicates.push("x".repeat(ID_BYTES));
    are_too_many(&duplicates)
}

fn are_too_many(duplicates: &[String]) -> Result<bool, Halt<No>> {
    Ok(duplicates.len() > DUPLICATES || Json::encode(&duplicates)?.len() > DUPLICATES_BYTES)
}

/// The link that stands for the page of a duplicate.
pub(super) fn stands_for(turn: &mut Turn<'_>, link: &Link) -> Result<Option<String>, Halt<No>> {
    let (Some(first), Some(same)) = (&link.duplicate_of, same_key(&link.url)) else { return Ok(None) };
    Ok(Some(turn.get::<String>(&same)?.unwrap_or_else(|| first.clone())))
}

/// A link was deleted. The one that takes its place, if it stood for a page and there is another.
pub(super) fn left(turn: &mut Turn<'_>, id: &str) -> Result<Option<String>, Halt<No>> {
    let Some(link) = get(turn, id)? else { return Ok(None) };
    if let Some(stands) = stands_for(turn, &link)? {
        if let Some(stands) = get(turn, &stands)? {
            let duplicates = without(&stands.duplicates, id);
            put(turn, Some(&stands), &Link { duplicates, ..stands.clone() })?;
        }
        put(turn, Some(&link), &Link { duplicate_of: None, ..link.clone() })?;
        return Ok(None);
    }
    let (Some(heir), Some(same)) = (link.duplicates.first().cloned(), same_key(&link.url)) else {
        return Ok(None);
    };
    let rest = without(&link.duplicates, &heir);
    put(turn, Some(&link), &Link { duplicates: Vec::new(), ..link.clone() })?;
    if let Some(before) = get(turn, &heir)? {
        put(turn, Some(&before), &Link { duplicate_of: None, duplicates: rest, ..before.clone() })?;
    }
    turn.put(&same, &heir)?;
    Ok(Some(heir))
}

/// Writes for a duplicate what came of the link that stands for it, so that its clients see it too.
pub(super) fn hand_down(turn: &mut Turn<'_>, to: &Link, from: &str) -> Result<(), Halt<No>> {
    let Some(link) = get(turn, from)? else { return Ok(()) };
    let Some(Processing { status, error, reason, updated_at }) = &link.processing else { return Ok(()) };
    let end = match status {
        Status::Completed => "v1.LinkProcessingCompleted",
        Status::Failed => "v1.LinkProcessingFailed",
        Status::Pending | Status::Cancelled | Status::ReprocessRequested => return Ok(()),
    };
    let has_it = |p: &Processing| p.updated_at >= *updated_at && (p.status == *status);
    if to.processing.as_ref().is_some_and(has_it) {
        return Ok(());
    }
    let (id, now) = (&to.id, iso(turn.now()));
    let mut events = vec![event("v1.LinkProcessingStarted", json!({ "linkId": id, "updatedAt": now }))?];
    if let Some(snapshot) = &link.snapshot {
        events.push(fetched_event(turn, id, snapshot)?);
    }
    if let Some((summary, model)) = link.summary.as_ref().zip(link.summary_model.as_ref()) {
        events.push(summarized_event(turn, id, summary, model)?);
    }
    let mut args = json!({ "linkId": id, "updatedAt": now });
    for (name, text) in [("error", error), ("reason", reason)] {
        if let Some(text) = text {
            args[name] = json!(text);
        }
    }
    events.push(event(end, args)?);
    append(turn, events, format!("{id}/{from}/{}/copy", link.attempts))
}

/// Somebody asks for a duplicate again: the link that stands for it is asked for.
pub(super) fn ask_again(turn: &mut Turn<'_>, link: &Link, seq: i64) -> Result<(), Halt<No>> {
    let Some(stands) = stands_for(turn, link)? else { return Ok(()) };
    let args = json!({ "linkId": stands, "requestedAt": iso(turn.now()) });
    append(turn, vec![event("v1.LinkReprocessRequested", args)?], format!("{stands}/{seq}/again"))
}

fn same_key(url: &str) -> Option<String> {
    Identity::of(url).ok().map(|identity| format!("same/{}", hash(&identity.key)))
}

fn without(ids: &[String], id: &str) -> Vec<String> {
    ids.iter().filter(|other| *other != id).cloned().collect()
}
