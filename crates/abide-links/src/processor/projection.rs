//! The projection: what the log says, as rows. Replayed and repeated events change nothing.

use super::args::Args;
use super::calls::State;
use super::duplicates;
use super::refusal::No;
use super::rows::{Link, Processing, Status, Suggestion, SuggestionStatus, Tag, Tally};
use super::sort::Sort;
use super::work;
use crate::event::Event;
use crate::hash::hash;
use crate::limits::{LINK_BYTES, LINK_TAGS};
use crate::page::Metadata;
use crate::stamp::from_iso;
use abide_core::json::Json;
use abide_core::time::Time;
use abide_engine::{Halt, Turn};
use serde_json::Value;

/// What an event means for the work on a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    /// Nothing.
    Nothing,
    /// A link may have become pending, or no longer be.
    Touched(String),
    /// Processing of a link came to its end.
    Ended(String),
    /// A link is not to be processed any more.
    Cancelled(String),
    /// Somebody asks for a link again.
    Again(String),
    /// A link is there whose page another one stands for.
    Doubled(String),
    /// A link was deleted, and one that leads to the same page takes its place.
    Succeeded {
        /// The deleted one.
        id: String,
        /// The other one.
        by: String,
    },
    /// It cannot be projected, for this reason: it is in the log for whoever can do something with it.
    PassedOver(String),
}

/// Applies one event.
pub fn apply(turn: &mut Turn<'_>, event: &Event, at: Time) -> Result<Meaning, Halt<No>> {
    let args = match Args::of(event) {
        Args::Of(args) => args,
        Args::OfNoConcern => return Ok(Meaning::Nothing),
        Args::Unusable(why) => return Ok(Meaning::PassedOver(why)),
    };
    let text = |name: &str| args.get(name).and_then(Value::as_str).map(str::to_owned);
    let time = |name: &str| text(name).and_then(|text| from_iso(&text)).unwrap_or(at);
    let about = |name: &str| text(name).unwrap_or_default();
    match event.name.as_str() {
        "v1.LinkCreated" | "v2.LinkCreated" => created(turn, &args, time("createdAt")),
        "v1.LinkMetadataFetched" => change(turn, &about("linkId"), |link| {
            let (title, description) = (text("title"), text("description"));
            link.snapshot =
                Some(Metadata { title, description, image: text("image"), favicon: text("favicon") });
        }),
        "v1.LinkSummarized" => change(turn, &about("linkId"), |link| {
            (link.summary, link.summary_model) = (text("summary"), text("model"));
        }),
        "v1.LinkCompleted" => {
            change(turn, &about("id"), |link| link.completed_at = Some(time("completedAt")))
        }
        "v1.LinkUncompleted" => change(turn, &about("id"), |link| link.completed_at = None),
        "v1.LinkDeleted" => {
            let id = about("id");
            touched(turn, &id, |link| link.deleted_at = Some(time("deletedAt")))?;
            let heir = duplicates::left(turn, &id)?;
            Ok(heir.map_or(Meaning::Touched(id.clone()), |heir| Meaning::Succeeded { by: heir, id }))
        }
        "v1.LinkRestored" => {
            let id = about("id");
            let was_cancelled = get(turn, &id)?.is_some_and(|link| {
                link.deleted_at.is_some() && link.processing.is_some_and(|p| p.status == Status::Cancelled)
            });
            let was_stopped = was_cancelled || work::is_stopping(turn, &id)?;
            touched(turn, &id, |link| link.deleted_at = None)?;
            if duplicates::came(turn, &id)? {
                return Ok(Meaning::Doubled(id));
            }
            Ok(if was_stopped { Meaning::Again(id) } else { Meaning::Touched(id) })
        }
        "v1.LinkProcessingStarted" => {
            set_status(turn, &about("linkId"), Status::Pending, time("updatedAt"))?;
            Ok(Meaning::Touched(about("linkId")))
        }
        "v1.LinkReprocessRequested" => {
            set_status(turn, &about("linkId"), Status::ReprocessRequested, time("requestedAt"))?;
            Ok(Meaning::Again(about("linkId")))
        }
        "v1.LinkProcessingCompleted" => {
            set_status(turn, &about("linkId"), Status::Completed, time("updatedAt"))?;
            Ok(Meaning::Ended(about("linkId")))
        }
        "v1.LinkProcessingFailed" => {
            let (error, reason, updated_at) = (text("error"), text("reason"), time("updatedAt"));
            change(turn, &about("linkId"), |link| {
                link.processing = Some(Processing { status: Status::Failed, error, reason, updated_at });
            })?;
            Ok(Meaning::Ended(about("linkId")))
        }
        "v1.LinkProcessingCancelled" => {
            set_status(turn, &about("linkId"), Status::Cancelled, time("updatedAt"))?;
            Ok(Meaning::Cancelled(about("linkId")))
        }
        _ => tagging(turn, event, &args),
    }
}

