//! Answers as the object of a request keeps them.

use super::ask::{Answers, AskError, Bill, Later};
use crate::calls::{Call, Paying, Reply};
use crate::contract::Spend;
use crate::jobs::{self, Order};
use crate::limits::ANSWER_BYTES;
use crate::service::Site;
use crate::spending::{self, Spending};
use abide_core::job::Finish;
use abide_engine::worker::failed;
use abide_engine::{Answer, CallError, Engine};

/// Asks the object that a job belongs to.
pub(super) async fn ask_organizer(site: &Site, name: &str, call: &Call) -> Result<Reply, String> {
    match site.engine.ask::<crate::Organizer>(name, call).await {
        Ok(Answer::Now(reply)) => Ok(reply),
        Ok(Answer::Later(_)) => Err("it answers later".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Whether the engine takes no calls any more: what failed then says nothing about the work, and is done again by the next
/// engine.
pub(super) async fn is_stopping(site: &Site) -> bool {
    matches!(site.engine.ask::<Spending>("none", &spending::Ask::Total).await, Err(CallError::Stopping))
}

/// What all parts of a batch took until now, if that can be said.
pub(crate) async fn of_batch(engine: &Engine, batch_id: &str) -> Option<Spend> {
    match engine.ask::<Spending>(batch_id, &spending::Ask::Total).await {
        Ok(Answer::Now(spending::Reply::Total(paid))) => Some(paid.spend()),
        Ok(_) | Err(_) => None,
    }
}

/// Answers as the object of a request keeps them.
pub(super) struct Paper<'a> {
    pub(super) site: &'a Site,
    pub(super) order: &'a Order,
    pub(super) batch_id: &'a str,
    pub(super) cap_micros: Option<u64>,
}

impl Answers for Paper<'_> {
    fn kept<'a>(&'a self, key: &'a str) -> Later<'a, Option<abide_llm::Answer>> {
        Box::pin(async move {
            let call = Call::Kept { run: self.order.run, key: key.to_owned() };
            match ask_organizer(self.site, &self.order.organizer, &call).await {
                Ok(Reply::Kept(kept)) => Ok(kept.map(|kept| *kept)),
                Ok(other) => Err(AskError::Answers(format!("an answer that nobody asked for: {other:?}"))),
                Err(error) => Err(AskError::Answers(error)),
            }
        })
    }

    fn paid<'a>(&'a self, bill: Bill, answer: Option<(&'a str, &'a abide_llm::Answer)>) -> Later<'a, ()> {
        Box::pin(async move {
            let Order { run, place, .. } = *self.order;
            // One that is too large for a row is too large to act on as well.
            let fits = |answer: &abide_llm::Answer| answer.value.to_string().len() <= ANSWER_BYTES;
            let answer = answer.filter(|(_, answer)| fits(answer));
            let answer = answer.map(|(key, answer)| (key.to_owned(), answer.clone()));
            let Bill { paid, unanswered_micros } = bill;
            let is_reserved = self.cap_micros.is_some();
            let call =
                Call::Paid(Box::new(Paying { run, place, paid, is_reserved, unanswered_micros, answer }));
            let noted = ask_organizer(self.site, &self.order.organizer, &call).await;
            noted.map(drop).map_err(AskError::Answers)
        })
    }

    fn may_ask(&self, least_micros: u64) -> Later<'_, Option<u64>> {
        Box::pin(async move {
            let Some(cap_micros) = self.cap_micros else { return Ok(None) };
            let question = jobs::question(&self.order.organizer, self.order.run, self.order.place);
            let ask = spending::Ask::Reserve { question, least_micros, cap_micros };
            match self.site.engine.ask::<Spending>(self.batch_id, &ask).await {
                Ok(Answer::Now(spending::Reply::Granted { allowance_micros })) => Ok(Some(allowance_micros)),
                Ok(Answer::Now(spending::Reply::Wait)) => Err(AskError::Waits),
                Ok(Answer::Now(spending::Reply::Over { spent_micros })) => {
                    Err(AskError::Cap { spent_micros, least_micros, cap_micros })
                }
                Ok(other) => Err(AskError::Answers(format!("an answer that nobody asked for: {other:?}"))),
                Err(error) => Err(AskError::Answers(error.to_string())),
            }
        })
    }
}

/// A failure of a job whose payload or object cannot be read.
pub(super) fn not_read(error: &str) -> Finish {
    failed(format!("the organizer cannot be asked: {error}"))
}
