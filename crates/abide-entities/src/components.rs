//! The components of an entity: a row for each, and a row for each that older versions had.

use crate::content::ContentId;
use crate::refusal::No;
use crate::rows::{self, COMPONENTS, Component, FORMER, Formerly};
use crate::seal::Changes;
use abide_engine::{Halt, Turn};
use std::collections::{BTreeMap, BTreeSet};

/// Adds and replaces, then removes, for version `ver`. What is not there to be removed does not count.
pub(crate) fn change(
    turn: &mut Turn<'_>,
    ver: u32,
    add: BTreeMap<String, ContentId>,
    remove: &BTreeSet<String>,
    changes: &mut Changes,
) -> Result<(), Halt<No>> {
    if add.is_empty() && remove.is_empty() {
        return Ok(());
    }
    // One scan in place of a read for each: all of them are needed for the manifest anyway.
    let held: BTreeMap<String, Component> =
        rows::all::<Component, No>(turn, COMPONENTS, None)?.into_iter().collect();
    for (name, cid) in add.into_iter().filter(|(name, _)| !remove.contains(name)) {
        let key = rows::component(&name);
        match held.get(&key) {
            Some(component) if component.cid == cid => {
                changes.held.push(cid);
                continue;
            }
            Some(component) => retire(turn, ver, &name, *component)?,
            None => {}
        }
        turn.put(&key, &Component { cid, since: ver })?;
        changes.named.push(cid);
    }
    for name in remove {
        let key = rows::component(name);
        if let Some(component) = held.get(&key) {
            retire(turn, ver, name, *component)?;
            turn.delete(&key);
        }
    }
    Ok(())
}

fn retire(turn: &mut Turn<'_>, ver: u32, name: &str, component: Component) -> Result<(), Halt<No>> {
    let Component { cid, since } = component;
    Ok(turn.put(&rows::former(ver, name), &Formerly { name: name.to_owned(), cid, since })?)
}

/// The components of any version: those that are still there, and those that went after it.
pub(crate) fn of_version(turn: &mut Turn<'_>, ver: u32) -> Result<BTreeMap<String, ContentId>, Halt<No>> {
    let held = rows::all::<Component, No>(turn, COMPONENTS, None)?;
    let held = held.into_iter().filter(|(_, component)| component.since <= ver).map(|(key, component)| {
        let name = key.strip_prefix(COMPONENTS).unwrap_or(&key).to_owned();
        (name, component.cid)
    });
    let mut components: BTreeMap<String, ContentId> = held.collect();
    let past = rows::former(ver, "\u{10ffff}");
    for (_, former) in rows::all::<Formerly, No>(turn, FORMER, Some(&past))? {
        if former.since <= ver {
            components.insert(former.name, former.cid);
        }
    }
    Ok(components)
}
