//! Couriers: numbered parcels between pairs, each noted when it comes, each answered to the life that sent it.

use super::strike;
use abide_core::event::Sender;
use abide_core::object::ObjectKey;
use abide_engine::object::NoRefusal;
use abide_engine::{Answer, Halt, Object, Turn, TurnError};
use serde::{Deserialize, Serialize};

pub(crate) struct Courier;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum CourierCall {
    Send { to: String, count: u32, trouble: u8 },
    Delete,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Parcel {
    Goods { number: i64, trouble: u8 },
    Thanks { number: i64 },
    FromOutside { trouble: u8 },
}

impl Object for Courier {
    const KIND: &'static str = "courier";
    type Call = CourierCall;
    type Reply = i64;
    type Message = Parcel;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, call: CourierCall) -> Result<Answer<i64>, Halt<NoRefusal>> {
        match call {
            CourierCall::Send { to, count, trouble } => {
                let row = format!("sent/{to}");
                let mut number = turn.get::<i64>(&row)?.unwrap_or(0);
                let to = ObjectKey::new(Courier::KIND, to).map_err(TurnError::from)?;
                for _ in 0..count {
                    number += 1;
                    turn.send(&to, &Parcel::Goods { number, trouble })?;
                }
                turn.put(&row, &number)?;
                Ok(number.into())
            }
            CourierCall::Delete => {
                turn.delete_self();
                Ok(0.into())
            }
        }
    }

    fn message(
        &self,
        turn: &mut Turn<'_>,
        from: Option<&Sender>,
        message: Parcel,
    ) -> Result<(), Halt<NoRefusal>> {
        match (message, from) {
            (Parcel::Goods { number, trouble }, Some(from)) => {
                let row = format!("got/{}/{}/{number:06}", from.object.name, from.incarnation.0);
                let times = turn.get::<i64>(&row)?.unwrap_or(0);
                turn.put(&row, &(times + 1))?;
                strike(turn, trouble)?;
                if number % 4 == 0 {
                    turn.answer(from, &Parcel::Thanks { number })?;
                }
            }
            (Parcel::Thanks { number }, Some(from)) => {
                let row = format!("thanked/{}/{}/{number:06}", from.object.name, from.incarnation.0);
                let times = turn.get::<i64>(&row)?.unwrap_or(0);
                turn.put(&row, &(times + 1))?;
            }
            (Parcel::FromOutside { trouble }, _) => {
                let times = turn.get::<i64>("outside")?.unwrap_or(0);
                turn.put("outside", &(times + 1))?;
                strike(turn, trouble)?;
            }
            (Parcel::Goods { .. } | Parcel::Thanks { .. }, None) => {}
        }
        Ok(())
    }
}
