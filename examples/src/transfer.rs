//! Accounts: money moves by message, exactly once.

use abide_core::event::Sender;
use abide_core::log::Seq;
use abide_core::object::ObjectKey;
use abide_engine::{Answer, Halt, Object, Refusal, Turn, TurnError};
use serde::{Deserialize, Serialize};

/// An account. Its log is its statement: one entry for each payment that came in.
pub struct Account;

/// What an account is asked by people.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Money comes from outside.
    Deposit(i64),
    /// Money goes to another account.
    Transfer {
        /// Whose.
        to: String,
        /// How much.
        cents: i64,
    },
    /// Change nothing.
    Balance,
}

/// What accounts tell each other.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// This much is yours.
    Paid(i64),
    /// This much arrived.
    Received(i64),
}

/// What an account answers.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balance {
    /// What it has.
    pub cents: i64,
    /// What it sent and what has not arrived yet.
    pub under_way: i64,
    /// Payments that came in: the last entry of the statement.
    pub payments: Seq,
}

/// Says no to a transfer of more than there is, and of less than nothing.
#[derive(Debug, thiserror::Error)]
#[error("{0} cents cannot be paid")]
pub struct CannotPay(i64);

impl Refusal for CannotPay {
    fn code(&self) -> &'static str {
        "cannot_pay"
    }
}

impl Object for Account {
    const KIND: &'static str = "account";
    type Call = Ask;
    type Reply = Balance;
    type Message = Message;
    type Refusal = CannotPay;

    fn call(&self, turn: &mut Turn<'_>, ask: Ask) -> Result<Answer<Balance>, Halt<CannotPay>> {
        match ask {
            Ask::Deposit(cents) => {
                add(turn, "cents", cents)?;
            }
            Ask::Transfer { to, cents } => {
                if cents < 0 || add(turn, "cents", -cents)? < 0 {
                    return Err(CannotPay(cents).into());
                }
                add(turn, "under_way", cents)?;
                let to = ObjectKey::new(Account::KIND, to).map_err(TurnError::from)?;
                turn.send(&to, &Message::Paid(cents))?;
            }
            Ask::Balance => {}
        }
        let cents = turn.get("cents")?.unwrap_or(0);
        let under_way = turn.get("under_way")?.unwrap_or(0);
        Ok(Balance { cents, under_way, payments: turn.log_head() }.into())
    }

    fn message(
        &self,
        turn: &mut Turn<'_>,
        from: Option<&Sender>,
        message: Message,
    ) -> Result<(), Halt<CannotPay>> {
        match message {
            Message::Paid(cents) => {
                add(turn, "cents", cents)?;
                turn.append(&cents)?;
                if let Some(from) = from {
                    turn.answer(from, &Message::Received(cents))?;
                }
            }
            Message::Received(cents) => {
                add(turn, "under_way", -cents)?;
            }
        }
        Ok(())
    }
}

/// Adds to a row and gives the sum.
fn add(turn: &mut Turn<'_>, key: &str, cents: i64) -> Result<i64, Halt<CannotPay>> {
    let sum = turn.get::<i64>(key)?.unwrap_or(0) + cents;
    turn.put(key, &sum)?;
    Ok(sum)
}
