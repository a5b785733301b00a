//! One writer per object: versions rise by one, each commit's fence was the present, no life is used twice.

use super::ask;
use crate::counts::Counts;
use crate::outcome::{Violation, holds};
use abide_core::commit::{Commit, Ending};
use abide_core::name::IdempotencyKey;
use abide_core::object::{Fence, Incarnation, Life, ObjectKey, Version};
use abide_core::time::Time;
use abide_store::write::{Receipt, Refused};
use abide_store::{Answer, Read, Reader};
use std::collections::{BTreeMap, BTreeSet};

const ONE_WRITER: &str = "one writer per object";

/// Where each object is.
#[derive(Debug, Default)]
pub(crate) struct Lives {
    present: BTreeMap<ObjectKey, Present>,
    used: BTreeSet<Incarnation>,
    /// Objects that have had a life.
    named: BTreeSet<ObjectKey>,
    touched: BTreeSet<ObjectKey>,
    /// Calls with a key that took effect. No run lasts long enough for one to be forgotten.
    keys: BTreeSet<(ObjectKey, IdempotencyKey)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Present {
    incarnation: Incarnation,
    version: Version,
    by: Life,
    turn_at: Time,
}

impl Lives {
    pub(crate) fn is_alive(&self, object: &ObjectKey, life: Incarnation) -> bool {
        self.present.get(object).is_some_and(|present| present.incarnation == life)
    }

    fn is_present(&self, object: &ObjectKey, fence: &Fence) -> bool {
        match (fence, self.present.get(object)) {
            (Fence::Absent { .. }, present) => present.is_none(),
            (Fence::At { incarnation, version, by }, Some(present)) => {
                (present.incarnation, present.version, present.by) == (*incarnation, *version, *by)
            }
            (Fence::At { .. }, None) => false,
        }
    }

    pub(super) fn committed(
        &mut self,
        commit: &Commit,
        receipt: &Receipt,
        counts: &mut Counts,
    ) -> Result<(), Violation> {
        counts.one("commit: accepted");
        let object = &commit.object;
        let before = self.present.get(object).copied();
        holds(ONE_WRITER, self.is_present(object, &commit.fence), || {
            format!("{object} is at {before:?}, and a commit with {:?} was accepted", commit.fence)
        })?;
        if let Some(before) = before {
            holds("a turn's now never decreases", commit.at >= before.turn_at, || {
                format!("{object}: a turn at {} after one at {}", commit.at, before.turn_at)
            })?;
        }
        let begins = before.is_none() && commit.keeps_state();
        if begins {
            let life = commit.fence.incarnation();
            holds("no life is used twice", self.used.insert(life), || {
                format!("{object} began {life:?} again")
            })?;
        }
        let goes_on = commit.ending == Ending::Stays && (before.is_some() || begins);
        let after = goes_on.then(|| Present {
            incarnation: commit.fence.incarnation(),
            version: commit.fence.version_after(),
            by: commit.by,
            turn_at: commit.at,
        });
        holds("versions rise by one", receipt.version == after.map(|after| after.version), || {
            format!("{object}: the receipt says {:?}, not {after:?}", receipt.version)
        })?;
        match after {
            Some(after) => self.present.insert(object.clone(), after),
            None => self.present.remove(object),
        };
        if before.is_some() && after.is_none() {
            counts.one("commit: object deleted");
        }
        if begins && !self.named.insert(object.clone()) {
            counts.one("commit: object began again");
        }
        self.touched.insert(object.clone());
        if let Some(reply) = &commit.keyed_reply {
            let is_new = self.keys.insert((object.clone(), reply.key.clone()));
            holds("a call with a key takes effect once", is_new, || format!("{object}: {:?}", reply.key))?;
        }
        Ok(())
    }

    /// A commit may only be refused for what is so.
    pub(super) fn refused(
        &self,
        commit: &Commit,
        refused: &Refused,
        counts: &mut Counts,
    ) -> Result<(), Violation> {
        counts.one(match refused {
            Refused::Moved => "commit: refused, moved",
            Refused::EventGone => "commit: refused, event gone",
        });
        if *refused == Refused::Moved && matches!(commit.fence, Fence::At { by, .. } if by == commit.by) {
            counts.one("commit: speculation discarded");
        }
        let has_reply = commit
            .keyed_reply
            .as_ref()
            .is_some_and(|reply| self.keys.contains(&(commit.object.clone(), reply.key.clone())));
        let fits = self.is_present(&commit.object, &commit.fence) && !has_reply;
        holds("a commit is refused only if it must be", fits == (*refused == Refused::EventGone), || {
            format!("{} with {:?}: {refused:?}", commit.object, commit.fence)
        })
    }

    /// What was acknowledged is there.
    pub(super) fn check_touched(&mut self, reader: &mut dyn Reader, now: Time) -> Result<(), Violation> {
        for object in std::mem::take(&mut self.touched) {
            let Answer::Object(view) = ask(reader, now, &Read::Object(object.clone()))? else { continue };
            let seen = view.map(|view| (view.incarnation, view.version));
            let known = self.present.get(&object).map(|present| (present.incarnation, present.version));
            holds("nothing acknowledged is lost", seen == known, || {
                format!("{object} is at {seen:?} after commits up to {known:?} were accepted")
            })?;
        }
        Ok(())
    }
}
