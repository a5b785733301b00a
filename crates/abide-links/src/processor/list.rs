//! Listing and searching.

use super::calls::{Duplicate, LinkView, Listed, Query, SpentView, State, processing_word};
use super::duplicates::stands_for;
use super::object::PASSED_OVER;
use super::projection::get;
use super::refusal::No;
use super::rows::{Link, PassedOver, Tag, Tally, Work};
use super::sort::Sort;
use super::together::{self, together};
use super::work::{tags_of, work_key};
use crate::limits::{DUPLICATES, DUPLICATES_LISTED, PAGE_LINKS, PAGE_LINKS_DEFAULT, SCANNED, SEARCHED};
use crate::stamp::{from_iso, iso};
use abide_core::time::Time;
use abide_engine::{Halt, Turn};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as CURSOR_CODE;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A page of links in the order that is asked for, or those that fit what is looked for, best first.
pub(super) fn list(turn: &mut Turn<'_>, query: &Query) -> Result<Listed, Halt<No>> {
    let limit = query.limit.unwrap_or(PAGE_LINKS_DEFAULT);
    if limit == 0 || limit > PAGE_LINKS {
        return Err(No::Invalid(format!("limit is {limit}: give 1 to {PAGE_LINKS}")).into());
    }
    let range = Range::of(query)?;
    let listed = match query.q.as_deref().map(str::trim).filter(|q| !q.is_empty()) {
        Some(q) => search(turn, &Range { sort: Sort::Newest, ..range }, q, query, limit)?,
        None => page(turn, &range, query.cursor.as_deref(), limit)?,
    };
    let passed_over = turn.get::<PassedOver>(PASSED_OVER)?.map(|passed| passed.count);
    Ok(Listed { passed_over, ..listed })
}

/// Which links, and in which order.
struct Range {
    states: Vec<State>,
    sort: Sort,
    after: Option<Time>,
    before: Option<Time>,
}

impl Range {
    fn of(query: &Query) -> Result<Range, No> {
        Ok(Range {
            states: states(query)?,
            sort: Sort::named(query.sort.as_deref())?,
            after: query.created_after.as_ref().map(|text| instant("createdAfter", text)).transpose()?,
            before: query.created_before.as_ref().map(|text| instant("createdBefore", text)).transpose()?,
        })
    }

    fn is_whole(&self) -> bool {
        self.after.is_none() && self.before.is_none()
    }

    /// The first rank that is in it and the first that is past it.
    fn ranks(&self) -> (Option<String>, Option<String>) {
        let rank = |at: Time| self.sort.rank(at);
        match self.sort {
            Sort::Newest => (self.before.map(|before| rank(before.plus_ms(-1))), self.after.map(rank)),
            Sort::Oldest => (self.after.map(|after| rank(after.plus_ms(1))), self.before.map(rank)),
        }
    }

    /// Places past `after` with the ids of their links, at most `limit` of each state.
    fn places(
        &self,
        turn: &mut Turn<'_>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, String)>, Halt<No>> {
        let (first, end) = self.ranks();
        let mut places = Vec::new();
        for state in &self.states {
            let prefix = self.sort.prefix(*state);
            let after = after.max(first.as_deref()).map(|after| format!("{prefix}{after}"));
            let found: Vec<(String, String)> = turn.scan(&prefix, after.as_deref(), limit)?;
            let found = found.into_iter().map(|(key, id)| (key[prefix.len()..].to_owned(), id));
            places.extend(found.filter(|(place, _)| end.as_ref().is_none_or(|end| place < end)));
        }
        places.sort();
        Ok(places)
    }

    /// How many there are; of a part of the time, at most as many as a search looks at.
    fn total(&self, turn: &mut Turn<'_>) -> Result<u64, Halt<No>> {
        if self.is_whole() {
            let tally: Tally = turn.get("tally")?.unwrap_or_default();
            let count = |state: &State| match state {
                State::Inbox => tally.inbox,
                State::Completed => tally.completed,
                State::Archive => tally.archive,
            };
            return Ok(self.states.iter().map(count).sum());
        }
        let mut total = 0;
        for state in &self.states {
            let one = Range { states: vec![*state], sort: self.sort, after: self.after, before: self.before };
            let mut after: Option<String> = None;
            for _ in 0..SEARCHED / SCANNED {
                let places = one.places(turn, after.as_deref(), SCANNED)?;
                total += places.len() as u64;
                let Some((last, _)) = places.into_iter().next_back() else { break };
                after = Some(last);
            }
        }
        Ok(total)
    }
}

