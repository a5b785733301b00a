//! A chat room: a log that people read live and that other objects follow.

use abide_core::log::Seq;
use abide_core::object::ObjectKey;
use abide_engine::object::{Entries, NoRefusal};
use abide_engine::{Answer, Halt, Nothing, Object, Turn, TurnError};
use serde::{Deserialize, Serialize};

/// A room. What is said in it is its log.
pub struct Room;

/// One thing that is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Who says it.
    pub who: String,
    /// What.
    pub text: String,
}

impl Object for Room {
    const KIND: &'static str = "room";
    type Call = Line;
    type Reply = Seq;
    type Message = Nothing;
    type Refusal = NoRefusal;

    /// Says a line, and gives its place in the log.
    fn call(&self, turn: &mut Turn<'_>, line: Line) -> Result<Answer<Seq>, Halt<NoRefusal>> {
        Ok(turn.append(&line)?.into())
    }
}

/// A member of rooms, who notes in a log of its own where it is mentioned as `@name`.
pub struct Member;

/// What a member is told.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tell {
    /// Read along in this room, from its beginning. A second time changes nothing.
    Join(String),
    /// Stop reading along.
    Leave(String),
}

/// An entry of a member's log.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mention {
    /// In which room.
    pub room: String,
    /// The place in the room's log.
    pub seq: Seq,
    /// By whom.
    pub by: String,
}

impl Object for Member {
    const KIND: &'static str = "member";
    type Call = Tell;
    type Reply = ();
    type Message = Nothing;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, tell: Tell) -> Result<Answer<()>, Halt<NoRefusal>> {
        match tell {
            Tell::Join(room) => turn.follow(&room_key(&room)?, Seq(0)),
            Tell::Leave(room) => turn.leave(&room_key(&room)?),
        }
        Ok(().into())
    }

    /// New lines of a room, in order and each once: the commit that notes the mentions also moves the cursor.
    fn entries(&self, turn: &mut Turn<'_>, lines: &Entries<'_>) -> Result<(), Halt<NoRefusal>> {
        let at_me = format!("@{}", turn.object().name);
        for entry in lines.entries {
            let line: Line = entry
                .value
                .decode()
                .map_err(|error| TurnError::BadInput { what: "a line", reason: error.to_string() })?;
            if line.text.contains(&at_me) {
                let room = lines.source.name.to_string();
                turn.append(&Mention { room, seq: entry.seq, by: line.who })?;
            }
        }
        Ok(())
    }
}

fn room_key(name: &str) -> Result<ObjectKey, TurnError> {
    Ok(ObjectKey::new(Room::KIND, name)?)
}
