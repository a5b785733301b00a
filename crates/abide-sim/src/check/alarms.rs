//! Alarms: every one fires, and none before its time.

use super::ask;
use crate::outcome::{Violation, holds};
use abide_core::commit::{AlarmWrite, Commit, Ending};
use abide_core::name::AlarmName;
use abide_core::object::{Incarnation, Version};
use abide_core::time::Time;
use abide_store::write::EventFate;
use abide_store::{Answer, Read, Reader};
use std::collections::BTreeMap;

/// Every alarm that is set.
#[derive(Debug, Default)]
pub(crate) struct Alarms {
    set: BTreeMap<(Incarnation, AlarmName), Set>,
}

#[derive(Debug)]
struct Set {
    at: Time,
    version: Version,
}

impl Alarms {
    pub(super) fn fired(
        &mut self,
        commit: &Commit,
        name: &AlarmName,
        version: Version,
        now: Time,
    ) -> Result<(), Violation> {
        let object = &commit.object;
        let set = self.set.remove(&(commit.fence.incarnation(), name.clone()));
        let Some(set) = set.filter(|set| set.version == version) else {
            return holds("an alarm fires once", false, || format!("{name} of {object} was not set"));
        };
        holds("no alarm fires before its time", set.at <= now && set.at <= commit.at, || {
            format!(
                "{name} of {object} is set for {} and fired at {} in a turn at {}",
                set.at, now, commit.at
            )
        })
    }

    pub(super) fn written(&mut self, commit: &Commit) {
        let life = commit.fence.incarnation();
        if commit.ending == Ending::Deleted {
            self.set.retain(|(of, _), _| *of != life);
            return;
        }
        for write in &commit.alarms {
            match write {
                AlarmWrite::Set { name, at } => {
                    let set = Set { at: *at, version: commit.fence.version_after() };
                    self.set.insert((life, name.clone()), set);
                }
                AlarmWrite::Clear { name } => {
                    self.set.remove(&(life, name.clone()));
                }
            }
        }
    }

    pub(super) fn failed(&mut self, life: Incarnation, name: &AlarmName, fate: EventFate) {
        if let EventFate::Dead(_) = fate {
            self.set.remove(&(life, name.clone()));
        }
    }

    /// A replayed alarm is set for the present: takes it in from the store.
    pub(super) fn read_again(&mut self, reader: &mut dyn Reader, now: Time) -> Result<(), Violation> {
        let read = Read::AlarmsDue { after: None, limit: 1_000 };
        let Answer::AlarmsDue(due) = ask(reader, now, &read)? else { return Ok(()) };
        for alarm in due {
            let set = Set { at: alarm.at, version: alarm.set_version };
            self.set.entry((alarm.incarnation, alarm.name)).or_insert(set);
        }
        Ok(())
    }

    /// An alarm that should have fired by now.
    pub(crate) fn left(&self, now: Time) -> Option<String> {
        let ((life, name), set) = self.set.iter().next()?;
        Some(format!("alarm {name} of {life:?} was set for {} and has not fired at {now}", set.at))
    }
}
