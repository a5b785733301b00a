//! What was spent on models in all, over every start: the object that the purse of this process is kept in.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use abide_engine::{Answer, Engine, Halt, NoRefusal, Nothing, Object, Turn};
use abide_llm::{Book, Purse};
use serde::{Deserialize, Serialize};

/// The only one of its kind.
const NAME: &str = "all";
/// What was spent, in millionths: also what is set aside for requests that are being asked.
const ROW: &str = "spent_micros";
/// Pause after it could not be read.
const AGAIN: Duration = Duration::from_secs(1);

/// `model-spending/all`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ModelSpending;

/// Adds to it, which may be less than nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Call {
    Add { micros: i64 },
}

/// What it comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Total {
    spent_micros: u64,
}

impl Object for ModelSpending {
    const KIND: &'static str = "model-spending";
    type Call = Call;
    type Reply = Total;
    type Message = Nothing;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, call: Call) -> Result<Answer<Total>, Halt<NoRefusal>> {
        let Call::Add { micros } = call;
        let spent_micros = turn.get::<u64>(ROW)?.unwrap_or(0).saturating_add_signed(micros);
        if micros != 0 {
            turn.put(ROW, &spent_micros)?;
        }
        Ok(Total { spent_micros }.into())
    }
}

/// The object as the purse knows it.
struct Kept(Engine);

impl Book for Kept {
    fn add(&self, micros: i64) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        Box::pin(async move { add(&self.0, micros).await.map(drop) })
    }
}

async fn add(engine: &Engine, micros: i64) -> Result<u64, String> {
    match engine.ask::<ModelSpending>(NAME, &Call::Add { micros }).await {
        Ok(Answer::Now(Total { spent_micros })) => Ok(spent_micros),
        Ok(Answer::Later(_)) => unreachable!("it is answered now"),
        Err(error) => Err(error.to_string()),
    }
}

/// Has `purse` go on where it was when this process or another stopped. Until the store says where that is, nobody spends anything.
pub(crate) async fn open(engine: Engine, purse: Purse) {
    loop {
        match add(&engine, 0).await {
            Ok(spent_micros) => return purse.open(Arc::new(Kept(engine)), spent_micros),
            Err(error) => tracing::warn!(target: "llm", error, "what was spent on models cannot be read"),
        }
        tokio::select! {
            () = tokio::time::sleep(AGAIN) => {}
            () = engine.ended() => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abide_engine::{EngineOptions, Registry};
    use abide_store::memory::MemoryStore;

    #[tokio::test]
    async fn what_was_added_stays_and_is_never_less_than_nothing() {
        let mut registry = Registry::new();
        registry.object(ModelSpending).expect("it is the only one");
        let engine = Engine::start(Box::new(MemoryStore::new()), registry, EngineOptions::default())
            .expect("an engine starts");
        let most = 60 + i64::MAX.unsigned_abs();
        for (micros, total) in [(0, 0), (100, 100), (-40, 60), (i64::MAX, most), (i64::MIN, 59), (-100, 0)] {
            assert_eq!(add(&engine, micros).await, Ok(total));
        }
        engine.stop().await;
    }
}