/// The instant that a field says.
pub(super) fn instant(field: &str, text: &str) -> Result<Time, No> {
    from_iso(text).ok_or_else(|| {
        No::Invalid(format!("{field} is {text:?}: give an instant such as 2026-01-01T00:00:00.000Z"))
    })
}

/// Where a page ended: when that link was created, and its id.
#[derive(Serialize, Deserialize)]
struct Cursor {
    t: i64,
    id: String,
}

/// How many of what was found were shown: it is in the order of how well it fits.
#[derive(Serialize, Deserialize)]
struct Found {
    shown: usize,
}

impl Found {
    fn read(text: &str) -> Result<Found, No> {
        read_cursor(text)
    }

    fn text(&self) -> String {
        CURSOR_CODE.encode(serde_json::json!({ "shown": self.shown }).to_string())
    }
}

fn read_cursor<C: DeserializeOwned>(text: &str) -> Result<C, No> {
    let bytes = CURSOR_CODE.decode(text).ok();
    let cursor = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    cursor.ok_or_else(|| No::Invalid(format!("cursor is {text:?}, which no page gave as its nextCursor")))
}

impl Cursor {
    fn read(text: &str) -> Result<Cursor, No> {
        read_cursor(text)
    }

    fn text(&self) -> String {
        CURSOR_CODE.encode(serde_json::json!({ "t": self.t, "id": self.id }).to_string())
    }
}

fn states(query: &Query) -> Result<Vec<State>, No> {
    Ok(match query.state.as_deref().unwrap_or("active") {
        "inbox" => vec![State::Inbox],
        "completed" => vec![State::Completed],
        "archive" => vec![State::Archive],
        "active" => vec![State::Inbox, State::Completed],
        "any" | "all" => vec![State::Inbox, State::Completed, State::Archive],
        other => {
            let known = "inbox, completed, active, any, all or archive";
            return Err(No::Invalid(format!("state is {other:?}: give {known}")));
        }
    })
}

fn page(turn: &mut Turn<'_>, range: &Range, cursor: Option<&str>, limit: usize) -> Result<Listed, Halt<No>> {
    let cursor = cursor.map(Cursor::read).transpose()?;
    let after = cursor.map(|Cursor { t, id }| format!("{}/{id}", range.sort.rank(Time(t))));
    let mut places = range.places(turn, after.as_deref(), limit + 1)?;
    let more = places.len() > limit;
    places.truncate(limit);
    let links = together::links(turn, places.iter().map(|(_, id)| id.as_str()))?;
    let last = links.last().map(|link| Cursor { t: link.created_at.0, id: link.id.clone() });
    let next_cursor = last.filter(|_| more).map(|last| last.text());
    Ok(Listed { links: views(turn, &links)?, total: range.total(turn)?, next_cursor, passed_over: None })
}

/// Looks through the newest links; how often and where the words are found is how well a link fits.
fn search(
    turn: &mut Turn<'_>,
    range: &Range,
    q: &str,
    query: &Query,
    limit: usize,
) -> Result<Listed, Halt<No>> {
    let from = query.cursor.as_deref().map(Found::read).transpose()?.map_or(0, |found| found.shown);
    let all = match query.matching.as_deref().unwrap_or("any") {
        "any" => false,
        "all" => true,
        other => return Err(No::Invalid(format!("match is {other:?}: give any or all")).into()),
    };
    let words: Vec<String> = q.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let (mut ids, mut after): (Vec<String>, Option<String>) = (Vec::new(), None);
    while ids.len() < SEARCHED {
        let mut places = range.places(turn, after.as_deref(), SCANNED)?;
        places.truncate(SCANNED.min(SEARCHED - ids.len()));
        let Some((last, _)) = places.last() else { break };
        after = Some(last.clone());
        ids.extend(places.into_iter().map(|(_, id)| id));
    }
    let mut found: Vec<(u32, Link, Vec<String>)> = Vec::new();
    let links = together::links(turn, ids.iter().map(String::as_str))?;
    let tags = tags_of(turn, &links)?;
    for link in links {
        let (score, fields) = fit(&link, &tags, &words, all);
        if score > 0 {
            found.push((score, link, fields));
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.created_at.cmp(&a.1.created_at)).then(a.1.id.cmp(&b.1.id)));
    let total = found.len();
    let shown = from.saturating_add(limit);
    let found: Vec<_> = found.into_iter().skip(from).take(limit).collect();
    let next_cursor = (shown < total).then(|| Found { shown }.text());
    let (links, marks): (Vec<Link>, Vec<_>) =
        found.into_iter().map(|(score, link, fields)| (link, (score, fields))).unzip();
    let marked = |(view, (score, fields)): (LinkView, (u32, Vec<String>))| LinkView {
        score: Some(score),
        matched_fields: Some(fields),
        ..view
    };
    let links = views(turn, &links)?.into_iter().zip(marks).map(marked).collect();
    Ok(Listed { links, total: total as u64, next_cursor, passed_over: None })
}

