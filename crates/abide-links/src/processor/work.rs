//! Work on links: begun from what the log says, carried on by outcomes of jobs, ended by an event that comes back.

use super::fetch::FetchPayload;
use super::projection::{self, get};
use super::refusal::No;
use super::rows::{Answered, Link, Session, Stage, Status, Tag, Work};
use super::summarize::{SummarizePayload, Summarized};
use super::together::together;
use super::{
    FETCH, FETCH_QUEUE, PROCESSOR_CLIENT, SUMMARIZE, SUMMARIZE_QUEUE, answers, catch_up, duplicates,
};
use crate::event::{Append, NewEvent, ToLinks, ToSync, sync};
use crate::hash::hash;
use crate::limits::{
    ATTEMPTS, BEGUN_PER_TURN, HANDED_ON_PER_TURN, HOST_PATIENCE_MS, LOOK_MS, REASON_CHARS, SCANNED,
    TAGS_TOLD_BYTES,
};
use crate::page::{Metadata, Outcome, Page};
use crate::stamp::iso;
use crate::tag;
use abide_core::job::{JobOutcome, JobState, NewJob};
use abide_core::json::Json;
use abide_core::name::UniqueKey;
use abide_core::retry::Backoff;
use abide_core::time::Time;
use abide_engine::{Halt, Turn};
use abide_fetch::limit_key::limit_keys;
use abide_llm::Spent;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The code of a link whose job died.
const DEFECT: &str = "Defect";
/// Wakes the object while anything is pending.
pub(super) const LOOK: &str = "look";

/// A link may have become pending, or no longer be: notes it for the next beginning, or stops what is under way.
pub(super) fn reconsider(turn: &mut Turn<'_>, id: &str) -> Result<bool, Halt<No>> {
    let Some(link) = get(turn, id)? else { return Ok(false) };
    let work: Option<Work> = turn.get(&work_key(id))?;
    match work {
        None if link.is_pending() => return note(turn, id),
        None => leave(turn, id),
        Some(work) if link.deleted_at.is_some() => stop(turn, id, &work)?,
        Some(_) => {}
    }
    Ok(false)
}

/// Notes a link for the next beginning.
pub(super) fn note(turn: &mut Turn<'_>, id: &str) -> Result<bool, Halt<No>> {
    turn.put(&format!("todo/{id}"), &true)?;
    look_later(turn)?;
    Ok(true)
}

/// Something came of a link: notes that its duplicates are to get it, if there are any.
pub(super) fn hand_on(turn: &mut Turn<'_>, id: &str) -> Result<bool, Halt<No>> {
    if get(turn, id)?.is_none_or(|link| link.duplicates.is_empty()) {
        return Ok(false);
    }
    turn.put(&format!("hand/{id}"), &true)?;
    look_later(turn)?;
    Ok(true)
}

/// Somebody asks for a link again. What is already fetched is fetched again; what is about to be is enough.
pub(super) fn again(turn: &mut Turn<'_>, id: &str) -> Result<bool, Halt<No>> {
    let Some(link) = get(turn, id)?.filter(|link| link.deleted_at.is_none()) else { return Ok(false) };
    let work: Option<Work> = turn.get(&work_key(id))?;
    match work {
        Some(Work { stage: Stage::Fetching, .. }) => Ok(false),
        Some(Work { stage: Stage::Summarizing | Stage::Ending | Stage::Stopping, attempt }) => {
            turn.cancel(&job_key(SUMMARIZE, id, attempt)?);
            turn.delete(&work_key(id));
            let link = begin_one(turn, link)?;
            let started = started_event(turn, &link)?;
            append(turn, vec![started], started_key(&link))?;
            Ok(false)
        }
        None => note(turn, id),
    }
}

