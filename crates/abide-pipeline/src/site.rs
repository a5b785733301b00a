//! Where jobs of the service run: an engine and the entities on it.

use crate::calls::Call;
use crate::pipeline::Pipeline;
use abide_core::commit::Reply;
use abide_core::json::Json;
use abide_core::object::ObjectKey;
use abide_engine::{Call as EngineCall, CallError, Engine, Object, TurnError};
use abide_entities::EntityStore;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// An engine and the entities on it.
#[derive(Clone)]
pub struct Site {
    /// The engine.
    pub engine: Engine,
    /// Who keeps entities.
    pub entities: Arc<dyn EntityStore>,
}

impl Site {
    /// Calls a batch and reads its answer.
    pub async fn ask<T: DeserializeOwned>(&self, batch: &str, call: &Call) -> Result<T, CallError> {
        self.call(Pipeline::KIND, batch, call).await
    }

    /// Calls an object and reads its answer.
    pub(crate) async fn call<C: Serialize, T: DeserializeOwned>(
        &self,
        kind: &str,
        name: &str,
        call: &C,
    ) -> Result<T, CallError> {
        let bad = |what: &str, reason: String| TurnError::BadValue { what: what.to_owned(), reason };
        let object = ObjectKey::new(kind, name).map_err(TurnError::from)?;
        let body = Json::encode(call).map_err(|error| bad("the call", error.0))?;
        match self.engine.call(EngineCall { object, body, key: None }).await? {
            Reply::Now(reply) => Ok(reply.decode().map_err(|error| bad("the reply", error.0))?),
            Reply::Later(_) => Err(TurnError::Unexpected("an answer that comes later").into()),
        }
    }
}
