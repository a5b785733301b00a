//! Bosses: owners of jobs, who note every outcome and answer tickets with them.

use super::strike;
use abide_core::job::{JobOutcome, NewJob};
use abide_core::json::Json;
use abide_core::name::{JobKind, LimitKey, QueueName, UniqueKey};
use abide_core::ticket::Ticket;
use abide_engine::object::NoRefusal;
use abide_engine::{Answer, Halt, Nothing, Object, Turn, TurnError};
use serde::{Deserialize, Serialize};

pub(crate) struct Boss;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum BossCall {
    Enqueue {
        jobs: Vec<JobWish>,
        trouble: u8,
    },
    Cancel {
        key: String,
    },
    /// Answers with what comes of the job.
    Ask {
        job: JobWish,
    },
    Delete,
}

/// A job as the world wishes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct JobWish {
    pub(crate) queue: String,
    pub(crate) kind: String,
    pub(crate) unique_key: Option<String>,
    pub(crate) limit_keys: Vec<String>,
    pub(crate) priority: i32,
    pub(crate) in_ms: Option<i64>,
    pub(crate) max_attempts: Option<u32>,
}

impl JobWish {
    pub(crate) fn to_job(&self, now: abide_core::time::Time) -> Result<NewJob, TurnError> {
        let mut job = NewJob::new(QueueName::new(&self.queue)?, JobKind::new(&self.kind)?, Json::null());
        job.priority = self.priority;
        job.run_at = self.in_ms.map(|ms| now.plus_ms(ms));
        job.unique_key = self.unique_key.as_ref().map(UniqueKey::new).transpose()?;
        job.max_attempts = self.max_attempts;
        for key in &self.limit_keys {
            job.limit_keys.push(LimitKey::new(key)?);
        }
        Ok(job)
    }
}

impl Object for Boss {
    const KIND: &'static str = "boss";
    type Call = BossCall;
    type Reply = i64;
    type Message = Nothing;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, call: BossCall) -> Result<Answer<i64>, Halt<NoRefusal>> {
        match call {
            BossCall::Enqueue { jobs, trouble } => {
                let asked = turn.get::<i64>("asked")?.unwrap_or(0) + jobs.len() as i64;
                turn.put("asked", &asked)?;
                turn.put("trouble", &u16::from(trouble))?;
                for wish in &jobs {
                    let job = wish.to_job(turn.now())?;
                    turn.enqueue(job)?;
                }
                Ok(asked.into())
            }
            BossCall::Cancel { key } => {
                turn.cancel(&UniqueKey::new(key).map_err(TurnError::from)?);
                turn.put("cancels", &true)?;
                Ok(0.into())
            }
            BossCall::Ask { job } => {
                let ticket = turn.open_ticket();
                let mut job = job.to_job(turn.now())?;
                job.unique_key = Some(UniqueKey::new(format!("ticket/{ticket}")).map_err(TurnError::from)?);
                turn.enqueue(job)?;
                Ok(Answer::Later(ticket))
            }
            BossCall::Delete => {
                turn.delete_self();
                Ok(0.into())
            }
        }
    }

    fn outcome(&self, turn: &mut Turn<'_>, outcome: &JobOutcome) -> Result<(), Halt<NoRefusal>> {
        let row = format!("outcome/{:06}", outcome.job.0);
        let times = turn.get::<i64>(&row)?.unwrap_or(0);
        let ended = turn.get::<i64>("ended")?.unwrap_or(0);
        turn.put(&row, &(times + 1))?;
        turn.put("ended", &(ended + 1))?;
        let ticket = outcome.unique_key.as_ref().and_then(|key| key.as_str().strip_prefix("ticket/"));
        if let Some(ticket) = ticket {
            let ticket = Ticket::parse(ticket).map_err(TurnError::from)?;
            turn.resolve(&ticket, &outcome.state)?;
        }
        let trouble = turn.get::<u16>("trouble")?.unwrap_or(0);
        strike(turn, u8::try_from(trouble).unwrap_or(100))?;
        Ok(())
    }
}