/// Processing of a link came to its end in the log.
pub(super) fn ended(turn: &mut Turn<'_>, id: &str) -> Result<(), Halt<No>> {
    match turn.get::<Work>(&work_key(id))? {
        Some(Work { stage: Stage::Ending | Stage::Stopping, .. }) => turn.delete(&work_key(id)),
        Some(Work { stage: Stage::Fetching | Stage::Summarizing, .. }) => {}
        None => leave(turn, id),
    }
    Ok(())
}

/// Somebody else wrote that a link is not to be processed: what is under way is stopped, and that is written behind whatever
/// of it is still on its way to the log.
pub(super) fn cancelled(turn: &mut Turn<'_>, id: &str) -> Result<(), Halt<No>> {
    match turn.get::<Work>(&work_key(id))? {
        Some(work) if matches!(work.stage, Stage::Fetching | Stage::Summarizing) => stop(turn, id, &work),
        Some(_) | None => ended(turn, id),
    }
}

/// Takes a link from those that are to be begun.
pub(super) fn leave(turn: &mut Turn<'_>, id: &str) {
    turn.delete(&format!("todo/{id}"));
}

/// Whether a link was stopped, and that has not come back by the log yet.
pub(super) fn is_stopping(turn: &mut Turn<'_>, id: &str) -> Result<bool, Halt<No>> {
    let work: Option<Work> = turn.get(&work_key(id))?;
    Ok(work.is_some_and(|work| work.stage == Stage::Stopping))
}

/// Begins links that wait, so many at a time.
pub(super) fn begin(turn: &mut Turn<'_>) -> Result<(), Halt<No>> {
    let handed: Vec<(String, bool)> = turn.scan("hand/", None, HANDED_ON_PER_TURN)?;
    for (key, _) in &handed {
        turn.delete(key);
        let link = get(turn, key.trim_start_matches("hand/"))?;
        for id in link.map(|link| link.duplicates).unwrap_or_default() {
            note(turn, &id)?;
        }
    }
    let waiting: Vec<(String, bool)> = turn.scan("todo/", None, BEGUN_PER_TURN)?;
    let is_full = waiting.len() == BEGUN_PER_TURN || handed.len() == HANDED_ON_PER_TURN;
    let ids = waiting.iter().map(|(key, _)| key.trim_start_matches("todo/"));
    let found = together(ids.map(|id| {
        let (link, work) = (get(turn, id), turn.get::<Work>(&work_key(id)));
        Ok((link?, work?))
    }))?;
    let mut begun: Option<(String, Vec<NewEvent>)> = None;
    for ((key, _), (link, work)) in waiting.iter().zip(found) {
        turn.delete(key);
        let Some(link) = link.filter(|link| link.deleted_at.is_none()) else { continue };
        if let Some(stands) = duplicates::stands_for(turn, &link)? {
            duplicates::hand_down(turn, &link, &stands)?;
        } else if work.is_none() {
            let has_begun = link.processing.as_ref().is_some_and(|p| p.status == Status::Pending);
            let link = begin_one(turn, link)?;
            if !has_begun {
                let started = started_event(turn, &link)?;
                begun.get_or_insert_with(|| (started_key(&link), Vec::new())).1.push(started);
            }
        }
    }
    if let Some((key, events)) = begun {
        append(turn, events, key)?;
    }
    if is_full {
        let me = turn.object().clone();
        turn.send(&me, &ToLinks::Begin)?;
    }
    Ok(())
}

fn begin_one(turn: &mut Turn<'_>, before: Link) -> Result<Link, Halt<No>> {
    let link = Link { attempts: before.attempts + 1, ..before.clone() };
    projection::put(turn, Some(&before), &link)?;
    turn.put(&work_key(&link.id), &Work { attempt: link.attempts, stage: Stage::Fetching })?;
    enqueue_fetch(turn, &link, Before::default())?;
    look_later(turn)?;
    Ok(link)
}

fn started_event(turn: &Turn<'_>, link: &Link) -> Result<NewEvent, Halt<No>> {
    event("v1.LinkProcessingStarted", json!({ "linkId": link.id, "updatedAt": iso(turn.now()) }))
}

