//! Where objects are: their lives and versions, of those used lately kept in memory.

use crate::error::Outcome;
use crate::writer::Writer;
use abide_core::log::Seq;
use abide_core::object::{Fence, Incarnation, Life, ObjectKey, Version};
use abide_store::write::Refused;
use std::collections::BTreeMap;

/// Objects known at most after a batch.
const KNOWN: usize = 16_384;

/// What a commit needs to know of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Present {
    pub(crate) incarnation: Incarnation,
    pub(crate) version: Version,
    pub(crate) by: Life,
    pub(crate) log_head: Seq,
}

/// Objects that exist.
#[derive(Default)]
pub(crate) struct Headers {
    known: BTreeMap<ObjectKey, Present>,
}

const FIND: &str = "SELECT incarnation, version, by, log_head FROM objects WHERE kind = ?1 AND name = ?2";

impl Headers {
    pub(crate) fn put(&mut self, object: &ObjectKey, present: Present) {
        self.known.insert(object.clone(), present);
    }

    pub(crate) fn change(&mut self, object: &ObjectKey, change: impl FnOnce(&mut Present)) {
        if let Some(present) = self.known.get_mut(object) {
            change(present);
        }
    }

    pub(crate) fn remove(&mut self, object: &ObjectKey) {
        self.known.remove(object);
    }

    /// Forgets everything if it has become too much.
    pub(crate) fn shrink(&mut self) {
        if self.known.len() > KNOWN {
            self.known.clear();
        }
    }
}

impl Writer<'_> {
    pub(crate) fn find(&mut self, object: &ObjectKey) -> Outcome<Option<Present>> {
        if let Some(present) = self.held.headers.known.get(object) {
            return Ok(Some(*present));
        }
        let found = self.db.one(FIND, (object.kind.as_str(), object.name.as_str()), |row| {
            Ok(Present {
                incarnation: row.incarnation(0)?,
                version: Version(row.int(1)?),
                by: Life(row.count(2)?),
                log_head: Seq(row.int(3)?),
            })
        })?;
        if let Some(present) = found {
            self.held.headers.put(object, present);
        }
        Ok(found)
    }

    pub(crate) fn is_alive(&mut self, object: &ObjectKey, life: Incarnation) -> Outcome<bool> {
        Ok(self.find(object)?.is_some_and(|present| present.incarnation == life))
    }

    pub(crate) fn check_fence(&mut self, object: &ObjectKey, fence: &Fence) -> Outcome<Result<(), Refused>> {
        let holds = match (fence, self.find(object)?) {
            (Fence::Absent { .. }, present) => present.is_none(),
            (Fence::At { incarnation, version, by }, Some(present)) => {
                (present.incarnation, present.version, present.by) == (*incarnation, *version, *by)
            }
            (Fence::At { .. }, None) => false,
        };
        Ok(if holds { Ok(()) } else { Err(Refused::Moved) })
    }
}
