//! What every route sees.

use crate::drain::Drain;
use crate::error::ApiError;
use crate::poll::KnownWorkers;
use crate::serve::ServerOptions;
use abide_engine::Engine;
use abide_store::{Answer, Read, Write, Written};
use std::sync::Arc;

/// The engine and what the server knows about itself. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

struct Shared {
    engine: Engine,
    options: ServerOptions,
    drain: Drain,
    workers: KnownWorkers,
}

impl App {
    pub(crate) fn new(engine: Engine, options: ServerOptions, drain: Drain) -> App {
        App(Arc::new(Shared { engine, options, drain, workers: KnownWorkers::default() }))
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.0.engine
    }

    pub(crate) fn options(&self) -> &ServerOptions {
        &self.0.options
    }

    pub(crate) fn drain(&self) -> &Drain {
        &self.0.drain
    }

    pub(crate) fn workers(&self) -> &KnownWorkers {
        &self.0.workers
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