/// The key of an append that says of this link, and perhaps of others with it, that it is begun.
fn started_key(link: &Link) -> String {
    format!("{}/{}/started", link.id, link.attempts)
}

/// What jobs before this one came to.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    failures: u32,
    waits_since: Option<Time>,
    /// When the host may be asked.
    run_at: Option<Time>,
}

fn enqueue_fetch(turn: &mut Turn<'_>, link: &Link, before: Before) -> Result<(), Halt<No>> {
    let Before { failures, waits_since, run_at } = before;
    let (link_id, url) = (link.id.clone(), link.url.clone());
    let payload = FetchPayload { link_id, url, attempt: link.attempts, failures, waits_since };
    let job = NewJob { run_at, ..NewJob::of(FETCH_QUEUE, FETCH, &payload)? };
    let unique_key = Some(job_key(FETCH, &link.id, link.attempts)?);
    let limit_keys = limit_keys(&link.url).unwrap_or_default();
    let backoff = Some(Backoff { base_ms: 2_000, cap_ms: 60_000 });
    Ok(turn.enqueue(NewJob { unique_key, limit_keys, backoff, max_attempts: Some(ATTEMPTS), ..job })?)
}

/// A job is over: the link goes on, or its end is written. Outcomes of earlier attempts change nothing.
pub(super) fn outcome(turn: &mut Turn<'_>, outcome: &JobOutcome) -> Result<(), Halt<No>> {
    let Some((kind, id, attempt)) = outcome.unique_key.as_ref().and_then(read_job_key) else { return Ok(()) };
    let work: Option<Work> = turn.get(&work_key(&id))?;
    let Some(work) = work.filter(|work| work.attempt == attempt) else { return Ok(()) };
    let Some(link) = get(turn, &id)? else { return Ok(()) };
    let defect = |turn: &mut Turn<'_>, link: &Link| {
        let why = outcome.reason.as_deref().unwrap_or("its result cannot be read");
        failed(turn, link, attempt, DEFECT, why)
    };
    match (outcome.state, work.stage, kind.as_str()) {
        (JobState::Cancelled, Stage::Fetching, FETCH)
        | (JobState::Cancelled, Stage::Summarizing, SUMMARIZE) => stop(turn, &id, &work),
        (JobState::Done, Stage::Fetching, FETCH) => match result(outcome) {
            Some(Outcome::Ok(page) | Outcome::Empty(page)) => fetched(turn, &link, attempt, page),
            Some(Outcome::Failed(failure)) => failed(turn, &link, attempt, &failure.code, &failure.why),
            Some(Outcome::NotAsked { wait_ms, failures, since, why }) => {
                let now = turn.now();
                let since = since.unwrap_or(now);
                if now.since(since) > HOST_PATIENCE_MS {
                    return failed(turn, &link, attempt, "fetch:unreadable", &why);
                }
                let run_at = Some(now.plus_ms(wait_ms));
                ask_later(turn, link, Before { failures, waits_since: Some(since), run_at })
            }
            None => defect(turn, &link),
        },
        (JobState::Done, Stage::Summarizing, SUMMARIZE) => match result(outcome) {
            Some(Summarized::Made(answered)) => {
                let link = note_spent(turn, link, answered.spent)?;
                summarized(turn, &link, attempt, &Answered { spent: None, ..answered })
            }
            Some(Summarized::Failed { code, why, spent }) => {
                let link = note_spent(turn, link, spent)?;
                failed(turn, &link, attempt, &code, &why)
            }
            None => defect(turn, &link),
        },
        (JobState::Failed | JobState::Skipped, Stage::Fetching, FETCH)
        | (JobState::Failed | JobState::Skipped, Stage::Summarizing, SUMMARIZE) => defect(turn, &link),
        _ => Ok(()),
    }
}

