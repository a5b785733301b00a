//! Requests that change something: written to the log like everybody's events, and answered when they come back by it.

use super::API_CLIENT;
use super::calls::{Added, Call, Changes, Done, NewLink, Reply, State, TagChanges};
use super::list::{instant, listed};
use super::projection::get;
use super::refusal::{LARGE_ANSWER, No};
use super::rows::{Adding, Link, Wait, Wanted};
use super::together::{self, together};
use super::work::{event, nanoid, tags_of};
use crate::event::{Append, NewEvent, ToSync, sync};
use crate::hash::hash;
use crate::identity::Identity;
use crate::limits::{ANSWERS_BYTES, APPEND_BYTES, PAGE_LINKS, TAGS, TAGS_AT_ONCE};
use crate::stamp::iso;
use crate::sync::limits::EVENTS_PER_APPEND;
use crate::tag;
use abide_core::json::Json;
use abide_core::ticket::Ticket;
use abide_core::time::Time;
use abide_engine::{Answer, Halt, Turn};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes around an event in a message.
const EVENT_BYTES: usize = 32;

/// Who is answered.
#[derive(Clone, Copy)]
pub(super) enum To<'a> {
    /// Whoever calls.
    Caller,
    /// Whoever waits with this.
    Ticket(&'a Ticket),
}

/// Whether a request names a tag that nobody made yet, as far as is known here. One that cannot be done makes none.
pub(super) fn would_make_a_tag(turn: &mut Turn<'_>, call: &Call) -> Result<bool, Halt<No>> {
    let names: BTreeSet<String> = match call {
        Call::Add { links, tags, .. } => {
            let wishes = wishes(links, tags)?;
            let known = together(wishes.iter().map(|wish| known_link(turn, &wish.same)))?;
            let new = wishes.into_iter().zip(known).filter(|(_, known)| known.is_none());
            new.flat_map(|(wish, _)| wish.names).collect()
        }
        Call::Update { changes: Changes { tags: Some(tags), .. }, .. } if !tags.is_ambiguous() => {
            tag_names(tags.set.as_ref().unwrap_or(&tags.add))?.into_iter().collect()
        }
        _ => return Ok(false),
    };
    let known = together(names.iter().map(|name| known_tag(turn, &hash(name))))?;
    Ok(known.contains(&None))
}

/// A link that is to be saved, checked.
struct Wish {
    identity: Identity,
    /// The hash of its key.
    same: String,
    names: Vec<String>,
    created_at: Option<Time>,
}

/// A link that is there, or will be.
enum Known {
    There(String),
    /// Somebody else's request adds it.
    Adding(Adding),
}

fn known_link(turn: &mut Turn<'_>, same: &str) -> Result<Option<Known>, Halt<No>> {
    let there = turn.get::<String>(&format!("same/{same}"));
    let adding = turn.get::<Adding>(&format!("adding/{same}"));
    Ok(there?.map(Known::There).or(adding?.map(Known::Adding)))
}

/// What a request wants saved: each link with its own tags and those for all.
fn wishes(links: &[NewLink], names: &[String]) -> Result<Vec<Wish>, No> {
    let mut all = BTreeSet::new();
    let common = tag_names(names)?;
    let wish = |link: &NewLink| -> Result<Wish, No> {
        let identity = Identity::of(&link.url)?;
        let mut names = common.clone();
        names.extend(tag_names(&link.tags)?);
        all.extend(names.iter().cloned());
        let created_at = link.created_at.as_ref().map(|text| instant("createdAt", text)).transpose()?;
        Ok(Wish { same: hash(&identity.key), identity, names, created_at })
    };
    let wishes: Vec<Wish> = links.iter().map(wish).collect::<Result<_, No>>()?;
    if all.len() > TAGS_AT_ONCE {
        return Err(No::Invalid(format!("give links with at most {TAGS_AT_ONCE} tags, not {}", all.len())));
    }
    Ok(wishes)
}

