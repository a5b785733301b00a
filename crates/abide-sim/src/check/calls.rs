//! Calls: what was answered is true and stays true, and what failed left nothing behind.

use crate::outcome::{Violation, holds};
use abide_core::commit::Reply;
use abide_core::object::ObjectKey;
use abide_core::ticket::Ticket;
use std::collections::{BTreeMap, BTreeSet};

const TRUE_REPLIES: &str = "replies never show what was later lost";

/// What a caller was promised and got.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    adds: BTreeMap<String, Add>,
    /// The highest count that a reply has shown.
    shown: BTreeMap<ObjectKey, i64>,
    /// Replies to additions: each count is reached by one of them only.
    reached: BTreeMap<(ObjectKey, i64), String>,
    tickets: BTreeSet<Ticket>,
}

/// An addition under its tag.
#[derive(Debug)]
pub(crate) struct Add {
    pub(crate) object: ObjectKey,
    pub(crate) by: i64,
    sends: u32,
    failed: u32,
    reply: Option<i64>,
    /// A relay has promised to pass it on.
    relayed: bool,
}

/// What the reply to a call must be.
#[derive(Debug, Clone)]
pub(crate) enum Promise {
    /// A count that is at least this.
    Count { object: ObjectKey, at_least: i64 },
    /// What the count is after the addition of this tag.
    Added { tag: String, at_least: i64 },
    /// That the addition of this tag will be made.
    Relayed { tag: String },
    /// A ticket.
    Ticket,
    /// Nothing in particular.
    Nothing,
}

impl Calls {
    /// A count is asked for: it must not be less than what others have seen before.
    pub(crate) fn reading(&self, object: &ObjectKey) -> Promise {
        Promise::Count { object: object.clone(), at_least: self.shown.get(object).copied().unwrap_or(0) }
    }

    /// An addition is asked for.
    pub(crate) fn adding(&mut self, object: &ObjectKey, by: i64, tag: &str) -> Promise {
        let add = Add { object: object.clone(), by, sends: 0, failed: 0, reply: None, relayed: false };
        self.adds.insert(tag.to_owned(), add);
        let shown = self.shown.get(object).copied().unwrap_or(0);
        Promise::Added { tag: tag.to_owned(), at_least: shown + by }
    }

    /// An addition by way of a relay is asked for.
    pub(crate) fn relaying(&mut self, object: &ObjectKey, by: i64, tag: &str) -> Promise {
        self.adding(object, by, tag);
        Promise::Relayed { tag: tag.to_owned() }
    }

    fn add_of(&mut self, promise: &Promise) -> Option<&mut Add> {
        match promise {
            Promise::Added { tag, .. } | Promise::Relayed { tag } => self.adds.get_mut(tag),
            Promise::Count { .. } | Promise::Ticket | Promise::Nothing => None,
        }
    }

    /// The call goes out, for the first time or again.
    pub(crate) fn sent(&mut self, promise: &Promise) {
        if let Some(add) = self.add_of(promise) {
            add.sends += 1;
        }
    }

    /// The caller was told that nothing changed.
    pub(crate) fn failed(&mut self, promise: &Promise) {
        if let Some(add) = self.add_of(promise) {
            add.failed += 1;
        }
    }

    pub(crate) fn answered(&mut self, promise: &Promise, reply: &Reply) -> Result<(), Violation> {
        let count = |reply: &Reply| match reply {
            Reply::Now(json) => json.decode::<i64>().ok(),
            Reply::Later(_) => None,
        };
        match (promise, reply) {
            (Promise::Nothing, _) => Ok(()),
            (Promise::Relayed { .. }, _) => {
                if let Some(add) = self.add_of(promise) {
                    add.relayed = true;
                }
                Ok(())
            }
            (Promise::Ticket, Reply::Later(ticket)) => {
                self.tickets.insert(ticket.clone());
                Ok(())
            }
            (Promise::Ticket, Reply::Now(json)) => {
                holds(TRUE_REPLIES, false, || format!("a ticket was promised and {json} came"))
            }
            (Promise::Count { object, at_least }, reply) => {
                let count = count(reply);
                holds(TRUE_REPLIES, count.is_some_and(|count| count >= *at_least), || {
                    format!("{object} counts {count:?} after it had counted {at_least}")
                })?;
                self.show(object.clone(), count.unwrap_or(0));
                Ok(())
            }
            (Promise::Added { tag, at_least }, reply) => {
                self.added(tag, *at_least, count(reply).unwrap_or(0))
            }
        }
    }

    fn added(&mut self, tag: &str, at_least: i64, count: i64) -> Result<(), Violation> {
        let Some(add) = self.adds.get_mut(tag) else { return Ok(()) };
        let object = add.object.clone();
        holds(TRUE_REPLIES, count >= at_least, || {
            format!("{object} counts {count} after {tag}, and at least {at_least} was promised")
        })?;
        if let Some(before) = add.reply {
            return holds("a call with a key takes effect once", before == count, || {
                format!("{tag} was answered with {before} and then with {count}")
            });
        }
        add.reply = Some(count);
        let other = self.reached.insert((object.clone(), count), tag.to_owned());
        holds(TRUE_REPLIES, other.is_none(), || {
            format!("{tag} and {other:?} both made {object} count {count}")
        })?;
        self.show(object, count);
        Ok(())
    }

    fn show(&mut self, object: ObjectKey, count: i64) {
        let shown = self.shown.entry(object).or_default();
        *shown = (*shown).max(count);
    }

    /// The additions of one counter must be what its tags say.
    pub(super) fn check_counter(
        &self,
        object: &ObjectKey,
        count: i64,
        tags: &BTreeMap<String, i64>,
        dead: &str,
    ) -> Result<(), Violation> {
        let mut sum = 0;
        for (tag, add) in self.adds.iter().filter(|(_, add)| add.object == *object) {
            let times = tags.get(tag).copied().unwrap_or(0);
            sum += times * add.by;
            holds("a call takes effect at most once", times <= 1, || {
                format!("{tag} was added {times} times")
            })?;
            holds(
                "nothing acknowledged is lost",
                !(add.reply.is_some() || add.relayed) || times == 1 || dead.contains(tag),
                || format!("{tag} was answered with {:?} and {object} does not have it", add.reply),
            )?;
            let never = add.reply.is_none() && !add.relayed && add.failed == add.sends;
            holds("a call that failed changed nothing", !never || times == 0, || {
                format!("{tag} failed and {object} has it")
            })?;
        }
        holds("counters equal what they count", sum == count, || {
            format!("{object} counts {count}, and its tags sum to {sum}")
        })
    }

    /// Tickets that callers were given.
    pub(super) fn tickets(&self) -> impl Iterator<Item = &Ticket> {
        self.tickets.iter()
    }

    /// Counters that were called.
    pub(super) fn counters(&self) -> BTreeSet<ObjectKey> {
        self.adds.values().map(|add| add.object.clone()).collect()
    }
}