/// Asks the host with another job when it may be asked: this one has not used an attempt of the link.
fn ask_later(turn: &mut Turn<'_>, before: Link, jobs: Before) -> Result<(), Halt<No>> {
    let link = Link { attempts: before.attempts + 1, ..before.clone() };
    projection::put(turn, Some(&before), &link)?;
    turn.put(&work_key(&link.id), &Work { attempt: link.attempts, stage: Stage::Fetching })?;
    enqueue_fetch(turn, &link, jobs)?;
    look_later(turn)
}

fn fetched(turn: &mut Turn<'_>, link: &Link, attempt: u32, page: Page) -> Result<(), Halt<No>> {
    if !page.metadata.is_empty() {
        let snapshot = fetched_event(turn, &link.id, &page.metadata)?;
        append(turn, vec![snapshot], format!("{}/{attempt}/metadata", link.id))?;
    }
    let mut room = TAGS_TOLD_BYTES;
    let tags = tags(turn)?.into_iter().map(|(_, tag)| tag.name).take_while(|name| {
        let fits = name.len() <= room;
        room = room.saturating_sub(name.len());
        fits
    });
    let tags = tags.collect();
    let (link_id, domain) = (link.id.clone(), link.domain.clone());
    let payload = SummarizePayload { link_id, domain, page, tags, cached: None };
    let payload = SummarizePayload { cached: answers::find(turn, &payload.about())?, ..payload };
    let job = NewJob::of(SUMMARIZE_QUEUE, SUMMARIZE, &payload)?;
    let unique_key = Some(job_key(SUMMARIZE, &link.id, attempt)?);
    turn.enqueue(NewJob { unique_key, max_attempts: Some(ATTEMPTS), ..job })?;
    Ok(turn.put(&work_key(&link.id), &Work { attempt, stage: Stage::Summarizing })?)
}

fn summarized(turn: &mut Turn<'_>, link: &Link, attempt: u32, answered: &Answered) -> Result<(), Halt<No>> {
    let now = iso(turn.now());
    let mut events = Vec::new();
    if let Some(summary) = &answered.summary {
        events.push(summarized_event(turn, &link.id, summary, &answered.model)?);
    }
    for (tag_id, name) in suggestions(turn, link, &answered.tags)? {
        let id = nanoid(turn);
        let args = json!({
            "id": id, "linkId": link.id, "tagId": tag_id, "suggestedName": name, "model": answered.model,
            "suggestedAt": now,
        });
        events.push(event("v1.TagSuggested", args)?);
    }
    events.push(event("v1.LinkProcessingCompleted", json!({ "linkId": link.id, "updatedAt": now }))?);
    answers::keep(turn, link, answered)?;
    end(turn, &link.id, attempt, events)
}

/// Adds what a summary took to what the link took before.
fn note_spent(turn: &mut Turn<'_>, link: Link, spent: Option<Spent>) -> Result<Link, Halt<No>> {
    let Some(spent) = spent else { return Ok(link) };
    let spent = Some(link.spent.unwrap_or_default().plus(spent));
    let after = Link { spent, ..link.clone() };
    projection::put(turn, Some(&link), &after)?;
    Ok(after)
}

/// At most two tags that exist and one that does not, none of which the link has or was offered.
fn suggestions(
    turn: &mut Turn<'_>,
    link: &Link,
    wanted: &[String],
) -> Result<Vec<(Option<String>, String)>, Halt<No>> {
    let tags = tags(turn)?;
    let (mut known, mut new): (Vec<(Option<String>, String)>, Option<String>) = (Vec::new(), None);
    let wanted: Vec<String> = wanted.iter().filter_map(|text| tag::name(text)).collect();
    let exact =
        together(wanted.iter().map(|name| Ok(turn.get::<String>(&format!("named/{}", hash(name)))?)))?;
    for (name, exact) in wanted.into_iter().zip(exact) {
        let near = |other: &str| other.len() > 2 && (other.contains(&name) || name.contains(other));
        let found = exact.map(|id| (id, name.clone())).or_else(|| {
            let (id, tag) = tags.iter().find(|(_, tag)| near(&tag.name))?;
            Some((id.clone(), tag.name.clone()))
        });
        match found {
            Some((id, name)) => {
                let has = link.tags.contains(&id) || link.suggested.contains(&name);
                if !has && known.len() < 2 && !known.iter().any(|(other, _)| other.as_ref() == Some(&id)) {
                    known.push((Some(id), name));
                }
            }
            None if new.is_none() && !link.suggested.contains(&name) => new = Some(name),
            None => {}
        }
    }
    known.extend(new.map(|name| (None, name)));
    Ok(known)
}

