//! Sleepers: alarms that are set, cleared, set again, and noted when they ring.

use super::strike;
use abide_core::time::Time;
use abide_engine::object::NoRefusal;
use abide_engine::{Answer, Halt, Nothing, Object, Turn};
use serde::{Deserialize, Serialize};

pub(crate) struct Sleeper;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum SleeperCall {
    Set { name: String, in_ms: i64, again: u8, trouble: u8 },
    Clear { name: String },
    When { name: String },
    Delete,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Wish {
    at: i64,
    again: u8,
    trouble: u8,
}

impl abide_engine::Record for Wish {}

impl Object for Sleeper {
    const KIND: &'static str = "sleeper";
    type Call = SleeperCall;
    type Reply = Option<i64>;
    type Message = Nothing;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, call: SleeperCall) -> Result<Answer<Option<i64>>, Halt<NoRefusal>> {
        match call {
            SleeperCall::Set { name, in_ms, again, trouble } => {
                let at = turn.now().plus_ms(in_ms);
                turn.set_alarm(&name, at)?;
                turn.put(&format!("wish/{name}"), &Wish { at: at.0, again, trouble })?;
                Ok(Some(at.0).into())
            }
            SleeperCall::Clear { name } => {
                turn.clear_alarm(&name)?;
                let cleared = turn.get::<i64>("cleared")?.unwrap_or(0);
                turn.put("cleared", &(cleared + 1))?;
                Ok(None.into())
            }
            SleeperCall::When { name } => {
                let at = turn.alarm(&name)?.map(|at| at.0);
                let wish: Option<Wish> = turn.get(&format!("wish/{name}"))?;
                if at.is_some() && wish.is_none() {
                    turn.put("wrong/alarm-without-wish", &name)?;
                }
                Ok(at.into())
            }
            SleeperCall::Delete => {
                turn.delete_self();
                Ok(None.into())
            }
        }
    }

    fn alarm(&self, turn: &mut Turn<'_>, name: &str, at: Time) -> Result<(), Halt<NoRefusal>> {
        let key = format!("wish/{name}");
        let Some(wish) = turn.get::<Wish>(&key)? else {
            turn.put("wrong/rang-without-wish", &name.to_owned())?;
            return Ok(());
        };
        if turn.now() < at || turn.alarm(name)?.is_some_and(|set| set != at) {
            turn.put("wrong/rang-early", &name.to_owned())?;
        }
        let rang = turn.get::<i64>("rang")?.unwrap_or(0);
        turn.put("rang", &(rang + 1))?;
        strike(turn, wish.trouble)?;
        if wish.again > 0 {
            let at = turn.now().plus_ms(700);
            turn.set_alarm(name, at)?;
            turn.put(&key, &Wish { at: at.0, again: wish.again - 1, trouble: wish.trouble })?;
        }
        Ok(())
    }
}
