//! Listing and searching.

use super::calls::{LinkView, Listed, Query, State, processing_word};
use super::projection::get;
use super::refusal::No;
use super::rows::{Link, Tag, Tally, Work};
use super::work::work_key;
use crate::limits::{PAGE_LINKS, PAGE_LINKS_DEFAULT, SEARCHED};
use crate::stamp::iso;
use abide_engine::{Halt, Turn};

/// A page of links, newest first, or those that fit what is looked for, best first.
pub(super) fn list(turn: &mut Turn<'_>, query: &Query) -> Result<Listed, Halt<No>> {
    let states = states(query)?;
    let limit = query.limit.unwrap_or(PAGE_LINKS_DEFAULT).clamp(1, PAGE_LINKS);
    match query.q.as_deref().map(str::trim).filter(|q| !q.is_empty()) {
        Some(q) => search(turn, &states, q, query.matching.as_deref(), limit),
        None => page(turn, &states, query.cursor.as_deref(), limit),
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

fn page(
    turn: &mut Turn<'_>,
    states: &[State],
    cursor: Option<&str>,
    limit: usize,
) -> Result<Listed, Halt<No>> {
    let mut places: Vec<(String, String)> = Vec::new();
    for state in states {
        let prefix = format!("new/{}/", state.as_str());
        let after = cursor.map(|cursor| format!("{prefix}{cursor}"));
        let found: Vec<(String, String)> = turn.scan(&prefix, after.as_deref(), limit + 1)?;
        places.extend(found.into_iter().map(|(key, id)| (key[prefix.len()..].to_owned(), id)));
    }
    places.sort();
    let more = places.len() > limit;
    places.truncate(limit);
    let next_cursor = places.last().filter(|_| more).map(|(place, _)| place.clone());
    let mut links = Vec::new();
    for (_, id) in &places {
        if let Some(link) = get(turn, id)? {
            links.push(view(turn, &link)?);
        }
    }
    let tally: Tally = turn.get("tally")?.unwrap_or_default();
    let count = |state: &State| match state {
        State::Inbox => tally.inbox,
        State::Completed => tally.completed,
        State::Archive => tally.archive,
    };
    Ok(Listed { links, total: states.iter().map(count).sum(), next_cursor })
}

/// Looks through the newest links; how often and where the words are found is how well a link fits.
fn search(
    turn: &mut Turn<'_>,
    states: &[State],
    q: &str,
    matching: Option<&str>,
    limit: usize,
) -> Result<Listed, Halt<No>> {
    let all = match matching.unwrap_or("any") {
        "any" => false,
        "all" => true,
        other => return Err(No::Invalid(format!("match is {other:?}: give any or all")).into()),
    };
    let words: Vec<String> = q.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let mut found: Vec<(u32, Link, Vec<String>)> = Vec::new();
    let mut after: Option<String> = None;
    for _ in 0..SEARCHED / 1_000 {
        let links: Vec<(String, Link)> = turn.scan("link/", after.as_deref(), 1_000)?;
        let Some((last, _)) = links.last() else { break };
        after = Some(last.clone());
        for (_, link) in links.into_iter().filter(|(_, link)| states.contains(&State::of(link))) {
            let (score, fields) = fit(&link, &words, all);
            if score > 0 {
                found.push((score, link, fields));
            }
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.created_at.cmp(&a.1.created_at)));
    let total = found.len() as u64;
    found.truncate(limit);
    let mut links = Vec::new();
    for (score, link, fields) in found {
        links.push(LinkView { score: Some(score), matched_fields: Some(fields), ..view(turn, &link)? });
    }
    Ok(Listed { links, total, next_cursor: None })
}

fn fit(link: &Link, words: &[String], all: bool) -> (u32, Vec<String>) {
    let snapshot = link.snapshot.clone().unwrap_or_default();
    let fields = [
        ("title", snapshot.title.unwrap_or_default(), 4),
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
    let mut tags = Vec::new();
    for id in &link.tags {
        let tag: Option<Tag> = turn.get(&format!("tag/{id}"))?;
        tags.extend(tag.filter(|tag| !tag.deleted).map(|tag| tag.name));
    }
    let is_under_way = link.is_pending() && turn.get::<Work>(&work_key(&link.id))?.is_some();
    let snapshot = link.snapshot.clone().unwrap_or_default();
    Ok(LinkView {
        id: link.id.clone(),
        url: link.url.clone(),
        title: snapshot.title,
        description: snapshot.description,
        summary: link.summary.clone(),
        domain: link.domain.clone(),
        image: snapshot.image,
        favicon: snapshot.favicon,
        tags,
        state: State::of(link),
        processing: processing_word(link, is_under_way).to_owned(),
        error: link.processing.as_ref().and_then(|processing| processing.error.clone()),
        source: link.source.clone(),
        created_at: iso(link.created_at),
        completed_at: link.completed_at.map(iso),
        deleted_at: link.deleted_at.map(iso),
        score: None,
        matched_fields: None,
    })
}
