//! A new version: its manifest, its id, and everybody who is to know.

use crate::answer::Metadata;
use crate::blobs::{Blobs, MAIN};
use crate::catalog::Catalog;
use crate::children;
use crate::content::ContentId;
use crate::id::EntityId;
use crate::limits;
use crate::manifest::{id_of, manifest};
use crate::messages::{ToBlobs, ToCatalog};
use crate::refusal::No;
use crate::rows::{self, Component, HEAD, Head};
use crate::stamp::stamp;
use abide_core::name::{Kind, Name};
use abide_core::object::ObjectKey;
use abide_engine::{Halt, Object, Turn};
use std::collections::BTreeSet;

/// What a turn changed beside the head.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Blobs that the version names and the one before did not.
    pub(crate) named: Vec<ContentId>,
    /// Blobs that were brought again under the names that they have.
    pub(crate) held: Vec<ContentId>,
    /// Pages that have other children now.
    pub(crate) pages: BTreeSet<u64>,
}

/// Makes the version that the rows and the head say: `head.version.ver` is its number already.
pub(crate) fn seal(
    turn: &mut Turn<'_>,
    id: &EntityId,
    head: &mut Head,
    mut changes: Changes,
) -> Result<(), Halt<No>> {
    let components = rows::all::<Component, No>(turn, rows::COMPONENTS, None)?;
    if components.len() > limits::COMPONENTS {
        return Err(No::TooManyComponents(components.len()).into());
    }
    let version = &mut head.version;
    version.components = components.len() as u32;
    let (children, pages) = children::seal(turn, version, std::mem::take(&mut changes.pages))?;
    let named = components.into_iter().map(|(key, held)| {
        let name = key.strip_prefix(rows::COMPONENTS).unwrap_or(&key).to_owned();
        (name, held.cid)
    });
    version.cid = id_of(&manifest(id, head.created_at, version, named, &children));
    turn.put(&rows::version(version.ver), version)?;
    turn.put(&rows::by_cid(version.cid), &version.ver)?;
    turn.send(
        &main(Catalog::KIND),
        &ToCatalog::Version {
            cid: version.cid,
            pages,
            metadata: Box::new(Metadata {
                kind: version.kind.clone(),
                label: version.label.clone(),
                ver: version.ver,
                ts: stamp(version.ts),
                note: version.note.clone(),
                component_count: version.components,
                children_count: version.children,
            }),
        },
    )?;
    let Changes { named, held, pages: _ } = changes;
    if !named.is_empty() || !held.is_empty() {
        turn.send(&main(Blobs::KIND), &ToBlobs { named, held, dropped: Vec::new() })?;
    }
    turn.put(HEAD, head)?;
    Ok(())
}

/// Begins the next version of an entity: nothing is different yet but its number, its time and its note.
pub(crate) fn next(turn: &Turn<'_>, head: &mut Head, note: Option<String>) {
    let version = &mut head.version;
    version.prev = Some(version.cid);
    version.ver += 1;
    version.ts = turn.now().0;
    version.note = note;
}

/// The one object of its kind.
pub(crate) fn main(kind: &'static str) -> ObjectKey {
    ObjectKey { kind: Kind::trusted(kind), name: Name::trusted(MAIN) }
}