/// Tags that are not deleted, with their ids: as many as a summary is told about, and more.
fn tags(turn: &mut Turn<'_>) -> Result<Vec<(String, Tag)>, Halt<No>> {
    let all: Vec<(String, Tag)> = turn.scan("tag/", None, SCANNED)?;
    let live = all.into_iter().filter(|(_, tag)| !tag.deleted);
    Ok(live.map(|(key, tag)| (key.trim_start_matches("tag/").to_owned(), tag)).collect())
}

/// Names of the tags that links have, by their ids.
pub(super) fn tags_of(turn: &mut Turn<'_>, links: &[Link]) -> Result<BTreeMap<String, String>, Halt<No>> {
    let ids: BTreeSet<&String> = links.iter().flat_map(|link| &link.tags).collect();
    let found = together(ids.iter().map(|id| Ok(turn.get::<Tag>(&format!("tag/{id}"))?)))?;
    let live = ids.into_iter().zip(found).filter_map(|(id, tag)| Some((id, tag.filter(|tag| !tag.deleted)?)));
    Ok(live.map(|(id, tag)| (id.clone(), tag.name)).collect())
}

/// Writes that a link failed: the code for programs, and what was the matter for people.
fn failed(turn: &mut Turn<'_>, link: &Link, attempt: u32, code: &str, why: &str) -> Result<(), Halt<No>> {
    let why: String = why.chars().take(REASON_CHARS).collect();
    let args = json!({ "linkId": link.id, "error": code, "reason": why, "updatedAt": iso(turn.now()) });
    end(turn, &link.id, attempt, vec![event("v1.LinkProcessingFailed", args)?])
}

/// Stops what is under way: the link was deleted, or somebody said so.
pub(super) fn stop(turn: &mut Turn<'_>, id: &str, work: &Work) -> Result<(), Halt<No>> {
    if !halt(turn, id, work)? {
        return Ok(());
    }
    let args = json!({ "linkId": id, "updatedAt": iso(turn.now()) });
    append(turn, vec![event("v1.LinkProcessingCancelled", args)?], end_key(id, work.attempt))
}

/// Stops the job of a link; whether there was one. Whoever does it writes so.
pub(super) fn halt(turn: &mut Turn<'_>, id: &str, work: &Work) -> Result<bool, Halt<No>> {
    let kind = match work.stage {
        Stage::Fetching => FETCH,
        Stage::Summarizing => SUMMARIZE,
        Stage::Ending | Stage::Stopping => return Ok(false),
    };
    turn.cancel(&job_key(kind, id, work.attempt)?);
    turn.put(&work_key(id), &Work { attempt: work.attempt, stage: Stage::Stopping })?;
    Ok(true)
}

fn end(turn: &mut Turn<'_>, id: &str, attempt: u32, events: Vec<NewEvent>) -> Result<(), Halt<No>> {
    turn.put(&work_key(id), &Work { attempt, stage: Stage::Ending })?;
    append(turn, events, end_key(id, attempt))
}

/// The key of the append that ends an attempt.
fn end_key(id: &str, attempt: u32) -> String {
    format!("{id}/{attempt}/end")
}

