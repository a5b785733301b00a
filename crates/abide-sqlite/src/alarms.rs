//! Alarms of living objects.

use crate::error::Outcome;
use crate::writer::Writer;
use abide_core::commit::{AlarmWrite, Commit};
use abide_core::name::AlarmName;
use abide_core::object::{Incarnation, Version};
use abide_core::time::Time;

const SET: &str =
    "INSERT INTO alarms (incarnation, name, at, due_at, set_version) VALUES (?1, ?2, ?3, ?3, ?4)
     ON CONFLICT (incarnation, name) DO UPDATE
         SET at = ?3, due_at = ?3, set_version = ?4, failures = 0, crashes = 0, error = NULL";
const CLEAR: &str = "DELETE FROM alarms WHERE incarnation = ?1 AND name = ?2";
const CONSUME: &str = "DELETE FROM alarms WHERE incarnation = ?1 AND name = ?2 AND set_version = ?3";
const REMOVE_OF: &str = "DELETE FROM alarms WHERE incarnation = ?1";
const IS_SET: &str = "SELECT at FROM alarms WHERE incarnation = ?1 AND name = ?2";

impl Writer<'_> {
    pub(crate) fn write_alarms(&mut self, commit: &Commit) -> Outcome<()> {
        let life = commit.fence.incarnation();
        for write in &commit.alarms {
            match write {
                AlarmWrite::Set { name, at } => {
                    self.set_alarm(life, name, *at, commit.fence.version_after())?;
                }
                AlarmWrite::Clear { name } => self.clear_alarm(life, name)?,
            }
        }
        Ok(())
    }

    pub(crate) fn set_alarm(
        &mut self,
        life: Incarnation,
        name: &AlarmName,
        at: Time,
        version: Version,
    ) -> Outcome<()> {
        self.db.run(SET, (life.0, name.as_str(), at.0, version.0))?;
        self.woken.alarm(at);
        Ok(())
    }

    pub(crate) fn clear_alarm(&self, life: Incarnation, name: &AlarmName) -> Outcome<()> {
        self.db.run(CLEAR, (life.0, name.as_str())).map(drop)
    }

    /// Takes one setting of an alarm away; whether it was there.
    pub(crate) fn consume_alarm(
        &self,
        life: Incarnation,
        name: &AlarmName,
        set_version: Version,
    ) -> Outcome<bool> {
        Ok(self.db.run(CONSUME, (life.0, name.as_str(), set_version.0))? == 1)
    }

    pub(crate) fn is_alarm_set(&self, life: Incarnation, name: &AlarmName) -> Outcome<bool> {
        Ok(self.db.number(IS_SET, (life.0, name.as_str()))?.is_some())
    }

    pub(crate) fn remove_alarms_of(&self, life: Incarnation) -> Outcome<()> {
        self.db.run(REMOVE_OF, [life.0]).map(drop)
    }
}
