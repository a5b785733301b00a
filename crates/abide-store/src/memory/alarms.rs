//! Alarms of living objects.

use crate::read::AlarmCursor;
use abide_core::event::DueAlarm;
use abide_core::name::AlarmName;
use abide_core::object::Incarnation;
use abide_core::time::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Every alarm, by the life that set it and its name, and in the order in which they are due.
#[derive(Debug, Clone, Default)]
pub(super) struct Alarms {
    set: BTreeMap<(Incarnation, AlarmName), DueAlarm>,
    in_order: BTreeSet<AlarmCursor>,
}

impl Alarms {
    pub(super) fn get(&self, life: Incarnation, name: &AlarmName) -> Option<&DueAlarm> {
        self.set.get(&(life, name.clone()))
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &DueAlarm> {
        self.set.values()
    }

    /// The alarms of one life, ordered by name.
    pub(super) fn of(&self, life: Incarnation) -> impl Iterator<Item = &DueAlarm> {
        self.set.values().filter(move |alarm| alarm.incarnation == life)
    }

    /// Sets an alarm; an earlier setting is replaced.
    pub(super) fn put(&mut self, alarm: DueAlarm) {
        self.remove(alarm.incarnation, &alarm.name);
        self.in_order.insert(place(&alarm));
        self.set.insert((alarm.incarnation, alarm.name.clone()), alarm);
    }

    pub(super) fn remove(&mut self, life: Incarnation, name: &AlarmName) -> Option<DueAlarm> {
        let alarm = self.set.remove(&(life, name.clone()))?;
        self.in_order.remove(&place(&alarm));
        Some(alarm)
    }

    pub(super) fn remove_all_of(&mut self, life: Incarnation) {
        let names: Vec<AlarmName> = self.of(life).map(|alarm| alarm.name.clone()).collect();
        for name in names {
            self.remove(life, &name);
        }
    }

    /// What is due, in order.
    pub(super) fn due(&self, now: Time, after: Option<&AlarmCursor>, limit: usize) -> Vec<DueAlarm> {
        let due = self.in_order.iter().filter(|place| after.is_none_or(|after| *place > after));
        due.take_while(|place| place.due_at <= now)
            .take(limit)
            .map(|place| self.set[&(place.incarnation, place.name.clone())].clone())
            .collect()
    }

    /// When the first alarm is due that is due after `after`.
    pub(super) fn first_due(&self, after: Time) -> Option<Time> {
        self.in_order.iter().map(|place| place.due_at).find(|due_at| *due_at > after)
    }

    pub(super) fn indexed(&self) -> usize {
        self.in_order.len()
    }
}

fn place(alarm: &DueAlarm) -> AlarmCursor {
    AlarmCursor { due_at: alarm.due_at, incarnation: alarm.incarnation, name: alarm.name.clone() }
}