/// Looks whether something was left behind; looks again later while anything is pending.
pub(super) fn look(turn: &mut Turn<'_>) -> Result<(), Halt<No>> {
    let mut todo: Vec<(String, bool)> = turn.scan("todo/", None, 1)?;
    todo.extend(turn.scan("hand/", None, 1)?);
    if !todo.is_empty() && !catch_up::is_under_way(turn)? {
        begin(turn)?;
    }
    let works: Vec<(String, Work)> = turn.scan("work/", None, 200)?;
    let fetching: Vec<&(String, Work)> =
        works.iter().filter(|(_, work)| work.stage == Stage::Fetching).collect();
    let links = together(fetching.iter().map(|(key, _)| get(turn, key.trim_start_matches("work/"))))?;
    for ((_, work), link) in fetching.into_iter().zip(links) {
        if let Some(link) = link.filter(|link| link.attempts == work.attempt) {
            enqueue_fetch(turn, &link, Before::default())?;
        }
    }
    if works.is_empty() && todo.is_empty() { Ok(()) } else { look_later(turn) }
}

fn look_later(turn: &mut Turn<'_>) -> Result<(), Halt<No>> {
    if turn.alarm(LOOK)?.is_none_or(|at| at <= turn.now()) {
        let at = turn.now().plus_ms(LOOK_MS);
        turn.set_alarm(LOOK, at)?;
    }
    Ok(())
}

/// Writes events to the store's log as the processor.
pub(super) fn append(turn: &mut Turn<'_>, events: Vec<NewEvent>, key: String) -> Result<(), Halt<No>> {
    let session: Option<Session> = turn.get("session")?;
    let session_id = session.map(|session| session.id).unwrap_or_default();
    // A later life of this object must not be taken for this one.
    let key = hash(&format!("{session_id}/{key}"));
    let append = Append { events, client_id: PROCESSOR_CLIENT.to_owned(), session_id, key };
    let log = sync(turn.object().name.as_str())?;
    Ok(turn.send(&log, &ToSync::Append(append))?)
}

pub(super) fn fetched_event(turn: &mut Turn<'_>, link: &str, m: &Metadata) -> Result<NewEvent, Halt<No>> {
    let id = nanoid(turn);
    let args = json!({
        "id": id, "linkId": link, "title": m.title, "description": m.description, "image": m.image,
        "favicon": m.favicon, "fetchedAt": iso(turn.now()),
    });
    event("v1.LinkMetadataFetched", args)
}

pub(super) fn summarized_event(
    turn: &mut Turn<'_>,
    link: &str,
    summary: &str,
    model: &str,
) -> Result<NewEvent, Halt<No>> {
    let id = nanoid(turn);
    let args = json!({
        "id": id, "linkId": link, "summary": summary, "model": model, "summarizedAt": iso(turn.now()),
    });
    event("v1.LinkSummarized", args)
}

pub(super) fn event(name: &str, args: Value) -> Result<NewEvent, Halt<No>> {
    Ok(NewEvent { name: name.to_owned(), args: encode(&args)? })
}

fn encode<T: Serialize>(value: &T) -> Result<Json, Halt<No>> {
    Json::encode(value).map_err(Halt::from)
}

fn result<T: serde::de::DeserializeOwned>(outcome: &JobOutcome) -> Option<T> {
    outcome.result.as_ref()?.decode().ok()
}

pub(super) fn work_key(id: &str) -> String {
    format!("work/{id}")
}

fn job_key(kind: &str, id: &str, attempt: u32) -> Result<UniqueKey, Halt<No>> {
    Ok(UniqueKey::new(format!("{kind}/{id}/{attempt}"))?)
}

fn read_job_key(key: &UniqueKey) -> Option<(String, String, u32)> {
    let (kind, rest) = key.as_str().split_once('/')?;
    let (id, attempt) = rest.rsplit_once('/')?;
    Some((kind.to_owned(), id.to_owned(), attempt.parse().ok()?))
}

/// A random id of 21 characters. It begins with a letter or a digit: commands take what begins with `-` for an option.
pub(super) fn nanoid(turn: &mut Turn<'_>) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    let mut letter = |most| char::from(LETTERS[usize::try_from(turn.seed().below(most)).unwrap_or(0)]);
    (0..21).map(|at| letter(if at == 0 { 62 } else { 64 })).collect()
}