/// A link.
pub fn get(turn: &mut Turn<'_>, id: &str) -> Result<Option<Link>, Halt<No>> {
    Ok(turn.get(&format!("link/{id}"))?)
}

/// Puts a link with its place among those of its state.
pub fn put(turn: &mut Turn<'_>, before: Option<&Link>, after: &Link) -> Result<(), Halt<No>> {
    let (was, is) = (before.and_then(listed_in), listed_in(after));
    if was != is {
        let mut tally: Tally = turn.get("tally")?.unwrap_or_default();
        if let Some((was, before)) = was.zip(before) {
            Sort::BOTH.iter().for_each(|sort| turn.delete(&place(*sort, was, before)));
            *tally.of(was) -= 1;
        }
        if let Some(is) = is {
            for sort in Sort::BOTH {
                turn.put(&place(sort, is, after), &after.id)?;
            }
            *tally.of(is) += 1;
        }
        turn.put("tally", &tally)?;
    }
    Ok(turn.put(&format!("link/{}", after.id), &bounded(after)?)?)
}

/// A link within its bound: what is least missed is left out until it is.
fn bounded(link: &Link) -> Result<Link, Halt<No>> {
    let mut link = link.clone();
    let least_missed: [fn(&mut Link); 6] = [
        |link| link.snapshot.iter_mut().for_each(|snapshot| snapshot.image = None),
        |link| link.snapshot.iter_mut().for_each(|snapshot| snapshot.favicon = None),
        |link| link.suggested.truncate(10),
        |link| link.snapshot.iter_mut().for_each(|snapshot| snapshot.description = None),
        |link| link.tags.truncate(10),
        |link| (link.snapshot, link.summary, link.summary_model) = (None, None, None),
    ];
    for leave_out in least_missed {
        if Json::encode(&link)?.len() <= LINK_BYTES {
            break;
        }
        leave_out(&mut link);
    }
    Ok(link)
}

/// Among which links it is listed; one that stands behind another is not.
fn listed_in(link: &Link) -> Option<State> {
    link.duplicate_of.is_none().then(|| State::of(link))
}

/// The key of a link among those of its state.
fn place(sort: Sort, state: State, link: &Link) -> String {
    format!("{}{}/{}", sort.prefix(state), sort.rank(link.created_at), link.id)
}

fn created(turn: &mut Turn<'_>, args: &Value, created_at: Time) -> Result<Meaning, Halt<No>> {
    let text = |name: &str| args.get(name).and_then(Value::as_str).map(str::to_owned);
    let (Some(id), Some(url)) = (text("id"), text("url")) else {
        return Ok(Meaning::PassedOver("it has no id or no url that is a text".to_owned()));
    };
    let by_url = format!("url/{}", hash(&url));
    let (known, first) = (get(turn, &id), turn.get::<String>(&by_url));
    let (known, first) = (known?, first?);
    // One URL again and again is one link, however often.
    if known.is_some() || (first.is_some() && duplicates::are_all(turn, &url)?) {
        return Ok(Meaning::Nothing);
    }
    if first.is_none() {
        turn.put(&by_url, &id)?;
    }
    let link = Link {
        id: id.clone(),
        url,
        domain: text("domain").unwrap_or_default(),
        source: text("source"),
        created_at,
        completed_at: None,
        deleted_at: None,
        snapshot: None,
        summary: None,
        summary_model: None,
        processing: None,
        tags: Vec::new(),
        suggested: Vec::new(),
        attempts: 0,
        duplicate_of: None,
        duplicates: Vec::new(),
        spent: None,
    };
    put(turn, None, &link)?;
    Ok(if duplicates::came(turn, &id)? { Meaning::Doubled(id) } else { Meaning::Touched(id) })
}

fn change(turn: &mut Turn<'_>, id: &str, to: impl FnOnce(&mut Link)) -> Result<Meaning, Halt<No>> {
    if let Some(before) = get(turn, id)? {
        let mut after = before.clone();
        to(&mut after);
        put(turn, Some(&before), &after)?;
    }
    Ok(Meaning::Nothing)
}

fn touched(turn: &mut Turn<'_>, id: &str, to: impl FnOnce(&mut Link)) -> Result<Meaning, Halt<No>> {
    change(turn, id, to)?;
    Ok(Meaning::Touched(id.to_owned()))
}

fn set_status(turn: &mut Turn<'_>, id: &str, status: Status, updated_at: Time) -> Result<(), Halt<No>> {
    let processing = Processing { status, error: None, reason: None, updated_at };
    change(turn, id, |link| link.processing = Some(processing)).map(drop)
}

