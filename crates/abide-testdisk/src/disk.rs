//! The disk: files under names, power, and what goes wrong.

use crate::file::{File, below, coin};
use crate::locks::{Holder, Locks};
use crate::shm::Shm;
use abide_core::seed::Seed;
use std::collections::{BTreeMap, BTreeSet};

/// Which file, whatever it is called.
pub(crate) type FileId = u64;

/// What a sync does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syncs {
    /// What was written is on the platter.
    Honest,
    /// Nothing, although it says otherwise: a disk that lies, or SQLite without syncs.
    Ignored,
    /// Nothing for the log of writes; what it ought to for the rest.
    IgnoredForTheLog,
}

/// What goes wrong at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The power goes.
    PowerLoss,
    /// The power goes during a sync.
    PowerLossAtSync,
    /// There is no space for a write.
    Full,
    /// A read or write fails; of a write something may be there.
    Io,
    /// A sync fails.
    Sync,
}

/// What a program does to a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Read,
    Write,
    Sync,
}

/// The disk.
pub(crate) struct Disk {
    files: BTreeMap<FileId, (File, Locks)>,
    /// What programs see.
    names: BTreeMap<String, FileId>,
    /// What is there after a power loss.
    durable_names: BTreeMap<String, FileId>,
    shm: BTreeMap<FileId, Shm>,
    /// Shared memory of connections that power loss has cut off and that may still look at it.
    cut_off: Vec<Shm>,
    next: u64,
    /// Handles opened before this one are of a program that is gone.
    pub(crate) first_live: Holder,
    is_on: bool,
    pub(crate) syncs: Syncs,
    /// What goes wrong, after so many more calls that it concerns.
    trouble: Option<(u64, Trouble)>,
    struck: bool,
    pub(crate) random: Seed,
    pub(crate) calls: u64,
    pub(crate) open_handles: u64,
}

impl Disk {
    pub(crate) fn new(seed: u64) -> Disk {
        Disk {
            files: BTreeMap::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            shm: BTreeMap::new(),
            cut_off: Vec::new(),
            next: 0,
            first_live: 0,
            is_on: true,
            syncs: Syncs::Honest,
            trouble: None,
            struck: false,
            random: Seed::new(seed),
            calls: 0,
            open_handles: 0,
        }
    }

    pub(crate) fn next_id(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    pub(crate) fn expect_trouble(&mut self, trouble: Trouble, after_calls: u64) {
        self.trouble = Some((after_calls, trouble));
        self.struck = false;
    }

    /// Nothing goes wrong any more; whether something had.
    pub(crate) fn end_trouble(&mut self) -> bool {
        self.trouble = None;
        std::mem::take(&mut self.struck)
    }

    /// What goes wrong with this call.
    pub(crate) fn trouble(&mut self, act: Act) -> Option<Trouble> {
        self.calls += 1;
        let (left, trouble) = self.trouble?;
        let concerns = match trouble {
            Trouble::PowerLoss => true,
            Trouble::Full => act == Act::Write,
            Trouble::Io => act != Act::Sync,
            Trouble::Sync | Trouble::PowerLossAtSync => act == Act::Sync,
        };
        if !concerns {
            return None;
        }
        if left > 0 {
            self.trouble = Some((left - 1, trouble));
            return None;
        }
        self.trouble = None;
        self.struck = true;
        if matches!(trouble, Trouble::PowerLoss | Trouble::PowerLossAtSync) {
            self.power_off();
        }
        Some(trouble)
    }

    /// The file of a name; made if it is not there and `make` says so.
    pub(crate) fn open(&mut self, name: Option<&str>, make: bool) -> Option<FileId> {
        if let Some(id) = name.and_then(|name| self.names.get(name)) {
            return Some(*id);
        }
        if !make {
            return None;
        }
        let id = self.next_id();
        self.files.insert(id, (File::default(), Locks::default()));
        if let Some(name) = name {
            self.names.insert(name.to_owned(), id);
        }
        Some(id)
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// Takes a name away; for good if the directory is synced.
    pub(crate) fn delete(&mut self, name: &str, synced: bool) -> bool {
        if synced {
            self.durable_names.remove(name);
        }
        self.names.remove(name).is_some()
    }

    pub(crate) fn file(&mut self, id: FileId) -> &mut File {
        &mut self.files.entry(id).or_default().0
    }

    pub(crate) fn locks(&mut self, id: FileId) -> &mut Locks {
        &mut self.files.entry(id).or_default().1
    }

    pub(crate) fn shm(&mut self, id: FileId) -> &mut Shm {
        self.shm.entry(id).or_default()
    }

    pub(crate) fn leave_shm(&mut self, id: FileId, user: Holder) {
        if self.shm.get_mut(&id).is_some_and(|shm| shm.leave(user)) {
            self.shm.remove(&id);
        }
    }

    /// Makes a file and its name durable, and with `directory` the names of all others as well.
    pub(crate) fn sync(&mut self, id: FileId, directory: bool) {
        let name = self.names.iter().find(|(_, of)| **of == id).map(|(name, _)| name.clone());
        let is_log = name.as_deref().is_some_and(|name| name.ends_with("-wal"));
        match self.syncs {
            Syncs::Ignored => return,
            Syncs::IgnoredForTheLog if is_log => return,
            Syncs::Honest | Syncs::IgnoredForTheLog => {}
        }
        self.file(id).sync();
        if directory {
            self.durable_names.clone_from(&self.names);
        } else if let Some(name) = name {
            self.durable_names.insert(name, id);
        }
    }

    pub(crate) fn sync_in_vain(&mut self, id: FileId) {
        let mut random = self.random.fork();
        self.file(id).sync_in_vain(&mut random);
    }

    /// A write that failed: something of it may be there, but not all.
    pub(crate) fn write_in_part(&mut self, id: FileId, at: usize, bytes: &[u8]) {
        let count = below(&mut self.random, bytes.len());
        self.file(id).write(at, &bytes[..count]);
    }

    /// The power goes: every program is gone, and nothing works until it comes back.
    pub(crate) fn power_off(&mut self) {
        self.is_on = false;
        self.trouble = None;
        self.first_live = self.next + 1;
        self.cut_off.extend(std::mem::take(&mut self.shm).into_values());
        for (_, locks) in self.files.values_mut() {
            *locks = Locks::default();
        }
    }

    /// The power comes back, and with it what is on the platter.
    pub(crate) fn power_on(&mut self) {
        let mut random = self.random.fork();
        for (file, _) in self.files.values_mut() {
            file.lose_power(&mut random);
        }
        let names: BTreeSet<String> = self.names.keys().chain(self.durable_names.keys()).cloned().collect();
        for name in names {
            let (seen, durable) = (self.names.get(&name), self.durable_names.get(&name));
            let found = if seen == durable || coin(&mut random) { seen } else { durable };
            match found.copied() {
                Some(id) => self.durable_names.insert(name, id),
                None => self.durable_names.remove(&name),
            };
        }
        self.names.clone_from(&self.durable_names);
        let named: BTreeSet<FileId> = self.names.values().copied().collect();
        self.files.retain(|id, _| named.contains(id));
        self.is_on = true;
    }
}
