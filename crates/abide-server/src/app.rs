//! What every route sees.

use crate::access::Access;
use crate::drain::Drain;
use crate::error::ApiError;
use crate::poll::KnownWorkers;
use crate::serve::ServerOptions;
use crate::services::Services;
use abide_core::commit::Reply;
use abide_core::json::Json;
use abide_core::object::ObjectKey;
use abide_engine::{Call, Engine};
use abide_store::{Answer, Read, Write, Written};
use serde::Serialize;
use std::sync::Arc;

/// The engine and what the server knows about itself. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

struct Shared {
    engine: Engine,
    options: ServerOptions,
    drain: Drain,
    access: Access,
    workers: KnownWorkers,
}

impl App {
    pub(crate) fn new(engine: Engine, options: ServerOptions, drain: Drain) -> App {
        let access = Access::new(&options.admission);
        App(Arc::new(Shared { engine, options, drain, access, workers: KnownWorkers::default() }))
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.0.engine
    }

    pub(crate) fn options(&self) -> &ServerOptions {
        &self.0.options
    }

    pub(crate) fn services(&self) -> &Services {
        &self.0.options.services
    }

    pub(crate) fn drain(&self) -> &Drain {
        &self.0.drain
    }

    pub(crate) fn access(&self) -> &Access {
        &self.0.access
    }

    pub(crate) fn workers(&self) -> &KnownWorkers {
        &self.0.workers
    }

    /// Calls an object of a service, which answers now: the reply is the route's answer.
    pub(crate) async fn ask(&self, object: ObjectKey, call: &impl Serialize) -> Result<Json, ApiError> {
        let body = Json::encode(call).map_err(|error| ApiError::bad(error.0))?;
        match self.engine().call(Call { object, body, key: None }).await? {
            Reply::Now(reply) => Ok(reply),
            Reply::Later(_) => unreachable!("a service that answers later has its own way to say so"),
        }
    }

    /// Has a write done.
    pub(crate) async fn write(&self, write: Write) -> Result<Written, ApiError> {
        Ok(self.engine().write(write).await?)
    }

    /// Has a read done.
    pub(crate) async fn read(&self, read: Read) -> Result<Answer, ApiError> {
        Ok(self.engine().read(read).await?)
    }
}
