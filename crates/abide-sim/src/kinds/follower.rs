//! Followers: objects that read logs and note every gap.

use super::strike;
use abide_core::log::Seq;
use abide_core::object::ObjectKey;
use abide_engine::object::{Entries, NoRefusal};
use abide_engine::{Answer, Halt, Nothing, Object, Turn, TurnError};
use serde::{Deserialize, Serialize};

pub(crate) struct Follower;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum FollowerCall {
    Follow { source: String, trouble: u8 },
    Leave { source: String },
    Delete,
}

impl Object for Follower {
    const KIND: &'static str = "follower";
    type Call = FollowerCall;
    type Reply = ();
    type Message = Nothing;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, call: FollowerCall) -> Result<Answer<()>, Halt<NoRefusal>> {
        match call {
            FollowerCall::Follow { source, trouble } => {
                turn.put(&format!("follows/{source}"), &true)?;
                turn.put("trouble", &u16::from(trouble))?;
                let source = ObjectKey::new("scribe", source).map_err(TurnError::from)?;
                turn.follow(&source, Seq(0));
            }
            FollowerCall::Leave { source } => {
                turn.delete(&format!("follows/{source}"));
                for (key, _) in turn.scan::<i64>(&format!("at/{source}/"), None, 1_000)? {
                    turn.delete(&key);
                }
                let source = ObjectKey::new("scribe", source).map_err(TurnError::from)?;
                turn.leave(&source);
            }
            FollowerCall::Delete => turn.delete_self(),
        }
        Ok(().into())
    }

    fn entries(&self, turn: &mut Turn<'_>, entries: &Entries<'_>) -> Result<(), Halt<NoRefusal>> {
        let source = &entries.source.name;
        if turn.get::<bool>(&format!("follows/{source}"))?.is_none() {
            turn.put("wrong/entries-of-a-log-it-left", &source.as_str().to_owned())?;
        }
        let row = format!("at/{source}/{}", entries.source_incarnation.0);
        let mut at = turn.get::<i64>(&row)?.unwrap_or(0);
        for entry in entries.entries {
            let says = entry.value.decode::<i64>().unwrap_or(-1);
            if entry.seq.0 != at + 1 || says != entry.seq.0 {
                turn.put("wrong/gap", &format!("{source}: {} after {at} says {says}", entry.seq.0))?;
            }
            at = entry.seq.0;
        }
        turn.put(&row, &at)?;
        let trouble = turn.get::<u16>("trouble")?.unwrap_or(0);
        strike(turn, u8::try_from(trouble).unwrap_or(100))?;
        Ok(())
    }
}
