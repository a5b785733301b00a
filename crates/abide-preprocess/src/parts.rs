//! Reports of many pages: they come a part at a time, each part a row, before the callback that they belong to.

use crate::limits::REPORT_PAGES;
use crate::phases::Phase;
use crate::refusal::No;
use crate::report::{PageOutput, Report};
use crate::rows::{part_key, part_prefix, parts_key};
use crate::task::Task;
use abide_core::limits::SCAN_ROWS;
use abide_engine::{Halt, Record, Turn};
use serde::{Deserialize, Serialize};

/// How far the parts of a report have come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Parts {
    /// Of which attempt.
    attempt: u32,
    /// Pages that are here.
    pages: u32,
    /// What is wrong with one of them.
    wrong: Option<String>,
}

impl Record for Parts {}

/// One part.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
struct Part(Vec<PageOutput>);

impl Record for Part {}

/// Keeps pages of a live attempt's report. How many there are now.
pub(crate) fn keep(
    turn: &mut Turn<'_>,
    task: &Task,
    phase: &dyn Phase,
    from: u32,
    pages: Vec<PageOutput>,
    prefix: &str,
) -> Result<u32, Halt<No>> {
    let key = parts_key(task.phase, &task.place);
    let known = turn.get::<Parts>(&key)?.filter(|parts| parts.attempt == task.attempt);
    let mut parts = match known {
        Some(parts) => parts,
        None => {
            forget(turn, task)?;
            Parts { attempt: task.attempt, pages: 0, wrong: None }
        }
    };
    let more = u32::try_from(pages.len()).unwrap_or(u32::MAX);
    // A worker that begins again is told where to go on.
    if from != parts.pages || more == 0 || (from.saturating_add(more) as usize) > REPORT_PAGES {
        return Ok(parts.pages);
    }
    let report = Report { outputs: Some(pages.clone()), ..Report::success() };
    let sound = report
        .check_pages(from)
        .and_then(|()| report.check_names())
        .and_then(|()| report.check_keys(|key| phase.may_put(&task.input, key)));
    let wrong = report.outside_of(prefix).or_else(|| sound.err());
    parts.wrong = parts.wrong.or(wrong);
    parts.pages += more;
    turn.put(&part_key(task.phase, &task.place, from), &Part(pages))?;
    turn.put(&key, &parts)?;
    Ok(parts.pages)
}

/// A report whose first `count` pages came in parts, with the first part; the reason if they are not sound.
pub(crate) fn first(
    turn: &mut Turn<'_>,
    task: &Task,
    report: Report,
    count: u32,
) -> Result<Result<Report, String>, Halt<No>> {
    let parts = turn.get::<Parts>(&parts_key(task.phase, &task.place))?;
    Ok(match parts.filter(|parts| parts.attempt == task.attempt) {
        Some(Parts { wrong: Some(wrong), .. }) => Err(wrong),
        Some(parts) if parts.pages == count => Ok(Report {
            page_count: Some(report.page_count.unwrap_or(count)),
            outputs: Some(part(turn, task, 0)?),
            ..report
        }),
        Some(_) | None => Err("the pages of the report did not all come".to_owned()),
    })
}

/// The pages behind the first `from`.
pub(crate) fn part(turn: &mut Turn<'_>, task: &Task, from: u32) -> Result<Vec<PageOutput>, Halt<No>> {
    let part = turn.get::<Part>(&part_key(task.phase, &task.place, from))?;
    Ok(part.map_or_else(Vec::new, |Part(pages)| pages))
}

/// Pages that are files now are not needed here.
pub(crate) fn spent(turn: &mut Turn<'_>, task: &Task, from: u32) {
    turn.delete(&part_key(task.phase, &task.place, from));
    turn.delete(&parts_key(task.phase, &task.place));
}

/// What a former attempt left.
fn forget(turn: &mut Turn<'_>, task: &Task) -> Result<(), Halt<No>> {
    for (key, _) in turn.scan::<Part>(&part_prefix(task.phase, &task.place), None, SCAN_ROWS)? {
        turn.delete(&key);
    }
    Ok(())
}
