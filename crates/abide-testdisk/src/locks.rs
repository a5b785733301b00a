//! Locks of connections on a file, as SQLite's locking protocol wants them.

use std::collections::BTreeMap;

/// Who holds a lock.
pub(crate) type Holder = u64;

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Shared,
    Reserved,
    Pending,
    Exclusive,
}

/// The locks on one file.
#[derive(Debug, Default)]
pub(crate) struct Locks(BTreeMap<Holder, Level>);

impl Locks {
    /// Raises a lock; whether others let it. One that asks in vain for the exclusive lock keeps new readers out.
    pub(crate) fn raise(&mut self, holder: Holder, level: Level) -> bool {
        if self.0.get(&holder).is_some_and(|held| *held >= level) {
            return true;
        }
        let others = || self.0.iter().filter(|(other, _)| **other != holder).map(|(_, held)| *held);
        let granted = match level {
            Level::Shared => others().all(|held| held < Level::Pending).then_some(level),
            Level::Reserved => others().all(|held| held == Level::Shared).then_some(level),
            Level::Pending | Level::Exclusive => match others().max() {
                None => Some(Level::Exclusive),
                Some(Level::Shared) => Some(Level::Pending),
                Some(Level::Reserved | Level::Pending | Level::Exclusive) => None,
            },
        };
        if let Some(granted) = granted {
            self.0.insert(holder, granted);
        }
        granted.is_some_and(|granted| granted >= level)
    }

    /// Lowers a lock to a shared one, or lets go of it.
    pub(crate) fn lower(&mut self, holder: Holder, to_shared: bool) {
        if to_shared {
            self.0.insert(holder, Level::Shared);
        } else {
            self.0.remove(&holder);
        }
    }

    /// Whether somebody means to write.
    pub(crate) fn is_reserved(&self) -> bool {
        self.0.values().any(|held| *held >= Level::Reserved)
    }

    pub(crate) fn let_go(&mut self, holder: Holder) {
        self.0.remove(&holder);
    }
}
