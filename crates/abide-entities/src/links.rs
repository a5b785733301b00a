//! Links between parents and children: what each side does when the other one says something.
//!
//! ```text
//! parent adds     parent ── Adopted{link} ──► child ── Confirmed{link} ──► parent;  child ── Left ──► its former parent
//! parent removes  parent ── Released{link} ──► child ── Freed ──► parent
//! child asks      child ── Adopt{asked} ──► parent ── Adopted{link, asked} ──► child ── Confirmed{link} or Left{link} ──►
//! nobody there    Missing, and whoever reached out takes it back in a new version, or goes if that was its creation
//! ```

use crate::children::{self, Added};
use crate::content::ContentId;
use crate::entity::{Entity, Reply, made};
use crate::id::EntityId;
use crate::leave;
use crate::messages::ToEntity;
use crate::refusal::No;
use crate::rows::{self, Bond, Child, HEAD, Head, Waiting};
use crate::seal::{self, Changes};
use abide_core::event::Sender;
use abide_core::name::{Kind, Name};
use abide_core::object::ObjectKey;
use abide_engine::{Halt, Object, Turn, TurnError};

/// Sends something to another entity.
pub(crate) fn send(turn: &mut Turn<'_>, to: &EntityId, message: &ToEntity) -> Result<(), TurnError> {
    let object = ObjectKey { kind: Kind::trusted(Entity::KIND), name: Name::trusted(to.as_str()) };
    turn.send(&object, message)
}

/// Makes somebody a child of the version that is being made.
pub(crate) fn adopt(
    turn: &mut Turn<'_>,
    head: &mut Head,
    child: &EntityId,
    wait: Option<u64>,
    changes: &mut Changes,
) -> Result<(), Halt<No>> {
    let (Added::New(link) | Added::Renewed(link)) = children::add(turn, head, child, changes)?;
    Ok(send(turn, child, &ToEntity::Adopted { link, asked: None, wait })?)
}

/// Takes what another entity says.
pub(crate) fn take(
    turn: &mut Turn<'_>,
    id: &EntityId,
    from: &Sender,
    message: ToEntity,
) -> Result<(), Halt<No>> {
    let Ok(other) = EntityId::parse(from.object.name.as_str()) else { return Ok(()) };
    let Some(head) = turn.get::<Head>(HEAD)? else { return nobody(turn, &other, message) };
    let mut here = Here { turn, id, other: &other, head };
    match message {
        ToEntity::Adopt { asked } => here.adopt(asked),
        ToEntity::Adopted { link, asked, wait } => here.adopted(link, asked, wait),
        ToEntity::Confirmed { link, wait } => here.confirmed(link, wait),
        ToEntity::Left { link } => here.drop_child(link),
        ToEntity::Released { link, wait } => here.released(link, wait),
        ToEntity::Freed { wait } => here.settle(wait, Settled::ChildUpdated),
        ToEntity::Missing { link, asked, wait } => here.missing(link, asked, wait),
        ToEntity::Forgotten => Ok(()),
    }
}

/// Somebody reaches out to an entity that does not exist.
fn nobody(turn: &mut Turn<'_>, other: &EntityId, message: ToEntity) -> Result<(), Halt<No>> {
    let answer = match message {
        ToEntity::Adopt { asked } => ToEntity::Missing { link: None, asked: Some(asked), wait: None },
        ToEntity::Adopted { link, asked: _, wait } => {
            ToEntity::Missing { link: Some(link), asked: None, wait }
        }
        ToEntity::Released { link: _, wait } => ToEntity::Freed { wait },
        ToEntity::Confirmed { .. }
        | ToEntity::Left { .. }
        | ToEntity::Freed { .. }
        | ToEntity::Missing { .. }
        | ToEntity::Forgotten => return Ok(()),
    };
    Ok(send(turn, other, &answer)?)
}

/// Who a call waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Settled {
    Parent,
    ChildUpdated,
    ChildFailed,
}

/// An entity that another one speaks to.
struct Here<'t, 'c, 'a> {
    turn: &'t mut Turn<'c>,
    id: &'a EntityId,
    other: &'a EntityId,
    head: Head,
}