/// Saves links. One that is there, or that somebody else is just saving, is not saved again.
pub(super) fn add(
    turn: &mut Turn<'_>,
    links: &[NewLink],
    names: &[String],
    source: &str,
    to: To<'_>,
) -> Result<Answer<Reply>, Halt<No>> {
    if links.is_empty() || links.len() > PAGE_LINKS {
        return Err(No::Invalid(format!("give 1 to {PAGE_LINKS} URLs, not {}", links.len())).into());
    }
    let now = iso(turn.now());
    let session = turn.seed().uuid();
    let (mut events, mut wanted, mut others) = (Vec::new(), Vec::new(), BTreeSet::new());
    let wishes = wishes(links, names)?;
    let known = together(wishes.iter().map(|wish| known_link(turn, &wish.same)))?;
    let there = known.iter().flatten().filter_map(|known| match known {
        Known::There(id) => Some(id.as_str()),
        Known::Adding(_) => None,
    });
    together::links(turn, there)?;
    for Wish { identity: Identity { url, domain, .. }, same, names, created_at } in wishes {
        // Read again: two of them may be the same.
        let known = known_link(turn, &same)?.map(|known| match known {
            Known::There(id) => id,
            Known::Adding(Adding { id, session }) => {
                others.insert(session);
                id
            }
        });
        if let Some(id) = known {
            if get(turn, &id)?.is_some_and(|link| link.deleted_at.is_some()) {
                events.push(event("v1.LinkRestored", json!({ "id": id }))?);
            }
            wanted.push(Wanted { id, same: None });
            continue;
        }
        let tag_ids = tag_ids(turn, &names, &now, &mut events)?;
        let id = nanoid(turn);
        let created_at = created_at.map_or_else(|| now.clone(), |at| iso(at.min(turn.now())));
        let created = json!({
            "id": id, "url": url, "domain": domain, "createdAt": created_at, "source": source, "sourceMeta": null,
        });
        events.push(event("v2.LinkCreated", created)?);
        events.push(event("v1.LinkProcessingStarted", json!({ "linkId": id, "updatedAt": now }))?);
        for tag_id in &tag_ids {
            events.push(tagged(turn, &id, tag_id, &now)?);
        }
        turn.put(&format!("adding/{same}"), &Adding { id: id.clone(), session: session.clone() })?;
        wanted.push(Wanted { id, same: Some(same) });
    }
    others.remove(&session);
    write(turn, session, events, wanted, &others, to)
}

