//! The children of an entity: rows by child and by place, and pages once there are many.

use crate::content::ContentId;
use crate::id::EntityId;
use crate::limits::PAGE_CHILDREN;
use crate::manifest::{self, Children, id_of};
use crate::refusal::No;
use crate::rows::{self, Child, Head, KINSHIPS, Kinship, PAGES, PageOfChildren, Version};
use crate::seal::Changes;
use abide_engine::{Halt, Turn};
use std::collections::BTreeSet;

/// Adds a child to the version that is being made, or renews the link of one that is there, and gives its link.
pub(crate) fn add(
    turn: &mut Turn<'_>,
    head: &mut Head,
    child: &EntityId,
    changes: &mut Changes,
) -> Result<Added, Halt<No>> {
    let link = head.next_link;
    head.next_link += 1;
    let key = rows::child(child);
    if let Some(known) = turn.get::<Child>(&key)? {
        turn.put(&key, &Child { link, ..known })?;
        return Ok(Added::Renewed(link));
    }
    let version = &mut head.version;
    let seq = version.next_seq;
    version.next_seq += 1;
    version.children += 1;
    turn.put(&key, &Child { seq, link })?;
    turn.put(&rows::kinship(seq), &Kinship { child: child.clone(), added: version.ver, removed: None })?;
    changes.pages.insert(seq / PAGE_CHILDREN);
    Ok(Added::New(link))
}

/// What adding a child did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Added {
    /// It was no child before.
    New(u64),
    /// It was one, and has another link now.
    Renewed(u64),
}

/// Removes a child from the version that is being made, and gives the link that it had.
pub(crate) fn remove(
    turn: &mut Turn<'_>,
    head: &mut Head,
    child: &EntityId,
    changes: &mut Changes,
) -> Result<Option<u64>, Halt<No>> {
    let key = rows::child(child);
    let Some(Child { seq, link }) = turn.get(&key)? else { return Ok(None) };
    turn.delete(&key);
    let version = &mut head.version;
    version.children -= 1;
    let place = rows::kinship(seq);
    match turn.get::<Kinship>(&place)? {
        // Added and removed in the same version: no version ever had it.
        Some(kinship) if kinship.added == version.ver => turn.delete(&place),
        Some(kinship) => turn.put(&place, &Kinship { removed: Some(version.ver), ..kinship })?,
        None => {}
    }
    changes.pages.insert(seq / PAGE_CHILDREN);
    Ok(Some(link))
}

/// Pages of children with their blocks.
pub(crate) type NewPages = Vec<(u64, ContentId)>;

/// The children as the manifest of `version`, the newest, has them, and the pages that are new in it.
pub(crate) fn seal(
    turn: &mut Turn<'_>,
    version: &Version,
    mut changed: BTreeSet<u64>,
) -> Result<(Children, NewPages), Halt<No>> {
    if version.next_seq <= PAGE_CHILDREN {
        return Ok((Children::Inline(in_version(turn, version.ver, Range::All)?), Vec::new()));
    }
    if turn.get::<PageOfChildren>(&rows::page(0))?.is_none() {
        changed.insert(0);
    }
    let mut new = Vec::new();
    for page in changed {
        let ids = in_version(turn, version.ver, Range::Page(page))?;
        let cid = (!ids.is_empty()).then(|| id_of(&manifest::page(&ids)));
        turn.put(&rows::page(page), &PageOfChildren { cid })?;
        new.extend(cid.map(|cid| (page, cid)));
    }
    let pages = rows::all::<PageOfChildren, No>(turn, PAGES, None)?;
    Ok((Children::Pages(pages.into_iter().filter_map(|(_, page)| page.cid).collect()), new))
}

/// The children as the manifest of any version has them.
pub(crate) fn of_version(turn: &mut Turn<'_>, version: &Version) -> Result<Children, Halt<No>> {
    if version.next_seq <= PAGE_CHILDREN {
        return Ok(Children::Inline(in_version(turn, version.ver, Range::All)?));
    }
    let mut cids = Vec::new();
    for page in 0..version.next_seq.div_ceil(PAGE_CHILDREN) {
        let ids = in_version(turn, version.ver, Range::Page(page))?;
        cids.extend((!ids.is_empty()).then(|| id_of(&manifest::page(&ids))));
    }
    Ok(Children::Pages(cids))
}

/// Which places to look at.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Range {
    /// Each.
    All,
    /// Those of one page.
    Page(u64),
}

/// Who was a child in a version, in the order in which they came.
pub(crate) fn in_version(turn: &mut Turn<'_>, ver: u32, range: Range) -> Result<Vec<EntityId>, Halt<No>> {
    let found = match range {
        Range::All => rows::all::<Kinship, No>(turn, KINSHIPS, None)?,
        // All places of a page begin with the same digits, and no others do.
        Range::Page(page) => rows::all::<Kinship, No>(turn, &format!("{KINSHIPS}{page:07}"), None)?,
    };
    let there = found.into_iter().filter(|(_, kinship)| kinship.is_in(ver));
    Ok(there.map(|(_, kinship)| kinship.child).collect())
}
