//! Accounts: money moves by message, and its sum stays what it was.

use super::strike;
use abide_core::event::Sender;
use abide_core::object::ObjectKey;
use abide_engine::object::NoRefusal;
use abide_engine::{Answer, Halt, Object, Turn, TurnError};
use serde::{Deserialize, Serialize};

pub(crate) struct Account;

/// What every account begins with.
pub(crate) const FIRST_BALANCE: i64 = 100;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum AccountCall {
    Transfer { to: String, amount: i64, trouble: u8 },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Deposit {
    pub(crate) amount: i64,
    pub(crate) trouble: u8,
}

impl Object for Account {
    const KIND: &'static str = "account";
    type Call = AccountCall;
    type Reply = i64;
    type Message = Deposit;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, call: AccountCall) -> Result<Answer<i64>, Halt<NoRefusal>> {
        let balance = turn.get::<i64>("balance")?.unwrap_or(FIRST_BALANCE);
        let AccountCall::Transfer { to, amount, trouble } = call;
        let amount = amount.min(balance);
        let to = ObjectKey::new(Account::KIND, to).map_err(TurnError::from)?;
        turn.put("balance", &(balance - amount))?;
        turn.send(&to, &Deposit { amount, trouble })?;
        Ok((balance - amount).into())
    }

    fn message(
        &self,
        turn: &mut Turn<'_>,
        _: Option<&Sender>,
        message: Deposit,
    ) -> Result<(), Halt<NoRefusal>> {
        let balance = turn.get::<i64>("balance")?.unwrap_or(FIRST_BALANCE);
        turn.put("balance", &(balance + message.amount))?;
        strike(turn, message.trouble)?;
        Ok(())
    }
}