/// Changes links.
pub(super) fn update(
    turn: &mut Turn<'_>,
    ids: &[String],
    changes: &Changes,
    to: To<'_>,
) -> Result<Answer<Reply>, Halt<No>> {
    if ids.is_empty() || ids.len() > PAGE_LINKS {
        return Err(No::Invalid(format!("give 1 to {PAGE_LINKS} ids, not {}", ids.len())).into());
    }
    let now = iso(turn.now());
    let session = turn.seed().uuid();
    let (mut events, mut wanted, mut links) = (Vec::new(), Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    let ids: Vec<&String> = ids.iter().filter(|id| seen.insert(*id)).collect();
    let found = together(ids.iter().map(|id| get(turn, id)))?;
    for (link, id) in found.into_iter().zip(ids) {
        links.push(link.ok_or_else(|| No::UnknownLink(id.clone()))?);
    }
    let no_tags = TagChanges::default();
    let names = changes.tags.as_ref().unwrap_or(&no_tags);
    if names.is_ambiguous() {
        return Err(No::Invalid("tags.set is given with add or remove: give it alone".to_owned()).into());
    }
    let added = tag_names(names.set.as_ref().unwrap_or(&names.add))?;
    let added = tag_ids(turn, &added, &now, &mut events)?;
    let removed: Vec<String> = names.remove.iter().filter_map(|text| tag::name(text)).collect();
    let live = if removed.is_empty() { BTreeMap::new() } else { tags_of(turn, &links)? };
    for link in &links {
        let id = &link.id;
        events.extend(moves(link, changes.state, &now)?);
        for tag_id in added.iter().filter(|tag_id| !link.tags.contains(tag_id)) {
            events.push(tagged(turn, id, tag_id, &now)?);
        }
        for tag_id in &link.tags {
            let is_replaced = names.set.is_some() && !added.contains(tag_id);
            if is_replaced || live.get(tag_id).is_some_and(|name| removed.contains(name)) {
                events.push(event("v2.LinkUntagged", json!({ "linkId": id, "tagId": tag_id }))?);
            }
        }
        wanted.push(Wanted { id: id.clone(), same: None });
    }
    write(turn, session, events, wanted, &BTreeSet::new(), to)
}

/// Asks for a link again.
pub(super) fn reprocess(turn: &mut Turn<'_>, id: &str) -> Result<Answer<Reply>, Halt<No>> {
    get(turn, id)?.ok_or_else(|| No::UnknownLink(id.to_owned()))?;
    let again = json!({ "linkId": id, "requestedAt": iso(turn.now()) });
    write_about(turn, id, event("v1.LinkReprocessRequested", again)?)
}

/// Says that the processing of a link was stopped.
pub(super) fn cancel(turn: &mut Turn<'_>, id: &str) -> Result<Answer<Reply>, Halt<No>> {
    let stopped = json!({ "linkId": id, "updatedAt": iso(turn.now()) });
    write_about(turn, id, event("v1.LinkProcessingCancelled", stopped)?)
}

fn write_about(turn: &mut Turn<'_>, id: &str, event: NewEvent) -> Result<Answer<Reply>, Halt<No>> {
    let session = turn.seed().uuid();
    let wanted = vec![Wanted { id: id.to_owned(), same: None }];
    write(turn, session, vec![event], wanted, &BTreeSet::new(), To::Caller)
}

/// One event of a request has come back by the log; at the last, whoever waits is answered, within `room` bytes.
pub(super) fn came_back(turn: &mut Turn<'_>, session: &str, room: &mut usize) -> Result<(), Halt<No>> {
    let mut heard = vec![session.to_owned()];
    while let Some(session) = heard.pop() {
        let key = format!("wait/{session}");
        let Some(mut wait) = turn.get::<Wait>(&key)? else { continue };
        wait.left = wait.left.saturating_sub(1);
        if wait.left > 0 {
            turn.put(&key, &wait)?;
            continue;
        }
        let added = added(turn, &wait.links)?;
        resolve(turn, &wait.ticket, added, room)?;
        for same in wait.links.iter().filter_map(|wanted| wanted.same.as_ref()) {
            turn.delete(&format!("adding/{same}"));
        }
        turn.delete(&key);
        heard.extend(wait.then);
    }
    Ok(())
}

/// Answers, within `room` bytes: with the links, or at least with which they are.
fn resolve(
    turn: &mut Turn<'_>,
    ticket: &Ticket,
    added: Vec<Added>,
    room: &mut usize,
) -> Result<(), Halt<No>> {
    let done = |Added { created, link }: &Added| Done { created: *created, id: link.id.clone() };
    let done = Reply::Done(added.iter().map(done).collect());
    for reply in [Reply::Added(added), done] {
        let bytes = Json::encode(&reply)?.len();
        if bytes <= *room {
            *room -= bytes;
            return Ok(turn.resolve(ticket, &reply)?);
        }
    }
    let message = "it is done, and what there is to say about it is too much for one answer: list the links";
    turn.resolve_refused(ticket, LARGE_ANSWER, message);
    Ok(())
}

/// What is answered about `wanted`. A link that lost to one with the same URL is answered with that one.
fn added(turn: &mut Turn<'_>, wanted: &[Wanted]) -> Result<Vec<Added>, Halt<No>> {
    let added = together(wanted.iter().map(|Wanted { id, same }| {
        let mut link = get(turn, id)?;
        let mut created = same.is_some() && link.is_some();
        let is_alone = link.as_ref().is_some_and(|link| link.duplicate_of.is_none());
        if let (false, Some(same)) = (is_alone, same)
            && let Some(winner) = turn.get::<String>(&format!("same/{same}"))?
            && let Some(winner) = get(turn, &winner)?
        {
            (created, link) = (false, Some(winner));
        }
        link.map(|link| Ok(Added { created, link: listed(turn, &link)? })).transpose()
    }))?;
    Ok(added.into_iter().flatten().collect())
}

fn write(
    turn: &mut Turn<'_>,
    session: String,
    events: Vec<NewEvent>,
    links: Vec<Wanted>,
    others: &BTreeSet<String>,
    to: To<'_>,
) -> Result<Answer<Reply>, Halt<No>> {
    let mut left = events.len();
    let key_of = |other: &String| format!("wait/{other}");
    turn.prefetch(others.iter().map(key_of))?;
    for key in others.iter().map(key_of) {
        if let Some(mut wait) = turn.get::<Wait>(&key)? {
            wait.then.push(session.clone());
            turn.put(&key, &wait)?;
            left += 1;
        }
    }
    let ticket = match to {
        To::Caller if left == 0 => return Ok(Reply::Added(added(turn, &links)?).into()),
        To::Caller => turn.open_ticket(),
        To::Ticket(ticket) => ticket.clone(),
    };
    if left == 0 {
        let added = added(turn, &links)?;
        let mut room = ANSWERS_BYTES;
        resolve(turn, &ticket, added, &mut room)?;
        return Ok(Answer::Later(ticket));
    }
    turn.put(&format!("wait/{session}"), &Wait { left, ticket: ticket.clone(), links, then: Vec::new() })?;
    let log = sync(turn.object().name.as_str())?;
    for (at, events) in parts(events).into_iter().enumerate() {
        let (client_id, key) = (API_CLIENT.to_owned(), format!("{session}/{at}"));
        let session_id = session.clone();
        turn.send(&log, &ToSync::Append(Append { events, client_id, session_id, key }))?;
    }
    Ok(Answer::Later(ticket))
}

/// Events in parts that fit into a message each.
fn parts(events: Vec<NewEvent>) -> Vec<Vec<NewEvent>> {
    let mut parts: Vec<Vec<NewEvent>> = Vec::new();
    let mut room = 0;
    for event in events {
        let bytes = event.name.len() + event.args.len() + EVENT_BYTES;
        match parts.last_mut().filter(|part| bytes <= room && part.len() < EVENTS_PER_APPEND) {
            Some(part) => part.push(event),
            None => {
                room = APPEND_BYTES;
                parts.push(vec![event]);
            }
        }
        room = room.saturating_sub(bytes);
    }
    parts
}

fn moves(link: &Link, to: Option<State>, now: &str) -> Result<Vec<NewEvent>, Halt<No>> {
    let from = State::of(link);
    let Some(to) = to.filter(|to| *to != from) else { return Ok(Vec::new()) };
    let mut events = Vec::new();
    if from == State::Archive {
        events.push(event("v1.LinkRestored", json!({ "id": link.id }))?);
    }
    match to {
        State::Archive => events.push(event("v1.LinkDeleted", json!({ "id": link.id, "deletedAt": now }))?),
        State::Completed if link.completed_at.is_none() => {
            events.push(event("v1.LinkCompleted", json!({ "id": link.id, "completedAt": now }))?);
        }
        State::Inbox if link.completed_at.is_some() => {
            events.push(event("v1.LinkUncompleted", json!({ "id": link.id }))?);
        }
        State::Completed | State::Inbox => {}
    }
    Ok(events)
}

/// Names of tags that a request gives, in their one form.
fn tag_names(texts: &[String]) -> Result<Vec<String>, No> {
    if texts.len() > TAGS {
        return Err(No::Invalid(format!("give at most {TAGS} tags, not {}", texts.len())));
    }
    let name =
        |text: &String| tag::name(text).ok_or_else(|| No::Invalid(format!("{text:?} is no name for a tag")));
    texts.iter().map(name).collect()
}

/// The ids of tags by name; those that do not exist are made.
fn tag_ids(
    turn: &mut Turn<'_>,
    names: &[String],
    now: &str,
    events: &mut Vec<NewEvent>,
) -> Result<Vec<String>, Halt<No>> {
    let mut ids = Vec::new();
    for name in names {
        let hashed = hash(name);
        let id = match known_tag(turn, &hashed)? {
            Some(id) => id,
            None => {
                let id = nanoid(turn);
                turn.put(&format!("naming/{hashed}"), &id)?;
                let args = json!({ "id": id, "name": name, "sortOrder": 0, "createdAt": now });
                events.push(event("v1.TagCreated", args)?);
                id
            }
        };
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

/// The tag that has a name, or will have it: somebody else's request makes it, whose event is before ours in the log.
fn known_tag(turn: &mut Turn<'_>, hashed: &str) -> Result<Option<String>, Halt<No>> {
    match turn.get::<String>(&format!("named/{hashed}"))? {
        Some(id) => Ok(Some(id)),
        None => Ok(turn.get::<String>(&format!("naming/{hashed}"))?),
    }
}

fn tagged(turn: &mut Turn<'_>, link: &str, tag: &str, now: &str) -> Result<NewEvent, Halt<No>> {
    let id = nanoid(turn);
    event("v1.LinkTagged", json!({ "id": id, "linkId": link, "tagId": tag, "createdAt": now }))
}