fn tagging(turn: &mut Turn<'_>, event: &Event, args: &Value) -> Result<Meaning, Halt<No>> {
    let text = |name: &str| args.get(name).and_then(Value::as_str).map(str::to_owned);
    let (id, link, tag) = (text("id"), text("linkId"), text("tagId"));
    match (event.name.as_str(), id, link, tag) {
        ("v1.TagCreated", Some(id), _, _) => {
            let Some(name) = text("name") else { return Ok(Meaning::Nothing) };
            turn.delete(&format!("naming/{}", hash(&name)));
            if turn.get::<Tag>(&format!("tag/{id}"))?.is_none() {
                give_name(turn, &id, &name)?;
                turn.put(&format!("tag/{id}"), &Tag { name, deleted: false })?;
            }
        }
        ("v1.TagRenamed", Some(id), _, _) => {
            let tag = turn.get::<Tag>(&format!("tag/{id}"))?;
            let (Some(tag), Some(name)) = (tag, text("name")) else { return Ok(Meaning::Nothing) };
            take_name(turn, &id, &tag.name)?;
            if !tag.deleted {
                give_name(turn, &id, &name)?;
            }
            turn.put(&format!("tag/{id}"), &Tag { name, ..tag })?;
        }
        ("v1.TagDeleted", Some(id), _, _) => {
            if let Some(tag) = turn.get::<Tag>(&format!("tag/{id}"))? {
                take_name(turn, &id, &tag.name)?;
                turn.put(&format!("tag/{id}"), &Tag { deleted: true, ..tag })?;
            }
        }
        ("v1.LinkTagged", Some(id), Some(link), Some(tag)) => {
            turn.put(&format!("tagging/{id}"), &vec![link.clone(), tag.clone()])?;
            change(turn, &link, |link| {
                if !link.tags.contains(&tag) && link.tags.len() < LINK_TAGS {
                    link.tags.push(tag);
                }
            })?;
        }
        ("v2.LinkUntagged", _, Some(link), Some(tag)) => {
            change(turn, &link, |link| link.tags.retain(|other| *other != tag))?;
        }
        ("v1.LinkUntagged", Some(id), _, _) => {
            let tied: Option<Vec<String>> = turn.get(&format!("tagging/{id}"))?;
            if let Some([link, tag]) = tied.as_deref() {
                change(turn, link, |link| link.tags.retain(|other| other != tag))?;
            }
        }
        ("v1.TagSuggested", Some(id), Some(link), _) => {
            let Some(name) = text("suggestedName") else { return Ok(Meaning::Nothing) };
            let key = format!("suggestion/{id}");
            if turn.get::<Suggestion>(&key)?.is_some() {
                return Ok(Meaning::Nothing);
            }
            let status = SuggestionStatus::Pending;
            turn.put(&key, &Suggestion { link: link.clone(), name: name.clone(), status })?;
            change(turn, &link, |link| {
                if !link.suggested.contains(&name) && link.suggested.len() < LINK_TAGS {
                    link.suggested.push(name);
                }
            })?;
        }
        ("v1.TagSuggestionAccepted", Some(id), _, _) => settle(turn, &id, SuggestionStatus::Accepted)?,
        ("v1.TagSuggestionDismissed", Some(id), _, _) => settle(turn, &id, SuggestionStatus::Dismissed)?,
        _ => {}
    }
    Ok(Meaning::Nothing)
}

/// A name is the tag's that had it first.
fn give_name(turn: &mut Turn<'_>, id: &str, name: &str) -> Result<(), Halt<No>> {
    let named = format!("named/{}", hash(name));
    match turn.get::<String>(&named)? {
        Some(_) => Ok(()),
        None => Ok(turn.put(&named, &id.to_owned())?),
    }
}

fn take_name(turn: &mut Turn<'_>, id: &str, name: &str) -> Result<(), Halt<No>> {
    let named = format!("named/{}", hash(name));
    if turn.get::<String>(&named)?.is_some_and(|owner| owner == id) {
        turn.delete(&named);
    }
    Ok(())
}

/// Somebody took a suggestion, or did not want it. One that was not wanted may be made again.
fn settle(turn: &mut Turn<'_>, id: &str, status: SuggestionStatus) -> Result<(), Halt<No>> {
    let key = format!("suggestion/{id}");
    let Some(suggestion) = turn.get::<Suggestion>(&key)? else { return Ok(()) };
    let Suggestion { link, name, .. } = &suggestion;
    change(turn, link, |link| {
        link.suggested.retain(|other| other != name);
        if status == SuggestionStatus::Accepted && link.suggested.len() < LINK_TAGS {
            link.suggested.push(name.clone());
        }
    })?;
    Ok(turn.put(&key, &Suggestion { status, ..suggestion })?)
}

impl Tally {
    /// The count of a state.
    fn of(&mut self, state: State) -> &mut u64 {
        match state {
            State::Inbox => &mut self.inbox,
            State::Completed => &mut self.completed,
            State::Archive => &mut self.archive,
        }
    }
}