impl Here<'_, '_, '_> {
    /// The other asks to be a child.
    fn adopt(&mut self, asked: u64) -> Result<(), Halt<No>> {
        let mut changes = Changes::default();
        let before = self.head.clone();
        seal::next(self.turn, &mut self.head, None);
        let link = match children::add(self.turn, &mut self.head, self.other, &mut changes)? {
            Added::New(link) => {
                seal::seal(self.turn, self.id, &mut self.head, changes)?;
                link
            }
            Added::Renewed(link) => {
                self.head = Head { next_link: self.head.next_link, ..before };
                self.keep()?;
                link
            }
        };
        let adopted = ToEntity::Adopted { link, asked: Some(asked), wait: None };
        Ok(send(self.turn, self.other, &adopted)?)
    }

    /// The other is the parent, it says.
    fn adopted(&mut self, link: u64, asked: Option<u64>, wait: Option<u64>) -> Result<(), Halt<No>> {
        let is_parent = self.head.version.parent.as_ref() == Some(self.other);
        let answer = if is_parent {
            let is_newer = match self.head.bond {
                Some(Bond::Link(known)) => link > known,
                Some(Bond::Asked(_)) | None => true,
            };
            if is_newer {
                self.head.bond = Some(Bond::Link(link));
                self.keep()?;
            }
            ToEntity::Confirmed { link, wait }
        } else if asked.is_some() {
            // It asked once, and has another parent by now.
            ToEntity::Left { link }
        } else {
            self.leave()?;
            self.move_under(Some(self.other.clone()), Some(Bond::Link(link)))?;
            ToEntity::Confirmed { link, wait }
        };
        send(self.turn, self.other, &answer)?;
        self.settle(asked, Settled::Parent)
    }

    /// Tells the present parent that it is left. One that has not answered yet is told when it does.
    fn leave(&mut self) -> Result<(), Halt<No>> {
        if let (Some(former), Some(Bond::Link(link))) = (&self.head.version.parent, self.head.bond) {
            send(self.turn, former, &ToEntity::Left { link })?;
        }
        Ok(())
    }

    /// The other is a child and knows it.
    fn confirmed(&mut self, link: u64, wait: Option<u64>) -> Result<(), Halt<No>> {
        if self.turn.get::<Child>(&rows::child(self.other))?.is_none() {
            // It was removed before it knew that it had been added.
            send(self.turn, self.other, &ToEntity::Released { link, wait: None })?;
        }
        self.settle(wait, Settled::ChildUpdated)
    }

    /// The other is no child under this link.
    fn drop_child(&mut self, link: u64) -> Result<(), Halt<No>> {
        let known = self.turn.get::<Child>(&rows::child(self.other))?;
        if known.is_none_or(|known| known.link != link) {
            return Ok(());
        }
        let mut changes = Changes::default();
        seal::next(self.turn, &mut self.head, None);
        children::remove(self.turn, &mut self.head, self.other, &mut changes)?;
        seal::seal(self.turn, self.id, &mut self.head, changes)
    }

    /// The other is the parent no more.
    fn released(&mut self, link: u64, wait: Option<u64>) -> Result<(), Halt<No>> {
        let is_bound = matches!(self.head.bond, Some(Bond::Link(known)) if known <= link);
        if is_bound && self.head.version.parent.as_ref() == Some(self.other) {
            self.move_under(None, None)?;
        }
        Ok(send(self.turn, self.other, &ToEntity::Freed { wait })?)
    }

    /// The other does not exist.
    fn missing(&mut self, link: Option<u64>, asked: Option<u64>, wait: Option<u64>) -> Result<(), Halt<No>> {
        if let Some(link) = link {
            let before = self.head.version.cid;
            self.drop_child(link)?;
            self.carry(wait, before)?;
            self.settle(wait, Settled::ChildFailed)?;
        }
        if let Some(asked) = asked {
            let is_parent = self.head.version.parent.as_ref() == Some(self.other);
            if is_parent && self.head.bond == Some(Bond::Asked(asked)) {
                if self.head.version.ver == 1 && self.head.version.children == 0 {
                    return self.unmake(asked);
                }
                let before = self.head.version.cid;
                self.move_under(None, None)?;
                self.carry(Some(asked), before)?;
            }
            self.settle(Some(asked), Settled::Parent)?;
        }
        Ok(())
    }

    /// It was created as a child of somebody who was gone by then, and goes as well: whoever deleted the parent never heard
    /// of it, so nobody would ever delete it. Whoever created it hears that it is deleted.
    fn unmake(&mut self, asked: u64) -> Result<(), Halt<No>> {
        let waiting: Option<Waiting> = self.turn.get(&rows::waiting(asked))?;
        leave::go(self.turn, waiting.into_iter().map(|waiting| waiting.ticket).collect())
    }

    /// A new version with another parent.
    fn move_under(&mut self, parent: Option<EntityId>, bond: Option<Bond>) -> Result<(), Halt<No>> {
        seal::next(self.turn, &mut self.head, None);
        self.head.version.parent = parent;
        self.head.bond = bond;
        seal::seal(self.turn, self.id, &mut self.head, Changes::default())
    }

    fn keep(&mut self) -> Result<(), Halt<No>> {
        Ok(self.turn.put(HEAD, &self.head)?)
    }

    /// What a call did was taken back in a new version: it is answered with that one, unless somebody else made one since.
    fn carry(&mut self, wait: Option<u64>, before: ContentId) -> Result<(), Halt<No>> {
        let Some(key) = wait.map(rows::waiting) else { return Ok(()) };
        let Some(waiting) = self.turn.get::<Waiting>(&key)? else { return Ok(()) };
        if waiting.made.as_ref().is_some_and(|made| made.tip == before) {
            let made = Some(made(self.id, &self.head.version));
            self.turn.put(&key, &Waiting { made, ..waiting })?;
        }
        Ok(())
    }

    /// One of those a call waits for has answered. After the last one the call is answered.
    fn settle(&mut self, wait: Option<u64>, settled: Settled) -> Result<(), Halt<No>> {
        let Some(wait) = wait else { return Ok(()) };
        let key = rows::waiting(wait);
        let Some(mut waiting) = self.turn.get::<Waiting>(&key)? else { return Ok(()) };
        waiting.left = waiting.left.saturating_sub(1);
        match settled {
            Settled::Parent => {}
            Settled::ChildUpdated => waiting.children_updated += 1,
            Settled::ChildFailed => waiting.children_failed += 1,
        }
        if waiting.left > 0 {
            return Ok(self.turn.put(&key, &waiting)?);
        }
        self.turn.delete(&key);
        let mut made = waiting.made.unwrap_or_else(|| made(self.id, &self.head.version));
        let (updated, failed) = (waiting.children_updated, waiting.children_failed);
        if updated + failed > 0 {
            made.children_updated = Some(updated);
            made.children_failed = Some(failed);
        }
        Ok(self.turn.resolve(&waiting.ticket, &Reply::Made(made))?)
    }
}
