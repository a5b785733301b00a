//! The black box: a small file that says which event is running, for the next start after a death of the process.

use super::StartError;
use crate::machine::Witness;
use crate::meter::{Meter, TurnEnd};
use abide_core::event::{EventRef, MessageId};
use abide_core::name::{AlarmName, Kind, Name};
use abide_core::object::{Incarnation, ObjectKey, Version};
use abide_core::time::Clock;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens the black box at `path` and tells which event was running when the last engine died.
pub(super) fn open(
    path: Option<&Path>,
    clock: &Arc<dyn Clock>,
    meter: &Arc<Meter>,
) -> Result<(Box<dyn Witness>, Option<EventRef>), StartError> {
    let witness =
        |note| BlackBox { note, clock: clock.clone(), meter: meter.clone(), began_us: 0, took_us: 0 };
    let Some(path) = path else { return Ok((Box::new(witness(None)), None)) };
    let fail = |error| StartError::BlackBox { path: path.to_owned(), error };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = options.open(path).map_err(fail)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(fail)?;
    // The first line counts: a shorter note leaves the end of a longer one behind it.
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let crashed = serde_json::from_slice::<Note>(first).ok().map(EventRef::from);
    file.set_len(0).map_err(fail)?;
    let note = Some(NoteFile { file, path: path.to_owned(), noted: false });
    Ok((Box::new(witness(note)), crashed))
}

/// Notes what runs, if there is a file for it, and takes the time.
struct BlackBox {
    note: Option<NoteFile>,
    clock: Arc<dyn Clock>,
    meter: Arc<Meter>,
    began_us: i64,
    took_us: i64,
}

struct NoteFile {
    file: File,
    path: PathBuf,
    noted: bool,
}

impl Witness for BlackBox {
    fn begins(&mut self, event: Option<&EventRef>) {
        self.began_us = self.clock.elapsed_us();
        let (Some(file), Some(event)) = (&mut self.note, event) else { return };
        let Ok(mut note) = serde_json::to_vec(&Note::from(event)) else { return };
        note.push(b'\n');
        // Best effort: without the note an event that kills the process is only not counted.
        file.noted = file.file.write_all_at(&note, 0).is_ok();
    }

    fn ended(&mut self) -> i64 {
        if let Some(file) = self.note.as_mut().filter(|file| file.noted) {
            file.noted = file.file.write_all_at(b"\n", 0).is_err();
        }
        self.took_us = self.clock.elapsed_us() - self.began_us;
        self.took_us / 1_000
    }

    fn was_turn(&mut self, kind: &Kind, end: TurnEnd, late_ms: Option<i64>) {
        self.meter.turn(kind.as_str(), end, u64::try_from(self.took_us).unwrap_or(0), late_ms);
    }
}

impl Drop for NoteFile {
    fn drop(&mut self) {
        if !self.noted {
            drop(std::fs::remove_file(&self.path));
        }
    }
}

/// An event's name as the file has it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
enum Note {
    Message { id: i64 },
    Alarm { incarnation: i64, name: String, set_version: i64 },
    Entries { incarnation: i64, kind: String, name: String },
}

impl From<&EventRef> for Note {
    fn from(event: &EventRef) -> Note {
        match event {
            EventRef::Message(id) => Note::Message { id: id.0 },
            EventRef::Alarm { incarnation, name, set_version } => Note::Alarm {
                incarnation: incarnation.0,
                name: name.as_str().to_owned(),
                set_version: set_version.0,
            },
            EventRef::Entries { incarnation, source } => Note::Entries {
                incarnation: incarnation.0,
                kind: source.kind.as_str().to_owned(),
                name: source.name.as_str().to_owned(),
            },
        }
    }
}

impl From<Note> for EventRef {
    fn from(note: Note) -> EventRef {
        match note {
            Note::Message { id } => EventRef::Message(MessageId(id)),
            Note::Alarm { incarnation, name, set_version } => EventRef::Alarm {
                incarnation: Incarnation(incarnation),
                name: AlarmName::trusted(name),
                set_version: Version(set_version),
            },
            Note::Entries { incarnation, kind, name } => EventRef::Entries {
                incarnation: Incarnation(incarnation),
                source: ObjectKey { kind: Kind::trusted(kind), name: Name::trusted(name) },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        AlarmName, Arc, Clock, EventRef, Incarnation, MessageId, Meter, ObjectKey, Path, StartError, Version,
        Witness,
    };
    use crate::clock::SystemClock;

    fn open(path: Option<&Path>) -> Result<(Box<dyn Witness>, Option<EventRef>), StartError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        super::open(path, &clock, &Arc::new(Meter::new()))
    }

    #[test]
    fn an_event_that_never_ended_is_found_at_the_next_start_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("running");
        let source = ObjectKey::new("puppet", "é/1").unwrap();
        let events = [
            EventRef::Message(MessageId(7)),
            EventRef::Alarm {
                incarnation: Incarnation(1 << 40),
                name: AlarmName::new("a \"quoted\" name").unwrap(),
                set_version: Version(3),
            },
            EventRef::Entries { incarnation: Incarnation(2), source },
        ];
        for event in events {
            let (mut witness, _) = open(Some(&path)).unwrap();
            witness.begins(Some(&EventRef::Message(MessageId(1))));
            witness.ended();
            witness.begins(Some(&event));
            drop(witness);
            assert_eq!(open(Some(&path)).unwrap().1, Some(event));
            assert_eq!(open(Some(&path)).unwrap().1, None);
        }
    }

    #[test]
    fn a_short_note_over_the_middle_of_a_character_does_not_keep_the_engine_from_starting() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("running");
        let source = ObjectKey::new("puppet", "é".repeat(40)).unwrap();
        for shift in ["", "x"] {
            let (mut witness, _) = open(Some(&path)).unwrap();
            let name = AlarmName::new(format!("alarm{shift}")).unwrap();
            let long = EventRef::Entries { incarnation: Incarnation(2), source: source.clone() };
            let short = EventRef::Alarm { incarnation: Incarnation(1), name, set_version: Version(1) };
            for event in [long, short.clone()] {
                witness.begins(Some(&event));
            }
            drop(witness);
            assert_eq!(open(Some(&path)).unwrap().1, Some(short));
        }
    }

    #[test]
    fn a_clean_end_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("running");
        let (mut witness, crashed) = open(Some(&path)).unwrap();
        assert_eq!(crashed, None);
        witness.begins(None);
        witness.begins(Some(&EventRef::Message(MessageId(1))));
        witness.ended();
        drop(witness);
        assert!(!path.exists());
    }
}
