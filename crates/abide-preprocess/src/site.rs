//! Where jobs of the service run: an engine, and the URL by which workers reach this process.

use crate::batch::Batch;
use crate::calls::Call;
use abide_core::commit::Reply;
use abide_core::json::Json;
use abide_core::object::ObjectKey;
use abide_engine::{Call as EngineCall, CallError, Engine, Object, TurnError};
use serde::de::DeserializeOwned;

/// An engine, and the URL of this service's routes on it.
#[derive(Clone)]
pub struct Site {
    /// The engine.
    pub engine: Engine,
    /// `http://127.0.0.1:8787/preprocess`, or what `ORCHESTRATOR_URL` says.
    pub url: String,
}

impl Site {
    /// Calls a batch and reads its answer.
    pub async fn ask<T: DeserializeOwned>(&self, batch: &str, call: &Call) -> Result<T, CallError> {
        let bad = |what: &str, reason: String| TurnError::BadValue { what: what.to_owned(), reason };
        let object = ObjectKey::new(Batch::KIND, batch).map_err(TurnError::from)?;
        let body = Json::encode(call).map_err(|error| bad("the call", error.0))?;
        match self.engine.call(EngineCall { object, body, key: None }).await? {
            Reply::Now(reply) => Ok(reply.decode().map_err(|error| bad("the reply", error.0))?),
            Reply::Later(_) => Err(TurnError::Unexpected("a batch answers at once").into()),
        }
    }
}
