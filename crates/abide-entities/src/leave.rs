//! The end of an entity: its parent lets go of it, blobs and catalog forget what it named, then it is gone.
//!
//! ```text
//! Delete, or a parent that was gone when it was created
//!        ──► no head any more, Left ──► parent
//!            a page of rows ──► blobs, catalog ── Forgotten ──► the next page … ──► gone, whoever waits is told
//! ```

use crate::blobs::Blobs;
use crate::catalog::Catalog;
use crate::content::ContentId;
use crate::entity::Reply;
use crate::id::EntityId;
use crate::limits::{DELETIONS_AWAITED, TOLD_AT_ONCE};
use crate::links;
use crate::messages::{ToBlobs, ToCatalog, ToEntity};
use crate::refusal::No;
use crate::rows::{
    Bond, COMPONENTS, Component, FORMER, Formerly, HEAD, Head, LEAVING, Leaving, Telling, VERSIONS, Version,
};
use crate::seal::main;
use abide_core::ticket::Ticket;
use abide_engine::{Answer, Halt, Object, Record, Turn};

/// Begins the deletion, or joins those who wait for it.
pub(crate) fn begin(
    turn: &mut Turn<'_>,
    id: &EntityId,
    head: Option<Head>,
    expect_tip: Option<ContentId>,
) -> Result<Answer<Reply>, Halt<No>> {
    let Some(head) = head else { return join(turn, id) };
    let actual = head.version.cid;
    if expect_tip.is_some_and(|expected| expected != actual) {
        return Ok(Reply::TipMoved { actual }.into());
    }
    if head.version.children > 0 {
        return Err(No::HasChildren { id: id.clone(), children: head.version.children }.into());
    }
    // A parent that has not answered yet finds nobody here when it does.
    if let (Some(parent), Some(Bond::Link(link))) = (&head.version.parent, head.bond) {
        links::send(turn, parent, &ToEntity::Left { link })?;
    }
    let ticket = turn.open_ticket();
    go(turn, vec![ticket.clone()])?;
    Ok(Answer::Later(ticket))
}

/// It is gone for everybody but those who are still to be told.
pub(crate) fn go(turn: &mut Turn<'_>, tickets: Vec<Ticket>) -> Result<(), Halt<No>> {
    turn.delete(HEAD);
    tell(turn, Leaving { tickets, telling: Telling::Components, after: None })
}

fn join(turn: &mut Turn<'_>, id: &EntityId) -> Result<Answer<Reply>, Halt<No>> {
    let Some(mut leaving) = turn.get::<Leaving>(LEAVING)? else { return Err(No::Unknown(id.clone()).into()) };
    if leaving.tickets.len() >= DELETIONS_AWAITED {
        return Err(No::Leaving(id.clone()).into());
    }
    let ticket = turn.open_ticket();
    leaving.tickets.push(ticket.clone());
    turn.put(LEAVING, &leaving)?;
    Ok(Answer::Later(ticket))
}

/// What was told is done: tells the next, or ends.
pub(crate) fn go_on(turn: &mut Turn<'_>) -> Result<(), Halt<No>> {
    match turn.get::<Leaving>(LEAVING)? {
        Some(leaving) => tell(turn, leaving),
        None => Ok(()),
    }
}

fn tell(turn: &mut Turn<'_>, mut leaving: Leaving) -> Result<(), Halt<No>> {
    loop {
        let after = leaving.after.clone();
        let (rows, next) = match leaving.telling {
            Telling::Components => {
                (page::<Component>(turn, COMPONENTS, after, |row| row.cid)?, Some(Telling::Former))
            }
            Telling::Former => {
                (page::<Formerly>(turn, FORMER, after, |row| row.cid)?, Some(Telling::Versions))
            }
            Telling::Versions => (page::<Version>(turn, VERSIONS, after, |row| row.cid)?, None),
        };
        if let Some((last, _)) = rows.last() {
            leaving.after = Some(last.clone());
            let cids = rows.into_iter().map(|(_, cid)| cid).collect();
            match leaving.telling {
                Telling::Components | Telling::Former => {
                    turn.send(&main(Blobs::KIND), &ToBlobs { dropped: cids, ..ToBlobs::default() })?;
                }
                Telling::Versions => turn.send(&main(Catalog::KIND), &ToCatalog::Gone { gone: cids })?,
            }
            return Ok(turn.put(LEAVING, &leaving)?);
        }
        let Some(next) = next else { break };
        leaving = Leaving { telling: next, after: None, ..leaving };
    }
    for ticket in &leaving.tickets {
        turn.resolve(ticket, &Reply::Deleted)?;
    }
    turn.delete_self();
    Ok(())
}

fn page<R: Record>(
    turn: &mut Turn<'_>,
    prefix: &str,
    after: Option<String>,
    cid: impl Fn(R) -> ContentId,
) -> Result<Vec<(String, ContentId)>, Halt<No>> {
    let found: Vec<(String, R)> = turn.scan(prefix, after.as_deref(), TOLD_AT_ONCE)?;
    Ok(found.into_iter().map(|(key, row)| (key, cid(row))).collect())
}