/// The links of these ids.
pub(super) fn named(turn: &mut Turn<'_>, ids: &[String]) -> Result<Vec<LinkView>, Halt<No>> {
    let found = together(ids.iter().map(|id| get(turn, id)))?;
    let known = found.into_iter().zip(ids).map(|(link, id)| link.ok_or_else(|| No::UnknownLink(id.clone())));
    let links: Vec<Link> = known.collect::<Result<_, No>>()?;
    views(turn, &links)
}

/// Links among others as the API shows them.
fn views(turn: &mut Turn<'_>, links: &[Link]) -> Result<Vec<LinkView>, Halt<No>> {
    together(links.iter().map(|link| listed(turn, link)))
}

/// A link among others: with the first of its duplicates.
pub(super) fn listed(turn: &mut Turn<'_>, link: &Link) -> Result<LinkView, Halt<No>> {
    view_with(turn, link, DUPLICATES_LISTED)
}

fn fit(link: &Link, names: &BTreeMap<String, String>, words: &[String], all: bool) -> (u32, Vec<String>) {
    let snapshot = link.snapshot.clone().unwrap_or_default();
    let tags: Vec<&str> = link.tags.iter().filter_map(|id| names.get(id)).map(String::as_str).collect();
    let fields = [
        ("title", snapshot.title.unwrap_or_default(), 4),
        ("tags", tags.join(" "), 3),
        ("summary", link.summary.clone().unwrap_or_default(), 2),
        ("description", snapshot.description.unwrap_or_default(), 2),
        ("domain", link.domain.clone(), 2),
        ("url", link.url.clone(), 1),
    ];
    let (mut score, mut matched) = (0, Vec::new());
    let mut seen = vec![false; words.len()];
    for (name, text, weight) in fields {
        let text = text.to_lowercase();
        let hits = words.iter().enumerate().filter(|(_, word)| text.contains(word.as_str()));
        let hits: Vec<usize> = hits.map(|(at, _)| at).collect();
        if !hits.is_empty() {
            matched.push(name.to_owned());
            score += weight * u32::try_from(hits.len()).unwrap_or(u32::MAX);
            hits.into_iter().for_each(|at| seen[at] = true);
        }
    }
    if all && seen.contains(&false) { (0, Vec::new()) } else { (score, matched) }
}

/// A link as the API shows it.
pub(super) fn view(turn: &mut Turn<'_>, link: &Link) -> Result<LinkView, Halt<No>> {
    view_with(turn, link, DUPLICATES)
}

/// A link with so many of its duplicates.
fn view_with(turn: &mut Turn<'_>, link: &Link, duplicates: usize) -> Result<LinkView, Halt<No>> {
    let tags = together(link.tags.iter().map(|id| Ok(turn.get::<Tag>(&format!("tag/{id}"))?)))?;
    let tags = tags.into_iter().flatten().filter(|tag| !tag.deleted).map(|tag| tag.name).collect();
    let shown = together::links(turn, link.duplicates.iter().take(duplicates).map(String::as_str))?;
    let duplicates = shown.into_iter().map(|Link { id, url, .. }| Duplicate { id, url }).collect();
    let is_under_way = link.is_pending() && turn.get::<Work>(&work_key(&link.id))?.is_some();
    let snapshot = link.snapshot.clone().unwrap_or_default();
    Ok(LinkView {
        id: link.id.clone(),
        url: link.url.clone(),
        title: snapshot.title,
        description: snapshot.description,
        summary: link.summary.clone(),
        summary_model: link.summary_model.clone().filter(|_| link.summary.is_some()),
        domain: link.domain.clone(),
        image: snapshot.image,
        favicon: snapshot.favicon,
        tags,
        state: State::of(link),
        processing: processing_word(link, is_under_way).to_owned(),
        error: link.processing.as_ref().and_then(|processing| processing.error.clone()),
        reason: link.processing.as_ref().and_then(|processing| processing.reason.clone()),
        source: link.source.clone(),
        created_at: iso(link.created_at),
        completed_at: link.completed_at.map(iso),
        deleted_at: link.deleted_at.map(iso),
        duplicates,
        duplicate_count: Some(link.duplicates.len()).filter(|count| *count > 0),
        duplicate_of: stands_for(turn, link)?,
        spent: link.spent.map(SpentView::from),
        score: None,
        matched_fields: None,
    })
}
